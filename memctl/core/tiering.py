"""Tiering: by which rules records move between hot, warm and cold, and the plan of a pass.

The numbers and predicates are those of agentflow-go's `pkg/memory/tier` (v0.5.1). A pass plans to a fixed
point: time rules move a record one step, promotions count the accesses since a record entered its tier, and
capacity takes the least valuable first, so that a second pass at the same time finds nothing to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.core.tier import COLD, HOT, RANK, TIERS, WARM

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_US = 1_000_000
_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S


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
    def single_level(cls) -> Policy:
        """Nothing ever moves."""
        return cls(0, 0, 0, 0, 0, 0, 0, 0)

    def capacity(self, tier: str) -> int:
        """How many records a tier holds, 0 for any number."""
        return {HOT: self.hot_capacity, WARM: self.warm_capacity, COLD: self.cold_capacity}.get(tier, 0)


class State(NamedTuple):
    """What the rules look at: times in microseconds since 1970, None for a time that was never set.

    `accesses` are those since the record entered its tier; `entered_us` is when.
    """

    id: str
    tier: str
    accesses: int
    last_access_us: int | None
    entered_us: int | None
    created_us: int | None
    importance: float
    pinned: bool


class Move(NamedTuple):
    """A record goes from one tier to another; `target` None: out of cold. `reason` names the rule."""

    id: str
    source: str
    target: str | None
    reason: str


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


def expired(state: State, policy: Policy, now_us: int) -> str:
    """The time rule by which a record leaves its tier, "" for none.

    A tier's clock starts when the record enters it: the later of last access and entry counts. In hot the
    idle rule does not apply; in cold `cold_ttl` takes its place.
    """
    rules = {
        HOT: (("hot_ttl", policy.hot_ttl_s),),
        WARM: (("warm_ttl", policy.warm_ttl_s), ("demote_idle", policy.demote_idle_s)),
        COLD: (("cold_ttl", policy.cold_ttl_s),),
    }.get(state.tier, ())
    times = [time for time in (state.last_access_us, state.entered_us) if time is not None]
    if not times:
        return ""
    age_us = now_us - max(times)
    for name, limit_s in rules:
        if limit_s > 0 and age_us > limit_s * _US:
            return name
    return ""


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


def value_key(state: State) -> tuple[int, float, int, str]:
    """Sorts records by what they are worth, the least valuable first: oldest access, importance, age."""
    last = state.last_access_us if state.last_access_us is not None else -(1 << 62)
    created = state.created_us if state.created_us is not None else -(1 << 62)
    return last, state.importance, created, state.id


def plan(states: Iterable[State], policy: Policy, now_us: int) -> list[Move]:
    """The moves of a pass, in the order of ids, each record once, by where it ends.

    First promotions by access, from the hottest tier down; then what is expired goes one step down; then
    what is too much in a tier goes as far down as needed. A promotion into a full tier exchanges: what is
    worth least there goes down instead. Pinned records stay and take room.
    """
    placed: dict[str, str] = {}
    reasons: dict[str, str] = {}
    rows: dict[str, list[State]] = {tier: [] for tier in TIERS}
    known = {}
    for state in states:
        if state.tier not in RANK:
            continue
        known[state.id] = state
        target, reason = state.tier, ""
        if not state.pinned:
            if should_promote(state, policy):
                target, reason = (HOT if state.tier == WARM else WARM), "accesses"
            elif rule := expired(state, policy, now_us):
                target, reason = next_tier_on_demote(state.tier) or "", rule
        placed[state.id], reasons[state.id] = target, reason
        if target:
            rows[target].append(state)
    for tier in TIERS:
        capacity = policy.capacity(tier)
        excess = len(rows[tier]) - capacity
        if capacity <= 0 or excess <= 0:
            continue
        free = sorted((state for state in rows[tier] if not state.pinned), key=value_key)
        below = next_tier_on_demote(tier) or ""
        for state in free[:excess]:
            placed[state.id], reasons[state.id] = below, f"{tier}_capacity"
            if below:
                rows[below].append(state)
    return [
        Move(id, known[id].tier, target or None, reasons[id])
        for id, target in sorted(placed.items())
        if target != known[id].tier
    ]
