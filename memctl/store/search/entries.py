"""What a reader of the truth hands to the index for each record or message."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple
from zlib import crc32

_CREATED = Struct("<d").pack


class Entry(NamedTuple):
    """One document. Only what is here is indexed, and only what is here makes a difference."""

    id: str  # "" where a document is known by its place alone
    text: str
    rev: int = 0  # of a record; of a message, which one of its line
    conversation: str = ""  # "" for a fact
    created: float = 0.0  # seconds since 1970; 0: unknown
    speaker: str = ""
    importance: float = 0.5
    start: int = 0  # where the truth has it: the line's first byte, and its length without LF
    size: int = 0


def stamp(entry: Entry) -> int:
    """64 bits that change with what is indexed, not with the place, tier, revision or importance."""
    # By number: this runs once a document, and a name costs twice as much.
    told = f"{entry[3]}\0{entry[5]}\0{entry[1]}".encode("utf-8", "surrogatepass")
    return crc32(_CREATED(entry[4]), crc32(told)) << 32 | len(told)
