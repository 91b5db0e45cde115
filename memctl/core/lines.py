"""From the bytes of one stored line to the messages in it, whatever happened to the line.

Only LF ends a line. A sound line gives one piece; a glued one several; a damaged one a piece without a
message. What repair would recover without losing a message is recovered here in the same way, so a window
shows what a repaired file would show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl

if TYPE_CHECKING:
    from collections.abc import Callable

_BOM = b"\xef\xbb\xbf"


class Kind(NamedTuple):
    """What the lines of a file are to hold: messages, or records (`core.record_lines`).

    `holds` tells it of a value; `stands_alone` of one that shares its line with others. Each has the text
    `key`; a value that has it and is none all the same is `wrong` in this way. `code` is what an object
    that is none is called, and all other JSON. `for_go`: a Go service reads them, with limits of its own.
    """

    holds: Callable[[object], bool]
    stands_alone: Callable[[object], bool]
    key: str
    wrong: str
    code: str
    for_go: bool


class Piece(NamedTuple):
    """One message (in a file of records: one record), or one stretch without any, of a stored line.

    `stored`: its bytes in the file, without line end; a part of a glued line that held NUL bytes or bytes
    that are not UTF-8 has them mended already. `code`: what is wrong (`core.finding`), "" for
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


def is_message(value: object) -> bool:
    """An object with a text `role` whose content is text, a list, null or missing."""
    if type(value) is not dict or type(value.get("role")) is not str:
        return False
    content = value.get("content")
    return content is None or type(content) is str or type(content) is list


MESSAGE = Kind(
    is_message, is_message, "role", "content is neither text nor a list nor null", "not-a-message", True
)


def read_line(line: bytes, *, terminated: bool = True, kind: Kind = MESSAGE) -> list[Piece]:
    """The pieces of a line given without its LF; `terminated` tells whether it had one.

    Blank lines with LF between them may be given as one; they are one piece.
    """
    if len(line) > jsonl.LINE_MAX_BYTES:
        return [Piece(line, "line-too-long", None, None)]
    is_odd = False
    try:
        value = jsonl.loads(line)
    except jsonl.Unreadable:
        return [Piece(line.rstrip(b"\r"), "unreadable-json", None, None)]
    except ValueError:
        # The error holds a copy of the line: what comes next does not belong in here.
        is_odd = True
    if is_odd:
        return _read_odd(line, terminated, kind)
    stored = line.rstrip(b"\r")
    if not kind.holds(value):
        return [Piece(stored, kind.code, None, None)]
    if len(stored) < len(line):
        return [Piece(stored, "crlf", value, stored)]
    return [Piece(line, "", value, None)]


def _read_odd(line: bytes, terminated: bool, kind: Kind) -> list[Piece]:
    """A line that the fast way refused. Of several things to be mended the gravest gives the code."""
    stored = line
    code = ""
    if line.endswith(b"\r"):
        line = stored = line.rstrip(b"\r")
        code = "crlf"
    bare = line.replace(b"\0", b"").rstrip(b"\r") if b"\0" in line else line
    if bare.startswith(_BOM):
        bare = bare[3:]
        code = "bom"
    if b"\0" in line:
        code = "nul-bytes"
    line = bare
    if not line.strip(b" \t\r\n"):
        blank = "blank-line" if terminated or not stored else "torn-tail"
        return [Piece(stored, code if code == "nul-bytes" else blank, None, None)]
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        # Each byte that is not UTF-8 decodes to one of U+DC80 to U+DCFF.
        text = line.decode("utf-8", "surrogateescape").translate(_REPLACED)
        code = "bad-utf8"
    return _parse(stored, text, code, terminated, kind)


_REPLACED = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")


def _parse(stored: bytes, text: str, code: str, terminated: bool, kind: Kind) -> list[Piece]:
    constants = jsonl.Constants()
    try:
        value = jsonl.exact(text, constants)
    except jsonl.Unreadable:
        return [Piece(stored, "unreadable-json", None, None)]
    except ValueError:
        from memctl.core import glued

        pieces = [_glued(text[start:end], value) for start, end, value in glued.split(text, kind)]
        return pieces or [Piece(stored, "bad-json" if terminated else "torn-tail", None, None)]
    if not kind.holds(value):
        return [Piece(stored, kind.code, None, None)]
    if constants:
        text = jsonl.null_for_constants(text)
        code = "bad-number"
    if not code:
        return [Piece(stored, "", value, None)]
    return [Piece(stored, code, value, text.encode("utf-8"))]


def _glued(text: str, value: dict[str, Any] | None) -> Piece:
    stored = text.rstrip(" \t\r").encode("utf-8")
    if value is None:
        return Piece(stored, "glued-lines", None, None)
    return Piece(stored, "glued-lines", value, jsonl.null_for_constants(text).encode("utf-8"))
