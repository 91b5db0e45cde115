"""The index of a log, kept beside the other caches: verified before use, extended, replaced when it lies.

One header, stamped with what the log's status was, then the entries. It is written under a lock that nobody
waits for, never cut in place; on a mismatch a new file takes its place by rename.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from typing import TYPE_CHECKING

from memctl.store import files, indexing, log
from memctl.store.entries import ENTRY_BYTES, HEADER_BYTES, Damaged, Entries

if TYPE_CHECKING:
    from collections.abc import Callable

_HEADER = struct.Struct("<16s8s6QI")
_MAGIC = b"memctl index 1\n\0"
#: A stamp taken this soon after the log's last change may miss a change in the same tick of its clock.
RACY_NS = 2_000_000_000
#: How many lines, spread over the log, are compared before the index of a grown log is believed.
_SAMPLES = 8


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
        self._status = os.fstat(fd)
        if not self._reuse():
            self._build()

    # -- verifying ----------------------------------------------------------------------------------------

    def _reuse(self) -> bool:
        """Open the kept index and bring it up to date; False if there is none to be believed."""
        if self.path is None or not self._open(self.path):
            return False
        try:
            if self._believable():
                self._extend()
                return True
        except (Damaged, struct.error):
            pass
        self.close()
        return False

    def _open(self, path: str) -> bool:
        for mode in (os.O_RDWR, os.O_RDONLY):
            try:
                self._file = os.open(path, mode | os.O_NOFOLLOW | os.O_CLOEXEC)
                self._writable = mode == os.O_RDWR
                return True
            except OSError:
                continue
        return False

    def _believable(self) -> bool:
        header = os.pread(self._file, _HEADER.size, 0)
        magic, self.generation, dev, ino, size_bytes, mtime, ctime, stamped, own = _HEADER.unpack(header)
        if magic != _MAGIC or own != zlib.crc32(header[:-4]):
            return False
        self._saved = (os.fstat(self._file).st_size - HEADER_BYTES) // ENTRY_BYTES
        last = self.last()
        status = self._status
        if status.st_size < last.end:
            return False
        same_file = (dev, ino) == (status.st_dev, status.st_ino)
        if same_file and (size_bytes, mtime, ctime) == (
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        ):
            return stamped - max(mtime, ctime) > RACY_NS or self._samples_agree()
        if same_file and status.st_size > size_bytes:
            return self._samples_agree()
        return self._all_agree()

    def _samples_agree(self) -> bool:
        """Whether the last line and some others, spread evenly, stand where the index says."""
        size = len(self)
        numbers = {size * part // (_SAMPLES - 1) for part in range(_SAMPLES - 1)} | {size - 1}
        for number in numbers:
            if 0 <= number < size:
                self.stored(number)
        return True

    def _all_agree(self) -> bool:
        size = len(self)
        number = 0
        for line in log.scan(self.log, 0, self.last().end):
            if number >= size:
                return False
            entry = self[number]
            end = line.offset + line.size_bytes
            if entry.end != end or entry.crc != indexing.line_crc(line):
                return False
            while number < size and self[number].end == end:
                number += 1
        return number == size

    # -- growing ------------------------------------------------------------------------------------------

    def _extend(self) -> None:
        if self._writable:
            self._writable = self._lock()
        if self._status.st_size > self.last().end:
            indexing.take_in(self, self._status.st_size, self._checkpoint)
        if self._writable:
            self._keep()
            self._unlock()

    def _build(self) -> None:
        self.generation = os.urandom(8)
        tmp = ""
        if self.path is not None:
            try:
                files.make_dirs(os.path.dirname(self.path))
                self._file, tmp = files.create_cache(self.path)
                self._writable = True
            except OSError:
                pass
        try:
            indexing.take_in(self, self._status.st_size, self._checkpoint)
            if self._writable and self._keep():
                files.place_cache(tmp, self.path or "")
                tmp = ""
        finally:
            if tmp:
                files.drop_cache(tmp)

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
        except OSError:
            self._writable = False
            return False

    def _lock(self) -> bool:
        """Whether this process may write: nobody waits, and what another one added meanwhile stays."""
        from fcntl import LOCK_EX, LOCK_NB, flock

        try:
            flock(self._file, LOCK_EX | LOCK_NB)
        except OSError:
            return False
        # Less than an entry too much is what a killed writer left; it is written over.
        if os.fstat(self._file).st_size - HEADER_BYTES - self.saved * ENTRY_BYTES < ENTRY_BYTES:
            return True
        self._unlock()
        return False

    def _unlock(self) -> None:
        from fcntl import LOCK_UN, flock

        flock(self._file, LOCK_UN)

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
            time.time_ns(),
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
            files.drop_cache(self.path)
        self.close()
