"""Long lines: their faults, found without a copy of all their text for each step.

The line is read in outline: strings that are JSON and long have a short one in their place, by which equal
strings are equal still, blank ones blank, and those with half a surrogate pair have one. What such an outline
cannot tell is left to the way in which all lines are looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from memctl.core import calls, faults, lines, utf8
from memctl.core.faults import Fault, Looked
from memctl.core.line_reasons import why
from memctl.core.problems import ERROR, WARNING

#: Strings beyond this are short in an outline.
_KEPT_BYTES = 1 << 16
_BOM = b"\xef\xbb\xbf"
#: A string, or the beginning of one that is wrong or does not end.
_STRING = rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+("?+)'
_BLANK = rb'"(?: ++|\\[tnfr])*+"'
_OBJECT = rb'\{[ \t\n\r]*+"'
_CONSTANT = rb'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"|(-?\b(?:NaN|Infinity)\b)'


class Outline(NamedTuple):
    """A text with its long strings short; `stand_ins` are the values that these have."""

    text: bytes
    stand_ins: frozenset[str]


def outline(data: bytes) -> Outline:
    """The outline of a text; what lies behind a string that is wrong stays as it is."""
    import re
    from hashlib import sha256

    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    stand_ins = set()
    at = 0
    for match in re.finditer(_STRING, data):
        start, end = match.span()
        if end - start > _KEPT_BYTES:
            name = sha256(view[start:end]).hexdigest()
            if re.compile(_BLANK).fullmatch(data, start, end):
                name = " "
            elif data.find(b"\\u", start, end) >= 0 and re.compile(faults.LONE_HALF).match(data, start, end):
                name += "\\ud800"
            stand_ins.add(name)
            parts += [view[at:start], b'"' + name.encode(), match[1]]
            at = end
        if not match[1]:
            break
    return Outline(b"".join([*parts, view[at:]]), frozenset(stand_ins))


def look(line: bytes, terminated: bool, kind: lines.Kind = lines.MESSAGE) -> Looked | None:
    """What a long line holds and what is wrong with it; None if its outline does not tell."""
    of_bytes = faults.of_bytes(line)
    stored = line.rstrip(b"\r")
    spread = line.replace(b"\0", b"") if b"\0" in line else line
    bare = spread.rstrip(b"\r").removeprefix(_BOM)
    codes = [fault.code for fault in of_bytes]
    if "bad-utf8" in codes:
        bare = utf8.mended(bare)
    short, stand_ins = outline(bare)
    if not stand_ins:
        return None
    (piece, *others) = lines.read_line(short, terminated=terminated, kind=kind)
    if others or piece.code in ("glued-lines", "bom", "blank-line"):
        return None
    if piece.code in faults.WHOLE_LINE:
        if piece.code != kind.code and _may_hold_another(bare, kind):
            return None
        zeros = len(line) - len(spread)
        beside = f"; {zeros} zero bytes in it" if zeros else ""
        reason = _without_place(why(short, piece.code, kind)) + beside
        return Looked([piece._replace(stored=stored)], [Fault(piece.code, ERROR, 0, len(line), reason)])
    value = piece.message
    if value is None:
        of_value = [Fault(piece.code, WARNING, 0, len(line), why(short, piece.code, kind))]
        return Looked(
            [piece._replace(stored=stored)], [*of_bytes, *of_value, *faults.unended(line, terminated)]
        )
    if any(text in stand_ins for text in _copied(value, kind)):
        return None
    mended = bare if codes else None
    code = next((code for code in ("bad-utf8", "nul-bytes", "bom", "crlf") if code in codes), "")
    if piece.code == "bad-number":
        code, mended = piece.code, _null_for_constants(bare)
    found = [
        *of_bytes,
        *faults.of_text(line, spread, value),
        *faults.of_object(line, short, value, kind, bare if mended is None else mended),
    ]
    return Looked([lines.Piece(stored, code, value, mended)], [*found, *faults.unended(line, terminated)])


def _may_hold_another(data: bytes, kind: lines.Kind) -> bool:
    """Whether a message may lie behind a torn piece, whose quotes tell nothing about that message's own."""
    import re

    return re.compile(_OBJECT).search(data, 1, data.rfind(b'"%s"' % kind.key.encode()) + 1) is not None


def _copied(value: dict[str, Any], kind: lines.Kind) -> list[str]:
    """The texts of a message that a report or a made result repeats."""
    if not kind.for_go:
        from memctl.core.record import TIMES

        return [text for key in (kind.key, *TIMES) if type(text := value.get(key)) is str]
    given = value.get("tool_calls")
    made = [call for call in given if type(call) is dict] if type(given) is list else []
    found = [value["role"], value.get("tool_call_id"), *(call.get("id") for call in made)]
    return [text for text in found if type(text) is str] + [calls.name_of(call) for call in made]


def _without_place(detail: str) -> str:
    """A detail without the place in the outline, which is none of the line's."""
    import re

    return re.sub(r" \(character [0-9]+\)", "", detail)


def _null_for_constants(data: bytes) -> bytes:
    import re

    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    at = 0
    for match in re.finditer(_CONSTANT, data):
        if match.start(1) >= 0:
            parts += [view[at : match.start(1)], b"null"]
            at = match.end(1)
    return b"".join([*parts, view[at:]])
