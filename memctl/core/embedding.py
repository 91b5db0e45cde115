"""Embedding: vectors of texts, how near two are, and the embedder that needs nothing but the text."""

from __future__ import annotations

import math
from array import array
from operator import mul
from typing import TYPE_CHECKING

from memctl.core import jsonl
from memctl.core.overlap import words

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The size of the hash embedder's vectors.
HASH_DIMENSIONS = 64
_FNV_BASIS, _FNV_PRIME = 0x811C9DC5, 0x01000193


def fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a hash."""
    value = _FNV_BASIS
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return value


def hashed(text: str) -> array[float]:
    """The vector of the reference's test embedder: counts of hashed words, of length 1, as float32.

    A text of white space has the first unit vector. Raises ValueError for an empty one.
    """
    if not text:
        raise ValueError("an empty text has no vector")
    counts = [0.0] * HASH_DIMENSIONS
    for word in words(jsonl.whole(text)):
        counts[fnv1a(word.encode("utf-8")) % HASH_DIMENSIONS] += 1
    norm = math.sqrt(sum(map(mul, counts, counts)))
    if not norm:
        counts[0] = norm = 1.0
    return array("f", [count / norm for count in counts])


def norm(vector: Sequence[float]) -> float:
    """The length of a vector, in float64."""
    return math.sqrt(sum(map(mul, vector, vector)))


def cosine(one: Sequence[float], other: Sequence[float], one_norm: float, other_norm: float) -> float:
    """The cosine of two vectors of one size whose lengths are known; 0 where one has none."""
    if not one_norm or not other_norm:
        return 0.0
    return float(sum(map(mul, one, other)) / (one_norm * other_norm))
