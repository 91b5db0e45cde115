"""Recall through the search index: every record is ranked, and only those of the answer are read."""

from __future__ import annotations

import math
from heapq import nlargest, nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import record as records
from memctl.core.recall_answer import Candidate, Taken, take
from memctl.core.relevance import merit
from memctl.core.relevance.ranking import Ranked
from memctl.ops.recalled import BOTH, RECENT, Outcome
from memctl.store import tiers
from memctl.store.search import masks
from memctl.store.search.answering import DEEPER, FIRST, Moved, answer, index_path
from memctl.store.search.records import RecordFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memctl.core.record import Record
    from memctl.ops.recalled import Asked
    from memctl.ops.setup import Setup
    from memctl.store.search.index import Located, SearchIndex

_WEEK_S = 3600 * merit.WEEK
_ROUNDED = 10.0**-merit.PLACES


class _Pool(NamedTuple):
    """Hits, best first; of how many candidates; whether there may be more; and the signals behind them."""

    hits: list[merit.Hit]
    candidates: int
    more: bool
    ranked: Ranked | None = None


def recall(
    setup: Setup,
    user: str,
    asked: Asked,
    weights: tuple[float, float, float],
    progress: Callable[[int, int], None] | None,
) -> Outcome:
    """Rank every record that the query finds, or with a blank one all, and take the answer from the files."""
    ids: set[str] | None = None
    cosines: dict[str, float] = {}
    near = None
    fused = bool(asked.query.strip()) and setup.settings["retrieval.mode"] == BOTH
    if asked.filters.read_the_record or fused:
        held = tiers.read(setup.layout, user)
        passing = [record for record in held.records.values() if asked.filters.pass_record(record)]
        ids = {record.id for record in passing}
        if fused:
            from memctl.ops import retrieval

            texts = {number: record.searchable for number, record in enumerate(passing)}
            near = retrieval.near(setup, user, asked.query, texts, progress)
            cosines = {passing[number].id: cosine for number, cosine in near.cosines.items()}

    def ask(index: SearchIndex) -> Outcome:
        taken, candidates = _Search(setup, asked, weights, index, files, ids, cosines).answer()
        explained = None if near is None else near.explain()
        damaged = {tier: mark.damaged for tier, mark in index.marks.items() if mark.damaged}
        return Outcome(taken, index.corpus.live, candidates, explained, damaged)

    path = index_path(setup.layout, user, "records")
    with RecordFiles(setup.layout, user) as files:
        if not files.marks():
            # Nothing is made for a name that has no records.
            return Outcome(take((), 0, {}), 0, 0, None, {})
        return answer(path, files, ask)


class _Search:
    """One question to one state of an index."""

    def __init__(
        self,
        setup: Setup,
        asked: Asked,
        weights: tuple[float, float, float],
        index: SearchIndex,
        files: RecordFiles,
        ids: set[str] | None,
        cosines: dict[str, float],
    ) -> None:
        self._asked, self._index, self._files, self._cosines = asked, index, files, cosines
        self._weights = merit.Weights(*weights)
        self._now_s = setup.time_us() / 1_000_000
        self._ranker = str(setup.settings["recall.ranker"])
        self._limit = int(setup.settings["recall.limit"])
        self._among = self._mask(ids)

    def _mask(self, ids: set[str] | None) -> bytearray | None:
        """What may be in the answer; None: everything."""
        filters, index = self._asked.filters, self._index
        mask: bytearray | None = None
        if ids is not None and filters.read_the_record:
            mask = masks.both(mask, masks.of_ids(index, ids))
        if filters.tiers:
            mask = masks.both(mask, masks.of_sources(index, filters.tiers))
        if filters.conversation is not None:
            mask = masks.both(mask, index.of_conversation(filters.conversation))
        if filters.since_us is not None or filters.until_us is not None:
            created = (round(time * 1_000_000) or None for time in index.corpus.created)
            passing = bytearray(map(filters.pass_created, created))
            mask = masks.both(masks.both(mask, passing), index.everything())
        return mask

    def answer(self) -> tuple[Taken, int]:
        """What is taken, and of how many candidates."""
        depth = max(self._limit, FIRST)
        while True:
            pool = self._pool(depth)
            taken = take(self._candidates(pool), self._limit, self._asked.caps)
            if len(taken.found) >= self._limit or not pool.more:
                return taken, pool.candidates
            depth *= DEEPER

    def _pool(self, depth: int) -> _Pool:
        index, corpus = self._index, self._index.corpus
        if not self._asked.query.strip():
            if self._among is None and not corpus.gone:
                return self._without_query(range(len(corpus)), depth)
            mask = self._among if self._among is not None else index.everything()
            return self._without_query([doc for doc, here in enumerate(mask) if here], depth)
        if self._ranker == RECENT:
            ranked = self._fused(index.rank(self._asked.query, among=self._among, limit=len(corpus)), depth)
            return self._without_query(ranked.docs, depth)
        ranked = self._fused(index.rank(self._asked.query, among=self._among, limit=depth), depth)
        hits = merit.hits(corpus, ranked, self._weights, self._now_s)
        return _Pool(hits, len(hits), depth <= len(hits) < corpus.live, ranked)

    def _without_query(self, docs: Sequence[int], depth: int) -> _Pool:
        """The newest, or the best by recency and importance, at least `depth` of them; equal ones by id."""
        created = self._index.corpus.created
        values = [created[doc] for doc in docs] if self._ranker == RECENT else self._worth(docs)
        least = min(nlargest(depth, values), default=0.0) - _ROUNDED
        same: dict[float, list[int]] = {}
        for doc, value in zip(docs, values, strict=True):
            if value >= least:
                same.setdefault(value, []).append(doc)
        groups: dict[float, list[int]] = {}
        for value, some in same.items():
            groups.setdefault(round(value, merit.PLACES), []).extend(some)
        hits: list[merit.Hit] = []
        for value in sorted(groups, reverse=True):
            names = self._names(groups[value])
            room = 2 * depth - len(hits)
            first = nsmallest(room, ((names[doc], doc) for doc in groups[value]))
            hits += [merit.Hit(doc, value, self._parts(doc)) for _, doc in first]
        return _Pool(hits, len(docs), len(hits) < len(docs))

    def _names(self, docs: list[int]) -> Mapping[int, str] | list[str]:
        """The ids of documents, by number."""
        return self._index.ids(docs) if len(docs) < FIRST else self._index.all_ids()

    def _worth(self, docs: Sequence[int]) -> list[float]:
        """What recency and importance make of documents."""
        corpus, now_s = self._index.corpus, self._now_s
        times: Sequence[float] = corpus.created
        importance: Sequence[float] = corpus.importance
        if len(docs) < len(corpus):
            times = [corpus.created[doc] for doc in docs]
            importance = [corpus.importance[doc] for doc in docs]
        if times and (min(times) <= 0 or max(times) > now_s):
            # An unknown time is as long ago as can be, the future is now.
            times = [min(time, now_s) if time else -math.inf for time in times]
        exp, new_share, worth_share = math.exp, self._weights.recency, self._weights.importance
        return [
            new_share * exp((time - now_s) / _WEEK_S) + worth_share * important
            for time, important in zip(times, importance, strict=True)
        ]

    def _parts(self, doc: int) -> dict[str, float]:
        corpus = self._index.corpus
        new = merit.recency(corpus.created[doc], self._now_s) if corpus.created[doc] else 0.0
        return {"semantic": 0.0, "recency": new, "importance": corpus.importance[doc]}

    def _fused(self, ranked: Ranked, depth: int) -> Ranked:
        """The ranking with the cosines as one signal more."""
        if not self._cosines:
            return ranked
        nearest = nlargest(depth, ((cosine, id) for id, cosine in self._cosines.items()))
        by_doc = masks.docs_of(self._index, {id for _, id in nearest})
        near = {by_doc[id]: cosine for cosine, id in nearest if id in by_doc}
        values = merit.mixed(dict(zip(ranked.docs, ranked.relevance, strict=True)), near)
        rows = dict(zip(ranked.docs, ranked.rows, strict=True))
        return Ranked(
            list(values), list(values.values()), [rows.get(doc, -1) for doc in values], ranked.signals
        )

    def _candidates(self, pool: _Pool) -> Iterator[Candidate]:
        """The hits with their places, looked up a few at a time."""
        index = self._index
        ordered = merit.in_order(pool.hits, index.ids)
        at = {doc: place for place, doc in enumerate(pool.ranked.docs)} if pool.ranked is not None else {}
        size = self._limit + 4
        while some := list(islice(ordered, size)):
            places = index.where([hit.doc for hit in some])
            for hit in some:
                place = places[hit.doc]
                scores = self._scores(hit, place, pool.ranked, at)
                score = scores["recency"] if self._ranker == RECENT else hit.score
                yield Candidate(score, scores, place.source, self._reader(place))
            size *= 4

    def _scores(
        self, hit: merit.Hit, place: Located, ranked: Ranked | None, at: dict[int, int]
    ) -> dict[str, Any]:
        scores: dict[str, Any] = dict(hit.scores)
        if place.id in self._cosines:
            scores["cosine"] = self._cosines[place.id]
        if ranked is not None and ranked.rows[at[hit.doc]] >= 0:
            scores["signals"] = ranked.explain(at[hit.doc])
        return scores

    def _reader(self, place: Located) -> Callable[[], Record | None]:
        return lambda: self._read(place)

    def _read(self, place: Located) -> Record | None:
        """The record at a place, from its file. Raises Moved if something else is there."""
        record = records.read(self._files.line(place), place.source)
        if record is None or (record.id, record.rev) != (place.id, place.rev):
            raise Moved
        return record if self._asked.filters.pass_record(record) else None
