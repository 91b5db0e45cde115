"""Level: the tiers as names of a program, which are equal to their text."""

from __future__ import annotations

from enum import StrEnum

from memctl.core.tier import COLD, HOT, RANK, WARM


class Level(StrEnum):
    """A tier. `Level.HOT == "hot"`; `Level("lukewarm")` is a ValueError."""

    HOT = HOT
    WARM = WARM
    COLD = COLD

    @property
    def rank(self) -> int:
        """3 for hot, 2 for warm, 1 for cold."""
        return RANK[self.value]
