"""drop: remove single messages, a call together with its results; what is removed goes to quarantine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import covers, marker, turns
from memctl.core.dropping import Summary, covers_after
from memctl.core.splice import with_covers
from memctl.errors import BadInput, NotFound
from memctl.ops.read import derived_id
from memctl.ops.setup import rfc3339, stamp
from memctl.ops.source import open_source, with_index
from memctl.store import log, quarantine
from memctl.store.rewrite import replace_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memctl.core.names import Reference
    from memctl.ops.setup import Setup
    from memctl.store.sidecar import Index


class Dropped(NamedTuple):
    """What was, or without `applied` would be, removed: ids with their lines, in the order of the log."""

    conversation: str
    applied: bool
    dropped: list[dict[str, Any]]
    quarantined_bytes: int
    summaries_rewritten: int
    late_bytes: int


class _Plan(NamedTuple):
    """Entries to remove; the new bytes of summaries by entry number; bytes of the log looked at."""

    entries: list[int]
    ids: dict[int, str]
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
        return with_index(
            source, None, lambda index: _carry_out(setup, reference, source.fd, index, ids, apply=apply)
        )
    finally:
        os.close(source.fd)


def _carry_out(
    setup: Setup, reference: Reference, fd: int, index: Index, ids: Sequence[str], *, apply: bool
) -> Dropped:
    plan = _plan(reference, index, ids)
    lines: list[dict[str, Any]] = [
        {"id": plan.ids[number], "line": index[number].line, "bytes": _size(index, number)}
        for number in plan.entries
    ]
    late = 0
    if apply:
        for number in plan.entries:
            _set_aside(setup, reference, index, number)
        late = replace_log(
            setup.layout,
            setup.place(reference),
            fd,
            _kept(fd, index, plan),
            plan.end,
            fsync=setup.fsync(),
            settle_s=setup.settle_s(),
        )
    return Dropped(
        conversation=reference.written(),
        applied=apply,
        dropped=lines,
        quarantined_bytes=sum(int(line["bytes"]) for line in lines),
        summaries_rewritten=len(plan.rewritten),
        late_bytes=late,
    )


def _size(index: Index, number: int) -> int:
    return index[number].end - index.line_start(number)


def _plan(reference: Reference, index: Index, ids: Sequence[str]) -> _Plan:
    wanted = set(ids)
    known = {number: id for number, id, _ in _identified(index)}
    chosen = {number for number, id in known.items() if id in wanted}
    for id in ids:
        if id not in known.values():
            raise NotFound(
                f"no message {id} in {reference.written()}; nothing was removed",
                hint=f"memctl show {reference.written()} shows the ids",
            )
    entries = sorted(set().union(*(_group(index, number) for number in chosen))) if chosen else []
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
    return _Plan(entries, {number: known[number] for number in entries}, rewritten, end)


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
        summary = Summary(place, boundary, index.stored(number), value)
        line = with_covers(summary.line, covers_after(summary, gone, lines))
        if line != summary.line:
            new[number] = line
    return new


def _summaries(index: Index, first: int) -> list[int]:
    found = []
    number = index.last().summary - 1
    while number > first:
        found.append(number)
        number = index.before(number).summary - 1
    return found[::-1]


def _set_aside(setup: Setup, reference: Reference, index: Index, number: int) -> None:
    start, end = index.line_start(number), index[number].end
    note = {
        "conversation": reference.written(),
        "reason": "dropped",
        "line": index[number].line,
        "offset": start,
        "time": rfc3339(setup.time_us()),
    }
    data = os.pread(index.log, end - start, start)
    quarantine.put(
        setup.layout, reference.user, data, note, stamp=stamp(setup.time_us()), fsync=setup.fsync()
    )


def _kept(fd: int, index: Index, plan: _Plan) -> Iterator[bytes]:
    """The new log: every other line as it is, rewritten summaries in their places."""
    gone = {index[number].line for number in plan.entries}
    changed = {index[number].line: line for number, line in plan.rewritten.items()}
    for number, line in enumerate(log.scan(fd, 0, plan.end), 1):
        if number in gone:
            continue
        if number in changed:
            yield changed[number] + b"\n"
        else:
            yield (
                os.pread(fd, line.size_bytes, line.offset)
                if len(line.data) < line.size_bytes - 1
                else (line.data + (b"\n" if line.terminated else b""))
            )
