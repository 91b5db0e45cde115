"""search: the messages that match a query, in the conversations of a user, in one, or in a file."""

from __future__ import annotations

import os
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import marker, turns
from memctl.core.lines import read_line
from memctl.core.relevance import merit
from memctl.core.relevance.ranking import Ranked
from memctl.errors import NotFound
from memctl.ops.read import messages_at
from memctl.ops.recalled import BOTH, LEXICAL, SEMANTIC
from memctl.ops.searched import Match, Search, Where
from memctl.ops.searched import where as look_in
from memctl.ops.source import with_index
from memctl.store.scanning import Line
from memctl.store.search.answering import DEEPER, FIRST, Moved, answer, stamp_of
from memctl.store.search.entries import stamp
from memctl.store.search.messages import content, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memctl.ops.retrieval import Near
    from memctl.ops.setup import Setup
    from memctl.store.search.index import Located, SearchIndex
    from memctl.store.sidecar import Index

    Progress = Callable[[int, int], None]


def search(
    setup: Setup,
    argument: str,
    query: str,
    *,
    limit: int,
    role: str | None = None,
    context: int = 0,
    progress: Progress | None = None,
) -> Search:
    """At most `limit` messages that match, each message once though conversations have copies of it.

    `argument` is a user, a conversation or a path, as it is typed; an unknown user has no messages. Raises
    NotFound for a conversation or a file that is not there, BadConfig, Unavailable, Changing.
    """
    if setup.settings["retrieval.mode"] != LEXICAL:
        from memctl.ops.retrieval import embedder

        embedder(setup.settings)
    with ExitStack() as stack:
        where = look_in(setup, argument, stack)

        def ask(index: SearchIndex) -> Search:
            return _Searching(setup, where, index, query, role, context, progress).answer(limit)

        if not where.logs.marks():
            return Search([], 0, None, {}, empty=where.user is not None)
        if not query.strip() or limit <= 0:
            return Search([], 0, None, {})
        return answer(where.index_path, where.logs, ask)


class _Hit(NamedTuple):
    """A match before its neighbours are looked up: the bytes of the message, as they are printed."""

    score: float
    place: Located
    printed: bytes


class _Searching:
    """One query to one state of an index."""

    def __init__(
        self,
        setup: Setup,
        where: Where,
        index: SearchIndex,
        query: str,
        role: str | None,
        context: int,
        progress: Progress | None,
    ) -> None:
        self._setup, self._where, self._index, self._query = setup, where, index, query
        self._role, self._context, self._progress = role, context, progress
        self._mode = str(setup.settings["retrieval.mode"])
        name = where.conversation
        mask = None if name is None else index.of_conversation(name)
        # A mask of all would only cost time.
        self._among = None if mask is None or mask.count(1) == index.corpus.live else mask
        self._near: Near | None = None

    def answer(self, limit: int) -> Search:
        """The best matches, with their places in the logs."""
        if self._mode != LEXICAL:
            from memctl.ops.retrieval import near

            self._near = near(self._setup, self._where.user, self._query, self._texts(), self._progress)
        depth = max(limit, FIRST)
        while True:
            scored, more = self._scored(depth)
            hits, copies = self._taken(scored, limit)
            if len(hits) >= limit or not more:
                break
            depth *= DEEPER
        vectors = None if self._near is None else self._near.explain()
        return Search(self._matches(hits), copies, vectors, self._damaged())

    def _damaged(self) -> dict[str, int]:
        where, marks = self._where, self._index.marks
        only = where.conversation
        return {
            where.written(name): mark.damaged
            for name, mark in sorted(marks.items())
            if mark.damaged and only in (None, name)
        }

    def _texts(self) -> dict[int, str]:
        """The texts of all documents that may be in the answer, from the logs."""
        index = self._index
        mask = self._among if self._among is not None else index.everything()
        docs = [doc for doc, here in enumerate(mask) if here]
        places = {(place.source, place.start, place.rev): doc for doc, place in index.where(docs).items()}
        texts: dict[int, str] = {}
        for source in {source for source, _, _ in places}:
            for entry in self._where.logs.read(source, 0):
                doc = places.get((source, entry.start, entry.rev))
                if doc is not None:
                    texts[doc] = entry.text
        return texts

    def _scored(self, depth: int) -> tuple[list[merit.Hit], bool]:
        """What matches with its score, best first, and whether there may be more."""
        cosines = {} if self._near is None else self._near.cosines
        if self._mode == SEMANTIC:
            scores = cosines
            more = False
        else:
            ranked = self._index.rank(self._query, among=self._among, limit=depth)
            more = depth <= len(ranked.docs) < self._index.corpus.live
            scores = _matching(ranked)
            if self._mode == BOTH:
                scores = merit.mixed(scores, cosines)
        hits = [merit.Hit(doc, round(score, merit.PLACES), {}) for doc, score in scores.items()]
        hits.sort(key=lambda hit: (-hit.score, hit.doc))
        return hits, more

    def _taken(self, scored: list[merit.Hit], limit: int) -> tuple[list[_Hit], int]:
        hits: list[_Hit] = []
        seen: set[tuple[str, object, str]] = set()
        copies = 0
        for hit, place in self._placed(scored, limit):
            printed, value = self._read(hit.doc, place)
            if self._role is not None and value.get("role") != self._role:
                continue
            id = marker.message_id(value)
            if id is not None:
                key = (id, value.get("role"), content(value))
                if key in seen:
                    copies += 1
                    continue
                seen.add(key)
            hits.append(_Hit(hit.score, place, printed))
            if len(hits) == limit:
                break
        return hits, copies

    def _placed(self, scored: list[merit.Hit], limit: int) -> Iterator[tuple[merit.Hit, Located]]:
        """The hits in order with their places, looked up a few at a time."""
        ordered = merit.in_order(scored, self._names)
        size = 2 * limit
        while some := list(islice(ordered, size)):
            places = self._index.where([hit.doc for hit in some])
            for hit in some:
                yield hit, places[hit.doc]
            size *= 4

    def _names(self, docs: list[int]) -> dict[int, str]:
        return {doc: "\0".join(name) for doc, name in self._index.names(docs).items()}

    def _read(self, doc: int, place: Located) -> tuple[bytes, dict[str, object]]:
        """The message at a place: as it is printed, and its value. Raises Moved if it is another one."""
        mark = self._index.marks.get(place.source)
        line = None if mark is None else self._where.logs.line(place, mark)
        if line is None:
            raise Moved
        found = {
            entry.rev: entry for entry in entries(Line(place.start, len(line), line, True), place.source)
        }
        if place.rev not in found or stamp(found[place.rev]) != stamp_of(self._index, doc):
            raise Moved
        piece = read_line(line)[place.rev]
        return piece.printed, piece.message or {}

    def _matches(self, hits: list[_Hit]) -> list[Match]:
        """The hits with their numbers in the logs, their ids and neighbours; each log is opened once."""
        by_source: dict[str, list[_Hit]] = {}
        for hit in hits:
            by_source.setdefault(hit.place.source, []).append(hit)
        found = {source: iter(self._of_source(source, some)) for source, some in by_source.items()}
        return [next(found[hit.place.source]) for hit in hits]

    def _of_source(self, name: str, hits: list[_Hit]) -> list[Match]:
        try:
            source = self._where.open(name)
        except NotFound:
            raise Moved from None

        def matches(log: Index) -> list[Match]:
            places = [self._position(log, hit) for hit in hits]
            size, around = log.last().messages, self._context
            spans = [range(max(0, at - around), min(size, at + around + 1)) for at in places]
            messages = messages_at(log, (position for span in spans for position in span))
            if any(messages[at].raw != hit.printed for at, hit in zip(places, hits, strict=True)):
                raise Moved
            written = self._where.written(name)
            return [
                Match(hit.score, written, messages[at], [messages[one] for one in span if one != at])
                for hit, at, span in zip(hits, places, spans, strict=True)
            ]

        try:
            return with_index(source, None, matches)
        finally:
            os.close(source.fd)

    def _position(self, log: Index, hit: _Hit) -> int:
        """The number of a message in its log. Raises Moved if it is not there any more."""
        number = log.first_where(0, lambda entry: entry.end > hit.place.start) + hit.place.rev
        if number >= len(log) or not log.flags(number) & turns.MESSAGE:
            raise Moved
        return log[number].messages - 1


def _matching(ranked: Ranked) -> dict[int, float]:
    """The relevance of the messages that match by their own words or their day.

    What only stands beside a match is found by its neighbours alone, and not shown. Where nothing else
    matches, those count whose speaker is named.
    """
    scores = dict(zip(ranked.docs, ranked.relevance, strict=True))
    rows = dict(zip(ranked.docs, ranked.rows, strict=True))
    for names in (("own", "date"), ("speaker",)):
        columns = [ranked.signals[name].values for name in names if name in ranked.signals]
        found = {doc: score for doc, score in scores.items() if any(c[rows[doc]] > 0 for c in columns)}
        if found:
            return found
    return {}
