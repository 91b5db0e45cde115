"""count: the tokens of a whole log, and of its window."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import counting, turns
from memctl.core.window import Request
from memctl.errors import UsageError
from memctl.ops.choosing import Choice
from memctl.ops.source import open_source, with_index
from memctl.store.totals import Totals
from memctl.store.weighing import weigher

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.core.names import Reference
    from memctl.ops.setup import Setup
    from memctl.ops.source import Source
    from memctl.store.sidecar import Index


class Counted(NamedTuple):
    """Tokens of a log. `window_tokens` is None unless a window was asked for; `by_role` unless wanted."""

    messages: int
    tokens: int
    window_tokens: int | None
    by_role: dict[str, int] | None
    counter: str


def count(
    setup: Setup,
    target: Reference | str,
    counter: str,
    *,
    window: Request | None = None,
    by_role: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Counted:
    """Count a conversation or a file; what is counted already is not counted again."""
    if window is not None and window.budget < 0:
        raise UsageError("a budget cannot be negative; a budget of 0 is no limit")
    source = open_source(setup, target)

    def answer(index: Index) -> Counted:
        counted = _count(source, index, counter, by_role, progress)
        if window is None:
            return counted
        request = window._replace(counter=counter)
        chosen = Choice(source, index, request, counted=True, progress=progress).window()
        return counted._replace(window_tokens=chosen.tokens)

    try:
        return with_index(source, progress, answer)
    finally:
        os.close(source.fd)


def _count(
    source: Source, index: Index, counter: str, by_role: bool, progress: Callable[[int, int], None] | None
) -> Counted:
    weigh = weigher(counter, source.user_cache)
    totals = Totals(index, source.cache_path(counter), counter, weigh, progress)
    try:
        totals.reach(0)
        weight = totals.upto(len(index)).all - totals.upto(0).all
        roles = _by_role(index, totals, counter) if by_role else None
    finally:
        totals.close()
    return Counted(index.last().messages, counting.tokens(weight, counter), None, roles, counter)


def _by_role(index: Index, totals: Totals, counter: str) -> dict[str, int]:
    weights: dict[str, int] = {}
    before = totals.upto(0).all
    for number in range(len(index)):
        entry = index[number]
        after = totals.upto(number + 1).all
        if entry.flags & turns.MESSAGE:
            value: dict[str, Any] = index.value(number) if entry.role == turns.OTHER_ROLE else {}
            role = turns.role_of(entry.role, value)
            weights[role] = weights.get(role, 0) + after - before
        before = after
    return {role: counting.tokens(weight, counter) for role, weight in weights.items()}
