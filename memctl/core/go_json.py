"""JSON as Go's `encoding/json` writes it: the form in which the reference keeps records and chat messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(32), 0x3C, 0x3E, 0x26, 0x2028, 0x2029)} | {
    0x22: '\\"',
    0x5C: "\\\\",
    0x08: "\\b",
    0x09: "\\t",
    0x0A: "\\n",
    0x0C: "\\f",
    0x0D: "\\r",
}
#: Numbers from here on, and those below the other, have an exponent.
_LARGE, _SMALL = 1e21, 1e-6


def encoded(value: Any) -> bytes:
    """A value as compact JSON, members in the order in which they come. Raises BadInput for what is none.

    A lone surrogate, which Go cannot hold, keeps its escape.
    """
    text = _text(value)
    if not text.isascii():
        text = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text.encode()


def ordered(values: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a Go map: by their keys."""
    return dict(sorted(values.items()))


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_text, value))}]"
    if hasattr(value, "items"):
        if not all(isinstance(key, str) for key in value):
            raise BadInput("the keys of a JSON object must be text")
        return f"{{{','.join(f'{_text(key)}:{_text(member)}' for key, member in value.items())}}}"
    raise BadInput(f"{type(value).__name__} cannot be written as JSON")


def _number(value: float) -> str:
    """The shortest digits that give the number back; an exponent only for the very large and very small."""
    text = repr(float(value))
    if text.strip("-") in ("inf", "nan"):
        raise BadInput(f"{text} is not JSON")
    if value and not _SMALL <= abs(value) < _LARGE:
        digits, _, exponent = text.partition("e")
        return f"{digits.removesuffix('.0')}e{int(exponent):+d}"
    if "e" in text:
        from decimal import Decimal

        return f"{Decimal(text):f}"
    return text.removesuffix(".0")
