"""Vectors of texts, kept in the cache: one file a user and embedder, keyed by what the text digests to.

The file is entries one behind the other, each with its own CRC; what does not check, and all behind it, is
not there. It is appended to by one process at a time and may be removed at any moment.
"""

from __future__ import annotations

import os
import struct
import zlib
from array import array
from typing import TYPE_CHECKING

from memctl.errors import AccessDenied
from memctl.store import caches, directories

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memctl.store.layout import Layout, Place

#: Digest, number of dimensions, CRC-32 of all else.
_HEAD = struct.Struct("=16sII")
_FLOAT_BYTES = 4


def key(text: str) -> bytes:
    """What stands for a text in the cache."""
    from hashlib import blake2b

    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Vectors:
    """The vectors kept at `place`, read once; whatever cannot be read or kept is made again the next time.

    Without a place they are in memory alone.
    """

    def __init__(self, place: Place | None) -> None:
        self._path = None if place is None else place.path
        self._data = b""
        self._known: dict[bytes, tuple[int, int]] = {}
        self._end = 0
        if self._path is None:
            return
        try:
            fd = caches.open_kept(self._path, write=False)
        except OSError:
            return
        try:
            self._data = _whole(fd)
        except OSError:
            return
        finally:
            os.close(fd)
        self._read()

    def _read(self) -> None:
        """Note where each entry is from `_end` on, up to the last whole one."""
        data, at = self._data, self._end
        while at + _HEAD.size <= len(data):
            digest, dimensions, crc = _HEAD.unpack_from(data, at)
            start = at + _HEAD.size
            end = start + dimensions * _FLOAT_BYTES
            if end > len(data) or crc != zlib.crc32(data[start:end], zlib.crc32(digest)):
                break
            self._known[digest] = start, dimensions
            at = end
        self._end = at

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._known

    def get(self, digest: bytes) -> array[float] | None:
        """The vector of a text, None if there is none."""
        found = self._known.get(digest)
        if found is None:
            return None
        start, dimensions = found
        vector = array("f")
        vector.frombytes(self._data[start : start + dimensions * _FLOAT_BYTES])
        return vector

    def add(self, made: Mapping[bytes, array[float]]) -> None:
        """Take in new vectors, and keep them where that is possible."""
        packed = b"".join(_packed(digest, vector) for digest, vector in made.items())
        torn = self._end < len(self._data)
        self._data = self._data[: self._end] + packed
        self._read()
        if self._path is None:
            return
        try:
            if torn:
                caches.replace(self._path, [self._data])
            else:
                _append(self._path, packed)
        except OSError:
            # The answer does not depend on the cache.
            pass


def _append(path: str, packed: bytes) -> None:
    fd = caches.open_to_append(path)
    try:
        if caches.try_lock(fd):
            caches.append(fd, packed)
    finally:
        os.close(fd)


def _packed(digest: bytes, vector: array[float]) -> bytes:
    data = vector.tobytes()
    return _HEAD.pack(digest, len(vector), zlib.crc32(data, zlib.crc32(digest))) + data


def _whole(fd: int) -> bytes:
    size_bytes = os.fstat(fd).st_size
    blocks: list[bytes] = []
    position = 0
    while position < size_bytes and (block := os.pread(fd, size_bytes - position, position)):
        blocks.append(block)
        position += len(block)
    return b"".join(blocks)


def kept(layout: Layout, user: str) -> list[str]:
    """The paths of all files of vectors of a user."""
    place = layout.vectors(user, "x")
    try:
        dir_fd = directories.open_at(place.base, place.parts)
    except (FileNotFoundError, AccessDenied):
        return []
    try:
        return sorted(f"{place.path.removesuffix(place.name)}{name}" for name in os.listdir(dir_fd))
    finally:
        os.close(dir_fd)


def drop(layout: Layout, user: str) -> None:
    """Remove all vectors of a user."""
    for path in kept(layout, user):
        caches.drop(path)
