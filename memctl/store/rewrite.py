"""Replace a log whole, and lose nothing that a program without our lock appends meanwhile."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import jsonl
from memctl.core.lines import read_line
from memctl.errors import MemctlError, Overtaken, StorageError
from memctl.store import directories, files, log

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memctl.store.layout import Place

_POLL_S = 0.002
#: A program that holds a log open for writing all the time is not waited for longer than this.
_OPEN_MAX_S = 5.0


def overtaken(path: str) -> Overtaken:
    """The error for a file that another program changed while it was rewritten."""
    return Overtaken(
        f"{path} was changed by another program meanwhile; it was left as it is", hint="try again"
    )


def replace_log(
    tmp: tuple[str, tuple[str, ...]],
    place: Place,
    fd: int,
    chunks: Iterable[bytes],
    read_bytes: int,
    *,
    fsync: bool,
    settle_s: float,
) -> int:
    """Put `chunks` in the place of the log `fd`, of which `read_bytes` bytes were taken into account.

    Called under the log lock; `fd` is open for reading only. `tmp` is a directory on the same file system
    (base, and parts below it), where what killed processes left unfinished is removed too. What arrived
    behind those bytes in the old file, up to the moment when nobody has that open for writing any more,
    is appended to the new one; how many bytes is the answer. Durable on return with `fsync`.

    Raises Overtaken, with nothing changed, if another file has the name by now, or the log is shorter, or
    its last line had no LF and goes on.
    """
    base, parts = tmp
    late = _Late(fd, read_bytes)
    written = _Written(chunks)
    dir_fd = directories.open_at(place.base, place.parts)
    try:
        tmp_fd = directories.open_at(base, parts, create=True)
        try:
            files.sweep(tmp_fd)
            files.replace_at(
                dir_fd,
                place.name,
                tmp_fd,
                _and_lines(written, late),
                fsync=fsync,
                check=lambda: _check(dir_fd, place, late),
            )
        finally:
            os.close(tmp_fd)
        _wait_for_writers(fd, settle_s)
        rest = late.take(whole_lines=False)
        if rest:
            _take_over(dir_fd, place, late.joined(rest, written), fsync=fsync, settle_s=settle_s)
        return late.position - read_bytes
    finally:
        os.close(dir_fd)


def _check(dir_fd: int, place: Place, late: _Late) -> None:
    """Raise Overtaken unless the name still leads to the log that was read, which at most grew by lines."""
    try:
        now = os.stat(place.name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        raise overtaken(place.path) from None
    old = os.fstat(late.fd)
    if not os.path.samestat(now, old) or not late.goes_on_in(old):
        raise overtaken(place.path)


def _take_over(dir_fd: int, place: Place, rest: _Rest, *, fsync: bool, settle_s: float) -> None:
    """Append what arrived in the old file after the rename."""
    if not rest.data:
        return
    try:
        fd = files.open_file(dir_fd, place.name, place.path, append=True)
        try:
            if rest.continues:
                files.append(fd, [rest.data], fsync=fsync)
            else:
                _append(fd, place, rest.data, fsync=fsync, settle_s=settle_s)
        finally:
            os.close(fd)
    except (OSError, MemctlError) as error:
        raise StorageError(
            f"{place.path} was rewritten, but {len(rest.data)} bytes that another program appended to the old"
            f" file meanwhile could not be added: {error}"
        ) from error


def _append(fd: int, place: Place, data: bytes, *, fsync: bool, settle_s: float) -> None:
    """The same program may be between its two writes in the new file by now."""
    whole = data.rfind(b"\n") + 1
    if whole:
        log.append(fd, place, [data[:whole]], lead=b"", fsync=fsync, settle_s=settle_s)
    if whole < len(data):
        log.settled_tail(fd, settle_s)
        files.append(fd, [data[whole:]], fsync=fsync)


class _Rest(NamedTuple):
    """What is to be appended to the new log; `continues`: to its last line, which has no LF."""

    data: bytes
    continues: bool


class _Written:
    """The new log's bytes as they are handed on. `is_open` is whether they end in a line without LF."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self.is_open = False

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            if chunk:
                self.is_open = not chunk.endswith(b"\n")
            yield chunk


class _Late:
    """What stands in the old log behind a position that moves. `is_open`: it begins inside a line."""

    def __init__(self, fd: int, position: int) -> None:
        self.fd = fd
        self.position = self._begun = position
        self._line = log.last_newline(fd, position)
        self.is_open = self._line < position
        self._mtime_ns = os.fstat(fd).st_mtime_ns

    def goes_on_in(self, status: os.stat_result) -> bool:
        """Whether the old log, as it is now, can still be what was read, with lines behind it."""
        if status.st_size == self._begun:
            return status.st_mtime_ns == self._mtime_ns
        return status.st_size >= self.position and not self.is_open

    def take(self, *, whole_lines: bool) -> bytes:
        data = log.read_span(self.fd, self.position, os.fstat(self.fd).st_size)
        if whole_lines:
            data = data[: data.rfind(b"\n") + 1]
        self.position += len(data)
        return data

    def joined(self, rest: bytes, written: _Written) -> _Rest:
        """What to append for `rest`, the end of the old log."""
        if not self.is_open:
            return _Rest(rest, False)
        if written.is_open:
            return _Rest(rest, True)
        if rest.startswith(b"\n"):
            # The new log has a LF there, or has nothing there.
            return _Rest(rest[1:], False)
        if self._begun - self._line > jsonl.LINE_MAX_BYTES:
            return _Rest(rest, False)
        half = log.read_span(self.fd, self._line, self._begun)
        if _is_message(half + rest.partition(b"\n")[0]) and not _is_message(half):
            # The first half was taken for what a crash left, and is set aside; here it is whole.
            return _Rest(half + rest, False)
        return _Rest(rest, False)


def _is_message(line: bytes) -> bool:
    pieces = read_line(line, terminated=False)
    return len(pieces) == 1 and pieces[0].message is not None


def _and_lines(written: _Written, late: _Late) -> Iterator[bytes]:
    yield from written
    if not late.is_open and (lines := late.take(whole_lines=True)):
        yield b"\n" + lines if written.is_open else lines


def _wait_for_writers(fd: int, settle_s: float) -> None:
    """Wait until nobody can write to the replaced file any more.

    Where the system does not tell, it has to stand still for `settle_s`.
    """
    begun = quiet_since = time.monotonic()
    size_bytes = os.fstat(fd).st_size
    while (now := time.monotonic()) - begun < _OPEN_MAX_S:
        is_open = is_open_for_writing(fd)
        if is_open is False or (is_open is None and now - quiet_since >= settle_s):
            return
        time.sleep(_POLL_S)
        seen = os.fstat(fd).st_size
        if seen != size_bytes:
            size_bytes, quiet_since = seen, time.monotonic()


def is_open_for_writing(fd: int) -> bool | None:
    """Whether some process has the file of the read-only descriptor `fd` open for writing; None: unknown.

    Linux grants a read lease only on a file that nobody has open for writing; it is given back at once.
    """
    import fcntl
    import signal

    if not hasattr(fcntl, "F_SETLEASE"):
        return None
    try:
        # By default the signal of a broken lease ends a process; this one is ignored by default.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False
