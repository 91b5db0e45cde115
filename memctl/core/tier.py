"""Tier: the three places of a record, from hot to cold."""

from __future__ import annotations

from enum import StrEnum

HOT, WARM, COLD = "hot", "warm", "cold"
#: From the hottest on.
TIERS = (HOT, WARM, COLD)
RANK = {COLD: 1, WARM: 2, HOT: 3}


class Level(StrEnum):
    """A tier as a name of a program. `Level.HOT == "hot"`; `Level("lukewarm")` is a ValueError."""

    HOT = HOT
    WARM = WARM
    COLD = COLD

    @property
    def rank(self) -> int:
        """3 for hot, 2 for warm, 1 for cold."""
        return RANK[self.value]
