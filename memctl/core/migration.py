"""Migration: the moves of a pass over a user's records, planned to a fixed point.

Time rules move a record one step, capacity takes the least valuable first, as far down as needed. A pass that
follows at the same time finds nothing to do: what moved starts anew in its tier, and what was kept out of a
tier for want of room is kept out again.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from memctl.core.tier import COLD, HOT, RANK, TIERS, WARM
from memctl.core.tiering import Policy, State, expired, moment_us, rules, should_promote
from memctl.core.times import text_us

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_US = 1_000_000
_LONG_AGO = -(1 << 62)


class Move(NamedTuple):
    """A record goes from one tier to another; `target` None: out of cold. `reason` names the rule."""

    id: str
    source: str
    target: str | None
    reason: str

    @property
    def kind(self) -> str:
        """`promoted`, `demoted` or `evicted`."""
        if self.target is None:
            return "evicted"
        return "promoted" if RANK[self.target] > RANK[self.source] else "demoted"


def value_key(state: State) -> tuple[int, float, int, str]:
    """Sorts records by what they are worth, the least valuable first: oldest access, importance, age."""
    last, created = moment_us(state.last_access_at), moment_us(state.created_at)
    return (
        _LONG_AGO if last is None else last,
        state.importance,
        _LONG_AGO if created is None else created,
        state.id,
    )


class _Worth:
    """`value_key`, once a record: one that falls through two tiers is compared in each."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, float, int, str]] = {}

    def __call__(self, state: State) -> tuple[int, float, int, str]:
        key = self._known.get(state.id)
        if key is None:
            key = self._known[state.id] = value_key(state)
        return key


def plan(states: Iterable[State], policy: Policy, now_us: int, single: str = "") -> list[Move]:
    """The moves of a pass, in the order of ids, each record once, by where it ends.

    From the hottest tier down: what its accesses lift comes in from below, what has come from above stands
    beside it, what is expired leaves; then what is worth least leaves a tier that is too full. What does not
    find room above stays in its own tier by that tier's rules: a promotion exchanges, or does not happen.
    Pinned records stay, and take room. With `single`, all go to that tier, pinned ones too, and stay there.
    """
    if single:
        moves = [Move(state.id, state.tier, single, "single") for state in states if state.tier != single]
        return sorted(moves)
    here: dict[str, list[State]] = {tier: [] for tier in TIERS}
    rising: dict[str, list[State]] = {tier: [] for tier in TIERS}
    above = {WARM: HOT, COLD: WARM}
    for state in states:
        if state.accesses and should_promote(state, policy):
            rising[above[state.tier]].append(state)
        else:
            here[state.tier].append(state)
    worth = _Worth()
    moves = []
    falling: list[tuple[State, str]] = []
    back: list[State] = []
    for tier in TIERS:
        own, left = _parted([*here[tier], *back], policy, tier, now_us)
        coming = [*falling, *((state, "accesses") for state in rising[tier])]
        gone, back, falling = set(), [], left
        capacity = policy.capacity(tier)
        excess = len(own) + len(coming) - capacity
        if capacity > 0 and excess > 0:
            free = [state for state in (*own, *(state for state, _ in coming)) if not state.pinned]
            free.sort(key=worth)
            for state in free[:excess]:
                gone.add(state.id)
                if RANK[state.tier] < RANK[tier]:
                    back.append(state)
                else:
                    falling.append((state, f"{tier}_capacity"))
        moves += [Move(state.id, state.tier, tier, why) for state, why in coming if state.id not in gone]
    moves += [Move(state.id, state.tier, None, why) for state, why in falling]
    return sorted(moves)


def _parted(
    states: list[State], policy: Policy, tier: str, now_us: int
) -> tuple[list[State], list[tuple[State, str]]]:
    """Those that stay in their tier by the time rules, and those that leave it, with the rule."""
    limits = [limit_s for _, limit_s in rules(policy, tier)]
    if not limits:
        return states, []
    # A time that was written in the usual form tells by its text that it is young enough.
    young = text_us(now_us - int(min(limits) * _US))
    stay, left = [], []
    for state in states:
        last = state.last_access_at
        if type(last) is str and len(last) == len(young) and last >= young and last[4:11:3] == "--T":
            stay.append(state)
        elif rule := expired(state, policy, now_us):
            left.append((state, rule))
        else:
            stay.append(state)
    return stay, left


class Order(NamedTuple):
    """In which order the files of tiers are replaced, and which of them get what comes in before all that."""

    finals: tuple[str, ...]
    first: frozenset[str]


def order(flows: Iterable[tuple[str, str]], sizes: Mapping[str, int]) -> Order:
    """The order by which a record is written where it goes before it leaves where it was.

    `flows` are the pairs of tiers, from and to, between which records move; `sizes` what a replacement of a
    tier's file costs. A tier that cannot be replaced before those it takes from has what it takes written
    beforehand; of all orders the one in which that costs least is taken.
    """
    pairs = set(flows)

    def early(finals: Sequence[str]) -> frozenset[str]:
        place = {tier: number for number, tier in enumerate(finals)}
        return frozenset(target for source, target in pairs if place[source] < place[target])

    choices = [Order(finals, early(finals)) for finals in permutations(TIERS)]
    return min(choices, key=lambda choice: (sum(sizes[tier] + 1 for tier in choice.first), choice.finals))
