"""Spot: where in a line that is wrong as a whole the eye should look."""

from __future__ import annotations

from typing import NamedTuple

from memctl.core import jsonl, lines


class Spot(NamedTuple):
    """Bytes of a line, without its LF; `length` 0 for a place between two bytes."""

    start: int
    length: int


def spot(code: str, line: bytes) -> Spot | None:
    """Where a line breaks that has a problem of a code; None if no byte of it is wronger than another.

    A torn tail breaks at its end, bad JSON where a parser gives up, glued lines where the second begins.
    """
    if code == "torn-tail":
        return Spot(len(line), 0)
    if code == "bad-json":
        return _unexpected(line)
    if code == "glued-lines":
        return _seam(line)
    return None


def _unexpected(line: bytes) -> Spot | None:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return None
    bare = text.removeprefix("\ufeff")
    try:
        jsonl.exact(bare)
    except ValueError as error:
        place = getattr(error, "pos", None)
        if type(place) is not int or "\0" in bare:
            return None
        start = len(line) - len(bare.encode()) + len(bare[:place].encode())
        return Spot(start, len(bare[place : place + 1].encode()))
    return None


def _seam(line: bytes) -> Spot | None:
    first, *others = lines.read_line(line)
    start = line.find(others[0].stored, len(first.stored)) if others else -1
    return Spot(start, 0) if start > 0 else None
