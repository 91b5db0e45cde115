"""Beside a file outside of any store: what repair took out of it, and the file as it was.

`FILE.quarantine` has a section for each repair: a line of JSON, the note, then the bytes as they were, then
LF. `FILE.bak` is the whole file of before; further ones are `FILE.2.bak`, `FILE.3.bak`, …
"""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl
from memctl.errors import BadInput
from memctl.store import directories, files, revision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

QUARANTINE_END = ".quarantine"
_BLOCK_BYTES = 1 << 20
_NOTE_MAX_BYTES = 1 << 30


class Section(NamedTuple):
    """A repair's note, and where its bytes stand in the file of quarantine."""

    note: dict[str, Any]
    start: int
    length: int


def add_section(path: str, id: str, note: Iterable[bytes], taken: Iterable[bytes], *, fsync: bool) -> None:
    """Add a repair to the quarantine of a file, durable on return; one that is there already stays.

    The file is written anew beside itself, so that no section is ever half there.
    """
    target = path + QUARANTINE_END
    old = os.open(target, os.O_RDONLY | os.O_CLOEXEC) if os.path.lexists(target) else -1
    try:
        if old >= 0 and any(section.note.get("id") == id for section in _sections(old, target)):
            return
        _write(target, _joined(old, note, taken), fsync=fsync)
    finally:
        if old >= 0:
            os.close(old)


def _joined(old: int, note: Iterable[bytes], taken: Iterable[bytes]) -> Iterator[bytes]:
    if old >= 0:
        yield from _blocks(old, os.fstat(old).st_size)
    yield from note
    yield from taken
    yield b"\n"


def _blocks(fd: int, end: int) -> Iterator[bytes]:
    position = 0
    while position < end and (block := os.pread(fd, min(_BLOCK_BYTES, end - position), position)):
        yield block
        position += len(block)


def _write(path: str, chunks: Iterable[bytes], *, fsync: bool) -> None:
    directory, name = os.path.split(path)
    dir_fd = os.open(directory or ".", directories.FLAGS)
    try:
        files.sweep(dir_fd)
        files.replace_at(dir_fd, name, dir_fd, chunks, fsync=fsync)
    finally:
        os.close(dir_fd)


def write(path: str, chunks: Iterable[bytes], *, fsync: bool) -> None:
    """Write a file whole, durable on return; a new one has mode 0600, another one keeps its own."""
    _write(path, chunks, fsync=fsync)


def sections(path: str) -> list[Section]:
    """The repairs in a file of quarantine, the oldest first. Raises BadInput for what is no such file."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return list(_sections(fd, path))
    finally:
        os.close(fd)


def _sections(fd: int, path: str) -> Iterator[Section]:
    position, end = 0, os.fstat(fd).st_size
    while position < end:
        line = _line(fd, position)
        try:
            note = jsonl.exact(line.decode("utf-8"))
            start, length = position + len(line) + 1, int(note["length"])
            ends = os.pread(fd, 1, start + length) == b"\n"
        except (ValueError, KeyError, TypeError):
            ends = False
        if not ends:
            raise BadInput(f"{path} is not a file of quarantine, or is damaged at byte {position}")
        yield Section(note, start, length)
        position = start + length + 1


def _line(fd: int, position: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < _NOTE_MAX_BYTES and (block := os.pread(fd, _BLOCK_BYTES, position + size)):
        end = block.find(b"\n")
        parts.append(block if end < 0 else block[:end])
        size += len(parts[-1])
        if end >= 0:
            break
    return b"".join(parts)


def backup_of(path: str, fd: int, end: int) -> str:
    """The name under which the first `end` bytes of the open file are kept: one that is free, or that has
    them already."""
    size_bytes, digest = -1, ""
    for number in count(1):
        name = f"{path}.bak" if number == 1 else f"{path}.{number}.bak"
        if not os.path.lexists(name):
            return name
        try:
            other = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            if os.fstat(other).st_size != end:
                continue
            if size_bytes < 0:
                size_bytes, digest = revision.digest(_blocks(fd, end))
            if revision.digest(_blocks(other, end)) == (size_bytes, digest):
                return name
        finally:
            os.close(other)
    raise AssertionError("counting ends nowhere")


def keep_backup(name: str, fd: int, end: int, *, fsync: bool) -> None:
    """Copy the first `end` bytes of the open file to a backup, durable on return, mode 0600."""
    if not os.path.lexists(name):
        _write(name, _blocks(fd, end), fsync=fsync)
