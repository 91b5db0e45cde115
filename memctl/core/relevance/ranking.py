"""Relevance: the candidates, and every signal of each, scaled and added.

A record on its own has no neighbours and no session. It is its own context: what it has stands for its
windows, and its session is absent, so that facts and turns compete in one list.
"""

from __future__ import annotations

from heapq import nsmallest
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from memctl.core.relevance import bm25
from memctl.core.relevance.corpus import GONE
from memctl.core.relevance.lanes import lay_out
from memctl.core.relevance.moments import matching_days
from memctl.core.relevance.signals import AROUND, Signal, signals
from memctl.core.relevance.weights import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memctl.core.relevance.asking import Query
    from memctl.core.relevance.corpus import Corpus

CANDIDATES = 120  # own hits whose surroundings are looked at; 200 or 400 find the same
EQUAL_MAX = 2000  # documents with the same words in as long texts that are all looked at
NEARBY = 3  # turns before and after such a hit that are candidates too


class Ranked(NamedTuple):
    """The candidates and how relevant each is: 1 is the best possible of all signals at once."""

    docs: list[int]
    relevance: list[float]
    rows: list[int]  # where the signals have each of the documents
    signals: dict[str, Signal]

    def explain(self, at: int) -> dict[str, float]:
        """Each signal of a candidate, scaled by its best; what is 0 for all is left out."""
        row = self.rows[at]
        return {name: signal.values[row] / signal.top for name, signal in self.signals.items()}


def rank(
    corpus: Corpus,
    query: Query,
    *,
    among: Sequence[int] | None = None,
    limit: int = CANDIDATES,
    weights: Mapping[str, float] = WEIGHTS,
) -> Ranked:
    """Rank the documents that something in the query finds, in no order yet.

    Candidates are the `limit` best by their own words, but at least `CANDIDATES`, those of the days that the
    query names, and the turns around them. `among` (one flag a document) leaves out documents as results;
    they still count as neighbours.
    """
    limit = max(limit, CANDIDATES)
    live = corpus.live
    found = bm25.in_order(
        bm25.Found(words, weight, weight * bm25.idf(live, len(docs)), docs)
        for words, weight in query.sought
        if (docs := corpus.postings(words))
    )
    dated = matching_days(query.dates, corpus.by_day) if query.dates else {}
    shown = found if among is None else [_only(one, among) for one in found]
    seeds = _own(corpus, shown, limit)
    seeds += _of_days(corpus, dated, among, limit)
    if not seeds and query.speaker:
        seeds = _said_by(corpus, query.speaker, among, limit)
    line = lay_out(corpus, seeds, NEARBY, AROUND)
    values, evidence = signals(corpus, query, found, line, dated)
    docs = [doc for doc in line.docs if doc >= 0]
    relevance = fuse(values, weights, len(docs))
    kept = [
        row
        for row, (doc, sign) in enumerate(zip(docs, evidence, strict=True))
        if sign > 0 and (among is None or among[doc])
    ]
    return Ranked([docs[row] for row in kept], [relevance[row] for row in kept], kept, values)


def fuse(values: dict[str, Signal], weights: Mapping[str, float], size: int) -> list[float]:
    """The weighted sum of the signals by document, scaled so that a document best in all of them has 1."""
    total = sum(weights.values())
    sums = [0.0] * size
    for name, (column, top) in values.items():
        weight = weights[name] / total / top
        sums = [s + weight * v for s, v in zip(sums, column, strict=True)]
    return sums


def _only(found: bm25.Found, among: Sequence[int]) -> bm25.Found:
    """What may be shown of a posting list; its idf stays."""
    return found._replace(docs=[doc for doc in found.docs if among[doc]])


def _own(corpus: Corpus, found: Sequence[bm25.Found], limit: int) -> list[int]:
    """The best by their own words; of very many equal ones the newest, then by importance and name."""
    docs, better = bm25.best(found, corpus.lengths, corpus.totals.average, limit)
    if len(docs) - better <= EQUAL_MAX:
        return docs
    created, importance = corpus.created, corpus.importance

    def worth(doc: int) -> tuple[float, float]:
        return -created[doc], -importance[doc]

    equal = sorted(docs[better:], key=worth)
    last = worth(equal[limit - better - 1])
    ahead = [doc for doc in equal if worth(doc) < last]
    same = [doc for doc in equal if worth(doc) == last]
    names = corpus.names(same)
    return (docs[:better] + ahead + sorted(same, key=lambda doc: names[doc]))[:limit]


def _of_days(corpus: Corpus, dated: dict[int, float], among: Sequence[int] | None, limit: int) -> list[int]:
    """Documents of the days that fit best, the newest first where there are too many."""
    created, flags = corpus.created, corpus.flags
    wanted: set[int] = set()
    enough = limit if among is None else len(corpus)
    for day in sorted(dated, key=lambda day: (-dated[day], -day)):
        if enough <= 0:
            break
        wanted.add(day)
        enough -= corpus.by_day[day]
    days = corpus.days
    fitting = compress(range(len(days)), map(wanted.__contains__, days)) if wanted else ()
    hits = [
        (-dated[days[doc]], -created[doc], -corpus.importance[doc], doc)
        for doc in fitting
        if created[doc] and not flags[doc] & GONE and (among is None or among[doc])
    ]
    return [hit[-1] for hit in nsmallest(limit, hits)]


def _said_by(corpus: Corpus, speaker: int, among: Sequence[int] | None, limit: int) -> list[int]:
    """The newest documents of a speaker."""
    created, flags = corpus.created, corpus.flags
    docs = [
        doc
        for doc, who in enumerate(corpus.speaker)
        if who == speaker and not flags[doc] & GONE and (among is None or among[doc])
    ]
    docs.sort(key=lambda doc: (-created[doc], doc))
    return docs[:limit]
