"""What a file of the truth looked like when it was read: enough to see that it only grew, or is another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, Protocol
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.search.entries import Entry

_TAIL_BYTES = 256
_INTEGER = (1 << 63) - 1  # the largest that SQLite keeps


class Mark(NamedTuple):
    """A state of a file; and how far it was read then, with a sum of the last bytes before.

    `bad` is how many of the lines that were read hold, or also hold, what is no record or message.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    end: int = 0
    tail: int = 0
    bad: int = 0

    @property
    def damaged(self) -> int:
        """How many lines could not be read as what they should be; a torn one at the end is one of them."""
        return self.bad + (self.end < self.size)

    def same_state(self, other: Mark | None) -> bool:
        """Whether nothing happened to the file between the two."""
        return other is not None and self[:5] == other[:5]


class Truth(Protocol):
    """The files of one user, the hottest first; for messages the conversations."""

    #: Whether an id names a document, and of several lines with one id the newest counts.
    keyed: bool

    def marks(self) -> dict[str, Mark]:
        """The state of each file, as yet unread."""
        ...

    def grew(self, source: str, old: Mark) -> bool:
        """Whether the file is the one it was, with more behind what was read of it."""
        ...

    def read(self, source: str, start: int) -> Iterator[Entry]:
        """The documents of the lines from `start` on, in order; what is none is left out."""
        ...

    def done(self, source: str, mark: Mark) -> Mark:
        """The mark with how far `read` came; after it has ended."""
        ...


def state(status: os.stat_result) -> Mark:
    """The mark of a file that was not read yet."""
    device, inode = status.st_dev & _INTEGER, status.st_ino & _INTEGER
    return Mark(device, inode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def tail(fd: int, end: int) -> int:
    """The sum of the last bytes before `end`."""
    start = max(end - _TAIL_BYTES, 0)
    return crc32(os.pread(fd, end - start, start))


def grew(fd: int, old: Mark) -> bool:
    """Whether an open file has what was read of it, and more."""
    now = state(os.fstat(fd))
    return now.size > old.size and now[:2] == old[:2] and tail(fd, old.end) == old.tail
