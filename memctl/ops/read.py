"""read: the messages of a log as they are stored, with their ids; what `show` prints."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import jsonl, marker, turns
from memctl.core.finding import CODES, Finding
from memctl.core.message import Message
from memctl.ops.log_view import LogView
from memctl.ops.source import open_source, with_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memctl.core.names import Reference
    from memctl.ops.setup import Setup
    from memctl.ops.source import Source
    from memctl.store.sidecar import Index

_FOLLOW_POLL_S = 0.2


class Log(NamedTuple):
    """Messages of a log. `findings`: the faults of lines that hold none; `mended`: of those among `messages`
    whose bytes are not the stored ones but as repair would write them.
    """

    name: str
    total: int
    messages: list[Message]
    findings: list[Finding]
    mended: list[Finding]


def read(
    setup: Setup,
    target: Reference | str,
    *,
    last: int | None = None,
    span: tuple[int | None, int | None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Log:
    """The messages of a conversation or a file: all, the `last` ones, or a `span` as of a Python slice."""
    source = open_source(setup, target)
    try:
        return with_index(source, progress, lambda index: _read(source, index, last, span))
    finally:
        os.close(source.fd)


def _read(source: Source, index: Index, last: int | None, span: tuple[int | None, int | None] | None) -> Log:
    total = index.last().messages
    start, end = 0, total
    if last is not None:
        start = max(0, total - last)
    elif span is not None:
        start, end, _ = slice(*span).indices(total)
    messages = list(messages_of(index, start, end)) if start < end else []
    # Lines behind the messages that were there before are looked at by whoever follows the log.
    first = index.entry_of(start - 1) + 1 if start else 0
    stop = index.entry_of(end) if end < total else len(index)
    marked = [entry for number, entry in LogView(index).marked(first) if number < stop]
    findings = [Finding(entry.line, CODES[entry.code]) for entry in marked if turns.is_damage(entry.flags)]
    mended = [Finding(entry.line, CODES[entry.code]) for entry in marked if entry.flags & turns.MENDED]
    return Log(source.name, total, messages, findings, mended)


def messages_of(index: Index, start: int, end: int) -> Iterator[Message]:
    """The messages from number `start` to `end`, there being some."""
    yield from _with_ids(index, list(_without_ids(index, start, end)))


def messages_at(index: Index, positions: Iterable[int]) -> dict[int, Message]:
    """The messages with these numbers, by number."""
    found: list[Message] = []
    start = end = -1
    for position in sorted(set(positions)):
        if position != end:
            if start >= 0:
                found += _without_ids(index, start, end)
            start = position
        end = position + 1
    if start >= 0:
        found += _without_ids(index, start, end)
    return {message.position: message for message in _with_ids(index, found)}


def _without_ids(index: Index, start: int, end: int) -> Iterator[Message]:
    """Messages one after another, "" as the id of one that carries none."""
    first, stop = index.entry_of(start), index.entry_of(end - 1) + 1
    for number, piece in enumerate(index.pieces(first, stop), first):
        entry = index[number]
        if not entry.flags & turns.MESSAGE:
            continue
        value = jsonl.exact(piece.printed.decode("utf-8"))
        yield Message(
            position=entry.messages - 1,
            line=entry.line,
            id=marker.message_id(value) or "",
            created_at=marker.created_at(value),
            raw=piece.printed,
            value=value,
            problem=CODES[entry.code],
        )


def _with_ids(index: Index, messages: Sequence[Message]) -> Iterator[Message]:
    """Messages, in order, that have no id get one from their bytes and how often those came before."""
    missing = {message.raw for message in messages if not message.id}
    if not missing:
        yield from messages
        return
    seen: dict[bytes, int] = {}
    next_position = 0
    for message in messages:
        if message.position != next_position:
            first = index.entry_of(next_position - 1) + 1 if next_position else 0
            for number, piece in enumerate(index.pieces(first, index.entry_of(message.position)), first):
                if piece.printed in missing and index.flags(number) & turns.MESSAGE:
                    seen[piece.printed] = seen.get(piece.printed, 0) + 1
        next_position = message.position + 1
        occurrence = seen.get(message.raw, 0)
        seen[message.raw] = occurrence + 1
        yield message if message.id else message._replace(id=derived_id(message.raw, occurrence))


def derived_id(raw: bytes, occurrence: int) -> str:
    """The id of a line that carries none: 16 hex digits of its bytes and of how often they came before."""
    from hashlib import sha256

    return sha256(b"%d\n" % occurrence + raw).hexdigest()[:16]


def _from(source: Source, position: int) -> Log:
    return with_index(source, None, lambda index: _read(source, index, None, (position, None)))


def follow(setup: Setup, target: Reference | str, position: int) -> Iterator[Log]:
    """What is written from the message `position` on, as it comes; it does not end on its own.

    A log that became shorter is read again from its start.
    """
    seen: tuple[int, int, int] | None = None
    while True:
        source = open_source(setup, target)
        try:
            status = os.fstat(source.fd)
            now = (status.st_ino, status.st_size, status.st_mtime_ns)
            if now != seen:
                seen = now
                log = _from(source, position)
                if log.total < position:
                    position, seen = 0, None
                else:
                    position = log.total
                    if log.messages:
                        yield log
        finally:
            os.close(source.fd)
        if seen is not None:
            time.sleep(_FOLLOW_POLL_S)
