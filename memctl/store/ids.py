"""The ids that a log holds, as a cache of 24-byte entries: only input that brings its own ids looks here.

An entry is the hash of an id, the offset of its line, the CRC-32 of that line, and the CRC-32 of all that
stands before it in the cache, so one pass tells whether a byte of it is wrong. A line without an id ends a
batch as an entry with hash 0: the last entry tells how far the cache reaches. The cache counts only for the
same file, and if the last line and some others still stand where it says. A hit is confirmed by reading.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import TYPE_CHECKING, Any

from memctl.core import marker
from memctl.core.lines import read_line
from memctl.store import caches
from memctl.store.scanning import scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ENTRY = struct.Struct("<QQII")
_HEADER = struct.Struct("<16sQ")
_MAGIC = b"memctl ids 2\n\0\0\0"
#: Looking at every entry of a block once costs as much as searching it for so many hashes.
_NEEDLES_MAX = 16
_BLOCK_BYTES = _ENTRY.size << 14
_BATCH_BYTES = _ENTRY.size << 12
#: How many lines, spread over the log, are compared before the cache is believed.
_SAMPLES = 16


class IdCache:
    """The ids of the log `fd`. `path` None, or one that cannot be written: nothing is kept."""

    def __init__(self, path: str | None, fd: int) -> None:
        self._log = fd
        self._cache = -1
        self._crc = 0
        self._size_bytes = 0
        self._end = 0
        self._unsaved: list[tuple[int, int]] = []
        self._saving = False
        if path is not None:
            try:
                self._open(path)
            except OSError:
                self.close()

    def close(self) -> None:
        """Close the cache file."""
        if self._cache >= 0:
            os.close(self._cache)
        self._cache = -1
        self._saving = False

    def _open(self, path: str) -> None:
        self._cache = caches.open_to_append(path)
        header = _HEADER.pack(_MAGIC, os.fstat(self._log).st_ino)
        if not self._believable(header):
            # Another process may hold the old file open: a new one takes its place.
            caches.replace(path, [header])
            os.close(self._cache)
            self._cache = caches.open_to_append(path)
            self._crc, self._size_bytes, self._end = zlib.crc32(header), len(header), 0
        self._saving = True

    # -- verifying ----------------------------------------------------------------------------------------

    def _believable(self, header: bytes) -> bool:
        size_bytes = os.fstat(self._cache).st_size
        count, odd = divmod(size_bytes - _HEADER.size, _ENTRY.size)
        if count < 1 or odd or os.pread(self._cache, _HEADER.size, 0) != header:
            return False
        crc = 0
        for block in self._blocks(0, size_bytes - 4):
            crc = zlib.crc32(block, crc)
        own = os.pread(self._cache, 4, size_bytes - 4)
        if own != crc.to_bytes(4, "little"):
            return False
        numbers = {count * part // _SAMPLES for part in range(_SAMPLES)} | {count - 1}
        for number in sorted(numbers):
            _, offset, line_crc, _ = self._entry(number)
            line = next(scan(self._log, offset, os.fstat(self._log).st_size), None)
            if line is None or not line.terminated or zlib.crc32(line.data) != line_crc:
                return False
            self._end = offset + line.size_bytes
        self._crc, self._size_bytes = zlib.crc32(own, crc), size_bytes
        return True

    def _entry(self, number: int) -> tuple[int, ...]:
        data = os.pread(self._cache, _ENTRY.size, _HEADER.size + number * _ENTRY.size)
        return _ENTRY.unpack(data) if len(data) == _ENTRY.size else (0, 1 << 62, 0, 0)

    def _blocks(self, start: int, end: int) -> Iterator[bytes]:
        while start < end and (block := os.pread(self._cache, min(_BLOCK_BYTES, end - start), start)):
            yield block
            start += len(block)

    # -- growing ------------------------------------------------------------------------------------------

    def catch_up(self, end: int) -> None:
        """Take in the lines up to the offset `end`, which lies behind a LF."""
        batch = bytearray()
        last: tuple[int, int] | None = None
        for line in scan(self._log, self._end, end):
            if not line.terminated:
                break
            crc = zlib.crc32(line.data)
            last = (line.offset, crc)
            for id in _ids_in(line.data):
                self._note(batch, _hash(id), line.offset, crc)
                last = None
            self._end = line.offset + line.size_bytes
            if len(batch) >= _BATCH_BYTES:
                self._save(batch)
        if last is not None:
            self._note(batch, 0, *last)
        self._save(batch)

    def _note(self, batch: bytearray, hash_: int, offset: int, line_crc: int) -> None:
        if not self._saving:
            self._unsaved.append((hash_, offset))
            return
        entry = _ENTRY.pack(hash_, offset, line_crc, 0)[:-4]
        crc = zlib.crc32(entry, self._crc)
        own = crc.to_bytes(4, "little")
        self._crc = zlib.crc32(own, crc)
        batch += entry + own

    def _save(self, batch: bytearray) -> None:
        if batch:
            try:
                caches.append(self._cache, bytes(batch))
                self._size_bytes += len(batch)
            except OSError:
                # What could not be kept, and all that follows, is looked up in memory this time. Part of the
                # batch may stand in the file: the next one to open it finds that and makes it anew.
                self._saving = False
                self._unsaved += (entry[:2] for entry in _ENTRY.iter_unpack(bytes(batch)))
        batch.clear()

    # -- finding ------------------------------------------------------------------------------------------

    def find(self, ids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
        """The stored messages with one of these ids, in no order."""
        wanted: dict[int, set[str]] = {}
        for id in ids:
            wanted.setdefault(_hash(id), set()).add(id)
        found: dict[str, list[dict[str, Any]]] = {}
        for offset in {offset for hash_, offset in self._candidates(wanted) if hash_ in wanted}:
            for message in self._messages_at(offset):
                own = marker.message_id(message)
                if own is not None and own in wanted.get(_hash(own), ()):
                    found.setdefault(own, []).append(message)
        return found

    def _candidates(self, wanted: Iterable[int]) -> Iterator[tuple[int, int]]:
        yield from self._unsaved
        if self._cache < 0:
            return
        hashes = set(wanted)
        needles = [hash_.to_bytes(8, "little") for hash_ in hashes]
        for block in self._blocks(_HEADER.size, self._size_bytes):
            if len(needles) > _NEEDLES_MAX:
                yield from ((entry[0], entry[1]) for entry in _ENTRY.iter_unpack(block) if entry[0] in hashes)
                continue
            for needle in needles:
                at = block.find(needle)
                while at >= 0:
                    if at % _ENTRY.size == 0:
                        yield _ENTRY.unpack_from(block, at)[:2]
                    at = block.find(needle, at + 1)

    def _messages_at(self, offset: int) -> Iterator[dict[str, Any]]:
        line = next(scan(self._log, offset, os.fstat(self._log).st_size), None)
        if line is not None:
            yield from (piece.message for piece in read_line(line.data) if piece.message is not None)


def _ids_in(line: bytes) -> list[str]:
    if b"memctl" not in line and b"\\u" not in line:
        return []
    ids = (marker.message_id(piece.message) for piece in read_line(line) if piece.message is not None)
    return [id for id in ids if id is not None]


def _hash(id: str) -> int:
    from hashlib import blake2b

    digest = blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1
