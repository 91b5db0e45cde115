"""Mending: the bytes that a damaged line has after repair, as edits of that line.

Each remedy is the smallest that mends: bytes are cut out where that is enough, a line is written anew only
where its text has to change. What `core.lines` serves of a damaged line is what stands here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.core import jsonl, utf8
from memctl.core.faults import WHOLE_LINE, trailing_returns

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memctl.core.faults import Looked
    from memctl.core.lines import Piece

_BOM = b"\xef\xbb\xbf"
#: Faults that are mended by cutting bytes out.
_CUT = frozenset(("nul-bytes", "bom", "crlf"))
#: Faults for which a line is written anew.
_ANEW = frozenset(("bad-utf8", "bad-number", "bad-text"))
_CRLF = frozenset(("crlf",))
MENDED = WHOLE_LINE | _CUT | _ANEW | {"glued-lines", "no-final-newline"}


class Change(NamedTuple):
    """`size` bytes of a line at `start` go, `text` comes in their place."""

    start: int
    size: int
    text: bytes


class Tile(NamedTuple):
    """Where a message stands in the mended line: its bytes `start` to `end`, written anew as `text` or not.

    `text` is None where the stored bytes stay. In a line of several messages that is not split, a message
    whose bytes cannot be told from those around it has the whole line.
    """

    start: int
    end: int
    text: bytes | None


class Mended(NamedTuple):
    """A line's changes in order, where its messages are then, and the codes that are mended by them.

    `gone`: the whole line goes, its LF too.
    """

    changes: list[Change]
    tiles: list[Tile | None]
    codes: frozenset[str]
    gone: bool = False


def mend(line: bytes, looked: Looked, wanted: Collection[str], kept: Sequence[bool]) -> Mended:
    """What becomes of a line (given without LF) whose faults of the codes `wanted` are mended.

    `kept` tells of each piece whether it stays, if it is a message. A line of several messages of which one
    leaves is split in any case.
    """
    pieces = looked.pieces
    if len(looked.faults) == 1 and looked.faults[0].code == "crlf" in wanted and kept[0] and pieces[0].mended:
        # Files have it in every line: what follows would come to the same.
        (fault,) = looked.faults
        tile = Tile(0, len(line), pieces[0].mended)
        return Mended([Change(fault.start, fault.length, b"")], [tile], _CRLF)
    codes = {fault.code for fault in looked.faults if _is_mended(fault.code, fault.severity, wanted)}
    if len(pieces) > 1:
        return _split(line, pieces, looked, codes, kept)
    whole = codes & WHOLE_LINE
    blank = "nul-bytes" in codes and pieces[0].code == "nul-bytes" and pieces[0].message is None
    if whole or blank or not kept[0]:
        return Mended([Change(0, len(line), b"")], [None], frozenset(codes), True)
    # Zero bytes may stand inside a mark, a character, a number or an escape; then they go first.
    scattered = any(f.code == "bom" and line[f.start : f.start + f.length] != _BOM for f in looked.faults)
    if b"\0" in line and "nul-bytes" not in codes:
        codes -= _ANEW | ({"bom"} if scattered else set())
    if codes & _ANEW or (scattered and "bom" in codes):
        text = _as_served(looked, codes) or rewritten(line, codes)
        return Mended([Change(0, len(line), text)], [Tile(0, len(line), text)], frozenset(codes))
    changes = [
        Change(fault.start, fault.length, b"")
        for fault in looked.faults
        if fault.code in codes and fault.code in _CUT - {"crlf"}
    ]
    if "crlf" in codes:
        changes += [Change(position, 1, b"") for position in trailing_returns(line)]
    changes.sort()
    mended = _as_served(looked, codes) or without(line, changes) if changes else None
    return Mended(changes, [Tile(0, len(line), mended)], frozenset(codes))


def _is_mended(code: str, severity: str, wanted: Collection[str]) -> bool:
    # A number beyond a double is left as it is.
    return code in wanted and code in MENDED and not (code == "bad-number" and severity != "error")


def _as_served(looked: Looked, codes: set[str]) -> bytes | None:
    """What readers are served of the line's only message, if that is what mending these codes leaves."""
    own = _CUT | _ANEW - {"bad-text"}
    of_reading = {fault.code for fault in looked.faults if _is_mended(fault.code, fault.severity, own)}
    return looked.pieces[0].mended if of_reading == codes & (_CUT | _ANEW) else None


def without(line: bytes, changes: Sequence[Change]) -> bytes:
    """A line with changes made, which are in order."""
    parts, at = [], 0
    for start, size, text in changes:
        parts += [line[at:start], text]
        at = start + size
    return b"".join([*parts, line[at:]])


def rewritten(line: bytes, codes: Collection[str]) -> bytes:
    """A line without these faults of its bytes and values."""
    if "nul-bytes" in codes:
        line = line.replace(b"\0", b"")
    if "crlf" in codes:
        line = line.rstrip(b"\r")
    if "bom" in codes:
        line = line.removeprefix(_BOM)
    if "bad-utf8" in codes:
        line = utf8.mended(line)
    if "bad-number" in codes:
        text = line.decode("utf-8", "surrogateescape")
        line = jsonl.null_for_constants(text).encode("utf-8", "surrogateescape")
    return whole_text(line) if "bad-text" in codes else line


def whole_text(line: bytes) -> bytes:
    """A line of JSON with the escape of U+FFFD for each escape of half a surrogate pair."""
    import re

    escape = (
        rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)"
    )
    return re.sub(escape, lambda m: b"\\ufffd" if m[1] else m[0], line, flags=re.DOTALL)


def _split(
    line: bytes, pieces: Sequence[Piece], looked: Looked, codes: set[str], kept: Sequence[bool]
) -> Mended:
    """A line of several pieces: messages each on a line of its own, all else taken out.

    A line that is split is written without its other faults too. With nothing to split for, it stays.
    """
    own = _CUT | _ANEW - {"bad-text"}
    cut = {fault.code for fault in looked.faults if _is_mended(fault.code, fault.severity, own)}
    leaves = any(p.message is not None and not stays for p, stays in zip(pieces, kept, strict=True))
    if not ("glued-lines" in codes or leaves):
        ended = codes & {"no-final-newline"}
        places = _spans(line, pieces) or [(0, len(line))] * len(pieces)
        return Mended([], [Tile(*place, None) for place in places], frozenset(ended))
    codes = codes | cut | {"glued-lines"}
    stay = [number for number, p in enumerate(pieces) if p.message is not None and kept[number]]
    if not stay:
        return Mended([Change(0, len(line), b"")], [None] * len(pieces), frozenset(codes), True)
    fix = "bad-text" in codes
    spans = _spans(line, pieces)
    if "bad-number" in cut or fix or spans is None:
        return _anew(line, pieces, stay, codes, fix)
    changes: list[Change] = []
    tiles: list[Tile | None] = [None] * len(pieces)
    at = 0
    for number in stay:
        start, end = spans[number]
        if start > at:
            changes.append(Change(at, start - at, b""))
        if number != stay[-1]:
            changes.append(Change(end, 0, b"\n"))
        tiles[number] = Tile(start, end, None)
        at = end
    if at < len(line):
        changes.append(Change(at, len(line) - at, b""))
    return Mended(changes, tiles, frozenset(codes))


def _spans(line: bytes, pieces: Sequence[Piece]) -> list[tuple[int, int]] | None:
    """Where each piece stands in its line; None where its bytes are not the line's."""
    spans, at = [], 0
    for piece in pieces:
        start = line.find(piece.stored, at)
        if start < 0:
            return None
        at = start + len(piece.stored)
        spans.append((start, at))
    return spans


def _anew(line: bytes, pieces: Sequence[Piece], stay: Sequence[int], codes: set[str], fix: bool) -> Mended:
    """Each message in the place of one byte of the line, the last one in that of the rest.

    So each has a place of its own to which something can be added.
    """
    changes: list[Change] = []
    tiles: list[Tile | None] = [None] * len(pieces)
    for place, number in enumerate(stay):
        text = whole_text(pieces[number].printed) if fix else pieces[number].printed
        last = place == len(stay) - 1
        end = len(line) if last else place + 1
        tiles[number] = Tile(place, end, text)
        changes.append(Change(place, end - place, text if last else text + b"\n"))
    return Mended(changes, tiles, frozenset(codes))
