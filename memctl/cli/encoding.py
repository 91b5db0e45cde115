"""Reports as JSON and UTF-8, without importing json."""

from __future__ import annotations

_REPLACEMENT = "\ufffd"
#: What JSON wants escaped in a string (RFC 8259, section 7).
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)} | {
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\b"): "\\b",
    ord("\f"): "\\f",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}


def dumps(value: object) -> str:
    """Compact JSON, not ASCII only. Raises TypeError.

    Written here because importing json costs more than any report.
    """
    if isinstance(value, str):
        return f'"{value.translate(_JSON_ESCAPES)}"'
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        # JSON has no word for what is not finite.
        return float.__repr__(value) if value - value == 0 else "null"
    if isinstance(value, dict):
        return "{" + ",".join(f"{dumps(str(key))}:{dumps(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dumps, value)) + "]"
    raise TypeError(f"no JSON for {type(value).__name__}")


def utf8(text: str) -> bytes:
    """UTF-8; a lone surrogate, which UTF-8 cannot hold, is U+FFFD."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join(_REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in text).encode(
            "utf-8"
        )
