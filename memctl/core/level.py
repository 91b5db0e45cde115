"""Level: the tiers as an enumeration for programs. Commands take plain names: a class costs at start-up."""

from __future__ import annotations

from enum import StrEnum

from memctl.core.tier import COLD, HOT, RANK, WARM


class Level(StrEnum):
    """A tier as a name of a program. `Level.HOT == "hot"`; `Level("lukewarm")` is a ValueError."""

    HOT = HOT
    WARM = WARM
    COLD = COLD

    @property
    def rank(self) -> int:
        """3 for hot, 2 for warm, 1 for cold."""
        return RANK[self.value]
