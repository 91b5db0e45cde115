"""The log of a conversation: opened, looked at, appended to; a reader needs no lock.

A log is lines ended by LF. What lies behind the last LF is a message that another program is still writing,
or what a crash left of one; `tail` tells them apart.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names
from memctl.core.lines import read_line
from memctl.errors import AccessDenied, BadName, NotFound
from memctl.store import directories, files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.layout import Place

BLOCK_BYTES = 1 << 18
_SETTLE_POLL_S = 0.002


class Tail(NamedTuple):
    """What lies behind the last LF and does not stay: `keep` bytes of it are whole messages."""

    offset: int
    data: bytes
    keep: int


# -- opening --------------------------------------------------------------------------------------------


def open_log(place: Place, missing: str) -> int:
    """A descriptor for reading. Raises NotFound with `missing` as its message, AccessDenied."""
    try:
        dir_fd = directories.open_at(place.base, place.parts)
    except FileNotFoundError:
        raise NotFound(missing) from None
    try:
        fd = files.open_file(dir_fd, place.name, place.path)
        try:
            check_exact(dir_fd, place.name, fd, place.path)
        except BaseException:
            os.close(fd)
            raise
        return fd
    except (FileNotFoundError, BadName):
        raise NotFound(missing) from None
    except PermissionError as error:
        raise AccessDenied(f"{place.path}: {error.strerror}") from None
    finally:
        os.close(dir_fd)


def open_for_append(place: Place, *, create: bool, fsync: bool, missing: str) -> tuple[int, bool]:
    """A descriptor for appending, and whether the log is new; with `fsync` its entry is durable."""
    try:
        dir_fd = directories.open_at(place.base, place.parts, create=create, fsync=fsync)
    except FileNotFoundError:
        raise NotFound(missing) from None
    try:
        created = False
        try:
            fd = files.open_file(dir_fd, place.name, place.path, append=True)
        except FileNotFoundError:
            if not create:
                raise NotFound(missing) from None
            fd = files.create_file(dir_fd, place.name, append=True)
            created = True
        try:
            check_exact(dir_fd, place.name, fd, place.path)
            if fsync and not os.fstat(fd).st_size:
                # Also when another process made it: that one may have been killed before its own fsync.
                directories.sync_chain(place.base, place.parts)
        except BaseException:
            os.close(fd)
            raise
        return fd, created
    finally:
        os.close(dir_fd)


def remove(place: Place) -> None:
    """Take back an empty log that was made for a message which could not be stored."""
    dir_fd = directories.open_at(place.base, place.parts)
    try:
        files.unlink(dir_fd, place.name)
    finally:
        os.close(dir_fd)


def check_exact(dir_fd: int, name: str, fd: int, path: str) -> None:
    """Raise BadName if the file was reached under another name: the file system folds case or normalises."""
    own = os.fstat(fd)
    for variant in _variants(name):
        try:
            other = os.stat(variant, dir_fd=dir_fd, follow_symlinks=False)
        except OSError:
            continue
        if (other.st_dev, other.st_ino) == (own.st_dev, own.st_ino):
            entries = os.listdir(dir_fd)
            if name not in entries:
                twin = names.folded_twin(name, entries) or variant
                raise BadName(f"{path} would meet {twin}: the file system does not tell the two names apart")


def _variants(name: str) -> list[str]:
    variants = [name.swapcase()]
    if not name.isascii():
        from unicodedata import normalize

        variants += [normalize("NFD", name), normalize("NFC", name)]
    return [variant for variant in variants if variant != name]


# -- reading --------------------------------------------------------------------------------------------


def last_newline(fd: int, size_bytes: int) -> int:
    """The offset behind the last LF of the first `size_bytes` bytes; 0 if there is none."""
    end = size_bytes
    step = 1 if end else 0
    while end > 0:
        start = max(0, end - step)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
        step = min(BLOCK_BYTES, step * 4096)
    return 0


def count_lines(fd: int, end: int) -> int:
    """How many LF lie before `end`."""
    return sum(block.count(b"\n") for block in _blocks(fd, end))


def _blocks(fd: int, end: int) -> Iterator[bytes]:
    position = 0
    while position < end and (block := os.pread(fd, min(BLOCK_BYTES, end - position), position)):
        position += len(block)
        yield block


# -- the tail -------------------------------------------------------------------------------------------


def settled_tail(fd: int, settle_s: float) -> Tail | None:
    """What lies behind the last LF once size and times have stood still for `settle_s`; None for nothing.

    Called under the log lock. Another program may be about to write the LF: then there is no tail in the end.
    """
    status = os.fstat(fd)
    stillness = _Stillness(settle_s)
    while status.st_size and os.pread(fd, 1, status.st_size - 1) != b"\n":
        if stillness.lasts(status):
            return _tail(fd, status.st_size)
        time.sleep(_SETTLE_POLL_S)
        status = os.fstat(fd)
    return None


def settled_end(fd: int, settle_s: float) -> int:
    """Where the log ends for one who only looks: with its last LF, or with a tail that stands still.

    What another program has begun to write when the LF of its line before was seen is not part of it.
    """
    status = os.fstat(fd)
    size_bytes, begun = status.st_size, last_newline(fd, status.st_size)
    stillness = _Stillness(settle_s)
    while size_bytes > begun and not stillness.lasts(status):
        time.sleep(_SETTLE_POLL_S)
        status = os.fstat(fd)
        if status.st_size != size_bytes:
            size_bytes, before = status.st_size, begun
            begun = last_newline(fd, size_bytes)
            if begun > before:
                return begun
    return size_bytes


class _Stillness:
    """Whether a file's size and times have stood still for a while."""

    def __init__(self, settle_s: float) -> None:
        self._settle_s = settle_s
        self._seen: tuple[int, int, int] | None = None
        self._deadline = 0.0

    def lasts(self, status: os.stat_result) -> bool:
        """Whether the status has been this one for long enough; told each status that is seen."""
        now = time.monotonic()
        seen = (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if seen != self._seen:
            self._seen = seen
            age_s = time.time() - max(status.st_mtime, status.st_ctime)
            # A time in the future says nothing about age: then only what is seen here counts.
            self._deadline = now + self._settle_s - (min(age_s, self._settle_s) if age_s >= 0 else 0.0)
        return now >= self._deadline


def _tail(fd: int, size_bytes: int) -> Tail:
    offset = last_newline(fd, size_bytes)
    data = read_span(fd, offset, size_bytes)
    pieces = read_line(data, terminated=False)
    if pieces[-1].code not in ("torn-tail", "glued-lines", "nul-bytes") or pieces[-1].message is not None:
        # Ended by a LF it is a line that readers take, be it one with a torn piece in front.
        return Tail(offset, data, len(data))
    keep = 0
    for piece in pieces:
        found = data.find(piece.stored, keep)
        if piece.message is None or found < 0:
            break
        keep = found + len(piece.stored)
    return Tail(offset, data, keep)


def is_unchanged(fd: int, tail: Tail) -> bool:
    """Whether the log still ends with this tail."""
    return os.fstat(fd).st_size == tail.offset + len(tail.data)


def read_span(fd: int, start: int, end: int) -> bytes:
    """The bytes between two offsets, fewer where the file ends before."""
    parts = []
    while start < end and (block := os.pread(fd, min(end - start, 1 << 30), start)):
        parts.append(block)
        start += len(block)
    return b"".join(parts) if len(parts) != 1 else parts[0]


# -- appending ------------------------------------------------------------------------------------------


def append(fd: int, place: Place, lines: list[bytes], *, lead: bytes, fsync: bool, settle_s: float) -> int:
    """Append whole lines; the offset of the first. `lead` is what ends an unterminated message before them.

    Durable on return with `fsync`. Called under the log lock, the tail looked at. A program that takes no
    lock may have put a line without its LF before ours in between; our bytes then move one to the right and
    its LF, which comes behind them, ends our line.
    """
    start = files.append(fd, _chunks(lead, lines), fsync=False) + len(lead)
    size_bytes = sum(len(line) for line in lines)
    before = start - len(lead) - 1
    if before >= 0 and not lead and os.pread(fd, 1, before) != b"\n":
        start = _part_from_foreign_line(fd, place, start, b"".join(lines), settle_s)
    if fsync:
        files.sync_appended(fd, start, start + size_bytes)
    return start


def _chunks(lead: bytes, lines: list[bytes]) -> list[bytes]:
    data = lead + b"".join(lines)
    if len(data) <= files.WRITE_MAX_BYTES:
        return [data]
    return [lead + lines[0], *lines[1:]]


def _part_from_foreign_line(fd: int, place: Place, start: int, data: bytes, settle_s: float) -> int:
    end = start + len(data)
    deadline = time.monotonic() + settle_s
    while (follows := os.pread(fd, 1, end)) == b"" and time.monotonic() < deadline:
        time.sleep(_SETTLE_POLL_S / 4)
    if follows not in (b"", b"\n"):
        # Two foreign writers at once: nothing may move here. The glued line is read as two messages.
        return start
    dir_fd = directories.open_at(place.base, place.parts)
    try:
        plain = files.open_file(dir_fd, place.name, place.path, write=True)
    finally:
        os.close(dir_fd)
    try:
        files.overwrite(plain, b"\n" + data[:-1], start)
    finally:
        os.close(plain)
    if not follows and os.pread(fd, 1, end) == b"":
        files.append(fd, [b"\n"], fsync=False)
    return start + 1
