"""The score of a record: relevance, recency and importance, each 0 to 1, in the shares that are asked for."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memctl.core.relevance.corpus import Corpus
    from memctl.core.relevance.ranking import Ranked

WEEK = 168.0  # hours
#: The share of the nearest cosine where vectors are one more signal; chosen, not fitted.
COSINE_SHARE = 0.25
PLACES = 9  # digits of a score; what differs less is the same, and then the id decides


class Weights(NamedTuple):
    """How much each part counts; given ones are meant as given, 0 included."""

    semantic: float = 0.8
    recency: float = 0.1
    importance: float = 0.1


class Hit(NamedTuple):
    """A document with its score and what the score is made of."""

    doc: int
    score: float
    scores: dict[str, float]


def recency(created: float, now: float) -> float:
    """1 for what is new, 0.37 after a week; the future counts as now."""
    return math.exp(-max(now - created, 0.0) / 3600 / WEEK)


def hits(corpus: Corpus, ranked: Ranked, weights: Weights, now: float) -> list[Hit]:
    """Every candidate of a ranking with its score, best first; equal ones still by number."""
    docs = ranked.docs
    top = max(ranked.relevance, default=1.0) or 1.0
    relevance = [value / top for value in ranked.relevance]
    created, importance = corpus.created, corpus.importance
    news = [recency(created[doc], now) for doc in docs]
    worth = [min(max(importance[doc], 0.0), 1.0) for doc in docs]
    semantic, new_share, worth_share = weights
    rows = [
        (
            -round(semantic * relevant + new_share * new + worth_share * important, PLACES),
            doc,
            relevant,
            new,
            important,
        )
        for doc, relevant, new, important in zip(docs, relevance, news, worth, strict=True)
    ]
    rows.sort()
    return [
        Hit(doc, -score, {"semantic": relevant, "recency": new, "importance": important})
        for score, doc, relevant, new, important in rows
    ]


def mixed(relevance: Mapping[int, float], cosines: Mapping[int, float]) -> dict[int, float]:
    """Relevance and cosines in one value of at most 1, each scaled by its best; in the order of documents."""
    top = max(relevance.values(), default=0.0) or 1.0
    best = max(cosines.values(), default=0.0)
    near = {doc: max(cosine, 0.0) / best if best > 0 else 0.0 for doc, cosine in cosines.items()}
    return {
        doc: (1 - COSINE_SHARE) * relevance.get(doc, 0.0) / top + COSINE_SHARE * near.get(doc, 0.0)
        for doc in sorted(relevance.keys() | near.keys())
    }


def in_order(found: Sequence[Hit], ids: Callable[[list[int]], dict[int, str]]) -> Iterator[Hit]:
    """The hits best first, equal scores by id; ids are looked up only as far as the reader comes."""
    known: dict[int, str] = {}
    for at, (_, group) in enumerate(groupby(found, key=lambda hit: hit.score)):
        same = list(group)
        if len(same) > 1 or at == 0:
            known = ids([hit.doc for hit in same])
            same.sort(key=lambda hit: known.get(hit.doc, ""))
        yield from same
