"""A question to an index, asked again where index and truth turn out not to agree."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from memctl.errors import Changing
from memctl.store.search import schema
from memctl.store.search.catching_up import drop, open_current

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.store.layout import Layout
    from memctl.store.search.index import SearchIndex
    from memctl.store.search.marks import Truth

Answer = TypeVar("Answer")

_ATTEMPTS = 6
#: So many of the best are looked at first, and when the answer is not full then, so many times as many.
FIRST, DEEPER = 120, 8


def index_path(layout: Layout, user: str, kind: str) -> str | None:
    """Where an index is kept; None in a store that memctl never wrote to, which is left as it is."""
    if not os.path.isdir(f"{layout.root}/.memctl"):
        return None
    return layout.search_index(user, kind).path


class Moved(Exception):
    """The truth has something else in a place that the index names."""


def answer(path: str | None, truth: Truth, ask: Callable[[SearchIndex], Answer]) -> Answer:
    """What `ask` says of the index as the truth is now; `ask` raises Moved where the two do not agree.

    An index that goes on not to agree, or is damaged, is removed and made anew. Raises Changing.
    """
    for attempt in range(_ATTEMPTS):
        kept = path if attempt < _ATTEMPTS - 1 else None
        index, _ = open_current(kept, truth)
        try:
            with index:
                return ask(index)
        except Moved:
            # Once it may be that files changed since; twice the index is not to be trusted.
            if attempt and kept is not None:
                drop(kept)
        except schema.DAMAGED:
            # Damage that SQLite does not see shows itself as numbers and texts that cannot be.
            if kept is None:
                raise
            drop(kept)
    raise Changing("the files change faster than they can be read", hint="try again")


def stamp_of(index: SearchIndex, doc: int) -> int:
    """The stamp of what was indexed as a document."""
    piece = schema.read_piece(index.base, "stamp", schema.PLACES["stamp"], doc // schema.CHUNK)
    return int(piece[doc % schema.CHUNK])
