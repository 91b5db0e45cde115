"""Lookup: the records with given ids, without parsing every line of the tier files.

A line is parsed if it can hold one of the ids: as it is, or in a spelling with JSON escapes. Few ids are
searched for in whole blocks; of many ids each line's own is compared.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.core import jsonl
from memctl.core import record as records
from memctl.core.tier import TIERS
from memctl.store import line_files, scanning, tiers

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Iterator

    from memctl.core.record import Record
    from memctl.store.layout import Layout, Place

#: So many ids are searched for one by one.
_FEW = 8
_BLOCK_BYTES = 1 << 22
_START = b'{"id":"'
#: What JSON wants escaped, or may have escaped with one letter.
_SHORT = {'"': '"', "\\": "\\\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def find(layout: Layout, user: str, ids: Collection[str]) -> dict[str, Record]:
    """The records with one of these ids, as one moment had them. Raises Changing."""
    if not ids:
        return {}
    return tiers.at_one_moment(layout, user, lambda _: _find(layout, user, set(ids)))


def _find(layout: Layout, user: str, ids: set[str]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    # From cold on, as `records.newer` wants it.
    for tier in reversed(TIERS):
        for line in lines_with(layout.tier(tier, user), ids):
            record = records.read(line, tier)
            if record is not None and record.id in ids:
                other = found.get(record.id)
                found[record.id] = record if other is None else records.newer(other, record)
    return found


def lines_with(place: Place, ids: set[str]) -> Iterator[bytes]:
    """The lines of a file of records that can have one of these ids, without LF; some have not."""
    fd = line_files.open_for_reading(place)
    if fd is None:
        return
    try:
        yield from _among_few(fd, ids) if len(ids) <= _FEW else _among_many(fd, ids)
    finally:
        os.close(fd)


def _among_few(fd: int, ids: set[str]) -> Iterator[bytes]:
    needles = [f'"{id}"'.encode() for id in ids if _stands_as_it_is(id)]
    escaped: re.Pattern[bytes] | None = None
    # Plain characters have but one other spelling, and most files have none of those.
    sign = b"\\u00" if all(id.isascii() and _is_plain(id) for id in ids) else b"\\"
    position, size_bytes = 0, os.fstat(fd).st_size
    while position < size_bytes:
        block = os.pread(fd, min(_BLOCK_BYTES, size_bytes - position), position)
        if not block:
            return
        end = len(block) if position + len(block) >= size_bytes else block.rfind(b"\n") + 1
        if not end:
            line = next(scanning.scan(fd, position, size_bytes))
            position += line.size_bytes
            if len(line.data) <= jsonl.LINE_MAX_BYTES:
                yield line.data
            continue
        position += end
        for needle in needles:
            yield from _around(block, end, needle)
        if sign in block:
            escaped = escaped or _escapes(ids)
            at = 0
            while match := escaped.search(block, at, end):
                line_end = _line_end(block, match.end(), end)
                yield block[block.rfind(b"\n", 0, match.start()) + 1 : line_end]
                at = line_end


def _around(block: bytes, end: int, needle: bytes) -> Iterator[bytes]:
    """The lines of a block that hold the needle."""
    at = block.find(needle, 0, end)
    while at >= 0:
        line_end = _line_end(block, at, end)
        yield block[block.rfind(b"\n", 0, at) + 1 : line_end]
        at = block.find(needle, line_end, end)


def _line_end(block: bytes, at: int, end: int) -> int:
    found = block.find(b"\n", at, end)
    return end if found < 0 else found


def _among_many(fd: int, ids: set[str]) -> Iterator[bytes]:
    plain = {id.encode() for id in ids if _stands_as_it_is(id)}
    for line in scanning.scan(fd, 0, os.fstat(fd).st_size):
        data = line.data
        if data.startswith(_START):
            end = data.find(b'"', len(_START))
            own = data[len(_START) : end]
            # Behind the first id may come another one, its key with escapes, too.
            if own not in plain and b"\\" not in own and not _has_another(data, end):
                continue
        if len(data) <= jsonl.LINE_MAX_BYTES:
            yield data


def _has_another(data: bytes, at: int) -> bool:
    """Whether the key may come once more behind a place, as it is, or with an escape for its `i` or `d`."""
    return data.find(b'"id"', at) >= 0 or b"\\u0069" in data or b"\\u0064" in data


def _stands_as_it_is(id: str) -> bool:
    """Whether JSON can hold the id without any escape."""
    return not any(char < " " or char in '"\\' or "\ud800" <= char <= "\udfff" for char in id)


def _is_plain(id: str) -> bool:
    return not any(char in _SHORT or char < " " for char in id)


def _escapes(ids: set[str]) -> re.Pattern[bytes]:
    """What finds an escape that stands for a character of one of the ids."""
    import re

    chars = set("".join(ids))
    units = {unit for char in chars for unit in _units(char)}
    short = "".join(re.escape(_SHORT[char][-1]) for char in chars if char in _SHORT)
    long = "|".join(f"{unit:04x}" for unit in sorted(units))
    pattern = rf"\\(?:u(?:{long})" + (f"|[{short}])" if short else ")")
    return re.compile(pattern.encode(), re.IGNORECASE)


def _units(char: str) -> list[int]:
    data = char.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
