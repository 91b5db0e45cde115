"""forget: records leave every file of the store, and their ids must not come back.

First the ids are on the forgotten list. Then what can only be found by the records' texts goes (messages,
quarantine), then the records, then what is derived from them: a process killed anywhere in between leaves
records that the same command finds again.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import lines, names, traces
from memctl.core import record as records
from memctl.core.record_lines import RECORD
from memctl.core.tier import COLD, TIERS
from memctl.core.traces import Traces
from memctl.errors import BadInput, NotFound, UsageError
from memctl.ops import forget_quarantine, forget_sources
from memctl.ops.setup import rfc3339
from memctl.store import (
    archive,
    erasure,
    forgotten,
    journal,
    line_files,
    tiers,
    unfinished,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.core.filtering import Filters
    from memctl.core.record import Record
    from memctl.ops.setup import Setup
    from memctl.store.layout import Place

ARCHIVE = "archive"


class Forgotten(NamedTuple):
    """What was, or without `applied` would be, forgotten; the fields are the keys of the report but `texts`.

    `already` are ids of which nothing was left. `copies` are ids on the list beside those of the records: of
    the same messages in other conversations. `other_records` stay, and hold one of the texts too.
    """

    user: str
    applied: bool
    records: list[dict[str, Any]]
    already: list[str]
    copies: list[str]
    damaged_lines: int
    quarantine: list[dict[str, Any]]
    conversations: list[dict[str, Any]]
    trash: list[dict[str, Any]]
    other_records: list[str]
    texts: dict[str, str]

    def as_report(self) -> dict[str, Any]:
        """The report, which has no text of what is to be forgotten."""
        return {key: value for key, value in self._asdict().items() if key != "texts"}


class _Plan(NamedTuple):
    """What is to go: rows of the report by id, damaged lines, items; what is looked for, what holds it."""

    rows: dict[str, dict[str, Any]]
    already: list[str]
    sought: forget_sources.Sought
    damaged: int
    items: list[dict[str, Any]]
    looked: forget_sources.Looked
    others: list[str]
    texts: dict[str, str]


def forget(
    setup: Setup,
    user: str,
    ids: Sequence[str],
    filters: Filters,
    query: str | None,
    *,
    apply: bool,
    source: bool = False,
) -> Forgotten:
    """Forget the records with these ids, or those that pass the filters and hold every word of the query.

    With `source` the messages that they come from, and those with the same text, leave the conversations and
    the trash. Durable on return. Raises UsageError without ids and selectors or with both, NotFound for an
    unknown id; then nothing is changed.
    """
    words = None if query is None else traces.words_of(query)
    if words == ():
        raise UsageError("the query is blank; nothing is forgotten by it")
    if ids and not (filters.are_none and words is None):
        raise UsageError("ids, or what the records have in common: not both")
    if not ids and filters.are_none and words is None:
        raise UsageError(
            "what is to be forgotten? ids, --category, --before, --conversation or --query",
            hint=f"memctl records {names.Reference(user).written()}",
        )
    _check_known(setup, user)
    if not apply:
        plan = _planned(setup, user, ids, filters, words, source)
        return _report(user, plan, plan.looked.holdings, applied=False)
    setup.ensure_store()
    layout, fsync = setup.layout, setup.fsync()
    with setup.records_lock(user, "forget"):
        timeout_s = float(setup.settings["lock.timeout_s"])
        unfinished.clear_up(layout, user, timeout_s, fsync=fsync)
        plan = _planned(setup, user, ids, filters, words, source)
        gone = plan.sought.traces.ids
        forgotten.add(layout, user, (*plan.rows, *plan.looked.copies), rfc3339(setup.time_us()), fsync)
        holdings = plan.looked.holdings
        if source:
            holdings = forget_sources.erase(setup, user, plan.sought, holdings)
        for item in plan.items:
            forget_quarantine.remove(setup, user, item)
        journal.forget(layout, user, gone, timeout_s, fsync=fsync)
        for tier, place in _places(setup, user):
            erasure.remove_lines(layout, place, partial(_goes, tier, plan.sought.traces), fsync=fsync)
        erasure.drop_derived(layout, user)
        if plan.rows:
            setup.event(user, "tier.forgotten", count=len(plan.rows), record_ids=list(plan.rows))
    return _report(user, plan, holdings, applied=True)


def _check_known(setup: Setup, user: str) -> None:
    layout = setup.layout
    places = [*(place for _, place in _places(setup, user)), layout.forgotten(user)]
    if not any(os.path.lexists(place.path) for place in places):
        raise setup.no_user(user, "records")


def _places(setup: Setup, user: str) -> list[tuple[str, Place]]:
    """The files with records of a user, the archive first; what is read there is of a tier."""
    tiered = [(tier, setup.layout.tier(tier, user)) for tier in reversed(TIERS)]
    return [(COLD, setup.layout.archive(user)), *tiered]


# -- the plan ---------------------------------------------------------------------------------------------


def _planned(
    setup: Setup,
    user: str,
    ids: Sequence[str],
    filters: Filters,
    words: Sequence[str] | None,
    source: bool,
) -> _Plan:
    held = tiers.read(setup.layout, user).records
    archived = {item.record.id: item.record for item in archive.read(setup.layout, user)}
    everything = {**archived, **held}
    already: list[str] = []
    if ids:
        chosen, already = _named(setup, user, ids, everything)
    else:
        found = (*archived.values(), *held.values())
        chosen = list(dict.fromkeys(r.id for r in found if filters.pass_record(r) and _has(r, words)))
    rows: dict[str, dict[str, Any]] = {}
    for id in chosen:
        tier = held[id].tier if id in held else ARCHIVE
        rows[id] = {"id": id, "tier": tier, "conversation": everything[id].conversation, "lines": 0}
    messages: dict[str, set[str]] = {}
    for id in already:
        _note_message(messages, id, None)
    texts: set[str] = set()
    odd: list[tuple[Place, int, bytes]] = []
    for _, place in _places(setup, user):
        for number, line in enumerate(line_files.lines(place), 1):
            record = records.read(line.data, COLD)
            if record is None:
                odd.append((place, number, line.data))
            elif record.id in rows:
                rows[record.id]["lines"] += 1
                texts.update(_texts(record))
                _note_message(messages, record.id, record)
    by_conversation = {name: frozenset(found) for name, found in messages.items()}
    if already:
        # The records are gone, and with them their texts: the messages may still tell them.
        texts |= forget_sources.texts_of(setup, user, by_conversation)
    looked_for = Traces(texts, (*rows, *already))
    sought = forget_sources.Sought(looked_for, by_conversation)
    others = [
        id for id, r in everything.items() if id not in rows and any(map(looked_for.in_text, _texts(r)))
    ]
    return _Plan(
        rows,
        already,
        sought,
        sum(_goes_as_damaged(*line, looked_for) for line in odd),
        list(forget_quarantine.items(setup, user, sought)),
        forget_sources.look(setup, user, sought, remove=source),
        sorted(others),
        {id: everything[id].searchable for id in rows},
    )


def _named(
    setup: Setup, user: str, ids: Sequence[str], everything: dict[str, Record]
) -> tuple[list[str], list[str]]:
    """The ids that are there, and those of which nothing is left. Raises NotFound."""
    known = forgotten.ids(setup.layout, user)
    ids = list(dict.fromkeys(ids))
    for id in ids:
        if id not in everything and id not in known:
            raise NotFound(
                f"no record {id} of {names.Reference(user).written()}; nothing was forgotten",
                hint=f"memctl records {names.Reference(user).written()} shows the ids",
            )
    return [id for id in ids if id in everything], [id for id in ids if id not in everything]


def _texts(record: Record) -> set[str]:
    return {record.content, record.searchable}


def _has(record: Record, words: Sequence[str] | None) -> bool:
    return words is None or any(traces.has_words(text, words) for text in _texts(record))


def _note_message(messages: dict[str, set[str]], id: str, record: Record | None) -> None:
    """Note the message that a record comes from: `CONVERSATION#MESSAGE` where nothing else tells."""
    conversation = None if record is None else record.conversation
    own = "" if record is None else record.metadata.get("message_id", "")
    if conversation is not None:
        message = own or id.removeprefix(f"{conversation}#")
        messages.setdefault(conversation, set()).add(message)
        return
    at = id.find("#")
    while record is None and at >= 0:
        # Either name may have the sign.
        messages.setdefault(id[:at], set()).add(id[at + 1 :])
        at = id.find("#", at + 1)


def _goes(tier: str, looked_for: Traces, line: bytes) -> bool:
    """Whether a line of a tier or of the archive is to go."""
    record = records.read(line, tier)
    if record is not None:
        return record.id in looked_for.ids
    return bool(line.strip()) and looked_for.in_damaged(line)


def _goes_as_damaged(place: Place, number: int, line: bytes, looked_for: Traces) -> bool:
    """Whether a line that is no record is to go. Raises BadInput if other records would go with it."""
    if not line.strip() or not looked_for.in_damaged(line):
        return False
    for piece in lines.read_line(line, kind=RECORD):
        if piece.message is not None and piece.message.get("id") not in looked_for.ids:
            raise BadInput(
                f"{place.path}, line {number}: other records stand there too; nothing was forgotten",
                hint="memctl repair --apply parts them",
            )
    return True


# -- the report -------------------------------------------------------------------------------------------


def _report(user: str, plan: _Plan, holdings: list[forget_sources.Holding], *, applied: bool) -> Forgotten:
    return Forgotten(
        user=user,
        applied=applied,
        records=list(plan.rows.values()),
        already=plan.already,
        copies=[id for id in plan.looked.copies if id not in plan.sought.traces.ids],
        damaged_lines=plan.damaged,
        quarantine=plan.items,
        conversations=[holding.as_row() for holding in holdings if holding.entry is None],
        trash=[holding.as_row() for holding in holdings if holding.entry is not None],
        other_records=plan.others,
        texts={} if applied else plan.texts,
    )
