"""Cells: how wide text is on a terminal, and lines that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def width(text: str) -> int:
    """How many columns a terminal gives to visible text: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    columns = 0
    for char in text:
        if char.isascii():
            columns += 1
        elif category(char) in ("Mn", "Me", "Cf") or "\u1160" <= char <= "\u11ff":
            # The vowels and ends of Hangul syllables stand in the cells of the consonant in front.
            continue
        else:
            columns += 2 if east_asian_width(char) in "WF" else 1
    return columns


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """The text with blanks up to so many columns, to its right, or with `right` to its left."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def wrapped(words: str | Iterable[str], columns: int, first: str = "", rest: str = "") -> list[str]:
    """Words, or parts that are not to be broken, in lines of so many columns; longer ones stand alone.

    The first line begins with `first`, the others with `rest`.
    """
    lines: list[str] = []
    line, used, empty = first, width(first), True
    for word in words.split(" ") if isinstance(words, str) else words:
        size = width(word)
        if not empty and used + 1 + size > columns:
            lines.append(line)
            line, used, empty = rest, width(rest), True
        line += word if empty else f" {word}"
        used += size if empty else size + 1
        empty = False
    return [*lines, line.rstrip()]
