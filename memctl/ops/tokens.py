"""tokens: those of a whole log, counted or as they were counted before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memctl.core import counting
from memctl.ops.source import with_index
from memctl.store.entries import Damaged
from memctl.store.totals import Totals
from memctl.store.weighing import weigher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.ops.source import Source
    from memctl.store.sidecar import Index


class _NotCounted(Exception):
    """Tokens would have to be counted first."""


def of_log(source: Source, counter: str, *, known_only: bool) -> int | None:
    """The tokens of a log; with `known_only` None unless all of them were counted before."""
    if known_only and not os.path.exists(source.cache_path(counter) or ""):
        return None

    def refuse(_: Sequence[dict[str, Any]]) -> list[int]:
        raise _NotCounted

    weigh = refuse if known_only else weigher(counter, source.user_cache)

    def answer(index: Index) -> int | None:
        totals = Totals(index, source.cache_path(counter), counter, weigh)
        try:
            totals.reach(0)
            return counting.tokens(totals.upto(len(index)).all - totals.upto(0).all, counter)
        finally:
            totals.close()

    try:
        return with_index(source, None, answer)
    except (_NotCounted, Damaged):
        return None
