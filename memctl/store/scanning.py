"""Scanning: the lines of a log one after another, in flat memory but for the longest line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import jsonl

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK_BYTES = 1 << 18


class Line(NamedTuple):
    """A stored line: where it begins, its size with LF, its bytes without LF, whether it has one.

    Of a line beyond `jsonl.LINE_MAX_BYTES` only the beginning is kept, one byte more than that. `scan` may
    join blank lines: then there is a LF between each two of them in the bytes.
    """

    offset: int
    size_bytes: int
    data: bytes
    terminated: bool


def scan(fd: int, start: int, end: int, *, join_blank: bool = False) -> Iterator[Line]:
    """The lines between two offsets; the last one may lack its LF.

    With `join_blank`, blank lines of one block that follow one another come as one line. A line over several
    blocks is read once more, whole: the largest line is then held once, not in parts too.
    """
    for offset, lines, terminated, size_bytes in _batches(fd, start, end):
        if len(lines) == 1:
            yield Line(offset, size_bytes, lines[0], terminated)
            continue
        for data in _joined(lines) if join_blank else lines:
            yield Line(offset, len(data) + 1, data, True)
            offset += len(data) + 1


def batches(fd: int, start: int, end: int) -> Iterator[tuple[int, list[bytes], bool]]:
    """The lines between two offsets, many at once: where the first begins, their bytes, whether each has LF.

    Faster than `scan` for files of small lines; lines of one batch stand side by side.
    """
    for offset, lines, terminated, _ in _batches(fd, start, end):
        yield offset, lines, terminated


def _batches(fd: int, start: int, end: int) -> Iterator[tuple[int, list[bytes], bool, int]]:
    """As `batches`, and how many bytes the lines are in all: of one that is too long not all are held."""
    offset = position = start
    while position < end:
        block = os.pread(fd, min(BLOCK_BYTES, end - position), position)
        if not block:
            break
        lines = block.split(b"\n")
        if offset < position and len(lines) > 1:
            size_bytes = position - offset + len(lines.pop(0)) + 1
            yield offset, [_whole_line(fd, offset, size_bytes, True)], True, size_bytes
            offset += size_bytes
        position += len(block)
        next_offset = position - len(lines.pop())
        if lines:
            yield offset, lines, True, next_offset - offset
            offset = next_offset
    if offset < position:
        yield offset, [_whole_line(fd, offset, position - offset, False)], False, position - offset


def stretch(fd: int, start: int, end: int) -> Iterator[bytes]:
    """The bytes between two offsets, block by block."""
    while start < end:
        block = os.pread(fd, min(BLOCK_BYTES, end - start), start)
        if not block:
            return
        yield block
        start += len(block)


def _joined(lines: list[bytes]) -> Iterator[bytes]:
    """The lines, blank ones that follow one another as one, with their LF between them."""
    first = -1
    for number, data in enumerate(lines):
        if not data.strip(b" \t\r"):
            first = number if first < 0 else first
            continue
        if first >= 0:
            yield b"\n".join(lines[first:number])
            first = -1
        yield data
    if first >= 0:
        yield b"\n".join(lines[first:])


def _whole_line(fd: int, offset: int, size_bytes: int, terminated: bool) -> bytes:
    return os.pread(fd, min(size_bytes - terminated, jsonl.LINE_MAX_BYTES + 1), offset)
