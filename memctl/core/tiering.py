"""Tiering: by which rules records move between hot, warm and cold.

The numbers and predicates are those of agentflow-go's `pkg/memory/tier` (v0.5.1), but for two: promotions
count the accesses since a record entered its tier, and a tier's clock starts when it enters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import times
from memctl.core.record import IMPORTANCE, UNSET
from memctl.core.tier import COLD, HOT, RANK, WARM
from memctl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memctl.core.record import Record

_US = 1_000_000
_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S
_UNSET_US = times.microseconds(UNSET)
# The class's own call costs more than all else that makes a state.
_make = tuple.__new__
_NUMBERS = (float, int, bool)


class Policy(NamedTuple):
    """When records move. A capacity, time or count of 0 switches its rule off; times in seconds."""

    hot_capacity: int = 50
    warm_capacity: int = 500
    cold_capacity: int = 5000
    hot_ttl_s: float = _DAY_S
    warm_ttl_s: float = 30 * _DAY_S
    cold_ttl_s: float = 0
    demote_idle_s: float = 7 * _DAY_S
    promote_access: int = 3

    @classmethod
    def default(cls) -> Policy:
        """The reference's numbers."""
        return cls()

    @classmethod
    def session(cls) -> Policy:
        """The reference framework's preset for the memory of a session."""
        return cls(hot_capacity=20, warm_capacity=100, cold_capacity=1000)

    @classmethod
    def single_level(cls) -> Policy:
        """Nothing ever moves."""
        return cls(0, 0, 0, 0, 0, 0, 0, 0)

    def capacity(self, tier: str) -> int:
        """How many records a tier holds, 0 for any number."""
        return {HOT: self.hot_capacity, WARM: self.warm_capacity, COLD: self.cold_capacity}.get(tier, 0)

    def should_promote(self, record: Record) -> bool:
        """Whether its accesses lift a record, seen alone."""
        return should_promote(State.of(record), self)

    def should_demote(self, record: Record, now: datetime | str, count: int) -> bool:
        """Whether a record leaves its tier, which holds `count`, by time or for want of room. BadInput."""
        return should_demote(State.of(record), self, _moment(now), count)

    def target_tier(self, record: Record, now: datetime | str, counts: Mapping[str, int]) -> str:
        """Where a record belongs, seen alone; `counts` says how many each tier holds. Raises BadInput."""
        return target_tier(State.of(record), self, _moment(now), counts)

    def next_tier_on_demote(self, tier: str) -> tuple[str, bool]:
        """The tier below and True; "" and False where there is none."""
        below = next_tier_on_demote(tier)
        return below or "", below is not None


class State(NamedTuple):
    """What the rules look at. Times are as they are stored: most of them nobody has to read.

    `accesses` are those since the record entered its tier; `entered_at` is when.
    """

    id: str
    tier: str
    accesses: int
    last_access_at: object
    entered_at: object
    created_at: object
    importance: float
    pinned: bool

    @classmethod
    def of(cls, record: Record) -> State:
        """The state of a record."""
        return state_of(record.value, record.tier, record.rev)


def state_of(value: Mapping[str, Any], tier: str, rev: int) -> State:
    """The state of a record by its JSON value, as `Record` reads it; one call for each of many."""
    get = value.get
    accesses = get("tier_access_count")
    if accesses is None and not rev:
        accesses = get("access_count")
    importance: Any = get("importance")
    if type(importance) not in _NUMBERS:
        importance = IMPORTANCE
    return _make(
        State,
        (
            value["id"],
            tier,
            accesses if type(accesses) is int and accesses > 0 else 0,
            get("last_access_at"),
            get("promoted_at"),
            get("created_at"),
            importance if importance > 0 else IMPORTANCE,
            get("pinned") is True,
        ),
    )


def moment_us(stored: object) -> int | None:
    """A stored time in microseconds since 1970; None for one that was never set or cannot be read."""
    if stored is None or stored == UNSET:
        return None
    found = times.microseconds(stored)
    return None if found == _UNSET_US else found


def _moment(now: datetime | str) -> int:
    found = times.microseconds(now)
    if found is None:
        raise BadInput(f"{now!r} is no time")
    return found


def should_promote(state: State, policy: Policy) -> bool:
    """Whether its accesses lift a record: from warm at `promote_access`, from cold at twice as many."""
    if state.pinned or policy.promote_access <= 0 or state.accesses < policy.promote_access:
        return False
    if state.tier == WARM:
        return True
    return state.tier == COLD and state.accesses >= 2 * policy.promote_access


def should_demote(state: State, policy: Policy, now_us: int, count: int) -> bool:
    """Whether a record leaves its tier, which holds `count` records, by time or for want of room."""
    if state.pinned or state.tier not in RANK:
        return False
    if 0 < policy.capacity(state.tier) < count:
        return True
    return bool(expired(state, policy, now_us))


def rules(policy: Policy, tier: str) -> list[tuple[str, float]]:
    """The time rules by which records leave a tier, with their limits in seconds; those that are on.

    In hot the idle rule does not apply; in cold `cold_ttl` takes its place.
    """
    found = {
        HOT: [("hot_ttl", policy.hot_ttl_s)],
        WARM: [("warm_ttl", policy.warm_ttl_s), ("demote_idle", policy.demote_idle_s)],
        COLD: [("cold_ttl", policy.cold_ttl_s)],
    }.get(tier, [])
    return [(name, limit_s) for name, limit_s in found if limit_s > 0]


def expired(state: State, policy: Policy, now_us: int) -> str:
    """The time rule by which a record leaves its tier, "" for none; pinned ones stay.

    A tier's clock starts when the record enters it: the later of last access and entry counts.
    """
    known = [us for us in (moment_us(state.last_access_at), moment_us(state.entered_at)) if us is not None]
    if state.pinned or not known:
        return ""
    age_us = now_us - max(known)
    return next((name for name, limit_s in rules(policy, state.tier) if age_us > limit_s * _US), "")


def target_tier(state: State, policy: Policy, now_us: int, counts: Mapping[str, int]) -> str:
    """Where one record belongs, seen alone: promotion comes before demotion; cold stays cold."""
    if should_promote(state, policy):
        return HOT if state.tier == WARM else WARM
    if should_demote(state, policy, now_us, counts.get(state.tier, 0)):
        return next_tier_on_demote(state.tier) or state.tier
    return state.tier


def next_tier_on_demote(tier: str) -> str | None:
    """The tier below, None below cold."""
    return {HOT: WARM, WARM: COLD}.get(tier)
