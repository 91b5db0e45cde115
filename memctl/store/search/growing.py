"""The index grows and shrinks: documents are added and removed, then the columns are written."""

from __future__ import annotations

from array import array
from bisect import bisect
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from memctl.core.relevance.corpus import GONE, LENGTH_MAX, NOBODY, NUMBER, PAUSE_S, TIME, Corpus
from memctl.core.relevance.moments import NUMBER_WORDS, TIME_WORDS
from memctl.core.relevance.words import asks, indexed, length
from memctl.store.search import schema
from memctl.store.search.entries import stamp
from memctl.store.search.index import matching

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from memctl.store.search.entries import Entry
    from memctl.store.search.index import SearchIndex

_SPEAKERS_MAX = 65_535
#: So many new turns are put in their places one by one; more, and all are sorted anew.
_FEW = 64
_BATCH = 2048
DAY_S = 86_400


class _Numbers(dict[str, int]):
    """Names to numbers; a new name gets the next one."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number


class Growing:
    """The columns of an index under change. New documents get the next numbers."""

    def __init__(self, base: sqlite3.Connection, index: SearchIndex | None, *, keyed: bool) -> None:
        self.base = base
        self.keyed = keyed
        self.corpus = corpus = Corpus()
        self.places: dict[str, array[int]] = {name: array(code) for name, code in schema.PLACES.items()}
        self.ids: list[str] = []
        self.sources: list[str] = []
        self._conversations = _Numbers({"": NOBODY})
        self._speakers = _Numbers({"": NOBODY})
        self._kept: dict[str, array[Any]] | None = None
        self._named = (0, 0)
        self._removed: list[int] = []
        self._moved = False
        if index is not None:
            self._kept = kept = {name: getattr(index.corpus, name) for name in schema.RANKED}
            for name in schema.RANKED:
                setattr(corpus, name, kept[name][:])
            for name, code in schema.PLACES.items():
                kept[name] = schema.read_column(base, name, code)
                self.places[name] = kept[name][:]
            corpus.gone = index.corpus.gone
            self.ids = index.all_ids()[:]
            self.sources = index.sources[:]
            self._conversations = _Numbers({n: k for k, n in enumerate(schema.names(base, "conversation"))})
            self._speakers = _Numbers({n: k for k, n in enumerate(index.corpus.speakers)})
            self._named = len(self._conversations), len(self._speakers)
        self._first = len(corpus)

    def source(self, name: str) -> int:
        """The number of a source."""
        if name not in self.sources:
            self.sources.append(name)
        return self.sources.index(name)

    def add(self, entries: Iterable[Entry], source: int) -> None:
        """Take documents of a source in: where a build spends its time, so it goes column by column."""
        entries = iter(entries)
        while batch := list(islice(entries, _BATCH)):
            self._add(batch, source)

    def _add(self, batch: list[Entry], source: int) -> None:
        corpus, places = self.corpus, self.places
        ids, texts, revs, talks, created, speakers, importance, starts, sizes = zip(*batch, strict=True)
        told = list(map(indexed, texts))
        rows = zip(count(len(corpus)), told)
        self.base.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)
        if self.keyed:
            self.ids += ids
        zeros = bytes(4 * len(batch))
        corpus.session.frombytes(zeros)
        corpus.at.frombytes(zeros)
        corpus.lengths.extend([min(size, LENGTH_MAX) for size in map(length, told)])
        corpus.flags.extend(map(asks, told))
        corpus.created.extend(created)
        corpus.days.extend([int(time // DAY_S) for time in created])
        corpus.importance.extend(importance)
        corpus.conversation.extend(map(self._conversations.__getitem__, talks))
        # Names beyond so many are taken for one.
        voices = map(self._speakers.__getitem__, speakers)
        corpus.speaker.extend([min(number, _SPEAKERS_MAX) for number in voices])
        places["source"].extend([source] * len(batch))
        places["start"].extend(starts)
        places["size"].extend(sizes)
        places["rev"].extend(revs)
        places["stamp"].extend(map(stamp, batch))

    def remove(self, doc: int) -> None:
        """Take a document out."""
        self.corpus.flags[doc] |= GONE
        self.corpus.gone += 1
        self._removed.append(doc)

    def move(self, doc: int, entry: Entry, source: int) -> None:
        """Note where the truth has a document now, whose text is what it was."""
        places = self.places
        places["source"][doc] = source
        places["start"][doc] = entry.start
        places["size"][doc] = entry.size
        places["rev"][doc] = entry.rev
        self.corpus.importance[doc] = entry.importance
        self._moved = True

    def settle(self) -> None:
        """Put new turns in their places, tell sessions apart, and note which texts tell times and numbers."""
        corpus, first = self.corpus, self._first
        if len(corpus) > first:
            numbers = [*(f'"{digit}" *' for digit in range(10)), *_quoted(NUMBER_WORDS)]
            for words, flag in ((_quoted(TIME_WORDS), TIME), (numbers, NUMBER)):
                for doc in matching(self.base, words, first):
                    corpus.flags[doc] |= flag
        talks, flags = corpus.conversation, corpus.flags
        new = [doc for doc in range(first, len(corpus)) if talks[doc] and not flags[doc] & GONE]
        gone = {doc for doc in self._removed if talks[doc]}
        # Messages are ordered by their places.
        moved = self._moved and not self.keyed
        if not new and not gone and not moved:
            return
        order = corpus.order.tolist()
        if gone:
            order = [doc for doc in order if doc not in gone]
        if len(new) > _FEW or moved:
            order = sorted([*order, *new], key=self._key)
        else:
            for doc in new:
                order.insert(bisect(order, self._key(doc), key=self._key), doc)
        corpus.order = array("I", order)
        for position, doc in enumerate(order):
            corpus.at[doc] = position
        self._sessions()

    def _key(self, doc: int) -> tuple[Any, ...]:
        """What the turns are ordered by: conversation, then time and id, or the place in the file."""
        talk = self.corpus.conversation[doc]
        if self.keyed:
            return talk, self.corpus.created[doc], self.ids[doc]
        return talk, self.places["start"][doc], self.places["rev"][doc]

    def _sessions(self) -> None:
        """Number the sessions: turns of a conversation without a long pause between them."""
        corpus = self.corpus
        talks, created = corpus.conversation, corpus.created
        session, lengths = corpus.session, corpus.lengths
        sums = array("I", [0])
        talk, time, number = NOBODY, 0.0, 0
        for doc in corpus.order:
            is_new = talks[doc] != talk
            # Of a turn without a time nobody knows of a pause.
            if is_new or (time and created[doc] - time >= PAUSE_S):
                talk = talks[doc]
                number += 1
                sums.append(0)
            time = created[doc] or (0.0 if is_new else time)
            session[doc] = number
            sums[number] += lengths[doc]
        corpus.session_lengths = sums

    def write(self) -> None:
        """Write all that changed, but for the marks of the sources."""
        base, corpus, kept = self.base, self.corpus, self._kept
        columns = {**self.places, **{name: getattr(corpus, name) for name in schema.RANKED}}
        for name, column in columns.items():
            schema.write_column(base, name, column, None if kept is None else kept[name])
        if self.keyed:
            schema.write_ids(base, self.ids, self._first)
        conversations, speakers = self._named
        schema.add_names(base, "conversation", conversations, list(self._conversations))
        corpus.speakers = list(self._speakers)[: _SPEAKERS_MAX + 1]
        schema.add_names(base, "speaker", speakers, corpus.speakers)
        schema.put(base, "gone", corpus.gone)


def _quoted(words: Iterable[str]) -> Iterator[str]:
    return (f'"{word}"' for word in sorted(words))
