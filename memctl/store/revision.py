"""Revision: carry edits of a file out. What they take out is read from the old file, which stays open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memctl.core import edits as editing
from memctl.core import jsonl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memctl.core.edits import Edits

_BLOCK_BYTES = 1 << 20
_PIECES_AT_ONCE = 1000


def edited(fd: int, edits: Edits, end: int) -> Iterator[bytes]:
    """The new bytes of the file `fd`, of which `end` bytes are taken into account, block by block."""
    at = 0
    small: list[bytes] = []
    size = 0
    window = _Window(fd, end)
    for offset, length, text, _, _ in edits:
        for block in window.read(at, offset):
            small.append(block)
            size += len(block)
            if size >= _BLOCK_BYTES:
                yield b"".join(small)
                small, size = [], 0
        if len(text) >= _BLOCK_BYTES:
            # No second copy of it is made.
            yield b"".join(small)
            yield text
            small, size = [], 0
        else:
            small.append(text)
            size += len(text)
        at = offset + length
        if size >= _BLOCK_BYTES:
            yield b"".join(small)
            small, size = [], 0
    small += window.read(at, min(end, at + _BLOCK_BYTES))
    yield b"".join(small)
    yield from window.read(min(end, at + _BLOCK_BYTES), end)


def taken_out(fd: int, edits: Edits) -> Iterator[bytes]:
    """What the edits take out, one after the other."""
    last = edits[len(edits) - 1] if len(edits) else None
    window = _Window(fd, last.offset + last.size if last else 0)
    for edit in edits:
        yield from window.read(edit.offset, edit.offset + edit.size)


class _Window:
    """Reads stretches of a file that move forward, many small ones from one block."""

    def __init__(self, fd: int, end: int) -> None:
        self._fd = fd
        self._end = end
        self._start = 0
        self._block = b""

    def read(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            within = start - self._start
            if not 0 <= within < len(self._block):
                self._start, within = start, 0
                self._block = os.pread(self._fd, min(_BLOCK_BYTES, self._end - start), start)
                if not self._block:
                    return
            part = self._block[within : within + end - start]
            yield part
            start += len(part)


def digest(chunks: Iterable[bytes]) -> tuple[int, str]:
    """How many bytes there are, and their SHA-256 in hex."""
    from hashlib import sha256

    size_bytes = 0
    hashed = sha256()
    for chunk in chunks:
        hashed.update(chunk)
        size_bytes += len(chunk)
    return size_bytes, hashed.hexdigest()


def digest_upto(fd: int, end: int) -> str:
    """The SHA-256 in hex of the first `end` bytes of a file."""
    return digest(edited(fd, editing.Edits(), end))[1]


def note(facts: dict[str, Any], edits: Edits) -> Iterator[bytes]:
    """A note in JSON, one line: the facts, and as `pieces` the edits; in chunks, as there may be millions."""
    yield jsonl.dumps(facts)[:-1] + b',"pieces":['
    waiting: list[dict[str, Any]] = []
    first = True
    for piece in editing.pieces(edits):
        waiting.append(piece)
        if len(waiting) == _PIECES_AT_ONCE:
            yield (b"" if first else b",") + jsonl.dumps(waiting)[1:-1]
            waiting, first = [], False
    if waiting:
        yield (b"" if first else b",") + jsonl.dumps(waiting)[1:-1]
    yield b"]}\n"


def item_id(facts: dict[str, Any], edits: Edits, fd: int, end: int) -> str:
    """The id of what edits take out of a file: it follows from both, so a plan names the item of its deed."""
    from hashlib import sha256

    hashed = sha256(jsonl.dumps(facts))
    for offset, size, text, _, _ in edits:
        hashed.update(b"%d %d %d " % (offset, size, len(text)))
    hashed.update(digest_upto(fd, end).encode())
    return hashed.hexdigest()[:16]


def ends_with_newline(fd: int, size_bytes: int) -> bool:
    """Whether a file of this size ends with LF, or is empty."""
    return not size_bytes or os.pread(fd, 1, size_bytes - 1) == b"\n"
