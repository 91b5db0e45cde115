"""Plain values as JSON that every reader takes: strict, UTF-8, numbers as they stand."""

from __future__ import annotations

from typing import Any


def encode(value: Any) -> bytes:
    """`value` as compact JSON in UTF-8.

    Integers are written digit for digit, a lone surrogate (in keys too) as one U+FFFD, and a float that
    JSON cannot hold (NaN, an infinity) as null. Raises TypeError for what is no JSON value.
    """
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return whole(text).encode("utf-8")


def whole(text: str) -> str:
    """`text` with one U+FFFD for each lone surrogate; two halves that meet become their character."""
    if text.isascii():
        return text
    # UTF-16 is where half a pair is one unit, and so one replacement character.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _finite(value: Any) -> Any:
    """A copy of `value` with null for the floats that are no JSON."""
    if isinstance(value, float):
        # Only NaN and the infinities have no zero difference to themselves.
        return value if value - value == 0 else None
    # Loops, not comprehensions: one frame a level, so nesting of 500 stays within the recursion limit.
    if isinstance(value, dict):
        pairs = {}
        for key, item in value.items():
            pairs[key] = _finite(item)
        return pairs
    if isinstance(value, (list, tuple)):
        items = []
        for item in value:
            items.append(_finite(item))
        return items
    return value
