"""Caches as files: found, made and replaced; whatever fails is an OSError, and a cache may end anywhere."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from memctl.errors import AccessDenied
from memctl.store import directories, disk, files

if TYPE_CHECKING:
    from collections.abc import Iterable


def _directory(path: str, *, create: bool = False) -> tuple[int, str]:
    """The open directory of a cache, and the cache's name in it; raises OSError.

    In a store no link is followed; the user's own cache directory may be reached over links.
    """
    directory, _, name = path.rpartition("/")
    root, inside, below = directory.rpartition("/.memctl/")
    try:
        if inside:
            return directories.open_at(root, (".memctl", *below.split("/")), create=create), name
        if create:
            directories.make(directory)
    except AccessDenied as error:
        raise OSError(errno.ELOOP, str(error)) from None
    return os.open(directory or ".", directories.FLAGS), name


def _open_regular(dir_fd: int, name: str, flags: int) -> int:
    fd = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "a cache has to be a regular file")
    return fd


def open_to_append(path: str) -> int:
    """A descriptor of a cache file for reading and appending, made if missing; raises OSError."""
    dir_fd, name = _directory(path, create=True)
    try:
        try:
            return _open_regular(dir_fd, name, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            return files.create_file(dir_fd, name, append=True)
    finally:
        os.close(dir_fd)


def open_shared(path: str) -> int:
    """A descriptor of a cache file, made if missing, for writing where that is allowed; raises OSError."""
    dir_fd, name = _directory(path, create=True)
    try:
        try:
            return _open_regular(dir_fd, name, os.O_RDWR)
        except FileNotFoundError:
            return files.create_file(dir_fd, name)
        except PermissionError:
            return _open_regular(dir_fd, name, os.O_RDONLY)
    finally:
        os.close(dir_fd)


def open_kept(path: str, *, write: bool) -> int:
    """A descriptor of an existing cache file; raises OSError."""
    dir_fd, name = _directory(path)
    try:
        return _open_regular(dir_fd, name, os.O_RDWR if write else os.O_RDONLY)
    finally:
        os.close(dir_fd)


def create(path: str) -> tuple[int, str]:
    """A descriptor of a new empty file beside `path`, and its path; `place` puts it in place."""
    tmp = f"{os.path.dirname(path)}/.{os.getpid()}-{os.urandom(6).hex()}"
    dir_fd, name = _directory(tmp, create=True)
    try:
        return files.create_file(dir_fd, name), tmp
    finally:
        os.close(dir_fd)


def place(tmp: str, path: str) -> None:
    """Rename a finished cache into place; both lie in one directory."""
    dir_fd, name = _directory(path)
    try:
        disk.rename(os.path.basename(tmp), name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    finally:
        os.close(dir_fd)


def replace(path: str, chunks: Iterable[bytes]) -> None:
    """Write a cache anew: a temporary file beside it, renamed; raises OSError."""
    dir_fd, name = _directory(path, create=True)
    try:
        files.replace_at(dir_fd, name, dir_fd, chunks, fsync=False)
    except AccessDenied as error:
        raise OSError(errno.EACCES, str(error)) from None
    finally:
        os.close(dir_fd)


def try_lock(fd: int) -> bool:
    """Whether this process may write to the open cache from now on; nobody waits for it."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except OSError:
        return False
    return True


def unlock(fd: int) -> None:
    """Let others write to the cache."""
    from fcntl import LOCK_UN, flock

    flock(fd, LOCK_UN)


def drop(path: str) -> None:
    """Remove a cache; one that is gone already, or cannot be removed, is none of our trouble."""
    try:
        dir_fd, name = _directory(path)
    except OSError:
        return
    try:
        disk.unlink(name, dir_fd=dir_fd)
    except OSError:
        pass
    finally:
        os.close(dir_fd)


def drop_unfinished(path: str) -> None:
    """Remove what processes that are no more were making beside a cache, as `create` names it."""
    try:
        dir_fd, _ = _directory(path)
    except OSError:
        return
    try:
        for name in unfinished(dir_fd):
            disk.unlink(name, dir_fd=dir_fd)
    except OSError:
        pass
    finally:
        os.close(dir_fd)


def unfinished(dir_fd: int) -> list[str]:
    """What processes that are no more were making in a directory, and what SQLite had beside it."""
    return [
        name
        for name in os.listdir(dir_fd)
        if name.startswith(".")
        for process, _, random in [name[1:].partition("-")]
        if len(random.partition("-")[0]) == 12 and process.isascii() and process.isdecimal()
        if not _is_alive(int(process))
    ]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


def append(fd: int, data: bytes) -> None:
    """Append to a cache; a cache may end anywhere, so nothing is undone. Raises OSError."""
    files.write_all(fd, data)
