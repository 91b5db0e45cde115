"""The pass over a log that makes its index: each line is read once, each piece becomes an entry."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from memctl.core import covers, turns
from memctl.core.lines import read_line
from memctl.store.entries import NOTHING, Entry, log_crc
from memctl.store.scanning import scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memctl.core.lines import Piece
    from memctl.store.entries import Entries
    from memctl.store.scanning import Line

#: After so many new entries `checkpoint` is called: they can be saved and leave memory.
BATCH_ENTRIES = 4096
_RECENT_LINES = 16


def take_in(entries: Entries, end: int, checkpoint: Callable[[int], None]) -> None:
    """Add the entries of the log's bytes from where they end up to the offset `end`."""
    entry = entries.last() if len(entries) else NOTHING
    reader = _resume(entries, entry)
    number, crc = entry.line, entry.crc
    # Blank lines that follow one another are one entry, that of the last.
    for line in scan(entries.log, entry.end, end, join_blank=True):
        number += 1 + line.data.count(b"\n")
        crc = _crc_behind(entries.log, line, crc)
        pieces = read_line(line.data, terminated=line.terminated)
        first = len(entries)
        for piece in pieces:
            place = (line.offset + line.size_bytes, crc, number)
            entry = _next(entries, entry, place, piece, reader.feed(piece), pieces, first)
            entries.add(entry)
        if entries.unsaved >= BATCH_ENTRIES:
            checkpoint(entry.end)


def _crc_behind(fd: int, line: Line, crc: int) -> int:
    if len(line.data) + line.terminated < line.size_bytes:
        return log_crc(fd, line.offset, line.offset + line.size_bytes, crc)
    crc = zlib.crc32(line.data, crc)
    return zlib.crc32(b"\n", crc) if line.terminated else crc


def _resume(entries: Entries, last: Entry) -> turns.Reader:
    """A reader in the state behind the last entry: an open call has to be read again for its ids."""
    reader = turns.Reader(leading=bool(last.flags & turns.LEADING))
    start = last.start - 1
    if start >= 0 and entries[start].flags & turns.CALL:
        for piece in entries.pieces(start, len(entries)):
            for whole in read_line(piece.stored) if piece.message is None and not piece.code else [piece]:
                reader.feed(whole)
    return reader


def _next(
    entries: Entries,
    previous: Entry,
    place: tuple[int, int, int],
    piece: Piece,
    mark: turns.Mark,
    line: Sequence[Piece],
    first: int,
) -> Entry:
    """The entry of a piece; `line` are all pieces of its line, `first` is the entry of the first of them."""
    flags, code, role = mark
    number = len(entries)
    sent, clean = _sent(entries, previous, flags)
    summary, frontier = previous.summary, previous.frontier
    if flags & turns.SUMMARY:
        frontier = _frontier(entries, piece, previous, line, first)
        summary = number + 1
    marked = bool(flags & (turns.LEFT | turns.MENDED)) + bool(flags & turns.BROKE)
    return Entry(
        *place,
        messages=previous.messages + bool(flags & turns.MESSAGE),
        sent=sent,
        clean=clean,
        marks=previous.marks + marked,
        summary=summary,
        frontier=frontier,
        user=number + 1 if flags & turns.USER else previous.user,
        start=number + 1 if flags & turns.START else previous.start,
        flags=flags,
        code=code,
        role=role,
    )


def _sent(entries: Entries, previous: Entry, flags: int) -> tuple[int, int]:
    """The running counts of messages sent: a group counts with the line that completes it."""
    if not flags & turns.DONE:
        return previous.sent, previous.clean
    size, spoilt = 1, bool(flags & turns.INCOMPLETE)
    if flags & turns.RESULT:
        for number in range(previous.start - 1, len(entries)):
            member = entries[number].flags
            if member & (turns.START | turns.RESULT):
                size += 1
                spoilt = spoilt or bool(member & turns.INCOMPLETE)
    return previous.sent + size, previous.clean + (0 if spoilt else size)


def _frontier(
    entries: Entries, piece: Piece, previous: Entry, pieces: Sequence[Piece], first_of_line: int
) -> int:
    """The first entry that a summary does not cover."""
    hidden = entries[previous.frontier - 1].messages if previous.frontier else 0

    # A search asks for the same few lines again, one place further each time.
    recent: dict[int, bytes] = {}

    def line(message: int) -> bytes:
        if message not in recent:
            if len(recent) > _RECENT_LINES:
                del recent[next(iter(recent))]
            number = entries.entry_of(message)
            # A line that has not all its entries yet cannot be asked for them.
            own = number - first_of_line
            recent[message] = pieces[own].stored if own >= 0 else entries.stored(number)
        return recent[message]

    def lines(first: int, end: int) -> Sequence[bytes]:
        return [line(message) for message in range(first, end)]

    boundary = covers.boundary(piece.message or {}, previous.messages, hidden, lines)
    return entries.entry_of(boundary - 1) + 1 if boundary else 0
