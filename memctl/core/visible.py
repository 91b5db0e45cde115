"""Text from a conversation made safe for a terminal: nothing in it acts, everything in it shows.

Escaped are C0, DEL and C1 controls, the bidirectional controls, the line and paragraph separators, the
byte-order mark and lone surrogates. Joiners (U+200B to U+200D) stay: scripts and emoji need them.
"""

from __future__ import annotations

_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_FORMATS = (0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
_SHORT = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}

_text_table: dict[int, str] = {}
_lines_table: dict[int, str] = {}
_json_table: dict[int, str] = {}


def visible(text: str, *, keep_newlines: bool = False) -> str:
    """`text` with every character that could act on a terminal written as an escape.

    The escapes are `\\n`, `\\t`, `\\r`, `\\xHH` and `\\uHHHH`. With `keep_newlines`, LF and TAB stay as they
    are. A backslash of the text itself is not doubled: this is for eyes, and is not meant to be read back.
    """
    # No character of the escaped classes is printable, so most texts are done here, ten times as fast.
    if text.isprintable() or (keep_newlines and _is_printable_lines(text)):
        return text
    table = _lines_table if keep_newlines else _text_table
    if not table:
        table.update({code: f"\\x{code:02x}" for code in _CONTROLS})
        table.update({code: f"\\u{code:04x}" for code in _FORMATS})
        table.update(_SHORT)
        if keep_newlines:
            del table[0x09], table[0x0A]
    shown = text.translate(table)
    # A lone surrogate is the only thing that UTF-8 refuses.
    return shown if shown.isascii() else shown.encode("utf-8", "backslashreplace").decode("utf-8")


def visible_json(line: bytes) -> bytes:
    """A stored JSON line with the same characters as `\\uHHHH` escapes, bytes outside UTF-8 as `\\ufffd`.

    Valid JSON stays valid and keeps its value: these characters stand raw only inside strings. A raw CR
    between two values is white space and becomes a space. LF and TAB stay as they are.
    """
    # Each byte that is not UTF-8 decodes to one of U+DC80 to U+DCFF.
    text = line.decode("utf-8", "surrogateescape")
    if _is_printable_lines(text):
        return line
    if not _json_table:
        _json_table.update({code: f"\\u{code:04x}" for code in (*_CONTROLS, *_FORMATS)})
        _json_table.update(dict.fromkeys(range(0xDC80, 0xDD00), "\\ufffd"))
        del _json_table[0x09], _json_table[0x0A]
    if "\r" in text and _is_json(text):
        text = text.replace("\r", " ")
    return text.translate(_json_table).encode("utf-8")


def _is_printable_lines(text: str) -> bool:
    return text.replace("\n", "").replace("\t", "").isprintable()


def _is_json(text: str) -> bool:
    """Whether a raw CR in `text` can only stand between values."""
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
