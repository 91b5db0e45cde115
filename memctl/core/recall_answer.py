"""Recall answer: the records of a ranking that fit in an answer, with their scores, and how they print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import cold_summary
from memctl.core import record as records
from memctl.core.filtering import created_us
from memctl.core.relevance.folding import sameness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from memctl.core.record import Record

#: What is passed over is named up to so many times, and counted beyond.
NAMED_MAX = 100


class Recalled(NamedTuple):
    """A record with its score and what that is made of: `semantic`, `recency`, `importance`, and more."""

    record: Record
    score: float
    scores: dict[str, Any]

    def text(self, *, brief: bool = False) -> str:
        """What it says; with `brief` its summary, where it has one."""
        return (brief and self.record.metadata.get(cold_summary.KEY)) or self.record.content

    def line(self, *, scores: bool = False, brief: bool = False) -> bytes:
        """The record's bytes with `score` at the end, and with `scores` what it is made of.

        With `brief` the summary stands in the place of the content where there is one, and `brief` is true.
        """
        added: dict[str, Any] = {"score": self.score}
        if scores:
            added["scores"] = self.scores
        if brief and self.record.metadata.get(cold_summary.KEY):
            added = {"content": self.text(brief=True), **added, "brief": True}
        return records.with_values(self.record.raw, added)


def in_time(found: Iterable[Recalled]) -> list[Recalled]:
    """Oldest first, of one time by id; those of an unknown time come first."""

    def key(one: Recalled) -> tuple[int, str]:
        created = created_us(one.record)
        return (-(1 << 62) if created is None else created), one.record.id

    return sorted(found, key=key)


class Candidate(NamedTuple):
    """A record that may be in an answer. `read` gives it, or None if it is not to be in it after all."""

    score: float
    scores: dict[str, Any]
    tier: str
    read: Callable[[], Record | None]


class Taken(NamedTuple):
    """The answer, the best first. `passed` are those passed over on the way, why, and for which other one.

    `looked` is how many candidates were looked at.
    """

    found: list[Recalled]
    passed: list[dict[str, str]]
    counts: dict[str, int]
    looked: int


def take(ranking: Iterable[Candidate], limit: int, caps: Mapping[str, int]) -> Taken:
    """At most `limit` of a ranking, of each tier at most its cap; of texts that are equal the first."""
    found: list[Recalled] = []
    passed: list[dict[str, str]] = []
    counts = {"equal_text": 0, "tier_full": 0}
    room = dict(caps)
    seen: dict[str, str] = {}
    looked = 0
    for candidate in ranking if limit > 0 else ():
        looked += 1
        if room.get(candidate.tier, 1) <= 0:
            counts["tier_full"] += 1
            continue
        record = candidate.read()
        if record is None:
            continue
        key = sameness(record.searchable)
        if (same := seen.setdefault(key, record.id)) != record.id:
            counts["equal_text"] += 1
            if len(passed) < NAMED_MAX:
                passed.append({"id": record.id, "reason": "equal_text", "same_as": same})
            continue
        if candidate.tier in room:
            room[candidate.tier] -= 1
        found.append(Recalled(record, candidate.score, candidate.scores))
        if len(found) == limit:
            break
    return Taken(found, passed, counts, looked)
