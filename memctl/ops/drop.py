"""drop: remove single messages, a call together with its results; what is removed goes to quarantine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import covers, marker, turns
from memctl.core.dropping import Summary, covers_after
from memctl.core.splice import with_covers
from memctl.errors import BadInput, MemctlError, NotFound
from memctl.ops.read import derived_id
from memctl.ops.setup import rfc3339, stamp
from memctl.ops.source import open_source, with_index
from memctl.store import log, quarantine
from memctl.store.rewrite import replace_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memctl.core.names import Reference
    from memctl.ops.setup import Setup
    from memctl.store.layout import Place
    from memctl.store.sidecar import Index


class Dropped(NamedTuple):
    """What was, or without `applied` would be, removed: ids with their lines, in the order of the log."""

    conversation: str
    applied: bool
    dropped: list[dict[str, Any]]
    quarantined_bytes: int
    summaries_rewritten: int
    late_bytes: int


class _Removal(NamedTuple):
    """A line to remove: its number, its id, where its bytes are."""

    line: int
    id: str
    start: int
    end: int


class _Plan(NamedTuple):
    """Lines to remove; the new bytes of summaries by line; how many bytes of the log were looked at."""

    removals: list[_Removal]
    rewritten: dict[int, bytes]
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
        late = _carry_out(setup, reference, source.fd, plan) if apply else 0
    finally:
        os.close(source.fd)
    return Dropped(
        conversation=reference.written(),
        applied=apply,
        dropped=[{"id": r.id, "line": r.line, "bytes": r.end - r.start} for r in plan.removals],
        quarantined_bytes=sum(r.end - r.start for r in plan.removals),
        summaries_rewritten=len(plan.rewritten),
        late_bytes=late,
    )


def _carry_out(setup: Setup, reference: Reference, fd: int, plan: _Plan) -> int:
    """Set the lines aside, then replace the log; how many bytes arrived meanwhile and were kept."""
    aside: list[str] = []
    try:
        for removal in plan.removals:
            aside.append(_set_aside(setup, reference, fd, removal))
        return replace_log(
            setup.layout.tmp(setup.place(reference)),
            setup.place(reference),
            fd,
            _kept(fd, plan),
            plan.end,
            fsync=setup.fsync(),
            settle_s=setup.settle_s(),
        )
    except (OSError, MemctlError):
        # Once the log is replaced, what was set aside is the only copy.
        if _is_in_place(fd, setup.place(reference)):
            for id in aside:
                quarantine.take_back(setup.layout, reference.user, id)
        raise


def _is_in_place(fd: int, place: Place) -> bool:
    """Whether the open log is still the one that the conversation's name leads to."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(place.path, follow_symlinks=False))
    except OSError:
        return False


def _plan(reference: Reference, index: Index, ids: Sequence[str]) -> _Plan:
    wanted = set(ids)
    known = {number: id for number, id, _ in _identified(index)}
    chosen = {number for number, id in known.items() if id in wanted}
    for id in sorted(wanted - set(known.values())):
        raise NotFound(
            f"no message {id} in {reference.written()}; nothing was removed",
            hint=f"memctl show {reference.written()} shows the ids",
        )
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
    rewritten = _rewritten(index, entries)
    end = index.last().end
    if all(index[number].end < end for number in (*entries[-1:], *rewritten)):
        # What lies behind the last LF may still grow: it is taken over last, with what else arrives.
        end = log.last_newline(index.log, end)
    removals = [
        _Removal(index[number].line, known[number], index.line_start(number), index[number].end)
        for number in entries
    ]
    return _Plan(removals, {index[number].line: line for number, line in rewritten.items()}, end)


def _identified(index: Index) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Each message's entry, id and value."""
    from memctl.core.lines import read_line

    seen: dict[bytes, int] = {}
    for number, piece in enumerate(index.pieces(0, len(index))):
        if not index.flags(number) & turns.MESSAGE:
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


def _rewritten(index: Index, entries: list[int]) -> dict[int, bytes]:
    """The new lines of the summaries behind the first removed message that say what they cover."""
    if not entries:
        return {}
    gone = [index[number].messages - 1 for number in entries]
    removed = set(gone)
    new: dict[int, bytes] = {}
    staying = [place for place in range(index.last().messages) if place not in removed]

    def lines(first: int, end: int) -> list[bytes]:
        numbers = [index.entry_of(place) for place in staying[first:end]]
        return [new.get(number) or index.stored(number) for number in numbers]

    for number in _summaries(index, entries[0]):
        place = index[number].messages - 1
        value = index.value(number)
        if place in removed or not covers.readable(value):
            continue
        frontier = index[number].frontier
        boundary = index[frontier - 1].messages if frontier else 0
        stored = index.stored(number)
        line = with_covers(stored, covers_after(Summary(place, boundary), gone, lines))
        if line != stored:
            new[number] = line
    return new


def _summaries(index: Index, first: int) -> list[int]:
    found = []
    number = index.last().summary - 1
    while number > first:
        found.append(number)
        number = index.before(number).summary - 1
    return found[::-1]


def _set_aside(setup: Setup, reference: Reference, fd: int, removal: _Removal) -> str:
    note = {
        "conversation": reference.written(),
        "reason": "dropped",
        "line": removal.line,
        "offset": removal.start,
        "time": rfc3339(setup.time_us()),
    }
    data = log.read_span(fd, removal.start, removal.end)
    return quarantine.put(
        setup.layout, reference.user, data, note, stamp=stamp(setup.time_us()), fsync=setup.fsync()
    )


def _kept(fd: int, plan: _Plan) -> Iterator[bytes]:
    """The new log: every other line as it is, rewritten summaries in their places."""
    gone = {removal.line for removal in plan.removals}
    for number, line in enumerate(log.scan(fd, 0, plan.end), 1):
        if number in gone:
            continue
        if number in plan.rewritten:
            yield plan.rewritten[number] + b"\n"
        else:
            yield log.read_span(fd, line.offset, line.offset + line.size_bytes)
