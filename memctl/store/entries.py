"""The entries of a log's index: what they hold, how they are packed, how they are asked.

Entries are of one size, each proved by its own CRC, which is seeded with its number. Saved ones lie in a
file, read in blocks as they are needed; newer ones wait in memory.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import turns
from memctl.core.finding import CODES
from memctl.core.jsonl import LINE_MAX_BYTES
from memctl.core.lines import Piece, read_line
from memctl.store import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ENTRY = struct.Struct("<Q10IHBBI")
#: Room for the header in front of the entries.
HEADER_BYTES = 96
ENTRY_BYTES = _ENTRY.size
_BLOCK_ENTRIES = 64
_SPAN_BYTES = 1 << 20
_CRC_BLOCK_BYTES = 1 << 18


class Damaged(Exception):
    """The cache or the log is not what the other says; the cache has to go."""


class Entry(NamedTuple):
    """One piece of a line. Counts run from the start of the log up to and including this entry.

    `end`: offset behind the line. `crc`: CRC-32 of the log up to there. `line`: from 1. `messages`: all.
    `sent`, `clean`: messages of complete groups, of those without an incomplete answer. `marks`: lines that
    are left out or mended, and groups found broken. `summary`, `user`, `start`: entry number plus one of the
    last summary, user message, start of a group, 0 for none. `frontier`: first entry not covered.
    """

    end: int
    crc: int
    line: int
    messages: int
    sent: int
    clean: int
    marks: int
    summary: int
    frontier: int
    user: int
    start: int
    flags: int
    code: int
    role: int


NOTHING = Entry(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, turns.LEADING, 0, 0)


class Entries:
    """The entries of the log `fd`. Any access raises Damaged when entries and log do not agree."""

    def __init__(self, fd: int) -> None:
        self.log = fd
        self._file = -1
        self._saved = 0
        self._unsaved: list[bytes] = []
        self._blocks: dict[int, bytes] = {}

    def __len__(self) -> int:
        return self._saved + len(self._unsaved)

    @property
    def saved(self) -> int:
        """How many entries lie in the file; all of them are of lines that are ended by LF."""
        return self._saved

    def __getitem__(self, number: int) -> Entry:
        data = self._packed(number)
        *fields, own = _ENTRY.unpack(data)
        if own != zlib.crc32(data[:-4], number & 0xFFFFFFFF):
            raise Damaged(f"entry {number}")
        return Entry._make(fields)

    def _packed(self, number: int) -> bytes:
        if number >= self._saved:
            return self._unsaved[number - self._saved]
        block_number, place = divmod(number, _BLOCK_ENTRIES)
        block = self._blocks.get(block_number, b"")
        if len(block) < (place + 1) * ENTRY_BYTES:
            start = HEADER_BYTES + block_number * _BLOCK_ENTRIES * ENTRY_BYTES
            try:
                block = os.pread(self._file, _BLOCK_ENTRIES * ENTRY_BYTES, start)
            except OSError as error:
                raise Damaged(f"the cache cannot be read: {error.strerror}") from None
            if len(self._blocks) > 1024:
                self._blocks.clear()
            self._blocks[block_number] = block
        data = block[place * ENTRY_BYTES : (place + 1) * ENTRY_BYTES]
        if len(data) < ENTRY_BYTES:
            raise Damaged(f"entry {number} is missing")
        return data

    def add(self, entry: Entry) -> None:
        """Put an entry behind the last one, in memory."""
        body = _ENTRY.pack(*entry, 0)[:-4]
        self._unsaved.append(body + zlib.crc32(body, len(self) & 0xFFFFFFFF).to_bytes(4, "little"))

    @property
    def unsaved(self) -> int:
        """How many entries wait in memory."""
        return len(self._unsaved)

    def save(self) -> None:
        """Write the waiting entries of whole lines into the file. Raises OSError."""
        count = len(self._unsaved)
        if count and os.pread(self.log, 1, self.last().end - 1) != b"\n":
            line = self.last().line
            while count and self[self._saved + count - 1].line == line:
                count -= 1
        if count:
            data = b"".join(self._unsaved[:count])
            files.overwrite(self._file, data, HEADER_BYTES + self._saved * ENTRY_BYTES)
            self._saved += count
            del self._unsaved[:count]

    def last(self) -> Entry:
        """The last entry; one of an empty log if there is none."""
        return self[len(self) - 1] if len(self) else NOTHING

    def before(self, number: int) -> Entry:
        """The entry in front of `number`; that of an empty log for 0."""
        return self[number - 1] if number else NOTHING

    def flags(self, number: int) -> int:
        """The flags of an entry."""
        return self[number].flags

    def line_start(self, number: int) -> int:
        """Where the line of an entry begins."""
        line = self[number].line
        while number and (entry := self[number - 1]).line == line:
            number -= 1
        return entry.end if number else 0

    def entry_of(self, message: int) -> int:
        """The entry of the message with this number, counted from 0."""
        return self.first_where(0, lambda entry: entry.messages > message)

    def first_where(self, low: int, reached: Callable[[Entry], bool]) -> int:
        """The first entry from `low` on for which a running count is reached; the length if none."""
        high = len(self)
        while low < high:
            middle = (low + high) // 2
            if reached(self[middle]):
                high = middle
            else:
                low = middle + 1
        return low

    def next_with(self, number: int, flag: int) -> int:
        """The first entry from `number` on that has the flag; the length if none."""
        size = len(self)
        while number < size and not self[number].flags & flag:
            number += 1
        return number

    def pieces(self, first: int, end: int) -> Iterator[Piece]:
        """The pieces of the entries from `first` to `end`; their lines are checked against the entries.

        A sound message comes as its bytes alone, unparsed: with `message` None and no code.
        """
        if first >= end:
            return
        position = self.line_start(first)
        if position and os.pread(self.log, 1, position - 1) != b"\n":
            raise Damaged("a span does not begin behind a LF")
        number = self._first_of_line(first)
        crc = self.before(number).crc
        data, at = b"", 0
        while number < end:
            entry = self[number]
            size = entry.end - position
            if size > LINE_MAX_BYTES + 1:
                yield Piece(b"", CODES[entry.code], None, None)
                position, crc, data, at = entry.end, entry.crc, b"", 0
                number += 1
                continue
            if at + size > len(data):
                wanted = max(size, min(_SPAN_BYTES, self[end - 1].end - position))
                data, at = os.pread(self.log, wanted, position), 0
            raw = data[at : at + size]
            at += size
            position = entry.end
            crc = zlib.crc32(raw, crc)
            if crc != entry.crc:
                raise Damaged(f"line {entry.line} is not the line of the index")
            count = 1
            while number + count < len(self) and self[number + count].end == entry.end:
                count += 1
            if count == 1 and entry.flags & turns.MESSAGE and not entry.flags & turns.MENDED:
                yield Piece(raw.removesuffix(b"\n"), "", None, None)
            else:
                pieces = read_line(raw.removesuffix(b"\n"), terminated=raw.endswith(b"\n"))
                if len(pieces) != count:
                    raise Damaged(f"line {entry.line} has {len(pieces)} pieces")
                for place, piece in enumerate(pieces, number):
                    if first <= place < end:
                        yield piece
            number += count

    def stored(self, number: int) -> bytes:
        """The bytes of an entry's piece as they are in the log, without line end."""
        return next(iter(self.pieces(number, number + 1))).stored

    def value(self, number: int) -> dict[str, Any]:
        """The message of an entry, parsed; empty for one that is none."""
        piece = next(iter(self.pieces(number, number + 1)))
        if piece.message is None and not piece.code:
            piece = read_line(piece.stored)[0]
        return piece.message or {}

    def span_agrees(self, first: int, last: int) -> bool:
        """Whether the log's bytes of the lines of two entries, and between them, are the index's."""
        before, end = self.before(first), self[last]
        return log_crc(self.log, before.end, end.end, before.crc) == end.crc

    def _first_of_line(self, number: int) -> int:
        line = self[number].line
        while number and self[number - 1].line == line:
            number -= 1
        return number


def log_crc(fd: int, start: int, end: int, crc: int) -> int:
    """The CRC-32 of a file up to `end`, `crc` being that of the bytes in front of `start`."""
    while start < end and (block := os.pread(fd, min(_CRC_BLOCK_BYTES, end - start), start)):
        crc = zlib.crc32(block, crc)
        start += len(block)
    return crc
