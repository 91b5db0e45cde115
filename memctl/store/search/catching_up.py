"""The index catches up with the truth: what was appended is read, what was replaced is compared.

A reader never believes the index over the files: it lets the index catch up first, and takes every record
that it shows from the place that the index names.
"""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from memctl.errors import Changing
from memctl.store import caches
from memctl.store.search import schema
from memctl.store.search.index import SearchIndex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memctl.store.search.entries import Entry
    from memctl.store.search.marks import Mark, Truth
    from memctl.store.search.merging import Taken

_ATTEMPTS = 8
#: More removed documents than this share of the others, and the index is made anew.
_GONE_SHARE = 0.5
_GONE_MIN = 1000


class Report(NamedTuple):
    """What catching up did; `saved` is False if the cache could not be written, which harms no answer."""

    rebuilt: bool = False
    added: int = 0
    removed: int = 0
    moved: int = 0
    saved: bool = True


def open_current(path: str | None, truth: Truth) -> tuple[SearchIndex, Report]:
    """The index of a user as the truth is now: opened, caught up, or built anew where that is simpler.

    Without a path, or where the cache cannot be written, it is in memory alone. Raises Changing if files are
    replaced faster than they can be read.
    """
    for _ in range(_ATTEMPTS):
        marks = truth.marks()
        index, report = _open(path, truth, marks)
        after = truth.marks() if report != Report() else marks
        if after == marks or not _replaced(truth, index.marks, after):
            return index, report
        index.close()
        if path is not None and report.saved:
            # It may hold what was removed from the truth while it was made.
            drop(path)
    raise Changing("the files change faster than they can be read", hint="try again")


def drop(path: str) -> None:
    """Remove an index, with all that a killed writer left beside it: FTS5 keeps words of deleted texts."""
    caches.drop(path)
    caches.drop_unfinished(path)


def differences(path: str, truth: Truth) -> int:
    """How many documents an index knows otherwise than the truth has them; one that is behind has none.

    A file that is no index, or one of another format, is one difference.
    """
    from memctl.store.search.building import build

    index = _kept(path, truth.marks())
    if index is None:
        return int(os.path.lexists(path))
    with index, build(truth, truth.marks()) as fresh:
        if index.marks != fresh.marks:
            return 0
        right = _documents(fresh)
        try:
            return len(_documents(index) ^ right)
        except schema.DAMAGED:
            return len(right)


def is_kept(path: str) -> bool | None:
    """Whether the file is an index of ours; None without a file."""
    if not os.path.lexists(path):
        return None
    index = _kept(path, {})
    if index is not None:
        index.close()
    return index is not None


def _documents(index: SearchIndex) -> set[tuple[object, ...]]:
    stamps = schema.read_column(index.base, "stamp", schema.PLACES["stamp"])
    docs = [doc for doc, here in enumerate(index.everything()) if here]
    return {(*place, stamps[doc]) for doc, place in index.where(docs).items()}


def _kept(path: str, marks: Mapping[str, Mark]) -> SearchIndex | None:
    """The index in the file as it is, if it is whole."""
    try:
        os.close(caches.open_kept(path, write=False))
        index = SearchIndex(schema.open_file(path))
    except (OSError, *schema.DAMAGED):
        return None
    try:
        if _is_current(index, marks):
            # Read all that ranking needs: damage shows itself now.
            _ = index.corpus
    except schema.DAMAGED:
        index.close()
        return None
    return index


def _identity(path: str) -> tuple[int, int] | None:
    """Which file is in the place of an index."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _is_current(index: SearchIndex, marks: Mapping[str, Mark]) -> bool:
    return index.marks.keys() == marks.keys() and all(
        mark.same_state(index.marks[source]) for source, mark in marks.items()
    )


def _replaced(truth: Truth, read: Mapping[str, Mark], now: Mapping[str, Mark]) -> bool:
    """Whether a file is another one than that which was read."""
    return any(
        source not in now or not (now[source].same_state(mark) or truth.grew(source, mark))
        for source, mark in read.items()
    )


def _open(path: str | None, truth: Truth, marks: dict[str, Mark]) -> tuple[SearchIndex, Report]:
    before = None if path is None else _identity(path)
    index = None if path is None else _kept(path, marks)
    if index is not None and path is not None:
        if _is_current(index, marks):
            return index, Report()
        caught_up = _caught_up(path, before, index, truth, marks)
        index.close()
        if caught_up is not None:
            return caught_up
    # What makes and changes an index is loaded only when that is to be done: most questions find it current.
    from memctl.store.search.building import build, save

    index = build(truth, marks)
    saved = path is not None and save(index, path)
    return index, Report(rebuilt=True, added=index.corpus.live, saved=saved)


def _caught_up(
    path: str, before: object, index: SearchIndex, truth: Truth, marks: dict[str, Mark]
) -> tuple[SearchIndex, Report] | None:
    """The index brought up to the marks, as a copy that takes its place; None if it is no help.

    Nothing is changed in the file: a journal beside it could be played back into another one that was put
    in its place, and a copy costs a few hundredths of a second.
    """
    from memctl.store.search.building import save

    base = sqlite3.connect(":memory:", isolation_level=None)
    try:
        index.base.backup(base)
        base.execute("PRAGMA journal_mode = OFF")
        base.execute("BEGIN")
        copy = SearchIndex(base)
        report = _catch_up(copy, truth, marks)
        if report is not None:
            base.execute("COMMIT")
            # Where the file was dropped meanwhile, a copy must not bring back the words that were in it.
            return copy, report._replace(saved=_identity(path) == before and save(copy, path))
    except schema.DAMAGED:
        # Damaged.
        pass
    except BaseException:
        base.close()
        raise
    base.close()
    return None


def _catch_up(index: SearchIndex, truth: Truth, marks: dict[str, Mark]) -> Report | None:
    """Take in what changed; None: building anew is cheaper or safer."""
    from memctl.store import collecting

    with collecting.paused():
        return _taken_in(index, truth, marks)


def _taken_in(index: SearchIndex, truth: Truth, marks: dict[str, Mark]) -> Report | None:
    from memctl.store.search.growing import Growing
    from memctl.store.search.merging import by_id, by_stamp

    old = index.marks
    changed = [source for source, mark in marks.items() if not mark.same_state(old.get(source))]
    grown = {source for source in changed if source in old and truth.grew(source, old[source])}
    replaced = [
        source for source in old if source not in marks or (source in changed and source not in grown)
    ]
    change = Growing(index.base, index, keyed=truth.keyed)
    entries: list[tuple[Entry, str]] = []
    read = {source: old[source] for source in marks if source not in changed}
    for source in changed:
        start = old[source].end if source in grown else 0
        entries += [(entry, source) for entry in truth.read(source, start)]
        mark = truth.done(source, marks[source])
        read[source] = mark._replace(bad=mark.bad + old[source].bad) if source in grown else mark
    if len(entries) > 2 * index.corpus.live + _GONE_MIN:
        return None
    taken: Taken | None
    if truth.keyed:
        taken = by_id(index, change, entries, replaced, list(marks))
    else:
        taken = by_stamp(index, change, entries, replaced)
    if taken is None or change.corpus.gone > _GONE_SHARE * change.corpus.live + _GONE_MIN:
        return None
    change.settle()
    change.write()
    schema.put_sources(index.base, change.sources, read)
    index.sources, index.marks = change.sources, read
    index.adopt(change.corpus)
    return Report(added=taken.added, removed=taken.removed, moved=taken.moved)
