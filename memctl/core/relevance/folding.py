"""Text made comparable: width, case, accents; and what makes two texts the same for a reader."""

from __future__ import annotations

import re

# Letters that no decomposition turns into their plain form, and apostrophes that mean the same.
_PLAIN: dict[int, str | None] = {
    **{ord(mark): "'" for mark in "’‘ʼ＇"},
    **dict.fromkeys(map(ord, "ـ\u00ad\u200b\u200c\u200d\u2060\ufeff")),
    **{ord(a): b for a, b in zip("đðłøıς", ["d", "d", "l", "o", "i", "σ"], strict=True)},
    ord("؟"): "?",
    **{ord("æ"): "ae", ord("œ"): "oe", ord("þ"): "th"},
}
# Accents of Latin, Greek and Cyrillic; points of Hebrew and Arabic. Marks of Indic and Thai are letters.
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u065f\u0670]+")
_ODD = re.compile("[^\x00-\x7f]+")
_CAPITALS = re.compile("[A-Z]+")


def fold(text: str) -> str:
    """The text as it is searched: NFKC, small letters, without accents."""
    if text.isascii():
        return text.lower()
    # Letters beyond ASCII are folded already: some scripts fold to capitals.
    return _CAPITALS.sub(_lower, _ODD.sub(_fold_match, text))


def _fold_match(match: re.Match[str]) -> str:
    return fold_run(match[0])


def _lower(match: re.Match[str]) -> str:
    return match[0].lower()


def fold_run(run: str) -> str:
    """`fold` for characters beyond ASCII. A text may be folded run by run: what is around changes nothing."""
    from unicodedata import normalize

    folded = normalize("NFKC", run).casefold().translate(_PLAIN)
    return normalize("NFC", _MARKS.sub("", normalize("NFD", folded)))


def sameness(text: str) -> str:
    """Equal for texts that a reader takes for the same: NFKC, case folding, white space."""
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFKC", normalize("NFKC", text).casefold())
        return " ".join(text.split())
    return " ".join(text.lower().split())
