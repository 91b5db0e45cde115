"""Budgets and weights of a recall, as agentflow-go's `pkg/memory/tier` (v0.5.1) has them.

They are for programs that bring the reference's numbers along. The recall of memctl looks at every record and
takes caps (`max_hot`, `max_warm`, `max_cold`), in which 0 is none and what is absent is no cap.
"""

from __future__ import annotations

from typing import NamedTuple

_TOTAL = 20


class RecallBudget(NamedTuple):
    """How many records a recall gives, and how many of each tier it looks at first. 0 is not given."""

    total: int = 0
    hot: int = 0
    warm: int = 0
    cold: int = 0

    def normalize(self) -> RecallBudget:
        """The budget with every share filled in, to the letter of the reference.

        A share of 0 becomes its part of `total`: three fifths for hot, a quarter for warm, the rest for cold.
        What is too much leaves cold, then warm, never hot. As there, a share can become negative, the sum can
        stay above `total`, and doing it twice can give another budget than doing it once.
        """
        total = self.total if self.total > 0 else _TOTAL
        hot = self.hot if self.hot > 0 else total * 3 // 5
        warm = self.warm if self.warm > 0 else total // 4
        cold = self.cold if self.cold > 0 else total - hot - warm
        excess = hot + warm + cold - total
        if excess > 0:
            if cold >= excess:
                return RecallBudget(total, hot, warm, cold - excess)
            excess -= cold
            cold = 0
            if warm >= excess:
                warm -= excess
        return RecallBudget(total, hot, warm, cold)


class RecallWeights(NamedTuple):
    """What relevance, recency and importance count in the reference's score."""

    semantic: float = 0.0
    recency: float = 0.0
    importance: float = 0.0

    def normalize(self) -> RecallWeights:
        """Each weight that is 0 or less becomes its default: 0.5, 0.3, 0.2. They are not scaled to a sum.

        On the command line a weight is meant as it is given, 0 included.
        """
        return RecallWeights(
            *(given if given > 0 else usual for given, usual in zip(self, DEFAULT_WEIGHTS, strict=True))
        )


DEFAULT_WEIGHTS = (0.5, 0.3, 0.2)
