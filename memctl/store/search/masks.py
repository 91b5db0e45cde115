"""Masks: one flag a document of an index, for what may be in an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core.relevance.corpus import GONE
from memctl.store.search import schema

if TYPE_CHECKING:
    from collections.abc import Collection

    from memctl.store.search.index import SearchIndex


def of_sources(index: SearchIndex, sources: Collection[str]) -> bytearray:
    """The documents that lie in one of these files."""
    wanted = {number for number, source in enumerate(index.sources) if source in sources}
    column = schema.read_column(index.base, "source", schema.PLACES["source"])
    flags = index.corpus.flags
    return bytearray(number in wanted and not flag & GONE for number, flag in zip(column, flags, strict=True))


def of_ids(index: SearchIndex, ids: Collection[str]) -> bytearray:
    """The documents with one of these ids."""
    mask = bytearray(len(index.corpus))
    for doc in docs_of(index, ids).values():
        mask[doc] = 1
    return mask


def both(one: bytearray | None, other: bytearray) -> bytearray:
    """The documents in two masks; None is one of all."""
    if one is None:
        return other
    size = len(other)
    return bytearray(
        (int.from_bytes(one, "little") & int.from_bytes(other, "little")).to_bytes(size, "little")
    )


def docs_of(index: SearchIndex, ids: Collection[str]) -> dict[str, int]:
    """The documents with these ids, by id."""
    wanted = ids if isinstance(ids, set | frozenset | dict) else set(ids)
    flags = index.corpus.flags
    return {id: doc for doc, id in enumerate(index.all_ids()) if id in wanted and not flags[doc] & GONE}
