"""Excerpts: the bytes of a file around its problems, for people to look at."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core.spot import Spot, spot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memctl.core.problems import Problem

#: Bytes that are shown in front of a spot, of it, and behind it.
_BEFORE_BYTES, _WRONG_BYTES, _BEHIND_BYTES = 240, 60, 240
#: Of so many problems of each code the surroundings are read.
_SHOWN_OF_EACH = 3
#: In a line beyond this size no spot is searched.
_SEARCHED_BYTES = 1 << 20
#: Codes whose offset and length are the wrong bytes themselves; for others they are the line's.
_EXACT = frozenset(("nul-bytes", "bad-utf8", "bom", "crlf", "bad-number", "bad-text", "no-final-newline"))
_CONTINUATION = range(0x80, 0xC0)


class Excerpt(NamedTuple):
    """Bytes of a line: `wrong` ones, between those `before` and `behind`.

    `wrong` is the beginning of `wrong_bytes` bytes. `marks`: there is a wrong place, of no bytes perhaps; if
    not, all is `behind`. `more_before`, `more_behind`: the line goes on there.
    """

    before: bytes
    wrong: bytes
    behind: bytes
    wrong_bytes: int
    marks: bool
    more_before: bool
    more_behind: bool


def around(fd: int, end: int, problems: Iterable[Problem]) -> dict[int, Excerpt]:
    """The surroundings of the first problems of each code, by the problem's index.

    Read from the first `end` bytes of the open file.
    """
    found: dict[int, Excerpt] = {}
    seen: dict[str, int] = {}
    for number, problem in enumerate(problems):
        if problem.offset is None or seen.get(problem.code, 0) >= _SHOWN_OF_EACH:
            continue
        seen[problem.code] = seen.get(problem.code, 0) + 1
        found[number] = _excerpt(fd, end, problem.code, problem.offset, problem.length or 0)
    return found


def _excerpt(fd: int, end: int, code: str, offset: int, length: int) -> Excerpt:
    marked: Spot | None = Spot(0, length)
    if code not in _EXACT:
        marked = spot(code, os.pread(fd, length, offset)) if length <= _SEARCHED_BYTES else None
    start = offset if marked is None else offset + marked.start
    size = 0 if marked is None else marked.length
    begin = max(0, start - _BEFORE_BYTES)
    before = os.pread(fd, start - begin, begin)
    cut = before.rfind(b"\n") + 1
    wrong = os.pread(fd, min(size, _WRONG_BYTES), start)
    # One byte more tells whether the line ends there.
    behind = os.pread(fd, min(_BEHIND_BYTES + 1, max(0, end - start - size)), start + size)
    stop = behind.find(b"\n")
    more_before = not cut and begin > 0
    more_behind = stop < 0 and len(behind) > _BEHIND_BYTES
    before = before[cut:]
    behind = behind[:stop] if stop >= 0 else behind[:_BEHIND_BYTES]
    return Excerpt(
        _without_cut_head(before) if more_before else before,
        wrong if len(wrong) == size else _without_cut_tail(wrong),
        _without_cut_tail(behind) if more_behind else behind,
        size,
        marked is not None,
        more_before,
        more_behind,
    )


def _without_cut_head(data: bytes) -> bytes:
    """The bytes without the rest of a character whose beginning was cut off."""
    start = 0
    while start < min(3, len(data)) and data[start] in _CONTINUATION:
        start += 1
    return data[start:]


def _without_cut_tail(data: bytes) -> bytes:
    """The bytes without the beginning of a character whose rest was cut off."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if back < needed else data
        if byte not in _CONTINUATION:
            break
    return data
