"""Overlap: how agentflow-go's `pkg/memory/tier` (v0.5.1) scores a record, to the letter."""

from __future__ import annotations

import math
from typing import NamedTuple

#: Hours after which recency is 1/e.
WEEK_HOURS = 168.0
#: White space for `str.split` and not for Go; all other white space is the same for both.
_SEPARATORS = "\x1c\x1d\x1e\x1f"
_SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
#: The tokens of one byte, which are left out.
_SHORT = frozenset(map(chr, range(128)))


class Parts(NamedTuple):
    """What a score is made of, each before its weight."""

    semantic: float
    recency: float
    importance: float


def lower(text: str) -> str:
    """The text in small letters as Go makes them: character by character, without regard to neighbours."""
    if "Σ" in text or "İ" in text:
        return "".join(char.lower()[0] for char in text)
    return text.lower()


def words(text: str) -> list[str]:
    """What stands between white space, in small letters."""
    text = lower(text)
    if text.isprintable() or not any(separator in text for separator in _SEPARATORS):
        return text.split()
    import re

    return [word for word in re.split(f"[{_SPACE}]+", text) if word]


def tokens(text: str) -> frozenset[str]:
    """The different words of a text; those of one byte are left out."""
    return frozenset(words(text)) - _SHORT


def overlap(query: frozenset[str], document: frozenset[str]) -> float:
    """The share of common tokens in the larger of the two sets; 0 if either is empty."""
    if not query or not document:
        return 0.0
    return len(query & document) / max(len(query), len(document))


def recency(age_hours: float) -> float:
    """1 for what is new, 0.37 after a week; the future counts as now."""
    return math.exp(-max(age_hours, 0.0) / WEEK_HOURS)


def parts(query: frozenset[str], text: str, age_hours: float, importance: float) -> Parts:
    """The parts of a record's score. An importance that is not above 0 counts as 0.5."""
    return Parts(overlap(query, tokens(text)), recency(age_hours), importance if importance > 0 else 0.5)


def score(found: Parts, weights: tuple[float, float, float]) -> float:
    """The weighted sum of the parts."""
    semantic, new, important = weights
    return semantic * found.semantic + new * found.recency + important * found.importance
