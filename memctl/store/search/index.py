"""The search index of one user, open: asked what answers a query, and where the truth has that."""

from __future__ import annotations

import sqlite3
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Self

from memctl.core import jsonl
from memctl.core.relevance import asking, ranking
from memctl.core.relevance.corpus import GONE, Corpus
from memctl.store.search import schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Located(NamedTuple):
    """Where the truth has a document: a line of a source, without LF.

    `id` is that of a record, "" for a message; `rev` the record's, or which message of its line it is.
    """

    id: str
    rev: int
    source: str
    start: int
    size: int


class SearchIndex:
    """An index, in a file or in memory. Any question may raise sqlite3.Error, if the file is damaged."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self.base = base
        self.sources, self.marks = schema.sources(base)
        #: The pieces of ids that were read.
        self._ids: dict[int, list[str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.base.close()

    @cached_property
    def corpus(self) -> Corpus:
        """The columns that the ranking asks for."""
        corpus = Corpus()
        for name, code in schema.RANKED.items():
            setattr(corpus, name, schema.read_column(self.base, name, code))
        corpus.gone = schema.get(self.base, "gone", 0)
        corpus.speakers = schema.names(self.base, "speaker")
        check(corpus)
        self.adopt(corpus)
        return corpus

    def adopt(self, corpus: Corpus) -> None:
        """Let a corpus take its posting lists from the file."""
        flags, size = corpus.flags, len(corpus)
        self._ids = {}

        def postings(words: Sequence[str]) -> list[int]:
            docs = matching(self.base, [f'"{word}"' for word in words])
            if docs and docs[-1] >= size:
                raise sqlite3.DatabaseError("postings of documents that are not there")
            return [doc for doc in docs if not flags[doc] & GONE] if corpus.gone else docs

        corpus.postings = postings
        corpus.names = self.names
        corpus.totals = corpus.summed()
        self.__dict__["corpus"] = corpus

    def rank(self, query: str, *, among: Sequence[int] | None = None, limit: int = 0) -> ranking.Ranked:
        """What something in the query finds, with its relevance; nothing for a query without words.

        `among`, one flag a document, says what may be in the answer. The `limit` best documents by their own
        words, at least 120, are looked at, and those around them.
        """
        corpus = self.corpus
        return ranking.rank(corpus, asking.read(query, corpus.speakers), among=among, limit=limit)

    def everything(self) -> bytearray:
        """One flag a document: whether it is there; for `among`."""
        return bytearray(not flag & GONE for flag in self.corpus.flags)

    def of_conversation(self, name: str) -> bytearray:
        """One flag a document: whether it belongs to this conversation; for `among`."""
        known = schema.names(self.base, "conversation")
        number = known.index(name) if name in known[1:] else -1
        mask = bytearray(map(number.__eq__, self.corpus.conversation))
        if self.corpus.gone:
            flags = zip(mask, self.corpus.flags, strict=True)
            mask = bytearray(here and not flag & GONE for here, flag in flags)
        return mask

    def where(self, docs: Sequence[int]) -> dict[int, Located]:
        """Where the truth has these documents."""
        pieces = {doc // schema.CHUNK for doc in docs}
        columns = {
            piece: [
                schema.read_piece(self.base, name, schema.PLACES[name], piece)
                for name in ("rev", "source", "start", "size")
            ]
            for piece in sorted(pieces)
        }
        ids = self.ids(docs)
        found: dict[int, Located] = {}
        for doc in docs:
            rev, source, start, size = (column[doc % schema.CHUNK] for column in columns[doc // schema.CHUNK])
            found[doc] = Located(ids.get(doc, ""), rev, self.sources[source], start, size)
        return found

    def ids(self, docs: Sequence[int]) -> dict[int, str]:
        """The ids of those documents that have one."""
        known = self._ids
        if missing := {doc // schema.CHUNK for doc in docs} - known.keys():
            known |= schema.read_ids(self.base, missing)
        return {doc: known[doc // schema.CHUNK][doc % schema.CHUNK] for doc in docs} if known else {}

    def all_ids(self) -> list[str]:
        """The ids of all documents by number, also of those that were removed; none of messages."""
        return list(chain.from_iterable(schema.read_ids(self.base).values()))

    def names(self, docs: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """What orders documents of equal score: the id, or else source and place, as text that sorts."""
        if schema.get(self.base, "keyed", 1):
            return {doc: (id,) for doc, id in self.ids(docs).items()}
        return {
            doc: (place.source, f"{place.start:020}", f"{place.rev:06}")
            for doc, place in self.where(docs).items()
        }


def matching(base: sqlite3.Connection, quoted: Iterable[str], first: int = 0) -> list[int]:
    """The documents, from number `first` on, that have one of the words, in ascending order.

    Each is a token of letters and digits in quotes: nothing in it can be taken for the syntax of a query.
    """
    # One text of all numbers is made in C, and read in C: a row for each would take three times as long.
    (found,) = base.execute(
        "SELECT group_concat(rowid) FROM words WHERE words MATCH ? AND rowid >= ?",
        (" OR ".join(quoted), first),
    ).fetchone()
    docs: list[int] = jsonl.loads(f"[{found or ''}]".encode())
    return docs


def check(corpus: Corpus) -> None:
    """Raise sqlite3.DatabaseError if the columns do not belong together."""
    columns = ("conversation", "session", "speaker", "flags", "created", "days", "importance", "at")
    if any(len(getattr(corpus, name)) != len(corpus) for name in columns):
        raise sqlite3.DatabaseError("columns of different lengths")
    if len(corpus.order) > len(corpus) or not corpus.session_lengths or not corpus.speakers:
        raise sqlite3.DatabaseError("columns that do not belong together")
