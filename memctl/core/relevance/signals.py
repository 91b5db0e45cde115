"""The signals: what speaks for a candidate, each as one value a document."""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain, compress
from typing import TYPE_CHECKING, NamedTuple

from memctl.core.relevance import bm25
from memctl.core.relevance.corpus import GONE, NUMBER, QUESTION, TIME
from memctl.core.relevance.lanes import windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.core.relevance.asking import Query
    from memctl.core.relevance.corpus import Corpus
    from memctl.core.relevance.lanes import Line

NEAR, AROUND = 2, 5  # turns before and after that make a window
#: So many words of a long query, those that say most, are looked for in windows and sessions.
CONTEXT_WORDS = 48
#: How fast `same` falls when query and text differ.
_SAME_POWER = 24


class Signal(NamedTuple):
    """The values of a signal by document, and what they are scaled by."""

    values: list[float]
    top: float


class _Context(NamedTuple):
    """BM25 of what is around each slot."""

    near: list[float]
    around: list[float]
    session: list[float]


def signals(
    corpus: Corpus, query: Query, found: Sequence[bm25.Found], line: Line, dated: dict[int, float]
) -> tuple[dict[str, Signal], list[float]]:
    """Every signal that is not 0 everywhere, one value a document; and what the query itself finds there."""
    docs, turns = line.docs, line.turns
    lengths = [corpus.lengths[doc] if doc >= 0 else 0 for doc in docs]
    flags = [corpus.flags[doc] if doc >= 0 else GONE for doc in docs]
    slots = line.slots()
    hits = [[slots[doc] for doc in slots.keys() & set(one.docs)] for one in found]
    own, share = _own(corpus, query, found, hits, lengths)
    context = _context(corpus, found, hits, line, lengths)
    answer = [0.0] * len(docs)
    answer[1:turns] = [o if f & QUESTION else 0.0 for o, f in zip(own[: turns - 1], flags, strict=False)]
    raw = {
        "own": own,
        "share": share,
        "same": [
            _same(part, size, query.length) if part > 0.5 else 0.0
            for part, size in zip(share, lengths, strict=True)
        ],
        "near": context.near,
        "around": context.around,
        "session": context.session,
        "answer": answer,
        "statement": [0.0 if flag & QUESTION else 1.0 for flag in flags],
        "length": list(map(math.log1p, lengths)),
    }
    if dated:
        raw["date"] = [
            dated.get(corpus.days[doc], 0.0) if doc >= 0 and corpus.created[doc] else 0.0 for doc in docs
        ]
    if query.when:
        raw["when"] = [1.0 if flag & TIME else 0.0 for flag in flags]
    if query.many:
        raw["many"] = [1.0 if flag & NUMBER else 0.0 for flag in flags]
    if query.speaker:
        raw["speaker"] = [float(doc >= 0 and corpus.speaker[doc] == query.speaker) for doc in docs]
    # The gaps between stretches have done their work; a window there is nobody's.
    real = [doc >= 0 for doc in docs]
    signs = [raw[name] for name in ("own", "around", "date", "speaker") if name in raw]
    evidence = [math.fsum(row) for row in compress(zip(*signs, strict=True), real)]
    columns = {name: list(compress(column, real)) for name, column in raw.items()}
    tops = {name: max(column, default=0.0) for name, column in columns.items()} | {"same": 1.0}
    return {name: Signal(column, tops[name]) for name, column in columns.items() if tops[name] > 0}, evidence


def _own(
    corpus: Corpus,
    query: Query,
    found: Sequence[bm25.Found],
    hits: Sequence[list[int]],
    lengths: Sequence[int],
) -> tuple[list[float], list[float]]:
    """BM25 of each text, and the share of the query's words in it by what they say."""
    own, share = [0.0] * len(lengths), [0.0] * len(lengths)
    missing = sum(one.weight for one in query.sought) - sum(one.weight for one in found)
    everything = sum(one.idf for one in found) + missing * bm25.idf(corpus.live, 0)
    rooms = bm25.rooms(lengths, corpus.totals.average)
    for one, slots in zip(found, hits, strict=True):
        most, part = one.idf * (bm25.K1 + 1), one.idf / everything if everything else 0.0
        for slot in slots:
            own[slot] += most / (1 + rooms[slot])
            share[slot] += part
    return own, share


def _context(
    corpus: Corpus,
    found: Sequence[bm25.Found],
    hits: Sequence[list[int]],
    line: Line,
    lengths: Sequence[int],
) -> _Context:
    """BM25 of the windows around each slot and of its session."""
    totals, turns, size = corpus.totals, line.turns, len(line.docs)

    def around_each(values: list[int], reach: int) -> list[int]:
        """Sums over the window of each turn. A fact is its own context."""
        return windows(values[:turns], reach) + values[turns:]

    near, around = [0.0] * size, [0.0] * size
    near_rooms, around_rooms = (
        bm25.rooms(around_each(list(lengths), reach), totals.turn_average * (2 * reach + 1))
        for reach in (NEAR, AROUND)
    )
    session = [corpus.session[doc] if doc >= 0 else 0 for doc in line.docs]
    sessions = set(session) - {0}
    by_session = dict.fromkeys(sessions | {0}, 0.0)
    for one, slots in zip(found[:CONTEXT_WORDS], hits, strict=False):
        if len(slots) < size // 8:
            for scores, reach, room in ((near, NEAR, near_rooms), (around, AROUND, around_rooms)):
                bm25.add_some(scores, _around(slots, reach, turns), room, one.idf)
        else:
            times = [0] * size
            for slot in slots:
                times[slot] = 1
            bm25.add(near, around_each(times, NEAR), near_rooms, one.idf)
            bm25.add(around, around_each(times, AROUND), around_rooms, one.idf)
        if not sessions:
            continue
        inside = Counter(map(corpus.session.__getitem__, one.docs))
        del inside[0]
        rare = one.weight * bm25.idf(totals.sessions, len(inside))
        for number in sessions & inside.keys():
            length = corpus.session_lengths[number]
            by_session[number] += rare * bm25.gain(inside[number], length, totals.session_average)
    return _Context(near, around, [by_session[number] for number in session])


def _around(slots: Sequence[int], reach: int, turns: int) -> Counter[int]:
    """How many of the slots lie in each window that has one; a fact is its own."""
    spans = (range(slot - reach, slot + reach + 1) if slot < turns else (slot,) for slot in slots)
    return Counter(chain.from_iterable(spans))


def _same(share: float, length: int, wanted: int) -> float:
    """1 if text and query have the same words, and little as soon as they differ."""
    return float((share * (min(length, wanted) + 1) / (max(length, wanted) + 1)) ** _SAME_POWER)
