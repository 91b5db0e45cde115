"""Bytes and JSON: the only door to orjson, with the standard library for what orjson refuses or alters.

orjson refuses lone surrogate escapes, NaN, deep nesting and numbers beyond a double, and makes floats of
integers above 64 bits; `loads` therefore decides nothing about a line that orjson refuses, and `exact` never
asks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Nesting beyond this is `unreadable-json`: parsers (ours among them) differ in what they take.
DEPTH_MAX = 500
#: The longest line that is read; longer ones are named and left out.
LINE_MAX_BYTES = 64 << 20

_orjson_loads: Any = None
_orjson_dumps: Any = None


class Unreadable(ValueError):
    """Valid JSON as far as anyone can tell, but beyond the limits of our parsers."""


class Constants(list[str]):
    """The NaN and Infinity that a text holds, which are no JSON."""


def loads(data: bytes) -> Any:
    """The value of a JSON text. Raises ValueError when orjson cannot tell; then `exact` decides.

    Unreadable, a ValueError too, is raised only for what is JSON, but nests too deep.
    """
    global _orjson_loads
    if _orjson_loads is None:
        from orjson import loads as _orjson_loads
    value = _orjson_loads(data)
    # Each level takes two bytes.
    if len(data) > 2 * DEPTH_MAX and is_too_deep(data):
        raise Unreadable(f"nesting beyond {DEPTH_MAX}")
    return value


def is_compact(value: Any, data: bytes) -> bool:
    """Whether a text is the most common form of its value, byte for byte; if it nests deep it is not."""
    global _orjson_dumps
    if _orjson_dumps is None:
        import orjson

        _orjson_dumps = orjson.dumps
    try:
        return bool(_orjson_dumps(value) == data)
    except (ValueError, TypeError):
        return False


def compact(value: Any) -> bytes:
    """The most common form of a value, after `is_compact` was asked. Raises TypeError or ValueError."""
    data: bytes = _orjson_dumps(value)
    # What orjson returns lies in a block of at least 1 KB; a copy takes the room that it needs.
    return data[:-1] + data[-1:]


def exact(text: str, constants: Constants | None = None) -> Any:
    """The value of a JSON text with integers digit for digit and lone surrogates kept.

    NaN and Infinity become None and are noted in `constants`. Raises Unreadable for nesting beyond
    `DEPTH_MAX` and integers beyond 4,300 digits, another ValueError for what is no JSON.
    """
    import json

    if is_too_deep(text):
        if is_json(text):
            raise Unreadable(f"nesting beyond {DEPTH_MAX}")
        raise ValueError("brackets or values are not where JSON has them")
    found = Constants() if constants is None else constants
    try:
        return json.loads(text, parse_constant=found.append)
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise Unreadable(str(error)) from None
    except ValueError as error:
        # The integer comes before the end of the text, which may be cut off: whether it is JSON is not known.
        json.loads(text, parse_int=len)
        raise Unreadable(str(error)) from None


def is_too_deep(data: bytes | str) -> bool:
    """Whether a text nests deeper than `DEPTH_MAX`; brackets in strings do not count."""
    if isinstance(data, str):
        opening = data.count("{") + data.count("[")
    else:
        opening = data.count(b"{") + data.count(b"[")
    if opening <= DEPTH_MAX:
        return False
    from itertools import accumulate

    depth = 0
    for brackets in _brackets(data):
        opened = brackets.count(b"{") + brackets.count(b"[")
        if depth + opened > DEPTH_MAX:
            steps = map(_STEP.__getitem__, brackets)
            if max(accumulate(steps, initial=depth)) > DEPTH_MAX:
                return True
        depth += 2 * opened - len(brackets)
    return False


_STEP = [1 if byte in b"{[" else -1 for byte in range(256)]
_NO_MARKS = bytes(byte for byte in range(256) if byte not in b'{[]}"')
_BLOCK_BYTES = 1 << 20


def _brackets(data: bytes | str) -> Iterator[bytes]:
    """The brackets of a text, in order, block by block; a string that does not end holds all the rest."""
    backslash = "\\" if isinstance(data, str) else b"\\"
    start, inside = 0, b""
    while start < len(data):
        end = start + _BLOCK_BYTES
        while end < len(data) and data[end - 1 : end] == backslash:
            end += 1
        part = data[start:end]
        block = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        block = block.replace(b"\\\\", b"").replace(b'\\"', b"")
        marks = inside + block.translate(None, _NO_MARKS)
        inside = b'"' if marks.count(b'"') % 2 else b""
        # Two quotes side by side change nothing for what is around them.
        marks = marks.replace(b'""', b"")
        if b'"' in marks:
            import re

            marks = re.sub(rb'"[^"]*+"?+', b"", marks)
        yield marks
        start = end


_TOKEN = (
    rb"[ \t\n\r]*+(?:(\[{1,999}+|\]{1,999}+|\}{1,999}+|[{,:])"
    rb'|("[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")'
    rb"|-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|Infinity)|NaN|true|false|null)"
)
#: So much of a text is looked at; a longer one with as many brackets of each kind passes for JSON.
_LOOKED_AT_MAX = 4 << 20
_CUT_STRING = rb'[ \t\n\r]*+"[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+\\?+'
_SHORT_BYTES = 16
#: The states of `is_json`: what may come next.
_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON, _COMMA_OR_END = range(6)


_ENDS = bytes.maketrans(b"[{", b"]}")


def is_json(data: bytes | str) -> bool:
    """Whether a text is JSON, however deep it nests and however long its numbers; NaN and Infinity pass.

    Of a long text the beginning decides.
    """
    import re

    excess = dict.fromkeys((b"{}", b"[]"), 0)
    for brackets in _brackets(data):
        for pair in excess:
            excess[pair] += brackets.count(pair[:1]) - brackets.count(pair[1:])
    if any(excess.values()):
        return False
    is_cut = len(data) > _LOOKED_AT_MAX
    head = data[:_LOOKED_AT_MAX]
    data = head.encode("utf-8", "surrogatepass") if isinstance(head, str) else head
    match = re.compile(_TOKEN).match
    # The closing brackets that are awaited.
    ends = bytearray()
    position, state = 0, _VALUE
    while token := match(data, position):
        position = token.end()
        sign, string = token.groups()
        if sign is None:
            if state in (_VALUE, _VALUE_OR_END):
                state = _COMMA_OR_END
            elif string is not None and state in (_KEY, _KEY_OR_END):
                state = _COLON
            else:
                return False
        elif sign[0] in b"[{":
            if state not in (_VALUE, _VALUE_OR_END):
                return False
            ends += sign.translate(_ENDS)
            state = _VALUE_OR_END if sign[0] == 0x5B else _KEY_OR_END
        elif sign[0] in b"]}":
            if state not in (_COMMA_OR_END, _VALUE_OR_END, _KEY_OR_END) or not ends.endswith(sign):
                return False
            del ends[-len(sign) :]
            state = _COMMA_OR_END
        elif sign == b":" and state == _COLON:
            state = _VALUE
        elif sign == b"," and state == _COMMA_OR_END and ends:
            state = _VALUE if ends[-1:] == b"]" else _KEY
        else:
            return False
        if not ends and state == _COMMA_OR_END:
            break
    if is_cut and (ends or state != _COMMA_OR_END):
        rest = data[position:]
        return len(rest) < _SHORT_BYTES or re.fullmatch(_CUT_STRING, rest) is not None
    return state == _COMMA_OR_END and not ends and not data[position:].strip(b" \t\n\r")


def null_for_constants(text: str) -> str:
    """A text that is JSON but for NaN, Infinity and -Infinity outside strings, with null for them."""
    if "NaN" not in text and "Infinity" not in text:
        return text
    import re

    pattern = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?\b(?:NaN|Infinity)\b'
    return re.sub(pattern, lambda m: m[0] if m[0].startswith('"') else "null", text)


_GO_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(32), 0x3C, 0x3E, 0x26, 0x2028, 0x2029)} | {
    0x22: '\\"',
    0x5C: "\\\\",
    0x09: "\\t",
    0x0A: "\\n",
    0x0D: "\\r",
}


def quote(text: str) -> str:
    """A JSON string in the form of goccy/go-json, the encoder of the Go backend, byte for byte."""
    return f'"{text.translate(_GO_ESCAPES)}"'


def dumps(value: Any) -> bytes:
    """A report or record as compact JSON in UTF-8; what is no text in UTF-8 becomes U+FFFD."""
    return whole(_encode(value, True)).encode("utf-8")


_encoders: dict[bool, Any] = {}


def _encode(value: Any, allow_nan: bool) -> str:
    """As json.dumps, which makes an encoder for each value."""
    if allow_nan not in _encoders:
        from json import JSONEncoder

        _encoders[allow_nan] = JSONEncoder(
            ensure_ascii=False, separators=(",", ":"), allow_nan=allow_nan
        ).encode
    text: str = _encoders[allow_nan](value)
    return text


def whole(text: str) -> str:
    """`text` with one U+FFFD for each lone surrogate; two halves that meet become their character."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def message_bytes(value: dict[str, Any]) -> bytes:
    """A message from a program as one line of JSON, escaped as the Go encoder escapes.

    Raises BadInput for what is no JSON.
    """
    from memctl.errors import BadInput

    try:
        text = _encode(value, False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"the message cannot be written as JSON: {error}") from None
    escaped = text.translate(_GO_MARKUP) if not text.isascii() or any(c in text for c in "<>&") else text
    if "\\b" in escaped or "\\f" in escaped:
        import re

        escaped = re.sub(r"\\(.)", lambda m: _GO_SHORT.get(m[1], m[0]), escaped)
    if escaped.isascii():
        return escaped.encode()
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in escaped).encode()


_GO_MARKUP = {code: f"\\u{code:04x}" for code in (0x3C, 0x3E, 0x26, 0x2028, 0x2029)}
_GO_SHORT = {"b": "\\u0008", "f": "\\u000c"}
