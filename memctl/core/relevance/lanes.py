"""The candidates laid out in one line of slots, so that sums over neighbouring turns are differences.

Turns that follow one another stand side by side; between two stretches, and at the ends, lie so many empty
slots that no window reaches from one stretch into the next. Records on their own come last, unparted.
"""

from __future__ import annotations

from itertools import accumulate
from operator import sub
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memctl.core.relevance.corpus import Corpus

GAP = -1


class Line(NamedTuple):
    """Documents by slot; the first `turns` slots are turns and gaps (GAP), the others facts."""

    docs: list[int]
    turns: int

    def slots(self) -> dict[int, int]:
        """The slot of each document."""
        found = {doc: slot for slot, doc in enumerate(self.docs)}
        found.pop(GAP, None)
        return found


def lay_out(corpus: Corpus, seeds: Iterable[int], nearby: int, reach: int) -> Line:
    """The seeds and the turns up to `nearby` from them, and beyond what their windows of `reach` need."""
    talks, order, far = corpus.conversation, corpus.order, nearby + reach
    facts: list[int] = []
    positions: list[int] = []
    for doc in set(seeds):
        if talks[doc]:
            positions.append(corpus.at[doc])
        else:
            facts.append(doc)
    docs = [GAP] * reach
    end = 0
    for position in sorted(positions):
        talk = talks[order[position]]
        low = max(end, position - far) if position > end else end
        # A conversation is one stretch: where both ends belong to it, all between does.
        while low < position and talks[order[low]] != talk:
            low += 1
        if low > end or not corpus.follows(low):
            docs += [GAP] * reach
        high = min(position + far, len(order) - 1)
        while high >= end and talks[order[high]] != talk:
            high -= 1
        docs += order[low : high + 1]
        end = high + 1
    docs += [GAP] * reach
    return Line(docs + sorted(facts), len(docs))


def windows(values: Sequence[int], reach: int) -> list[int]:
    """For each slot the sum over it and `reach` slots on either side."""
    ends = [0] * reach
    sums = list(accumulate([*ends, *values, *ends], initial=0))
    return list(map(sub, sums[2 * reach + 1 :], sums))
