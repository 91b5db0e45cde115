"""Bytes and JSON: the only door to orjson, with the standard library for what orjson refuses or alters.

orjson refuses lone surrogate escapes, NaN and deep nesting, and makes floats of integers above 64 bits;
`loads` therefore decides nothing about a line that orjson refuses, and `exact` never asks it.
"""

from __future__ import annotations

from typing import Any

#: Nesting beyond this is `unreadable-json`: parsers (ours among them) differ in what they take.
DEPTH_MAX = 500
#: The longest line that is read; longer ones are named and left out.
LINE_MAX_BYTES = 64 << 20

_orjson_loads: Any = None


class Unreadable(ValueError):
    """Valid JSON as far as anyone can tell, but beyond the limits of our parsers."""


class Constants(list[str]):
    """The NaN and Infinity that a text holds, which are no JSON."""


def loads(data: bytes) -> Any:
    """The value of a JSON text. Raises ValueError when orjson cannot tell; then `exact` decides."""
    global _orjson_loads
    if _orjson_loads is None:
        from orjson import loads as _orjson_loads
    if data.count(b"{") + data.count(b"[") > DEPTH_MAX:
        check_depth(data)
    return _orjson_loads(data)


def exact(text: str, constants: Constants | None = None) -> Any:
    """The value of a JSON text with integers digit for digit and lone surrogates kept.

    NaN and Infinity become None and are noted in `constants`. Raises Unreadable for nesting beyond
    `DEPTH_MAX` and integers beyond 4,300 digits, json.JSONDecodeError (a ValueError) for what is no JSON.
    """
    import json

    found = Constants() if constants is None else constants
    try:
        return json.loads(text, parse_constant=found.append)
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError) as error:
        raise Unreadable(str(error)) from None


def check_depth(data: bytes) -> None:
    """Raise Unreadable if the text nests deeper than `DEPTH_MAX`, brackets in strings not counted."""
    import re

    structure = re.sub(rb'"(?:[^"\\]|\\.)*"', b"", data, flags=re.DOTALL)
    depth = 0
    for byte in structure.translate(None, _NO_BRACKETS):
        if byte in b"{[":
            depth += 1
            if depth > DEPTH_MAX:
                raise Unreadable(f"nesting beyond {DEPTH_MAX}")
        else:
            depth -= 1


_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{[]}")


def null_for_constants(text: str) -> str:
    """`text` with NaN, Infinity and -Infinity outside strings replaced by null."""
    import re

    pattern = r'"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b'
    return re.sub(pattern, lambda m: m[0] if m[0].startswith('"') else "null", text)


_GO_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(32), 0x3C, 0x3E, 0x26, 0x2028, 0x2029)} | {
    0x22: '\\"',
    0x5C: "\\\\",
    0x09: "\\t",
    0x0A: "\\n",
    0x0D: "\\r",
}


def quote(text: str) -> str:
    """A JSON string in the form of the Go encoder (`reference-conversation`, 2.6), byte for byte."""
    return f'"{text.translate(_GO_ESCAPES)}"'


def dumps(value: Any) -> bytes:
    """A report or record as compact JSON in UTF-8; what is no text in UTF-8 becomes U+FFFD."""
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return whole(text).encode("utf-8")


def whole(text: str) -> str:
    """`text` with one U+FFFD for each lone surrogate; two halves that meet become their character."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def message_bytes(value: dict[str, Any]) -> bytes:
    """A message from a program as one line of JSON, escaped as the Go encoder escapes.

    Raises BadInput for what is no JSON.
    """
    import json

    from memctl.errors import BadInput

    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"the message cannot be written as JSON: {error}") from None
    escaped = text.translate(_GO_MARKUP) if not text.isascii() or any(c in text for c in "<>&") else text
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in escaped).encode()


_GO_MARKUP = {code: f"\\u{code:04x}" for code in (0x3C, 0x3E, 0x26, 0x2028, 0x2029)}
