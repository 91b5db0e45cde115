"""What was read of the truth meets what the index has: each document is new, moved or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.core.relevance.corpus import GONE
from memctl.store.search import schema
from memctl.store.search.entries import stamp

if TYPE_CHECKING:
    from memctl.store.search.entries import Entry
    from memctl.store.search.growing import Growing
    from memctl.store.search.index import SearchIndex


class Taken(NamedTuple):
    """How many documents are new, gone, and elsewhere but otherwise as they were."""

    added: int
    removed: int
    moved: int


def _held(index: SearchIndex, sources: list[str]) -> list[int]:
    """The documents that lie in these sources, in order."""
    numbers = {index.sources.index(source) for source in sources}
    if not numbers:
        return []
    column = schema.read_column(index.base, "source", schema.PLACES["source"])
    rows = zip(column, index.corpus.flags, strict=True)
    return [doc for doc, (source, flag) in enumerate(rows) if source in numbers and not flag & GONE]


def by_id(
    index: SearchIndex,
    change: Growing,
    entries: list[tuple[Entry, str]],
    replaced: list[str],
    hottest_first: list[str],
) -> Taken | None:
    """Records: the one with an id takes the place of the other."""
    ranks = {source: rank for rank, source in enumerate(hottest_first)}
    shadowed = bool(schema.get(index.base, "shadowed", 0))
    newest: dict[str, tuple[Entry, str]] = {}
    for entry, source in entries:
        best = newest.get(entry.id)
        if best is not None:
            shadowed = shadowed or best[1] != source
            is_less = entry.rev < best[0].rev
            if is_less or (entry.rev == best[0].rev and ranks[source] > ranks[best[1]]):
                continue
        newest[entry.id] = entry, source
    known = {
        id: doc
        for doc, (id, flag) in enumerate(zip(change.ids, index.corpus.flags, strict=True))
        if id in newest and not flag & GONE
    }
    gone = set(_held(index, replaced))
    places, stamps = change.places, change.places["stamp"]
    fresh: dict[str, list[Entry]] = {}
    moved = lost = 0
    for id, (entry, source) in newest.items():
        doc = known.get(id)
        if doc is not None and doc not in gone:
            # A file that was not read again has it too.
            rev, where = places["rev"][doc], index.sources[places["source"][doc]]
            shadowed = shadowed or where != source
            if rev > entry.rev or (rev == entry.rev and where != source and ranks[where] < ranks[source]):
                continue
        if doc is not None:
            gone.discard(doc)
            if stamps[doc] == stamp(entry):
                change.move(doc, entry, change.source(source))
                moved += 1
                continue
            change.remove(doc)
            lost += 1
        fresh.setdefault(source, []).append(entry)
    if gone and shadowed:
        # An older line of one of them may lie in a file that was not read.
        return None
    for doc in gone:
        change.remove(doc)
    added = _add(change, fresh)
    schema.put(index.base, "shadowed", int(shadowed))
    return Taken(added=added, removed=lost + len(gone), moved=moved)


def _add(change: Growing, fresh: dict[str, list[Entry]]) -> int:
    for source, entries in fresh.items():
        change.add(entries, change.source(source))
    return sum(map(len, fresh.values()))


def by_stamp(
    index: SearchIndex,
    change: Growing,
    entries: list[tuple[Entry, str]],
    replaced: list[str],
) -> Taken:
    """Messages: what stands in a replaced file as it stood there is the same document."""
    places, stamps = change.places, change.places["stamp"]
    held: dict[tuple[str, int], list[int]] = {}
    for doc in reversed(_held(index, replaced)):
        held.setdefault((index.sources[places["source"][doc]], stamps[doc]), []).append(doc)
    fresh: dict[str, list[Entry]] = {}
    moved = 0
    for entry, source in entries:
        same = held.get((source, stamp(entry))) if held else None
        if same:
            change.move(same.pop(), entry, change.source(source))
            moved += 1
        else:
            fresh.setdefault(source, []).append(entry)
    gone = [doc for docs in held.values() for doc in docs]
    for doc in gone:
        change.remove(doc)
    added = _add(change, fresh)
    return Taken(added=added, removed=len(gone), moved=moved)
