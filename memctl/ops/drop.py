"""drop: remove single messages, a call together with its results; what is removed goes to quarantine."""

from __future__ import annotations

import os
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import covers, marker, turns
from memctl.core.edits import Edits
from memctl.core.retelling import restated
from memctl.errors import BadInput, NotFound
from memctl.ops import carrying
from memctl.ops.aside import Aside
from memctl.ops.read import derived_id
from memctl.ops.setup import stamp
from memctl.ops.source import open_source, with_index
from memctl.store import log, quarantine, revision

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from memctl.core.edits import Edit
    from memctl.core.lines import Piece
    from memctl.core.names import Reference
    from memctl.ops.setup import Setup
    from memctl.ops.source import Source
    from memctl.store.sidecar import Index


class Dropped(NamedTuple):
    """What was, or without `applied` would be, removed: ids with their lines, in the order of the log.

    `quarantined_bytes` has the old bytes of the rewritten summaries too: they are kept with the messages.
    """

    conversation: str
    applied: bool
    dropped: list[dict[str, Any]]
    quarantined_bytes: int
    summaries_rewritten: int
    late_bytes: int


class Removal(NamedTuple):
    """A line to remove: its number, its id, where its bytes are."""

    line: int
    id: str
    start: int
    end: int


class Plan(NamedTuple):
    """Lines to remove; these and the summaries to rewrite as edits; how many bytes of the log are edited."""

    removals: list[Removal]
    rewritten: int
    edits: Edits
    end: int


def drop(setup: Setup, reference: Reference, ids: Sequence[str], *, apply: bool) -> Dropped:
    """Remove the messages with these ids, and the groups they belong to; durable on return.

    Raises NotFound, with nothing changed, if one of the ids is not in the log.
    """
    if not apply:
        return _drop(setup, reference, ids, apply=False)
    os.close(log.open_log(setup.place(reference), str(setup.missing(reference))))
    setup.ensure_store()
    with setup.lock(reference, "drop"):
        return _drop(setup, reference, ids, apply=True)


def _drop(setup: Setup, reference: Reference, ids: Sequence[str], *, apply: bool) -> Dropped:
    source = open_source(setup, reference)
    try:
        if apply:
            # Another program may be in the middle of a line, which has no entry as a message yet.
            log.settled_tail(source.fd, setup.settle_s())
        plan = with_index(source, None, lambda index: _plan(reference, index, ids))
        late = _carry_out(setup, reference, source, plan) if apply and len(plan.edits) else 0
    finally:
        os.close(source.fd)
    return Dropped(
        conversation=reference.written(),
        applied=apply,
        dropped=[{"id": r.id, "line": r.line, "bytes": r.end - r.start} for r in plan.removals],
        quarantined_bytes=plan.edits.removed_bytes,
        summaries_rewritten=plan.rewritten,
        late_bytes=late,
    )


def _carry_out(setup: Setup, reference: Reference, source: Source, plan: Plan) -> int:
    """Set all of it aside as one item, then replace the log; how many bytes arrived meanwhile."""
    first = plan.removals[0]
    facts = {
        "conversation": reference.written(),
        "reason": "dropped",
        "line": first.line,
        "offset": first.start,
    }
    derived = int(revision.item_id(facts, plan.edits, source.fd, plan.end)[:8], 16)
    moment = stamp(setup.time_us())
    # The same messages may be dropped, appended and dropped again within one second.
    while quarantine.is_kept(setup.layout, reference.user, id := f"{moment}-{derived:08x}"):
        derived = (derived + 1) % (1 << 32)
    carried = Aside(id, facts, id, None)
    place = setup.place(reference)
    return carrying.in_store(setup, reference, place, source, plan.edits, plan.end, carried)


def _plan(reference: Reference, index: Index, ids: Sequence[str]) -> Plan:
    wanted = set(ids)
    known = {number: id for number, id, _ in identified(index)}
    chosen = {number for number, id in known.items() if id in wanted}
    for id in sorted(wanted - set(known.values())):
        raise NotFound(
            f"no message {id} in {reference.written()}; nothing was removed",
            hint=f"memctl show {reference.written()} shows the ids",
        )
    return planned(index, chosen, known)


def planned(index: Index, chosen: Collection[int], known: Mapping[int, str]) -> Plan:
    """What it takes to remove these entries, and the groups they belong to; `known` are ids of messages.

    An entry may be a line that holds no message. Raises BadInput for a line that holds others too.
    """
    members: set[int] = set()
    for number in sorted(chosen):
        if number not in members:
            members |= _group(index, number)
    entries = sorted(members)
    for number in entries:
        line = index[number].line
        neighbours = (number - 1, number + 1)
        if any(0 <= n < len(index) and index[n].line == line for n in neighbours):
            raise BadInput(f"line {line} holds several messages; it has to be repaired before one is removed")
    rewritten = _rewritten(index, [n for n in entries if index.flags(n) & turns.MESSAGE])
    end = index.last().end
    if all(index[number].end < end for number in (*entries[-1:], *rewritten)):
        # What lies behind the last LF may still grow: it is taken over last, with what else arrives.
        end = log.last_newline(index.log, end)
    removals = [
        Removal(index[number].line, known.get(number, ""), index.line_start(number), index[number].end)
        for number in entries
    ]
    edits = Edits()
    for removal in removals:
        edits.add(removal.start, removal.end - removal.start, b"", removal.line, "dropped")
    for number, edit in rewritten.items():
        edits.add(edit.offset, edit.size, edit.text, index[number].line, edit.code)
    return Plan(removals, len(rewritten), edits.sealed(), end)


def identified(
    index: Index, others: Callable[[int, Piece], object] | None = None
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Each message's entry, id and value; `others` is told of the entries that are none."""
    from memctl.core.lines import read_line

    seen: dict[bytes, int] = {}
    for number, piece in enumerate(index.pieces(0, len(index))):
        if not index.flags(number) & turns.MESSAGE:
            if others is not None:
                others(number, piece)
            continue
        value = piece.message or read_line(piece.stored)[0].message or {}
        occurrence = seen.get(piece.printed, 0)
        seen[piece.printed] = occurrence + 1
        yield number, marker.message_id(value) or derived_id(piece.printed, occurrence), value


def _group(index: Index, number: int) -> set[int]:
    """The entry and what it forms a group with: a call and its results."""
    flags = index.flags(number)
    if not flags & (turns.CALL | turns.RESULT):
        return {number}
    start = index[number].start - 1
    members = {start}
    for at in range(start + 1, len(index)):
        if index.flags(at) & turns.START:
            break
        if index.flags(at) & turns.RESULT:
            members.add(at)
    return members


def _rewritten(index: Index, entries: list[int]) -> dict[int, Edit]:
    """The edits of the summaries behind the first removed message that say what they cover, by entry."""
    if not entries:
        return {}
    gone = [index[number].messages - 1 for number in entries]
    removed = set(gone)
    new: dict[int, Edit] = {}
    staying = [place for place in range(index.last().messages) if place not in removed]

    def line(number: int) -> bytes:
        stored = index.stored(number)
        return stored[: len(stored) - new[number].size] + new[number].text if number in new else stored

    def lines(first: int, end: int) -> list[bytes]:
        return [line(index.entry_of(place)) for place in staying[first:end]]

    for number in _summaries(index, entries[0]):
        place = index[number].messages - 1
        if place in removed or not covers.readable(index.value(number)):
            continue
        frontier = index[number].frontier
        boundary = index[frontier - 1].messages if frontier else 0
        stated = covers.stating(
            place - bisect_left(gone, place), boundary - bisect_left(gone, boundary), lines
        )
        at = _stored_at(index, number)
        edit = None if at is None else restated(index.stored(number), at, stated)
        if edit is not None:
            new[number] = edit
    return new


def _stored_at(index: Index, number: int) -> int | None:
    """Where the stored bytes of a message begin; its line may hold others in front of it.

    None for one that is read otherwise than it stands there.
    """
    start = index.line_start(number)
    line = log.read_span(index.log, start, index[number].end)
    first = number
    while first and index[first - 1].line == index[number].line:
        first -= 1
    at = end = 0
    for piece in map(index.stored, range(first, number + 1)):
        at = line.find(piece, end)
        if at < 0:
            return None
        end = at + len(piece)
    return start + at


def _summaries(index: Index, first: int) -> list[int]:
    found = []
    number = index.last().summary - 1
    while number > first:
        found.append(number)
        number = index.before(number).summary - 1
    return found[::-1]
