"""Replace a log whole, and lose nothing that a program without our lock appends meanwhile."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from memctl.store import directories, files, log

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memctl.store.layout import Place

_POLL_S = 0.002
#: A program that holds a log open for writing all the time is not waited for longer than this.
_OPEN_MAX_S = 5.0


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
    """
    base, parts = tmp
    late = _Late(fd, read_bytes)
    dir_fd = directories.open_at(place.base, place.parts)
    try:
        tmp_fd = directories.open_at(base, parts, create=True)
        try:
            files.sweep(tmp_fd)
            files.replace_at(dir_fd, place.name, tmp_fd, _and_lines(chunks, late), fsync=fsync)
        finally:
            os.close(tmp_fd)
        _wait_for_writers(fd, settle_s)
        rest = late.take(whole_lines=False)
        if rest:
            new = files.open_file(dir_fd, place.name, place.path, append=True)
            try:
                _append(new, place, rest, fsync=fsync, settle_s=settle_s)
            finally:
                os.close(new)
        return late.position - read_bytes
    finally:
        os.close(dir_fd)


def _append(fd: int, place: Place, data: bytes, *, fsync: bool, settle_s: float) -> None:
    """The same program may be between its two writes in the new file by now."""
    whole = data.rfind(b"\n") + 1
    if whole:
        log.append(fd, place, [data[:whole]], lead=b"", fsync=fsync, settle_s=settle_s)
    if whole < len(data):
        log.settled_tail(fd, settle_s)
        files.append(fd, [data[whole:]], fsync=fsync)


class _Late:
    """What stands in the old log behind a position that moves."""

    def __init__(self, fd: int, position: int) -> None:
        self.fd = fd
        self.position = position

    def take(self, *, whole_lines: bool) -> bytes:
        data = log.read_span(self.fd, self.position, os.fstat(self.fd).st_size)
        if whole_lines:
            data = data[: data.rfind(b"\n") + 1]
        self.position += len(data)
        return data


def _and_lines(chunks: Iterable[bytes], late: _Late) -> Iterator[bytes]:
    yield from chunks
    yield late.take(whole_lines=True)


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
