"""Files: opened without following links, appended to, replaced whole; each change made durable.

New files have mode 0600 under any umask. What fails half-way is undone or leaves the old file as it was.
"""

from __future__ import annotations

import errno
import os
import stat
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from typing import TYPE_CHECKING

from memctl.errors import AccessDenied, AlreadyExists, InTheWay, StorageError
from memctl.store import directories, disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

#: One write call moves at most 2 GiB on Linux; longer input goes in several writes of whole lines.
WRITE_MAX_BYTES = 1 << 30
#: How the names of files begin that are not finished yet.
TMP_START = ".memctl"


def open_file(dir_fd: int, name: str, path: str, *, write: bool = False, append: bool = False) -> int:
    """A descriptor of an existing regular file; a link, pipe or device is refused (`path`: for messages)."""
    mode = (os.O_RDWR if write or append else os.O_RDONLY) | (os.O_APPEND if append else 0)
    try:
        fd = os.open(name, mode | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=dir_fd)
    except OSError as error:
        if directories.is_link(dir_fd, name):
            raise InTheWay(f"{path} is a symbolic link; links inside a store are not followed") from None
        if error.errno in (errno.EISDIR, errno.ENXIO):
            raise InTheWay(f"{path} is not a regular file") from None
        raise error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise InTheWay(f"{path} is not a regular file")
    return fd


def is_file(dir_fd: int, name: str) -> bool:
    """Whether a regular file has this name in an open directory."""
    try:
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode)


def create_file(dir_fd: int, name: str, *, append: bool = False) -> int:
    """A descriptor of a new empty file with mode 0600. Raises FileExistsError, and as `make_ours`."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = disk.create(name, flags | (os.O_APPEND if append else 0), 0o600, dir_fd=dir_fd)
    try:
        directories.make_ours(dir_fd, fd, 0o600, name)
    except BaseException:
        os.close(fd)
        disk.unlink(name, dir_fd=dir_fd)
        raise
    return fd


def open_or_create(dir_fd: int, name: str, path: str, *, append: bool = False) -> int:
    """A descriptor for writing to a regular file, made if missing, whichever process comes first."""
    while True:
        try:
            return open_file(dir_fd, name, path, write=True, append=append)
        except FileNotFoundError:
            pass
        try:
            return create_file(dir_fd, name, append=append)
        except FileExistsError:
            continue


def append(fd: int, chunks: Sequence[bytes], *, fsync: bool) -> int:
    """Append `chunks` (whole lines each) to a descriptor opened for appending; the offset of the first byte.

    Each chunk is one write. A short or failed write, or a failed fsync, is undone as long as nobody wrote
    behind or in between, and raises StorageError: the file is then as it was. On return, with `fsync`, all
    is durable.
    """
    start = -1
    end = -1
    apart = False
    try:
        for chunk in chunks:
            rest = chunk
            while rest:
                # What a short write left over is tried again to learn the reason; if it fits, that is well.
                count = disk.write(fd, rest)
                position = os.lseek(fd, 0, os.SEEK_CUR)
                if start < 0:
                    start = position - count
                elif position - count != end:
                    apart = True
                end = position
                if apart and len(rest) < len(chunk):
                    raise OSError(errno.EIO, "another program wrote into the middle of a line of ours")
                rest = rest[count:]
        if fsync:
            disk.fsync(fd)
    except OSError as error:
        undone = start < 0 or (not apart and _undo(fd, start, end))
        raise _not_stored(error, undone) from error
    return start


def sync_appended(fd: int, start: int, end: int) -> None:
    """fsync after an append of the bytes `start` to `end`; one that fails is undone as in `append`."""
    try:
        disk.fsync(fd)
    except OSError as error:
        raise _not_stored(error, _undo(fd, start, end)) from error


def _undo(fd: int, start: int, end: int) -> bool:
    """Cut what this process appended from `start` to `end`, unless a foreign writer is behind it already."""
    if os.fstat(fd).st_size != end:
        return False
    try:
        disk.ftruncate(fd, start)
    except OSError:
        return False
    try:
        disk.fsync(fd)
    except OSError:
        pass
    return True


def _not_stored(error: OSError, undone: bool) -> StorageError:
    reason = error.strerror or str(error)
    if undone:
        return StorageError(f"writing failed, nothing was stored: {reason}")
    return StorageError(f"writing failed, and what was written of it could not be taken back: {reason}")


def write_all(fd: int, rest: bytes) -> None:
    """Write all of `rest` where the descriptor stands. Raises OSError."""
    while rest:
        rest = rest[disk.write(fd, rest) :]


def overwrite(fd: int, data: bytes, offset: int) -> None:
    """Write `data` over the bytes at `offset` (of a descriptor that was not opened for appending)."""
    while data:
        count = disk.pwrite(fd, data, offset)
        data = data[count:]
        offset += count


def truncate(fd: int, size_bytes: int, *, fsync: bool) -> None:
    """Cut the file to `size_bytes`."""
    disk.ftruncate(fd, size_bytes)
    if fsync:
        disk.fsync(fd)


def replace_at(
    dir_fd: int,
    name: str,
    tmp_fd: int,
    chunks: Iterable[bytes],
    *,
    fsync: bool = True,
    check: Callable[[], None] | None = None,
) -> None:
    """Write a new file in the directory `tmp_fd` and rename it to `name` in `dir_fd`.

    An existing file's mode, owner and group are kept, or AccessDenied is raised and nothing changes. Both
    directories lie on one file system. `check` is called right before the rename; what it raises leaves
    everything as it was. With `fsync`, file and entry are durable on return.
    """
    fd, tmp = _create_unfinished(tmp_fd)
    try:
        for chunk in chunks:
            with directories.naming(dir_fd, name):
                write_all(fd, chunk)
        _keep_ownership(dir_fd, name, fd)
        if fsync:
            with directories.naming(dir_fd, name):
                disk.fsync(fd)
        if check is not None:
            check()
        with directories.naming(dir_fd, name):
            disk.rename(tmp, name, src_dir_fd=tmp_fd, dst_dir_fd=dir_fd)
    except BaseException:
        try:
            disk.unlink(tmp, dir_fd=tmp_fd)
        except OSError:
            pass
        raise
    finally:
        os.close(fd)
    if fsync:
        disk.fsync(dir_fd)


def _create_unfinished(dir_fd: int) -> tuple[int, str]:
    """A new file and its name, held until it is closed: `sweep` removes those that nobody holds."""
    while True:
        name = f"{TMP_START}-{os.getpid()}-{os.urandom(6).hex()}"
        fd = create_file(dir_fd, name)
        try:
            flock(fd, LOCK_SH | LOCK_NB)
            is_ours = os.fstat(fd).st_nlink > 0
        except BlockingIOError:
            is_ours = False
        except OSError:
            # A file system without locks: `sweep` gets none there either, and removes nothing.
            is_ours = True
        if is_ours:
            return fd, name
        # Between its making and its lock nobody held it: it is being removed.
        os.close(fd)


def sweep(dir_fd: int) -> None:
    """Remove the unfinished files that killed processes left in a directory."""
    for name, _ in unfinished(dir_fd):
        try:
            disk.unlink(name, dir_fd=dir_fd)
        except OSError:
            continue


def unfinished(dir_fd: int) -> Iterator[tuple[str, int]]:
    """The files in a directory that killed processes left unfinished, with their sizes.

    Each is held while it is looked at; what a process at work has is not among them.
    """
    for name in os.listdir(dir_fd):
        start, _, rest = name.partition("-")
        process, _, random = rest.partition("-")
        if start != TMP_START or not process.isdigit() or len(random) != 12:
            continue
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)
        except OSError:
            continue
        try:
            flock(fd, LOCK_EX | LOCK_NB)
            yield name, os.fstat(fd).st_size
        except OSError:
            continue
        finally:
            os.close(fd)


def _keep_ownership(dir_fd: int, name: str, fd: int) -> None:
    try:
        old = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(old.st_mode):
        # A link's own mode lets everybody write.
        return
    try:
        disk.make_like(fd, old)
    except OSError:
        raise AccessDenied(f"{name} belongs to another owner or group and cannot be replaced") from None


def replace(path: str, chunks: Iterable[bytes], *, fsync: bool = False) -> None:
    """Write `path` anew: a temporary file beside it, renamed. For caches and callers' own files."""
    dir_fd = os.open(os.path.dirname(path) or ".", directories.FLAGS)
    try:
        replace_at(dir_fd, os.path.basename(path), dir_fd, chunks, fsync=fsync)
    finally:
        os.close(dir_fd)


def create(path: str, data: bytes, *, fsync: bool = True) -> None:
    """Write a new file whole and durable; AlreadyExists if there is one."""
    dir_fd = os.open(os.path.dirname(path) or ".", directories.FLAGS)
    try:
        create_at(dir_fd, os.path.basename(path), data, path, fsync=fsync)
    finally:
        os.close(dir_fd)


def take_from_others(fd: int) -> None:
    """Take away what others may do with an open file or directory."""
    disk.take_from_others(fd)


def create_at(dir_fd: int, name: str, data: bytes, path: str, *, fsync: bool = True) -> None:
    """As `create`, in an open directory; a failed write leaves no file behind."""
    try:
        fd = create_file(dir_fd, name)
    except FileExistsError:
        raise AlreadyExists(f"{path} exists already") from None
    try:
        with directories.naming(dir_fd, name):
            write_all(fd, data)
        if fsync:
            disk.fsync(fd)
            disk.fsync(dir_fd)
    except BaseException:
        try:
            disk.unlink(name, dir_fd=dir_fd)
        except OSError:
            pass
        raise
    finally:
        os.close(fd)


def unlink(dir_fd: int, name: str, *, fsync: bool = False) -> bool:
    """Remove a file; whether there was one."""
    try:
        disk.unlink(name, dir_fd=dir_fd)
    except FileNotFoundError:
        return False
    if fsync:
        disk.fsync(dir_fd)
    return True
