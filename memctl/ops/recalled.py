"""What a recall is asked, and what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core.budget import DEFAULT_WEIGHTS
from memctl.core.filtering import Filters
from memctl.core.recall_answer import in_time
from memctl.core.tier import TIERS
from memctl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memctl.core.recall_answer import Recalled, Taken
    from memctl.settings import Settings

FUSED, OVERLAP, RECENT = "fused", "overlap", "recent"
LEXICAL, SEMANTIC, BOTH = "lexical", "semantic", "both"
PARTS = ("semantic", "recency", "importance")


class Asked(NamedTuple):
    """A question to the records of a user. `caps` are the most records of a tier; limit, weights, ranker and
    retrieval are settings. With `touch` every record of the answer counts as accessed.
    """

    query: str = ""
    caps: Mapping[str, int] = {}
    filters: Filters = Filters()
    touch: bool = True


class Outcome(NamedTuple):
    """What was taken, of how many records and candidates; what the vectors did; damaged lines by tier."""

    taken: Taken
    records: int
    candidates: int
    vectors: dict[str, object] | None
    damaged: dict[str, int]


class Recall(NamedTuple):
    """The answer: `found` is ordered by score. Iterating over `in_time()` replays it oldest first."""

    user: str
    query: str
    ranker: str
    retrieval: str
    weights: tuple[float, float, float]
    found: list[Recalled]
    #: Records of the user, and those that query and filters left as candidates.
    records: int
    candidates: int
    #: Named and counted: what the answer passed over.
    passed: list[dict[str, str]]
    left_out: dict[str, int]
    vectors: dict[str, object] | None
    #: How many lines of each tier are no records and could not be looked at.
    damaged: dict[str, int]
    #: Whether the accesses are noted; None if they were not to be.
    touched: bool | None

    def in_time(self) -> list[Recalled]:
        """The records oldest first."""
        return in_time(self.found)

    def explain(self) -> dict[str, Any]:
        """How the answer came about, for one JSON object."""
        return {
            "user": self.user,
            "query": self.query,
            "ranker": self.ranker,
            "retrieval": self.retrieval,
            "weights": dict(zip(PARTS, self.weights, strict=True)),
            "records": self.records,
            "candidates": self.candidates,
            "found": len(self.found),
            "left_out": self.left_out,
            "passed_over": self.passed,
            "vectors": self.vectors,
            "damaged": self.damaged,
            "touched": self.touched,
        }


def weights(settings: Settings, ranker: str) -> tuple[float, float, float]:
    """The weights of a ranker: what is set anywhere as it is, else the ranker's own."""
    found = []
    for part, usual in zip(PARTS, DEFAULT_WEIGHTS, strict=True):
        name = f"recall.weight_{part}"
        is_set = ranker != OVERLAP or settings.origin(name) != "default"
        found.append(float(settings[name]) if is_set else usual)
    semantic, recency, importance = found
    return semantic, recency, importance


def with_given(settings: Settings, **given: float | str | None) -> Settings:
    """The settings with those of recall.* over them that are given. Raises BadConfig."""
    values = {f"recall.{name}": value for name, value in given.items() if value is not None}
    return settings.with_values(values, "program") if values else settings


def asked(
    query: str,
    *,
    caps: Mapping[str, int | None],
    tiers: str | Sequence[str],
    categories: str | Sequence[str],
    scope: str | None,
    metadata: Mapping[str, str] | None,
    conversation: str | None,
    since_us: int | None,
    until_us: int | None,
    touch: bool,
) -> Asked:
    """A question from what a caller gives. Raises BadInput."""
    wanted = (tiers,) if isinstance(tiers, str) else tuple(tiers)
    for tier in wanted:
        if tier not in TIERS:
            raise BadInput(f"no tier {tier}; there are {', '.join(TIERS)}")
    most = {tier: cap for tier, cap in caps.items() if cap is not None}
    for tier, cap in most.items():
        if cap < 0:
            raise BadInput(f"the most records of {tier} cannot be {cap}")
    filters = Filters(
        tiers=tuple(tier for tier in TIERS if tier in wanted),
        categories=(categories,) if isinstance(categories, str) else tuple(categories),
        scope=scope,
        metadata=tuple((metadata or {}).items()),
        conversation=conversation,
        since_us=since_us,
        until_us=until_us,
    )
    return Asked(query, most, filters, touch)
