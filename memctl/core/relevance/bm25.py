"""BM25 over posting lists: the best documents, and what words add to texts, windows and sessions.

A word counts once in a document, however often it stands there.
"""

from __future__ import annotations

import math
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from memctl.core.relevance.corpus import LENGTH_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

K1, B = 1.2, 0.75
#: Longer posting lists are looked at only for documents that are known already, where no other can win.
_COMMON = 2000


class Found(NamedTuple):
    """What is sought at one place of the query, and where it is."""

    words: tuple[str, ...]
    weight: float  # in the query
    idf: float  # times the weight
    docs: Sequence[int]


def idf(documents: int, containing: int) -> float:
    """How much it says that a document contains a word; never negative."""
    return math.log(1 + max(documents - containing + 0.5, 0.0) / (containing + 0.5))


def gain(often: float, length: float, average: float) -> float:
    """What a word that occurs so often adds, before its idf."""
    return often * (K1 + 1) / (often + K1 * (1 - B + B * length / average))


def in_order(found: Iterable[Found]) -> list[Found]:
    """What says most first; the order decides sums of floats, so it is fixed."""
    return sorted(found, key=lambda one: (-one.idf, one.words))


def best(found: Sequence[Found], lengths: Sequence[int], average: float, limit: int) -> tuple[list[int], int]:
    """The `limit` documents with the highest BM25, best first, and all that have as much as the last of them.

    Also how many have more than the last. Once so many are found that no new one can come among them by the
    words that are left, those words (the common ones) only add to documents that are known already.
    """
    gains = [gain(1, length, average) for length in range(LENGTH_MAX + 1)]
    left = sum(one.idf for one in found) * gains[0]
    scores: dict[int, float] = {}
    least = 0.0
    for _, _, worth, docs in found:
        worths = [worth * value for value in gains]
        if len(docs) > _COMMON and len(scores) >= limit:
            if least <= left:
                least = nlargest(limit, scores.values())[-1]
            if least > left:
                docs = list(filter(scores.__contains__, docs))
        added = dict(zip(docs, map(worths.__getitem__, map(lengths.__getitem__, docs)), strict=True))
        for doc in scores.keys() & added.keys():
            added[doc] += scores[doc]
        scores.update(added)
        left -= worth * gains[0]
    if len(scores) > limit:
        least = nlargest(limit, scores.values())[-1]
        scores = {doc: score for doc, score in scores.items() if score >= least}
    else:
        least = 0.0
    docs = sorted(scores, key=lambda doc: (-scores[doc], doc))
    return docs, sum(score > least for score in scores.values())


def rooms(lengths: Sequence[int], average: float) -> list[float]:
    """What the lengths put under the fraction: it weakens words in long texts."""
    flat, slope = K1 * (1 - B), K1 * B / average
    return [flat + slope * length for length in lengths]


def add(scores: list[float], times: Sequence[int], room: Sequence[float], worth: float) -> None:
    """Add to each score what a word adds that occurs so many times."""
    most = worth * (K1 + 1)
    scores[:] = [
        score + most * often / (often + size) if often else score
        for score, often, size in zip(scores, times, room, strict=True)
    ]


def add_some(scores: list[float], times: Mapping[int, int], room: Sequence[float], worth: float) -> None:
    """The same for a word that occurs around few slots: how many times, by slot."""
    most = worth * (K1 + 1)
    for slot, often in times.items():
        scores[slot] += most * often / (often + room[slot])
