"""The only module that writes, syncs, renames, truncates and unlinks.

Every change to the disk passes through one of the names in `PRIMITIVES`, so a test can stop the process at
the k-th of them. Directories below a store's root are opened component by component without following
links; new directories have mode 0700 and new files 0600 under any umask; run as root, what is new belongs
to the owner of its directory.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from memctl.errors import AccessDenied, AlreadyExists, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PRIMITIVES = (
    "_write",
    "_pwrite",
    "_fsync",
    "_rename",
    "_ftruncate",
    "_unlink",
    "_mkdir",
    "_rmdir",
    "_create",
)

_write = os.write
_pwrite = os.pwrite
_fsync = os.fsync
_rename = os.rename
_ftruncate = os.ftruncate
_unlink = os.unlink
_mkdir = os.mkdir
_rmdir = os.rmdir
_create = os.open

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
#: One write call moves at most 2 GiB on Linux; longer input goes in several writes of whole lines.
WRITE_MAX_BYTES = 1 << 30


# -- directories ----------------------------------------------------------------------------------------


def make_dirs(path: str, *, fsync: bool = False) -> None:
    """Create `path` and its missing parents, each with mode 0700."""
    missing = []
    while not os.path.isdir(path):
        missing.append(os.path.basename(path))
        parent = os.path.dirname(path)
        if not missing[-1] or parent == path:
            break
        path = parent
    if missing:
        os.close(open_dir(path, missing[::-1], create=True, fsync=fsync))


def open_dir(base: str, parts: Sequence[str], *, create: bool = False, fsync: bool = False) -> int:
    """A descriptor of the directory `base/parts…`; no link below `base` is followed.

    Raises FileNotFoundError when it is missing and not to be created, AccessDenied for a link or a file in
    the way. With `fsync`, the entry of each directory made is durable on return.
    """
    if create and not os.path.isdir(base):
        make_dirs(base, fsync=fsync)
    fd = os.open(base, _DIRECTORY)
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
        return os.open(part, _DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
    except FileNotFoundError:
        if not create:
            raise
    except (NotADirectoryError, OSError) as error:
        if _is_link(fd, part):
            raise AccessDenied(f"{path} is a symbolic link; links inside a store are not followed") from None
        raise error
    try:
        _mkdir(part, 0o700, dir_fd=fd)
    except FileExistsError:
        return _open_child(fd, part, path, False, fsync)
    below = os.open(part, _DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
    os.fchmod(below, 0o700)
    _give_to_owner_of(fd, below)
    if fsync:
        _fsync(fd)
    return below


def _is_link(dir_fd: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _give_to_owner_of(dir_fd: int, fd: int) -> None:
    """Run as root, a new file or directory belongs to the owner of the directory it lies in."""
    if os.geteuid() == 0:
        owner = os.fstat(dir_fd)
        if (owner.st_uid, owner.st_gid) != (0, os.getegid()):
            os.fchown(fd, owner.st_uid, owner.st_gid)


# -- files ----------------------------------------------------------------------------------------------


def sync_chain(base: str, parts: Sequence[str]) -> None:
    """fsync `base` and each directory of `base/parts…`, so that all entries on the way are durable."""
    for depth in range(len(parts) + 1):
        fd = open_dir(base, parts[:depth])
        try:
            _fsync(fd)
        finally:
            os.close(fd)


def sync_parents(path: str) -> None:
    """fsync the directories above `path`: one killed while it made them may have left that to the next."""
    while (parent := os.path.dirname(path)) != path:
        path = parent
        try:
            fd = os.open(path, _DIRECTORY)
        except OSError:
            return
        try:
            _fsync(fd)
        except OSError:
            return
        finally:
            os.close(fd)


def open_file(dir_fd: int, name: str, path: str, *, write: bool = False, append: bool = False) -> int:
    """A descriptor of an existing regular file; a link, pipe or device is refused (`path`: for messages)."""
    mode = (os.O_RDWR if write or append else os.O_RDONLY) | (os.O_APPEND if append else 0)
    try:
        fd = os.open(name, mode | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=dir_fd)
    except OSError as error:
        if _is_link(dir_fd, name):
            raise AccessDenied(f"{path} is a symbolic link; links inside a store are not followed") from None
        if error.errno in (errno.EISDIR, errno.ENXIO):
            raise AccessDenied(f"{path} is not a regular file") from None
        raise error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise AccessDenied(f"{path} is not a regular file")
    return fd


def create_file(dir_fd: int, name: str, *, append: bool = False) -> int:
    """A descriptor of a new empty file with mode 0600. Raises FileExistsError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = _create(name, flags | (os.O_APPEND if append else 0), 0o600, dir_fd=dir_fd)
    os.fchmod(fd, 0o600)
    _give_to_owner_of(dir_fd, fd)
    return fd


def sync(fd: int) -> None:
    """fsync a file or directory."""
    _fsync(fd)


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
                count = _write(fd, rest)
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
            _fsync(fd)
    except OSError as error:
        undone = start < 0 or (not apart and _undo(fd, start, end))
        raise _not_stored(error, undone) from error
    return start


def sync_appended(fd: int, start: int, end: int) -> None:
    """fsync after an append of the bytes `start` to `end`; one that fails is undone as in `append`."""
    try:
        _fsync(fd)
    except OSError as error:
        raise _not_stored(error, _undo(fd, start, end)) from error


def _undo(fd: int, start: int, end: int) -> bool:
    """Cut what this process appended from `start` to `end`, unless a foreign writer is behind it already."""
    if os.fstat(fd).st_size != end:
        return False
    try:
        _ftruncate(fd, start)
    except OSError:
        return False
    try:
        _fsync(fd)
    except OSError:
        pass
    return True


def _not_stored(error: OSError, undone: bool) -> StorageError:
    reason = error.strerror or str(error)
    if undone:
        return StorageError(f"writing failed, nothing was stored: {reason}")
    return StorageError(f"writing failed, and what was written of it could not be taken back: {reason}")


def _write_rest(fd: int, rest: bytes) -> None:
    while rest:
        rest = rest[_write(fd, rest) :]


def overwrite(fd: int, data: bytes, offset: int) -> None:
    """Write `data` over the bytes at `offset` (of a descriptor that was not opened for appending)."""
    while data:
        count = _pwrite(fd, data, offset)
        data = data[count:]
        offset += count


def truncate(fd: int, size_bytes: int, *, fsync: bool) -> None:
    """Cut the file to `size_bytes`."""
    _ftruncate(fd, size_bytes)
    if fsync:
        _fsync(fd)


def replace_at(dir_fd: int, name: str, tmp_fd: int, chunks: Iterable[bytes], *, fsync: bool = True) -> None:
    """Write a new file in the directory `tmp_fd` and rename it to `name` in `dir_fd`.

    An existing file's mode, owner and group are kept, or AccessDenied is raised and nothing changes. Both
    directories lie on one file system. With `fsync`, file and entry are durable on return.
    """
    tmp = f".{os.getpid()}-{os.urandom(6).hex()}"
    fd = create_file(tmp_fd, tmp)
    try:
        for chunk in chunks:
            _write_rest(fd, chunk)
        _keep_ownership(dir_fd, name, fd)
        if fsync:
            _fsync(fd)
        _rename(tmp, name, src_dir_fd=tmp_fd, dst_dir_fd=dir_fd)
    except BaseException:
        try:
            _unlink(tmp, dir_fd=tmp_fd)
        except OSError:
            pass
        raise
    finally:
        os.close(fd)
    if fsync:
        _fsync(dir_fd)


def _keep_ownership(dir_fd: int, name: str, fd: int) -> None:
    try:
        old = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    new = os.fstat(fd)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except OSError:
            raise AccessDenied(
                f"{name} belongs to another owner or group and cannot be replaced as it is"
            ) from None
    os.fchmod(fd, stat.S_IMODE(old.st_mode))


def replace(path: str, chunks: Iterable[bytes], *, fsync: bool = False) -> None:
    """Write `path` anew: a temporary file beside it, renamed. For caches and callers' own files."""
    dir_fd = os.open(os.path.dirname(path) or ".", _DIRECTORY)
    try:
        replace_at(dir_fd, os.path.basename(path), dir_fd, chunks, fsync=fsync)
    finally:
        os.close(dir_fd)


def create(path: str, data: bytes, *, fsync: bool = True) -> None:
    """Write a new file whole and durable; AlreadyExists if there is one."""
    dir_fd = os.open(os.path.dirname(path) or ".", _DIRECTORY)
    try:
        create_at(dir_fd, os.path.basename(path), data, path, fsync=fsync)
    finally:
        os.close(dir_fd)


def create_at(dir_fd: int, name: str, data: bytes, path: str, *, fsync: bool = True) -> None:
    """As `create`, in an open directory; a failed write leaves no file behind."""
    try:
        fd = create_file(dir_fd, name)
    except FileExistsError:
        raise AlreadyExists(f"{path} exists already") from None
    try:
        _write_rest(fd, data)
        if fsync:
            _fsync(fd)
            _fsync(dir_fd)
    except BaseException:
        try:
            _unlink(name, dir_fd=dir_fd)
        except OSError:
            pass
        raise
    finally:
        os.close(fd)


def rename(src_fd: int, src: str, dst_fd: int, dst: str, *, fsync: bool = True) -> None:
    """Move a file between two open directories of one file system; both entries are durable on return."""
    _rename(src, dst, src_dir_fd=src_fd, dst_dir_fd=dst_fd)
    if fsync:
        _fsync(dst_fd)
        _fsync(src_fd)


def move(src_fd: int, src: str, dst_fd: int, dst: str, tmp_fd: int, *, fsync: bool = True) -> None:
    """As `rename`, also between file systems: there a copy, made in `tmp_fd`, is durable before it goes."""
    try:
        rename(src_fd, src, dst_fd, dst, fsync=fsync)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    copy(src_fd, src, dst_fd, dst, tmp_fd, fsync=fsync)
    unlink(src_fd, src, fsync=fsync)


def copy(src_fd: int, src: str, dst_fd: int, dst: str, tmp_fd: int, *, fsync: bool = True) -> None:
    """Put a copy of a file in another directory, written in `tmp_fd`, which lies on the same file system."""
    with open(open_file(src_fd, src, src), "rb") as file:
        replace_at(dst_fd, dst, tmp_fd, iter(lambda: file.read(1 << 20), b""), fsync=fsync)


def unlink(dir_fd: int, name: str, *, fsync: bool = False, missing_ok: bool = True) -> bool:
    """Remove a file; whether there was one."""
    try:
        _unlink(name, dir_fd=dir_fd)
    except FileNotFoundError:
        if missing_ok:
            return False
        raise
    if fsync:
        _fsync(dir_fd)
    return True


def remove_empty_dir(dir_fd: int, name: str) -> None:
    """Remove a directory if it is empty; otherwise leave it."""
    try:
        _rmdir(name, dir_fd=dir_fd)
    except OSError:
        pass


# -- caches ---------------------------------------------------------------------------------------------


def _cache_dir(path: str, *, create: bool = False) -> tuple[int, str]:
    """The open directory of a cache, and the cache's name in it; raises OSError.

    In a store no link is followed; the user's own cache directory may be reached over links.
    """
    directory, _, name = path.rpartition("/")
    root, inside, below = directory.rpartition("/.memctl/")
    try:
        if inside:
            return open_dir(root, (".memctl", *below.split("/")), create=create), name
        if create:
            make_dirs(directory)
    except AccessDenied as error:
        raise OSError(errno.ELOOP, str(error)) from None
    return os.open(directory or ".", _DIRECTORY), name


def _open_cache_file(dir_fd: int, name: str, flags: int) -> int:
    fd = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "a cache has to be a regular file")
    return fd


def open_cache(path: str) -> int:
    """A descriptor of a cache file for reading and appending, made if missing; raises OSError."""
    dir_fd, name = _cache_dir(path, create=True)
    try:
        try:
            return _open_cache_file(dir_fd, name, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            return create_file(dir_fd, name, append=True)
    finally:
        os.close(dir_fd)


def open_shared(path: str) -> int:
    """A descriptor of a cache file, made if missing, for writing where that is allowed; raises OSError."""
    dir_fd, name = _cache_dir(path, create=True)
    try:
        try:
            return _open_cache_file(dir_fd, name, os.O_RDWR)
        except FileNotFoundError:
            return create_file(dir_fd, name)
        except PermissionError:
            return _open_cache_file(dir_fd, name, os.O_RDONLY)
    finally:
        os.close(dir_fd)


def open_kept(path: str, *, write: bool) -> int:
    """A descriptor of an existing cache file; raises OSError."""
    dir_fd, name = _cache_dir(path)
    try:
        return _open_cache_file(dir_fd, name, os.O_RDWR if write else os.O_RDONLY)
    finally:
        os.close(dir_fd)


def create_cache(path: str) -> tuple[int, str]:
    """A descriptor of a new empty file beside `path`, and its path; `place_cache` puts it in place."""
    tmp = f"{os.path.dirname(path)}/.{os.getpid()}-{os.urandom(6).hex()}"
    dir_fd, name = _cache_dir(tmp, create=True)
    try:
        return create_file(dir_fd, name), tmp
    finally:
        os.close(dir_fd)


def place_cache(tmp: str, path: str) -> None:
    """Rename a finished cache into place; both lie in one directory."""
    dir_fd, name = _cache_dir(path)
    try:
        _rename(os.path.basename(tmp), name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    finally:
        os.close(dir_fd)


def replace_cache(path: str, chunks: Iterable[bytes]) -> None:
    """Write a cache anew: a temporary file beside it, renamed; raises OSError."""
    dir_fd, name = _cache_dir(path, create=True)
    try:
        replace_at(dir_fd, name, dir_fd, chunks, fsync=False)
    except AccessDenied as error:
        raise OSError(errno.EACCES, str(error)) from None
    finally:
        os.close(dir_fd)


def drop_cache(path: str) -> None:
    """Remove a cache; one that is gone already, or cannot be removed, is none of our trouble."""
    try:
        dir_fd, name = _cache_dir(path)
    except OSError:
        return
    try:
        _unlink(name, dir_fd=dir_fd)
    except OSError:
        pass
    finally:
        os.close(dir_fd)


def write_cache(fd: int, data: bytes) -> None:
    """Append to a cache; a cache may end anywhere, so nothing is undone. Raises OSError."""
    _write_rest(fd, data)


# -- other processes ------------------------------------------------------------------------------------


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


def note(fd: int, data: bytes) -> None:
    """Put a note at the start of a lock file; what a longer older note leaves behind it is cut off."""
    os.pwrite(fd, data, 0)
    os.ftruncate(fd, len(data))
