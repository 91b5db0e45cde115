"""Locks between processes: the only door to filelock.

A lock is a file by name, never unlinked, so replacing a log is safe. What the holder writes into it is
advisory: it is shown to who waits in vain, if the holder still lives.
"""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING, Any

from memctl.errors import AccessDenied, LockTimeout
from memctl.store import directories, disk, files

if TYPE_CHECKING:
    from types import TracebackType

    from memctl.store.layout import Place

#: At filelock's own 50 ms one of 16 writers waited 1.26 s for its turn.
POLL_S = 0.003


class Lock:
    """A context manager that holds the lock file at `place`; directories are made as needed.

    Entering raises LockTimeout after `timeout_s` seconds, AccessDenied where the file cannot be opened.
    """

    def __init__(self, place: Place, what: str, *, timeout_s: float, command: str) -> None:
        self._place = place
        self._what = what
        self._timeout_s = timeout_s
        self._command = command
        self._lock: Any = None

    def __enter__(self) -> Lock:
        from filelock import FileLock, Timeout

        file = self._open()
        try:
            lock = FileLock(self._place.path, mode=0o600, thread_local=False)
            try:
                lock.acquire(timeout=self._timeout_s, poll_interval=POLL_S)
            except Timeout:
                raise LockTimeout(
                    f"{self._what} is busy: {self._holder()}; waited {self._timeout_s:g} s",
                    hint="wait for it, or give --lock-timeout SECONDS before the command",
                ) from None
            except PermissionError as error:
                raise self._denied(error) from None
            self._lock = lock
            try:
                self._leave_note(file)
            except BaseException:
                lock.release()
                raise
        finally:
            os.close(file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def _open(self) -> int:
        """The lock file, made here if it is missing, so that it has the owner of its directory."""
        try:
            dir_fd = directories.open_at(self._place.base, self._place.parts, create=True)
            try:
                return files.open_or_create(dir_fd, self._place.name, self._place.path)
            finally:
                os.close(dir_fd)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise self._denied(error) from None
            raise

    def _denied(self, error: OSError) -> AccessDenied:
        return AccessDenied(f"cannot lock {self._what}: {error.strerror}: {self._place.path}")

    def _leave_note(self, file: int) -> None:
        """Who holds it, since when, for what. It may fail: it is a courtesy."""
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        try:
            disk.note(file, f"{os.getpid()} {since} {self._command}\n".encode().ljust(64))
        except OSError:
            pass

    def _holder(self) -> str:
        try:
            with open(self._place.path, encoding="utf-8", errors="replace") as file:
                pid, since, command = file.read(256).split(maxsplit=2)
            if not _lives(int(pid)):
                raise ValueError
        except (OSError, ValueError):
            return "another process holds its lock"
        return f"process {pid} ({command.strip()}) holds its lock since {since}"


def hold_file(fd: int, what: str, *, timeout_s: float) -> None:
    """Hold an open file outside of any store until it is closed; raises LockTimeout.

    Only callers of this wait for each other; on a file system without such locks nobody does.
    """
    from fcntl import LOCK_EX, LOCK_NB, flock

    deadline = time.monotonic() + timeout_s
    while True:
        try:
            flock(fd, LOCK_EX | LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LockTimeout(
                    f"{what} is busy: another process rewrites it; waited {timeout_s:g} s",
                    hint="wait for it, or give --lock-timeout SECONDS before the command",
                ) from None
        except OSError:
            return
        time.sleep(POLL_S)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
