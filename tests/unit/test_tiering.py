"""The rules of tiers and the plan of a pass: a fixed point, within the capacities, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl.core import record as records
from memctl.core import times
from memctl.core.migration import Move, Order, order, plan, value_key
from memctl.core.tier import RANK, TIERS
from memctl.core.tiering import Policy, State, expired, moment_us, rules, should_promote, state_of

NOW_US = 1_772_355_600_000_000
OFF = Policy.single_level()
UNSET = "0001-01-01T00:00:00Z"


def at(seconds: float) -> str:
    """The time so many seconds after the present, as it is stored."""
    return times.text_us(NOW_US + int(seconds * 1_000_000))


def state(id: str = "x", tier: str = "hot", last: float = 0, **more: object) -> State:
    base = State(id, tier, 0, at(last), UNSET, at(last), 0.5, False)
    return base._replace(**more)  # type: ignore[arg-type]


# -- rules -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (NOW_US, "2026-03-01T09:00:00Z"),
        (NOW_US, "2026-03-01T11:00:00+02:00"),
        (NOW_US, 1772355600),
        (NOW_US, 1772355600000),
        (None, UNSET),
        (None, "0001-01-01T00:00:00.000Z"),
        (None, None),
        (None, "soon"),
        (None, [1]),
    ],
)
def test_stored_times(expected: int | None, given: object) -> None:
    """A time is read in every stored form; the zero time of Go was never set."""
    assert expected == moment_us(given)


@pytest.mark.parametrize(
    ("expected", "tier", "policy"),
    [
        ([("hot_ttl", 5)], "hot", OFF._replace(hot_ttl_s=5, demote_idle_s=3)),
        ([("warm_ttl", 9), ("demote_idle", 3)], "warm", OFF._replace(warm_ttl_s=9, demote_idle_s=3)),
        ([("demote_idle", 3)], "warm", OFF._replace(demote_idle_s=3)),
        ([("cold_ttl", 7)], "cold", OFF._replace(cold_ttl_s=7, demote_idle_s=3)),
        ([], "cold", Policy.default()),
        ([], "archive", Policy.default()),
    ],
)
def test_time_rules(expected: list[tuple[str, float]], tier: str, policy: Policy) -> None:
    """Each tier has its time rules; idle is one of warm alone."""
    assert expected == rules(policy, tier)


@pytest.mark.parametrize(
    ("expected", "last", "entered"),
    [
        ("hot_ttl", at(-11), UNSET),
        ("", at(-10), UNSET),
        ("", at(-11), at(-10)),
        ("", at(-10), at(-11)),
        ("hot_ttl", at(-11), at(-12)),
        ("hot_ttl", None, at(-11)),
        ("", None, None),
        ("", at(5), UNSET),
        ("", at(-99), at(5)),
    ],
)
def test_the_clock_of_a_tier(expected: str, last: object, entered: object) -> None:
    """The later of last access and entry counts; exactly the limit is not over it; unset never is."""
    one = state()._replace(last_access_at=last, entered_at=entered)
    assert expected == expired(one, OFF._replace(hot_ttl_s=10), NOW_US)
    assert "" == expired(one._replace(pinned=True), OFF._replace(hot_ttl_s=10), NOW_US)


@pytest.mark.parametrize("rev", [0, 1])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"access_count": 4},
        {"access_count": 4, "tier_access_count": 1},
        {"access_count": -1, "tier_access_count": "1"},
        {"importance": 0, "pinned": 1},
        {"importance": 7, "pinned": True},
        {"importance": 10**400},
        {"importance": "high", "last_access_at": 5, "promoted_at": None},
        {"importance": True},
    ],
    ids=str,
)
def test_the_state_of_a_record(more: dict[str, object], rev: int) -> None:
    """The state has what the record says, and what it does not say as the record has it."""
    record = records.read(json.dumps({"id": "x", "rev": rev, **more}).encode(), "warm")
    assert record is not None
    found = state_of(record.value, "warm", rev)
    assert found == State.of(record)
    assert (record.id, "warm", record.tier_access_count, record.pinned) == (
        found.id,
        found.tier,
        found.accesses,
        found.pinned,
    )
    assert record.importance == min(found.importance, 1e308)


def test_presets() -> None:
    """The numbers of the presets."""
    assert Policy(50, 500, 5000, 86_400, 2_592_000, 0, 604_800, 3) == Policy.default()
    assert (
        Policy.default()._replace(hot_capacity=20, warm_capacity=100, cold_capacity=1000) == Policy.session()
    )
    assert [0, 0, 0, 0] == [OFF.capacity(tier) for tier in (*TIERS, "archive")]


# -- the plan ----------------------------------------------------------------------------------------------


def moves(states: Sequence[State], policy: Policy) -> list[tuple[str, str, str | None, str]]:
    return [tuple(move) for move in plan(states, policy, NOW_US)]


def test_promotion_exchanges() -> None:
    """What rises into a full tier pushes out what is worth least there."""
    states = [state("old", last=-9), state("new", last=-1), state("w", "warm", -5, accesses=3)]
    policy = OFF._replace(hot_capacity=2, promote_access=3)
    assert [("old", "hot", "warm", "hot_capacity"), ("w", "warm", "hot", "accesses")] == moves(states, policy)


def test_promotion_that_finds_no_room() -> None:
    """What would be worth least above stays below, by the time rules of its own tier."""
    states = [state("a", last=-1), state("w", "warm", -5, accesses=3)]
    policy = OFF._replace(hot_capacity=1, promote_access=3)
    assert [] == moves(states, policy)
    assert [("w", "warm", "cold", "demote_idle")] == moves(states, policy._replace(demote_idle_s=4))
    assert [] == moves([state("a", last=-9, pinned=True), states[1]], policy)


def test_as_far_down_as_needed() -> None:
    """Capacity takes a record through full tiers; its move has where it began and where it ends."""
    states = [
        state(id, tier, last) for id, tier, last in (("h", "hot", -9), ("H", "hot", -1), ("w", "warm", -2))
    ]
    policy = OFF._replace(hot_capacity=1, warm_capacity=1)
    assert [("h", "hot", "cold", "warm_capacity")] == moves(states, policy)
    full = [*states, state("c", "cold", -3)]
    assert [("h", "hot", None, "cold_capacity")] == moves(full, policy._replace(cold_capacity=1))


def test_time_moves_one_step() -> None:
    """However old a record is, by time it goes one tier down."""
    policy = Policy.default()._replace(cold_ttl_s=1)
    states = [state(tier, tier, -999 * 86_400) for tier in TIERS]
    expected = [("cold", "cold", None, "cold_ttl"), ("hot", "hot", "warm", "hot_ttl")]
    assert [*expected, ("warm", "warm", "cold", "warm_ttl")] == moves(states, policy)


def test_what_is_worth_least() -> None:
    """Oldest access, then lowest importance, then oldest, then by id; a time that was never set is oldest."""
    a = state("a")
    rows = [
        state("g", last=1, importance=0.1),
        state("f", importance=0.9),
        state("e", created_at=at(1)),
        state("b"),
        a,
        state("c", created_at=UNSET),
        state("d", importance=0.1),
        state("h", last_access_at=UNSET, importance=0.9),
    ]
    assert list("hdcabefg") == [row.id for row in sorted(rows, key=value_key)]


def test_one_tier_for_all() -> None:
    """With a single tier all go there, pinned ones too, and nothing else moves."""
    states = [state("a", pinned=True), state("b", "warm", -(10**7)), state("c", "cold", accesses=99)]
    policy = Policy(1, 1, 1, 1, 1, 1, 1, 1)
    expected = [Move("a", "hot", "warm", "single"), Move("c", "cold", "warm", "single")]
    assert expected == plan(states, policy, NOW_US, "warm")


TIME = st.one_of(
    st.sampled_from([None, UNSET, "soon", "2026-W09-7T09:00:00.000000Z"]),
    st.sampled_from([-100, -50, -11, -10.000001, -10, -9.999999, -5, -1, 0, 5]).map(at),
    st.sampled_from([-50, -10, 0]).map(lambda seconds: NOW_US / 1_000_000 + seconds),
    st.sampled_from([-50, -10, 0]).map(lambda seconds: at(seconds).replace("T", " ")),
)
ROW = st.tuples(
    st.sampled_from(TIERS),
    st.integers(0, 7),
    *(TIME, TIME, TIME),
    st.sampled_from([0.1, 0.5, 0.9]),
    st.booleans(),
)
STATES = st.lists(ROW, max_size=14).map(lambda rows: [State(f"r{n:02}", *row) for n, row in enumerate(rows)])
POLICIES = st.builds(
    Policy, *[st.integers(0, 4)] * 3, *[st.sampled_from([0, 1, 10, 60])] * 4, st.integers(0, 3)
)


def after(states: Sequence[State], moved: Sequence[Move]) -> list[State]:
    """The states after a pass."""
    by_id = {move.id: move for move in moved}
    kept = []
    for one in states:
        move = by_id.get(one.id)
        if move is None:
            kept.append(one)
        elif move.target is not None:
            kept.append(one._replace(tier=move.target, accesses=0, entered_at=at(0)))
    return kept


@settings(max_examples=100, deadline=None)
@given(STATES, POLICIES)
def test_a_second_pass_moves_nothing(states: list[State], policy: Policy) -> None:
    """After a pass, one at the same time finds nothing to do."""
    assert [] == plan(after(states, plan(states, policy, NOW_US)), policy, NOW_US)


@settings(max_examples=100, deadline=None)
@given(STATES, POLICIES)
def test_what_every_plan_keeps(states: list[State], policy: Policy) -> None:
    """Capacities hold but for pinned records; those never move; each record once, in order, for a reason."""
    moved = plan(states, policy, NOW_US)
    by_id = {one.id: one for one in states}
    assert sorted(by_id) == sorted(
        {one.id for one in after(states, moved)} | {m.id for m in moved if not m.target}
    )
    assert sorted(move.id for move in moved) == [move.id for move in moved]
    assert len({move.id for move in moved}) == len(moved)
    for tier in TIERS:
        rows = [one for one in after(states, moved) if one.tier == tier]
        capacity = policy.capacity(tier)
        assert not capacity or len(rows) <= max(capacity, sum(row.pinned for row in rows))
    for move in moved:
        one = by_id[move.id]
        assert not one.pinned and move.source == one.tier and move.target != move.source
        if move.kind == "promoted":
            assert move.target and 1 == RANK[move.target] - RANK[move.source]
            assert "accesses" == move.reason and should_promote(one, policy)
        elif move.reason.endswith("_capacity"):
            assert policy.capacity(move.reason.removesuffix("_capacity"))
        else:
            assert expired(one, policy, NOW_US) == move.reason
            assert (RANK[move.target] if move.target else 0) == RANK[move.source] - 1


@settings(max_examples=100, deadline=None)
@given(STATES, POLICIES, st.randoms(use_true_random=False))
def test_the_order_of_records_decides_nothing(states: list[State], policy: Policy, chance: object) -> None:
    """The plan is the same in whatever order the records are read."""
    shuffled = list(states)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert plan(states, policy, NOW_US) == plan(shuffled, policy, NOW_US)


# -- the order of files ------------------------------------------------------------------------------------

PAIRS = list(permutations(TIERS, 2))


@pytest.mark.parametrize(
    ("first", "flows"),
    [
        (set(), []),
        (set(), [("hot", "warm"), ("warm", "cold"), ("hot", "cold")]),
        (set(), [("cold", "warm"), ("warm", "hot")]),
        ({"hot"}, [("hot", "warm"), ("warm", "hot")]),
        ({"hot", "warm"}, PAIRS),
    ],
    ids=["nothing", "down", "up", "both", "all"],
)
def test_files_that_are_written_twice(first: set[str], flows: list[tuple[str, str]]) -> None:
    """Moves one way need one replacement a file; moves both ways write the smaller file once more."""
    assert first == order(flows, {"hot": 1, "warm": 10, "cold": 100}).first


@given(st.sets(st.sampled_from(PAIRS)), st.tuples(*[st.integers(0, 100)] * 3))
def test_a_record_arrives_before_it_leaves(flows: set[tuple[str, str]], costs: tuple[int, int, int]) -> None:
    """A tier's file is replaced after all that take from it were, or had what comes in written first."""
    found: Order = order(flows, dict(zip(TIERS, costs, strict=True)))
    assert set(TIERS) == set(found.finals)
    for source, target in flows:
        assert target in found.first or found.finals.index(target) < found.finals.index(source)
