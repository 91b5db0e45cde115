"""An index made anew, in memory, and put in its place whole."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from memctl.store import caches, collecting
from memctl.store.search import schema
from memctl.store.search.growing import Growing
from memctl.store.search.index import SearchIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memctl.store.search.entries import Entry
    from memctl.store.search.marks import Mark, Truth


def build(truth: Truth, marks: Mapping[str, Mark]) -> SearchIndex:
    """An index over the truth that is in no file yet.

    Of several lines with one id the highest revision counts; of equal ones the hotter, then the later.
    """
    with collecting.paused():
        return _build(truth, marks)


def _build(truth: Truth, marks: Mapping[str, Mark]) -> SearchIndex:
    base = schema.in_memory()
    growing = Growing(base, None, keyed=truth.keyed)
    newest: dict[str, tuple[int, int, int]] = {}
    lost: list[int] = []
    shadowed = False
    read: dict[str, Mark] = {}

    def newer(entries: Iterator[Entry], number: int) -> Iterator[Entry]:
        nonlocal shadowed
        n = len(growing.corpus)
        for entry in entries:
            known = newest.get(entry.id)
            if known is not None:
                shadowed = shadowed or known[1] != number
                if known[0] > entry.rev or (known[0] == entry.rev and known[1] != number):
                    continue
                lost.append(known[2])
            newest[entry.id] = entry.rev, number, n
            yield entry
            n += 1

    for source, mark in marks.items():
        number = growing.source(source)
        entries = truth.read(source, 0)
        growing.add(newer(entries, number) if truth.keyed else entries, number)
        read[source] = truth.done(source, mark)
    for doc in lost:
        growing.remove(doc)
    growing.settle()
    growing.write()
    schema.put(base, "keyed", int(truth.keyed))
    schema.put(base, "shadowed", int(shadowed))
    schema.put_sources(base, growing.sources, read)
    base.execute("COMMIT")
    index = SearchIndex(base)
    index.adopt(growing.corpus)
    return index


def save(index: SearchIndex, path: str) -> bool:
    """Put an index in its place, whole; False where the cache cannot be written."""
    try:
        fd, fresh = caches.create(path)
    except OSError:
        return False
    os.close(fd)
    try:
        base = sqlite3.connect(fresh, isolation_level=None)
        try:
            base.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            index.base.backup(base)
        finally:
            base.close()
        caches.place(fresh, path)
    except (OSError, sqlite3.Error):
        caches.drop(fresh)
        return False
    except BaseException:
        caches.drop(fresh)
        raise
    return True
