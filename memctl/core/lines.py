"""From the bytes of one stored line to the messages in it, whatever happened to the line.

Only LF ends a line. A sound line gives one piece; a glued one several; a damaged one a piece without a
message. What repair would recover without losing a message is recovered here in the same way, so a window
shows what a repaired file would show.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from memctl.core import jsonl

#: Places where a whole message may begin behind a torn piece, tried from the left.
CANDIDATES_MAX = 1000
_BOM = b"\xef\xbb\xbf"


class Piece(NamedTuple):
    """One message, or one stretch without any, of a stored line.

    `stored`: its bytes in the file, without line end. `code`: what is wrong (`core.finding`), "" for
    nothing. `message`: the JSON object, None if this is no message. `mended`: the bytes as repair would
    write them, None when the stored bytes are right as they are.
    """

    stored: bytes
    code: str
    message: dict[str, Any] | None
    mended: bytes | None

    @property
    def printed(self) -> bytes:
        """What a reader is given: the stored bytes, mended where they have to be."""
        return self.stored if self.mended is None else self.mended


def read_line(line: bytes, *, terminated: bool = True) -> list[Piece]:
    """The pieces of a line given without its LF; `terminated` tells whether it had one."""
    if len(line) > jsonl.LINE_MAX_BYTES:
        return [Piece(line, "line-too-long", None, None)]
    try:
        value = jsonl.loads(line)
    except ValueError as error:
        return _read_odd(line, terminated, isinstance(error, jsonl.Unreadable))
    if line.endswith(b"\r"):
        return _read_odd(line, terminated, False)
    if is_message(value):
        return [Piece(line, "", value, None)]
    return [Piece(line, "not-a-message", None, None)]


def is_message(value: object) -> bool:
    """An object with a text `role` whose content is text, a list, null or missing."""
    if type(value) is not dict or type(value.get("role")) is not str:
        return False
    content = value.get("content")
    return content is None or type(content) is str or type(content) is list


def _read_odd(line: bytes, terminated: bool, unreadable: bool) -> list[Piece]:
    """A line that the fast way refused. What had to be mended first gives the code."""
    stored = line
    code = ""
    if line.endswith(b"\r"):
        line = stored = line.rstrip(b"\r")
        code = "crlf"
    if line.startswith(_BOM):
        line = line[3:]
        code = "bom"
    if not line.strip(b" \t\r"):
        if not terminated and stored:
            return [Piece(stored, "torn-tail", None, None)]
        return [Piece(stored, "blank-line", None, None)]
    if unreadable:
        return [Piece(stored, "unreadable-json", None, None)]
    if b"\0" in line:
        line = line.replace(b"\0", b"")
        code = "nul-bytes"
        if not line.strip(b" \t\r"):
            return [Piece(stored, "torn-tail" if not terminated else code, None, None)]
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in _lenient(line))
        code = "bad-utf8"
    return _parse(stored, text, code, terminated)


def _lenient(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _parse(stored: bytes, text: str, code: str, terminated: bool) -> list[Piece]:
    constants = jsonl.Constants()
    try:
        if text.count("{") + text.count("[") > jsonl.DEPTH_MAX:
            jsonl.check_depth(text.encode("utf-8", "surrogatepass"))
        value = jsonl.exact(text, constants)
    except jsonl.Unreadable:
        return [Piece(stored, "unreadable-json", None, None)]
    except ValueError:
        pieces = _split(text)
        if pieces and not (len(pieces) == 1 and pieces[0].message is None):
            return pieces
        return [Piece(stored, "bad-json" if terminated else "torn-tail", None, None)]
    if not is_message(value):
        return [Piece(stored, "not-a-message", None, None)]
    if constants:
        text = jsonl.null_for_constants(text)
        code = "bad-number"
    mended = text.encode("utf-8", "surrogatepass")
    if not code:
        return [Piece(stored, "", value, None)]
    return [Piece(stored, code, value, mended)]


def _split(text: str) -> list[Piece]:
    """The whole messages of a glued line, and the stretches between them that are none."""
    pieces: list[Piece] = []
    position = _skip_blank(text, 0)
    torn_from = position
    tried = 0
    while position < len(text):
        parsed = _object_at(text, position)
        if parsed is None or not is_message(parsed[0]):
            # Behind a torn piece a message counts only if all the rest of the line is whole messages.
            if parsed is not None and position == torn_from:
                position = _skip_blank(text, parsed[1])
                pieces.append(_glued(text[torn_from : parsed[1]], None))
                torn_from = position
                continue
            start = _whole_rest(text, position + 1, CANDIDATES_MAX - tried)
            if start is None:
                pieces.append(_glued(text[torn_from:], None))
                return pieces if any(p.message is not None for p in pieces) else []
            pieces.append(_glued(text[torn_from:start], None))
            position = torn_from = start
            continue
        value, end = parsed
        pieces.append(_glued(text[position:end], value))
        position = torn_from = _skip_blank(text, end)
    return pieces if any(p.message is not None for p in pieces) else []


def _glued(text: str, value: dict[str, Any] | None) -> Piece:
    stored = text.rstrip(" \t\r").encode("utf-8", "surrogatepass")
    if value is None:
        return Piece(stored, "glued-lines", None, None)
    return Piece(
        stored, "glued-lines", value, jsonl.null_for_constants(text).encode("utf-8", "surrogatepass")
    )


def _skip_blank(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r":
        position += 1
    return position


def _object_at(text: str, position: int) -> tuple[Any, int] | None:
    import json

    if text[position] != "{":
        return None
    try:
        value, end = json.JSONDecoder(parse_constant=lambda name: None).raw_decode(text, position)
    except (ValueError, RecursionError):
        return None
    return value, end


def _whole_rest(text: str, position: int, attempts: int) -> int | None:
    """The leftmost `{` at or behind `position` from which whole messages reach to the end of the line."""
    last_role = text.rfind('"role"')
    while attempts > 0:
        position = text.find("{", position)
        if position < 0 or position > last_role:
            return None
        at = position
        while True:
            parsed = _object_at(text, at)
            if parsed is None or not is_message(parsed[0]):
                break
            at = _skip_blank(text, parsed[1])
            if at >= len(text):
                return position
        position += 1
        attempts -= 1
    return None
