"""Beside a file outside of any store: what repair took out of it, and the file as it was.

`FILE.quarantine` has a section for each repair: a line of JSON, the note, then the bytes as they were, then
LF. `FILE.bak` is the whole file of before; further ones are `FILE.2.bak`, `FILE.3.bak`, …
"""

from __future__ import annotations

import os
import stat
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl, restoring
from memctl.core.names import QUARANTINE_SUFFIX
from memctl.errors import BadInput, NotFound
from memctl.store import directories, files, revision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLOCK_BYTES = 1 << 20
_NOTE_MAX_BYTES = 1 << 30
#: A pipe with such a name is not waited for.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class Section(NamedTuple):
    """A repair's note, and where its bytes stand in the file of quarantine."""

    note: dict[str, Any]
    start: int
    length: int


def add_section(
    path: str, id: str, note: Iterable[bytes], taken: Iterable[bytes], *, fsync: bool
) -> int | None:
    """Add a repair to the quarantine of a file, durable on return; how large that was without it.

    The file is written anew beside itself, so that no section is ever half there. A section with this id,
    of a process that was killed before it replaced the file, is written anew too: the answer is None then.
    """
    target = path + QUARANTINE_SUFFIX
    old = _opened(target) if os.path.lexists(target) else -1
    try:
        spans = [] if old < 0 else list(_spans_without(old, target, id))
        write(target, _joined(old, spans, note, taken), fsync=fsync)
        size_bytes = sum(end - start for start, end in spans)
        was_there = old >= 0 and size_bytes < os.fstat(old).st_size
        return None if was_there else size_bytes
    finally:
        if old >= 0:
            os.close(old)


def take_section_back(path: str, size_bytes: int) -> None:
    """Undo `add_section`, which answered `size_bytes`: what was set aside stayed where it was after all.

    Nothing is written, so it is possible on a full disk too.
    """
    if not size_bytes:
        _unlink(path + QUARANTINE_SUFFIX)
        return
    directory, name = os.path.split(path + QUARANTINE_SUFFIX)
    dir_fd = os.open(directory or ".", directories.FLAGS)
    try:
        fd = files.open_file(dir_fd, name, path + QUARANTINE_SUFFIX, write=True)
        try:
            files.truncate(fd, size_bytes, fsync=False)
        finally:
            os.close(fd)
    finally:
        os.close(dir_fd)


def _spans_without(fd: int, path: str, id: str) -> Iterator[tuple[int, int]]:
    """Where the sections with other ids begin and end."""
    begin = 0
    for section in _sections(fd, path):
        end = section.start + section.length + 1
        if section.note.get("id") != id:
            yield begin, end
        begin = end


def _joined(
    old: int, spans: list[tuple[int, int]], note: Iterable[bytes], taken: Iterable[bytes]
) -> Iterator[bytes]:
    for start, end in spans:
        yield from _blocks(old, end, start)
    yield from note
    yield from taken
    yield b"\n"


def _blocks(fd: int, end: int, position: int = 0) -> Iterator[bytes]:
    while position < end and (block := os.pread(fd, min(_BLOCK_BYTES, end - position), position)):
        yield block
        position += len(block)


def write(path: str, chunks: Iterable[bytes], *, fsync: bool) -> None:
    """Write a file whole, durable on return; a new one has mode 0600, another one keeps its own."""
    directory, name = os.path.split(path)
    dir_fd = os.open(directory or ".", directories.FLAGS)
    try:
        files.sweep(dir_fd)
        files.replace_at(dir_fd, name, dir_fd, chunks, fsync=fsync)
    finally:
        os.close(dir_fd)


def _unlink(path: str, *, fsync: bool = False) -> None:
    directory, name = os.path.split(path)
    dir_fd = os.open(directory or ".", directories.FLAGS)
    try:
        files.unlink(dir_fd, name, fsync=fsync)
    finally:
        os.close(dir_fd)


def check(path: str) -> None:
    """Raise what `add_section` raises if what is kept of a file cannot be added to what lies there."""
    target = path + QUARANTINE_SUFFIX
    if os.path.lexists(target):
        sections(target)


def sections(path: str) -> list[Section]:
    """The repairs in a file of quarantine, the oldest first. Raises BadInput for what is no such file."""
    fd = _opened(path)
    try:
        return list(_sections(fd, path))
    finally:
        os.close(fd)


def _opened(path: str) -> int:
    try:
        return os.open(path, _FLAGS)
    except OSError:
        if os.path.islink(path) and not os.path.exists(path):
            raise BadInput(f"{path} is not a file of quarantine, but a link to nothing") from None
        raise


def kept(path: str, id: str | None) -> tuple[dict[str, Any], bytes]:
    """The note and the bytes of a repair in a file of quarantine; of the newest without `id`.

    Raises NotFound, or BadInput if the bytes are not what was kept.
    """
    from hashlib import sha256

    fd = os.open(path, _FLAGS)
    try:
        found = [s for s in _sections(fd, path) if id is None or s.note.get("id") == id]
        if not found:
            import shlex

            what = "no repair" if id is None else f"no repair with the id {id}"
            raise NotFound(f"{what} in {path}", hint=f"memctl quarantine list {shlex.quote(path)}")
        note, start, length = found[-1]
        data = b"".join(_blocks(fd, start + length, start))
    finally:
        os.close(fd)
    if note.get("sha256") != sha256(data).hexdigest():
        raise BadInput(f"the bytes of {note.get('id')} in {path} are not those that its note was written for")
    return note, data


def remove_section(path: str, id: str, *, fsync: bool) -> None:
    """Remove a repair from a file of quarantine; the file goes with its last one. Durable on return.

    The file is written anew beside itself, so that the others are there at every moment.
    """
    fd = os.open(path, _FLAGS)
    try:
        spans = list(_spans_without(fd, path, id))
        if spans:
            write(path, (block for start, end in spans for block in _blocks(fd, end, start)), fsync=fsync)
            return
    finally:
        os.close(fd)
    _unlink(path, fsync=fsync)


def _sections(fd: int, path: str) -> Iterator[Section]:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise BadInput(f"{path} is not a file of quarantine")
    position, end = 0, status.st_size
    while position < end:
        line = _line(fd, position)
        try:
            note = jsonl.exact(line.decode("utf-8"))
            start, length = position + len(line) + 1, restoring.number(note["length"])
            is_whole = start + length < end and os.pread(fd, 1, start + length) == b"\n"
            is_section = type(note["id"]) is str and is_whole
        except (ValueError, KeyError, TypeError):
            is_section = False
        if not is_section:
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
            other = os.open(name, _FLAGS | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            status = os.fstat(other)
            if not stat.S_ISREG(status.st_mode) or status.st_size != end:
                continue
            if size_bytes < 0:
                size_bytes, digest = revision.digest(_blocks(fd, end))
            if revision.digest(_blocks(other, end)) == (size_bytes, digest):
                return name
        finally:
            os.close(other)
    raise AssertionError("counting ends nowhere")


def keep_backup(name: str, fd: int, end: int, *, fsync: bool) -> bool:
    """Copy the first `end` bytes of the open file to a backup, durable on return, mode 0600.

    False: it is there already (`backup_of`).
    """
    if os.path.lexists(name):
        return False
    write(name, _blocks(fd, end), fsync=fsync)
    return True


def backup_of_other(path: str, chunks: Iterable[bytes]) -> str | None:
    """The name under which a file is kept that these bytes replace; None if it has them, or is not there."""
    try:
        fd = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    try:
        size_bytes = os.fstat(fd).st_size
        if revision.digest(chunks) == revision.digest(_blocks(fd, size_bytes)):
            return None
        return backup_of(path, fd, size_bytes)
    finally:
        os.close(fd)


def keep_other(name: str, path: str, *, fsync: bool) -> bool:
    """Copy a file that is about to be replaced to a backup, durable on return; False: it is there already."""
    fd = os.open(path, _FLAGS)
    try:
        return keep_backup(name, fd, os.fstat(fd).st_size, fsync=fsync)
    finally:
        os.close(fd)


def remove_backup(name: str) -> None:
    """Undo `keep_backup`: the file stayed as it was after all."""
    _unlink(name)
