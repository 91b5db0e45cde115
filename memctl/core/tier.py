"""Tier: the three places of a record, from hot to cold."""

from __future__ import annotations

HOT, WARM, COLD = "hot", "warm", "cold"
#: From the hottest on.
TIERS = (HOT, WARM, COLD)
RANK = {COLD: 1, WARM: 2, HOT: 3}
