"""reconcile, one user: the pass, looked at without a lock, carried out under it, safe to kill at any moment.

What leaves a tier is durable where it goes before it leaves: in the archive, then in every other tier, then
the tier's own file is replaced. The higher `rev` tells which of two lines is the record meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import cold_summary, migration
from memctl.core import record as records
from memctl.core.edits import Edits
from memctl.core.migration import Move
from memctl.core.tier import COLD, TIERS
from memctl.core.tiering import moment_us
from memctl.errors import LockTimeout
from memctl.ops.setup import rfc3339
from memctl.store import archive, intent, journal, line_files, revision, survey, tiers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.core.record import Record
    from memctl.core.tiering import Policy, State
    from memctl.ops.setup import Setup
    from memctl.store.survey import Seen


class Rules(NamedTuple):
    """By what records move: the policy, the one tier of all ("" for none), whether the evicted are kept."""

    policy: Policy
    single: str
    keeps_evicted: bool


class Look(NamedTuple):
    """What a pass finds, and would do: the records, the accesses to fold in, the moves."""

    found: survey.Survey
    pending: journal.Pending
    moves: list[Move]

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to do, not even to clear up."""
        return not self.moves and self.pending.is_empty and not any(self.found.stale.values())

    def is_same(self, setup: Setup, user: str) -> bool:
        """Whether the files are still those that were looked at."""
        return (
            not self.pending.left
            and self.found.files == tiers.state(setup.layout, user)
            and self.pending[:2] == journal.pending(setup.layout, user, {})[:2]
        )


def look(setup: Setup, user: str, rules: Rules) -> Look:
    """The pass over a user's records at the present of `setup`. Nothing is changed. Raises Changing."""
    found = survey.survey(setup.layout, user)
    pending = journal.pending(setup.layout, user, _Revs(found.seen))
    states = (_accessed(row.state, pending.accesses) for row in found.seen.values())
    if not pending.accesses:
        states = (row.state for row in found.seen.values())
    moves = migration.plan(states, rules.policy, setup.time_us(), rules.single)
    return Look(found, pending, moves)


class _Revs(Mapping[str, int]):
    """The revs of the records that were seen; few of many are asked for."""

    def __init__(self, seen: dict[str, Seen]) -> None:
        self._seen = seen

    def __getitem__(self, id: str) -> int:
        return self._seen[id].rev

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)


def _accessed(state: State, all_accesses: Mapping[str, journal.Accesses]) -> State:
    """The state of a record with its accesses."""
    accesses = all_accesses.get(state.id)
    if accesses is None:
        return state
    known, newest = moment_us(state.last_access_at), moment_us(accesses.last)
    last = accesses.last if newest is not None and (known is None or known < newest) else state.last_access_at
    return state._replace(accesses=state.accesses + accesses.number, last_access_at=last)


def line_of(fd: int, row: Seen) -> bytes:
    """The bytes of a record's line, without LF."""
    return os.pread(fd, row.size_bytes, row.offset).removesuffix(b"\n")


def carry_out(setup: Setup, user: str, seen: Look, rules: Rules, summaries: Mapping[str, str]) -> None:
    """Carry a pass out, under the lock of the records; durable on return.

    `summaries` are those of records that enter cold, by id.
    """
    fds = {tier: line_files.open_for_reading(setup.layout.tier(tier, user)) for tier in TIERS}
    try:
        change = _Change(seen, fds, rfc3339(setup.time_us()), summaries, rules.keeps_evicted)
        _write(setup, user, seen, change)
    finally:
        for fd in fds.values():
            if fd is not None:
                os.close(fd)


class _Change:
    """What becomes of each file: edits of the old one, lines that come in, lines for the archive."""

    def __init__(
        self,
        seen: Look,
        fds: Mapping[str, int | None],
        now: str,
        summaries: Mapping[str, str],
        keeps_evicted: bool,
    ) -> None:
        self.fds = fds
        self.gains: dict[str, list[bytes]] = {tier: [] for tier in TIERS}
        self.archived: list[bytes] = []
        self.edits: dict[str, Edits] = {}
        self._sizes = {tier: 0 if fd is None else os.fstat(fd).st_size for tier, fd in fds.items()}
        moves = {move.id: move for move in seen.moves}
        accesses = seen.pending.accesses
        rows = sorted(
            (seen.found.seen[id] for id in {*moves, *accesses}), key=lambda row: (row.state.tier, row.offset)
        )
        edits = {tier: Edits() for tier in TIERS}
        for row in rows:
            id, tier = row.state.id, row.state.tier
            fd = fds[tier]
            assert fd is not None
            record = records.read(line_of(fd, row), tier)
            assert record is not None
            move = moves.get(id)
            line = _changed(record, accesses.get(id), move, now, summaries.get(id), keeps_evicted)
            if move is None:
                edits[tier].add(row.offset, row.size_bytes, line + b"\n", 0, "")
                continue
            edits[tier].add(row.offset, row.size_bytes, b"", 0, "")
            if move.target is not None:
                self.gains[move.target].append(line)
            elif keeps_evicted:
                self.archived.append(line)
        for tier, places in seen.found.stale.items():
            for offset, size_bytes in places:
                edits[tier].add(offset, size_bytes, b"", 0, "")
            self.edits[tier] = edits[tier].sealed()
        flows = ((move.source, move.target) for move in seen.moves if move.target is not None)
        self.order = migration.order(flows, self._sizes)

    def additions(self, tier: str) -> Iterator[bytes]:
        """The old file of a tier and what comes in."""
        return self._file(tier, Edits())

    def final(self, tier: str) -> Iterator[bytes]:
        """The new file of a tier."""
        return self._file(tier, self.edits[tier])

    def _file(self, tier: str, edits: Edits) -> Iterator[bytes]:
        fd, size_bytes = self.fds[tier], self._sizes[tier]
        last = b"\n"
        if fd is not None:
            for block in revision.edited(fd, edits, size_bytes):
                last = block[-1:] or last
                yield block
        if self.gains[tier]:
            # A line that a crash or another program left without LF stays a line of its own.
            yield (b"" if last == b"\n" else b"\n") + b"".join(line + b"\n" for line in self.gains[tier])


def _changed(
    record: Record,
    accesses: journal.Accesses | None,
    move: Move | None,
    now: str,
    summary: str | None,
    keeps_evicted: bool,
) -> bytes:
    """The line of a record with its accesses and its move in it, and a `rev` more."""
    if accesses is not None:
        record = records.with_accesses(record, accesses.number, accesses.last)
    changes: dict[str, str | int] = {"rev": record.rev + 1}
    since = record.tier_access_count
    if move is not None and move.target is not None:
        changes |= {"tier": move.target, "promoted_at": now}
        since = 0
    # Without this key a record with a rev has no accesses in its tier.
    if since or "tier_access_count" in record.value:
        changes["tier_access_count"] = since
    if move is not None and move.target is None and keeps_evicted:
        changes |= archive.marks(now, move.reason)
    line = records.changed(record, changes)
    if summary is not None and move is not None and move.target == COLD:
        line = cold_summary.with_summary(line, summary)
    return line


def _write(setup: Setup, user: str, seen: Look, change: _Change) -> None:
    layout, fsync = setup.layout, setup.fsync()
    mark, end, accesses, *_ = seen.pending
    if accesses or change.archived:
        revs = {id: seen.found.seen[id].rev + 1 for id in accesses}
        size_bytes = archive.size_bytes(layout, user) if change.archived else None
        intent.write(layout, user, intent.Intent(mark, end, revs, size_bytes), fsync=fsync)
    archive.append(layout, user, change.archived, fsync=fsync)
    for tier in change.order.first:
        line_files.replace(layout, layout.tier(tier, user), change.additions(tier), fsync=fsync)
    for tier in change.order.finals:
        if len(change.edits[tier]) or (change.gains[tier] and tier not in change.order.first):
            line_files.replace(layout, layout.tier(tier, user), change.final(tier), fsync=fsync)
    if mark is not None:
        try:
            timeout_s = float(setup.settings["lock.timeout_s"])
            journal.drop_folded(layout, user, mark, end, timeout_s, fsync=fsync)
        except LockTimeout:
            # The intent stays, and tells that these accesses are folded in; the next pass clears up.
            return
    if accesses or change.archived:
        intent.remove(layout, user)
