"""The ids that a log holds, as a cache of 24-byte entries: only input that brings its own ids looks here.

An entry is the hash of an id, the offset of its line, the CRC-32 of that line, and its own CRC-32. A line
without an id ends a batch as an entry with hash 0. The last entry tells how far the cache reaches; it counts
only if its line still stands there. A hit is confirmed by reading the line.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import TYPE_CHECKING, Any

from memctl.core import marker
from memctl.core.lines import read_line
from memctl.store import files, log

if TYPE_CHECKING:
    from collections.abc import Iterable

_ENTRY = struct.Struct("<QQII")
_MAGIC = b"memctl ids, version 1\n\0\0"
_BLOCK_ENTRIES = 1 << 14
_BATCH_ENTRIES = 1 << 12


class IdCache:
    """The ids of the log `fd`. `path` None, or one that cannot be written: nothing is kept."""

    def __init__(self, path: str | None, fd: int) -> None:
        self._log = fd
        self._cache = -1
        self._unsaved: list[tuple[int, int]] = []
        self._end = 0
        try:
            if path is not None:
                self._cache = files.open_cache(path)
                self._end = self._verified_end(path)
        except OSError:
            self._drop()

    def close(self) -> None:
        """Close the cache file."""
        self._drop()

    def _drop(self) -> None:
        if self._cache >= 0:
            os.close(self._cache)
        self._cache = -1

    def _verified_end(self, path: str) -> int:
        size_bytes = os.fstat(self._cache).st_size
        head = len(_MAGIC)
        if size_bytes > head and (size_bytes - head) % _ENTRY.size == 0:
            last = os.pread(self._cache, _ENTRY.size, size_bytes - _ENTRY.size)
            _, offset, crc, own = _ENTRY.unpack(last)
            if os.pread(self._cache, head, 0) == _MAGIC and own == zlib.crc32(last[:-4]):
                line = next(log.scan(self._log, offset, os.fstat(self._log).st_size), None)
                if line is not None and line.terminated and zlib.crc32(line.data) == crc:
                    return int(offset) + line.size_bytes
        if size_bytes != 0:
            # Another writer may hold the old file open: a new one takes its place.
            files.replace(path, [_MAGIC])
            self._drop()
            self._cache = files.open_cache(path)
        else:
            files.write_cache(self._cache, _MAGIC)
        return 0

    def catch_up(self, end: int) -> None:
        """Take in the lines up to the offset `end`, which lies behind a LF."""
        batch = bytearray()
        last: tuple[int, int] | None = None
        for line in log.scan(self._log, self._end, end):
            if not line.terminated:
                break
            crc = zlib.crc32(line.data)
            last = (line.offset, crc)
            for id in _ids_in(line.data):
                self._note(batch, _hash(id), line.offset, crc)
                last = None
            self._end = line.offset + line.size_bytes
            if len(batch) >= _BATCH_ENTRIES * _ENTRY.size:
                self._save(batch)
        if last is not None:
            self._note(batch, 0, *last)
        self._save(batch)

    def _note(self, batch: bytearray, hash_: int, offset: int, crc: int) -> None:
        if self._cache < 0:
            self._unsaved.append((hash_, offset))
            return
        entry = _ENTRY.pack(hash_, offset, crc, 0)[:-4]
        batch += entry + zlib.crc32(entry).to_bytes(4, "little")

    def _save(self, batch: bytearray) -> None:
        if batch and self._cache >= 0:
            try:
                files.write_cache(self._cache, bytes(batch))
            except OSError:
                # What could not be kept is looked up in memory this time and scanned again next time.
                for position in range(0, len(batch), _ENTRY.size):
                    hash_, offset, _, _ = _ENTRY.unpack_from(batch, position)
                    self._unsaved.append((hash_, offset))
        batch.clear()

    def find(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The stored messages with one of these ids."""
        wanted = {_hash(id): id for id in ids}
        found: dict[str, dict[str, Any]] = {}
        for hash_, offset in self._candidates(wanted):
            for message in self._messages_at(offset):
                if marker.message_id(message) == wanted[hash_]:
                    found.setdefault(wanted[hash_], message)
        return found

    def _candidates(self, wanted: dict[int, str]) -> Iterable[tuple[int, int]]:
        yield from (pair for pair in self._unsaved if pair[0] in wanted)
        if self._cache < 0:
            return
        needles = [hash_.to_bytes(8, "little") for hash_ in wanted]
        position = len(_MAGIC)
        while block := os.pread(self._cache, _BLOCK_ENTRIES * _ENTRY.size, position):
            for needle in needles:
                at = block.find(needle)
                while at >= 0:
                    if at % _ENTRY.size == 0 and at + _ENTRY.size <= len(block):
                        yield _ENTRY.unpack_from(block, at)[:2]
                    at = block.find(needle, at + 1)
            position += len(block)

    def _messages_at(self, offset: int) -> Iterable[dict[str, Any]]:
        line = next(log.scan(self._log, offset, os.fstat(self._log).st_size), None)
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
