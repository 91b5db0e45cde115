"""records: the records of a user as they are stored, with the accesses of the journal counted in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.core import record as core
from memctl.core import times
from memctl.core.names import Reference
from memctl.core.tier import RANK
from memctl.errors import NotFound
from memctl.store import archive, forgotten, journal, line_files, lookup, tiers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memctl.core.record import Record
    from memctl.ops.setup import Setup
    from memctl.store.tiers import Bad

ARCHIVE = "archive"
_NEVER = -(1 << 63)


class Records(NamedTuple):
    """Records in their order, and the lines that are none, also of the `archive`."""

    records: list[Record]
    bad: list[Bad]


def listed(
    setup: Setup,
    user: str,
    *,
    tier: str | None = None,
    scope: str | None = None,
    limit: int | None = None,
    archived: bool = False,
) -> Records:
    """The records of a user, the hottest first, in a tier those with the newest access; none for an unknown.

    `archived`: those that left cold, the newest first.
    """
    setup.check_layout()
    found, bad = _archived(setup, user) if archived else _live(setup, user, tier)
    kept = [record for record in found if scope is None or record.scope == scope]
    return Records(kept[:limit], bad)


def _live(setup: Setup, user: str, tier: str | None) -> tuple[list[Record], list[Bad]]:
    held = tiers.read(setup.layout, user)
    waiting = journal.accesses(setup.layout, user, {id: record.rev for id, record in held.records.items()})
    found = [record for record in held.records.values() if tier in (None, record.tier)]
    if waiting:
        found = [
            core.with_accesses(record, *waiting[record.id]) if record.id in waiting else record
            for record in found
        ]
    return sorted(found, key=_order), [item for item in held.bad if tier in (None, item.tier)]


def _order(record: Record) -> tuple[int, int, str]:
    last = times.microseconds(record.value.get("last_access_at"))
    return -RANK[record.tier], -(_NEVER if last is None else last), record.id


def _archived(setup: Setup, user: str) -> tuple[list[Record], list[Bad]]:
    bad = [
        tiers.Bad(ARCHIVE, number, line.terminated)
        for number, line in enumerate(line_files.lines(setup.layout.archive(user)), 1)
        if line.data.strip() and core.read(line.data, ARCHIVE) is None
    ]
    return [item.record for item in reversed(archive.read(setup.layout, user))], bad


def get(setup: Setup, user: str, id: str) -> Record:
    """One record. Raises NotFound, which says if it was archived or forgotten."""
    setup.check_layout()
    record = lookup.find(setup.layout, user, [id]).get(id)
    if record is None:
        raise missing(setup, user, [id])
    found = journal.accesses(setup.layout, user, {id: record.rev}).get(id)
    return record if found is None else core.with_accesses(record, *found)


def unread_accesses(setup: Setup, user: str) -> str:
    """Why the accesses of the journal are not counted in; "" where they are, or there are none."""
    return journal.unread(setup.layout, user)


def missing(setup: Setup, user: str, ids: Iterable[str]) -> NotFound:
    """The error for ids that no tier holds; it names the first, and where that is instead."""
    id = min(ids)
    name = Reference(user).written()
    if id in {item.record.id for item in archive.read(setup.layout, user)}:
        return NotFound(
            f"the record {id} of {name} was archived",
            hint=f"memctl records {name} --archived shows it; its line brings it back: memctl help remember",
        )
    if id in forgotten.ids(setup.layout, user):
        return NotFound(
            f"the record {id} of {name} was forgotten", hint="its text is kept nowhere in the memory"
        )
    return NotFound(f"no record {id} of {name}", hint=f"memctl records {name} shows the ids")
