"""Directories: opened component by component, so that no link below a store's root is followed."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memctl.errors import AccessDenied, CannotCreate, InTheWay
from memctl.store import disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: How a directory is opened.
FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def make(path: str, *, fsync: bool = False) -> None:
    """Create `path` and its missing parents, each with mode 0700."""
    missing = []
    while not os.path.isdir(path):
        missing.append(os.path.basename(path))
        parent = os.path.dirname(path)
        if not missing[-1] or parent == path:
            break
        path = parent
    if missing:
        os.close(open_at(path, missing[::-1], create=True, fsync=fsync))


def open_at(base: str, parts: Sequence[str], *, create: bool = False, fsync: bool = False) -> int:
    """A descriptor of the directory `base/parts…`; no link below `base` is followed.

    Raises FileNotFoundError when it is missing and not to be created, AccessDenied for a link or a file in
    the way. With `fsync`, the entry of each directory made is durable on return.
    """
    if create and not os.path.isdir(base):
        make(base, fsync=fsync)
    try:
        fd = os.open(base, FLAGS)
    except NotADirectoryError:
        raise CannotCreate(f"{base} is not a directory") from None
    try:
        path = base
        for part in parts:
            path = f"{path}/{part}"
            below = _open_child(fd, part, path, create, fsync)
            os.close(fd)
            fd = below
    except BaseException:
        os.close(fd)
        raise
    return fd


def _open_child(fd: int, part: str, path: str, create: bool, fsync: bool) -> int:
    try:
        return os.open(part, FLAGS | os.O_NOFOLLOW, dir_fd=fd)
    except FileNotFoundError:
        if not create:
            raise
    except (NotADirectoryError, OSError) as error:
        if is_link(fd, part):
            raise InTheWay(f"{path} is a symbolic link; links inside a store are not followed") from None
        if isinstance(error, NotADirectoryError):
            raise InTheWay(f"{path} is not a directory") from None
        raise error
    try:
        disk.mkdir(part, 0o700, dir_fd=fd)
    except FileExistsError:
        return _open_child(fd, part, path, False, fsync)
    except FileNotFoundError:
        raise CannotCreate(f"{path}: no directory can be made there") from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    below = os.open(part, FLAGS | os.O_NOFOLLOW, dir_fd=fd)
    try:
        make_ours(fd, below, 0o700, part)
    except BaseException:
        os.close(below)
        remove_empty(fd, part)
        raise
    if fsync:
        disk.fsync(fd)
    return below


def make_ours(dir_fd: int, fd: int, mode: int, name: str) -> None:
    """Give what was made as `name` its mode, and run as root the owner of the directory it lies in.

    Raises AccessDenied, which names the place, where the system does not permit that.
    """
    try:
        disk.make_ours(dir_fd, fd, mode)
    except PermissionError as error:
        raise AccessDenied(
            f"{_path_of(dir_fd, name)} cannot be given to the owner of its directory: {error.strerror}"
        ) from error


@contextmanager
def naming(dir_fd: int, name: str) -> Iterator[None]:
    """What the system refuses inside names the path of `name` in an open directory."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, _path_of(dir_fd, name)) from error


def _path_of(dir_fd: int, name: str) -> str:
    """The path of a name in an open directory; the name alone where the system does not tell."""
    try:
        return f"{os.readlink(f'/proc/self/fd/{dir_fd}')}/{name}"
    except OSError:
        return name


def is_link(dir_fd: int, name: str) -> bool:
    """Whether the name in an open directory is a symbolic link."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


def sync_chain(base: str, parts: Sequence[str]) -> None:
    """fsync `base` and each directory of `base/parts…`, so that all entries on the way are durable."""
    for depth in range(len(parts) + 1):
        fd = open_at(base, parts[:depth])
        try:
            disk.fsync(fd)
        finally:
            os.close(fd)


def sync_parents(path: str) -> None:
    """fsync the directories above `path`: one killed while it made them may have left that to the next."""
    while (parent := os.path.dirname(path)) != path:
        path = parent
        try:
            fd = os.open(path, FLAGS)
        except OSError:
            return
        try:
            disk.fsync(fd)
        except OSError:
            return
        finally:
            os.close(fd)


def remove_empty(dir_fd: int, name: str) -> None:
    """Remove a directory if it is empty; otherwise leave it."""
    try:
        disk.rmdir(name, dir_fd=dir_fd)
    except OSError:
        pass


def listed(base: str, parts: Sequence[str]) -> list[str]:
    """The names in the directory `base/parts…`, in order; none if it is missing. No link is followed."""
    try:
        fd = open_at(base, parts)
    except FileNotFoundError:
        return []
    try:
        return sorted(os.listdir(fd))
    finally:
        os.close(fd)
