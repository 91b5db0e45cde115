"""The index of a log, kept beside the other caches: verified before use, extended, replaced when it lies.

One header, stamped with what the log's status was, then the entries. It is written under a lock that nobody
waits for, never cut in place; on a mismatch a new file takes its place by rename.
"""

from __future__ import annotations

import os
import stat
import struct
import time
import zlib
from typing import TYPE_CHECKING

from memctl.store import caches, files, indexing
from memctl.store.entries import ENTRY_BYTES, HEADER_BYTES, Damaged, Entries

if TYPE_CHECKING:
    from collections.abc import Callable

#: Times are signed: a file may be older than 1970.
_HEADER = struct.Struct("<16s8s3Q3qI")
_MAGIC = b"memctl index 1\n\0"
#: A stamp taken this soon after the log's last change may miss a change in the same tick of its clock.
RACY_NS = 2_000_000_000
#: So much of the end of a log is compared before its index is believed: any window but a huge one lies there.
_RECENT_BYTES = 8 << 20
#: And so many stretches of at least this size, spread over what lies in front of it.
_SAMPLES = 8
_SAMPLE_BYTES = 1 << 16


class Index(Entries):
    """The entries of the log `fd`, up to date when made. `path` None: nothing is kept.

    When a later access raises Damaged, `discard` it and start again. `progress(done, total)` is told bytes.
    """

    def __init__(self, fd: int, path: str | None, progress: Callable[[int, int], None] | None = None) -> None:
        super().__init__(fd)
        self.path = path
        self.generation = b""
        self._progress = progress
        self._writable = False
        # Before anything is read: a change after this moment has a later time, but for its clock's tick.
        self._looked_ns = time.time_ns()
        self._status = os.fstat(fd)
        if not self._reuse():
            self._build()

    @classmethod
    def agrees(cls, fd: int, path: str) -> bool | None:
        """Whether the index kept at `path` is one of the log `fd`, every byte compared; None without one.

        Nothing is built or extended. An index that lacks the newest lines agrees.
        """
        index = cls.__new__(cls)
        Entries.__init__(index, fd)
        index.path, index.generation, index._writable = path, b"", False
        index._looked_ns, index._progress, index._status = time.time_ns(), None, os.fstat(fd)
        if not index._open(path):
            return None
        try:
            return index._believable() and index._all_agrees()
        except (Damaged, OSError, struct.error):
            return False
        finally:
            index.close()

    # -- verifying ----------------------------------------------------------------------------------------

    def _reuse(self) -> bool:
        """Open the kept index and bring it up to date; False if there is none to be believed."""
        if self.path is None or not self._open(self.path):
            return False
        try:
            if self._believable():
                self._extend()
                return True
        except (Damaged, OSError, struct.error):
            pass
        self.close()
        return False

    def _open(self, path: str) -> bool:
        for mode in (os.O_RDWR, os.O_RDONLY):
            try:
                self._file = caches.open_kept(path, write=mode == os.O_RDWR)
            except OSError:
                continue
            self._writable = mode == os.O_RDWR
            if stat.S_ISREG(os.fstat(self._file).st_mode):
                return True
            self.close()
        return False

    def _believable(self) -> bool:
        header = os.pread(self._file, _HEADER.size, 0)
        if not is_header(header):
            return False
        _, self.generation, dev, ino, size_bytes, mtime, ctime, stamped, _ = _HEADER.unpack(header)
        self._saved = max(os.fstat(self._file).st_size - HEADER_BYTES, 0) // ENTRY_BYTES
        status = self._status
        if status.st_size < self.last().end:
            return False
        if len(self):
            # A cut cache may end between the messages of one line.
            self.stored(len(self) - 1)
        if (dev, ino) != (status.st_dev, status.st_ino) or status.st_size < size_bytes:
            return self._all_agrees()
        if status.st_size > size_bytes:
            return self._recent_agrees()
        if (mtime, ctime) != (status.st_mtime_ns, status.st_ctime_ns):
            return self._all_agrees()
        return stamped - max(mtime, ctime) > RACY_NS or self._recent_agrees()

    def _all_agrees(self) -> bool:
        return not len(self) or self.span_agrees(0, len(self) - 1)

    def _recent_agrees(self) -> bool:
        """Whether the end of the log, and some stretches in front of it, are what the index says.

        What another program changed in place, far from the end, before the log grew, may escape this.
        """
        size, end = len(self), self.last().end
        if not size:
            return True
        recent = self._entry_at(end - _RECENT_BYTES)
        samples = {end * part // _SAMPLES for part in range(_SAMPLES)} if recent else ()
        for offset in samples:
            last = min(self._entry_at(offset + _SAMPLE_BYTES), size - 1)
            if not self.span_agrees(self._entry_at(offset), last):
                return False
        return self.span_agrees(recent, size - 1)

    def _entry_at(self, offset: int) -> int:
        """The first entry whose line ends behind an offset."""
        return self.first_where(0, lambda entry: entry.end > offset)

    # -- growing ------------------------------------------------------------------------------------------

    def _extend(self) -> None:
        if self._writable:
            self._writable = self._lock()
        if self._status.st_size > self.last().end:
            indexing.take_in(self, self._status.st_size, self._checkpoint)
        if self._writable:
            self._keep()
            caches.unlock(self._file)

    def _build(self) -> None:
        self.generation = os.urandom(8)
        tmp = ""
        if self.path is not None:
            try:
                self._file, tmp = caches.create(self.path)
                self._writable = True
            except OSError:
                pass
        try:
            indexing.take_in(self, self._status.st_size, self._checkpoint)
            if self._writable and self._keep():
                tmp = self._place(tmp)
        except BaseException:
            self.close()
            raise
        finally:
            if tmp:
                caches.drop(tmp)

    def _place(self, tmp: str) -> str:
        """Put the new file in place; what is then left to remove, where that cannot be done."""
        try:
            caches.place(tmp, self.path or "")
            return ""
        except OSError:
            return tmp

    def _checkpoint(self, done: int) -> None:
        if self._writable:
            try:
                self.save()
            except OSError:
                self._writable = False
        if self._progress is not None:
            self._progress(done, self._status.st_size)

    def _keep(self) -> bool:
        """Save what waits and stamp the header; a cache that cannot be written is let go."""
        try:
            self.save()
            files.overwrite(self._file, self._header(), 0)
            return True
        except (OSError, struct.error):
            self._writable = False
            return False

    def _lock(self) -> bool:
        """Whether this process may write: nobody waits, and what another one added meanwhile stays."""
        if not caches.try_lock(self._file):
            return False
        # Less than an entry too much is what a killed writer left; it is written over.
        if os.fstat(self._file).st_size - HEADER_BYTES - self.saved * ENTRY_BYTES < ENTRY_BYTES:
            return True
        caches.unlock(self._file)
        return False

    def _header(self) -> bytes:
        status = self._status
        body = _HEADER.pack(
            _MAGIC,
            self.generation,
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            self._looked_ns,
            0,
        )[:-4]
        return (body + zlib.crc32(body).to_bytes(4, "little")).ljust(HEADER_BYTES, b"\0")

    def close(self) -> None:
        """Close the cache; the log stays open."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
        self._saved = 0
        self._unsaved.clear()
        self._blocks.clear()

    def discard(self) -> None:
        """Remove the kept index, which has been found wrong."""
        if self.path is not None:
            caches.drop(self.path)
        self.close()


def is_header(data: bytes) -> bool:
    """Whether the bytes begin with the header of an index of this version, undamaged."""
    header = data[: _HEADER.size]
    return (
        header.startswith(_MAGIC)
        and _HEADER.size == len(header)
        and _HEADER.unpack(header)[-1] == zlib.crc32(header[:-4])
    )
