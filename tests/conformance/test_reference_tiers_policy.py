"""The reference's cases for the policy and for reconcile: what a record does alone, and what a pass does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memctl import Policy, Record
from tests.tiers.stored import DAY, HOUR, MINUTE, NOW_US, ago, places, put, store, stored, value

from .differences import check

MICROSECOND = 0.000001
NOW = ago(0)
DEFAULT = Policy.default()


def record(tier: str, accesses: int, age: float | None, pinned: bool = False) -> Record:
    """A record of the reference: it has no rev, so all of its accesses count."""
    last = None if age is None else ago(age)
    given = Record.new("x", "text", access_count=accesses, last_access_at=last, pinned=pinned)
    return given._replace(tier=tier)


#: Case -> record (tier, accesses, age, pinned), count of its tier, and whether it rises, falls, and where to.
ALONE: dict[str, tuple[tuple[Any, ...], int, tuple[bool, bool, str]]] = {
    "T1": (("warm", 3, 0), 1, (True, False, "hot")),
    "T2": (("warm", 5, 0), 1, (True, False, "hot")),
    "T3": (("warm", 2, 0), 1, (False, False, "warm")),
    "T4": (("hot", 10, 0), 1, (False, False, "hot")),
    "T5": (("warm", 10, 999 * DAY, True), 9999, (False, False, "warm")),
    "T6": (("hot", 0, 0), 51, (False, True, "warm")),
    "T7": (("hot", 0, 23 * HOUR), 50, (False, False, "hot")),
    "T8": (("hot", 0, 24 * HOUR), 1, (False, False, "hot")),
    "T9": (("hot", 0, 24 * HOUR + MICROSECOND), 1, (False, True, "warm")),
    "T10": (("hot", 0, 25 * HOUR, True), 51, (False, False, "hot")),
    "T11": (("warm", 0, 8 * DAY), 1, (False, True, "cold")),
    "T12": (("warm", 0, 168 * HOUR), 1, (False, False, "warm")),
    "T13": (("warm", 0, 168 * HOUR + MICROSECOND), 1, (False, True, "cold")),
    "T14": (("warm", 0, 0), 501, (False, True, "cold")),
    "T15": (("warm", 3, 400 * HOUR), 9999, (True, True, "hot")),
    "T16": (("cold", 3, 0), 1, (False, False, "cold")),
    "T17": (("cold", 5, 0), 1, (False, False, "cold")),
    "T18": (("cold", 6, 0), 1, (True, False, "warm")),
    "T19": (("cold", 0, 168 * HOUR + MICROSECOND), 1, (False, True, "cold")),
    "T20": (("cold", 0, 0), 5001, (False, True, "cold")),
    "T21": (("hot", 0, None), 1, (False, False, "hot")),
    "T22": (("archive", 9, 999 * HOUR), 9999, (False, False, "archive")),
}


@pytest.mark.parametrize("id", ALONE)
def test_alone(id: str) -> None:
    """A record seen alone: whether it is to rise, whether it is to fall, and to which tier it belongs."""
    given, count, expected = ALONE[id]
    one = record(*given)
    ours = (
        DEFAULT.should_promote(one),
        DEFAULT.should_demote(one, NOW, count),
        DEFAULT.target_tier(one, NOW, {one.tier: count}),
    )
    check(id, expected, ours)


def test_idle_in_cold() -> None:
    """Where the reference lets go of what is idle in cold, here only a time of its own does."""
    one = record("cold", 0, 10 * DAY)
    assert not DEFAULT.should_demote(one, NOW, 1)
    assert DEFAULT._replace(cold_ttl_s=9 * DAY).should_demote(one, NOW, 1)


def test_single_level() -> None:
    """T23: with the policy of one level nothing moves, however old, often read or many."""
    policy, one = Policy.single_level(), record("warm", 100, 365 * DAY)
    assert "warm" == policy.target_tier(one, NOW, {"warm": 100_000})


def test_the_tier_below() -> None:
    """T24: below hot is warm; below cold there is none."""
    below = [DEFAULT.next_tier_on_demote(tier) for tier in ("hot", "warm", "cold", "archive")]
    assert [("warm", True), ("cold", True), ("", False), ("", False)] == below


def reconciled(root: Path, passes: int = 1, **settings: Any) -> tuple[list[tuple[int, int, int]], Any]:
    """The numbers of each pass (promoted, demoted, evicted), and which ids are where in the end."""
    numbers = []
    for _ in range(passes):
        done = store(root, **settings).memory("alice").reconcile()
        numbers.append((done.promoted, done.demoted, done.evicted))
    return numbers, places(root)


def capacities(hot: int = 0, warm: int = 0, cold: int = 0, promote: int = 99) -> dict[str, int]:
    return {
        "policy__hot_capacity": hot,
        "policy__warm_capacity": warm,
        "policy__cold_capacity": cold,
        "policy__promote_access": promote,
    }


def test_t52(root: Path) -> None:
    """T52: of two records in a hot tier for one, one goes to warm."""
    put(root, value("hot-a"), value("hot-b"))
    numbers, where = reconciled(root, **capacities(1, 10, 10))
    check("T52", [(0, 1, 0)], numbers)
    assert {"hot": ["hot-b"], "warm": ["hot-a"]} == where


def test_t53(root: Path) -> None:
    """T53: with the preset of one level nothing moves, and nothing is written."""
    put(root, *(value(f"w{n}", "warm", n * 1000 * HOUR, access_count=50) for n in range(300)))
    before = (root / "tiers" / "warm" / "alice.jsonl").read_bytes()
    numbers, _ = reconciled(root, policy__preset="single")
    check("T53", [(0, 0, 0)], numbers)
    assert before == (root / "tiers" / "warm" / "alice.jsonl").read_bytes()


def test_t54(root: Path) -> None:
    """T54: what is old goes one step; no record leaves the tiers for its age."""
    put(root, value("h25", "hot", 25 * HOUR), value("h8", "hot", 8 * DAY), value("h31", "hot", 31 * DAY))
    put(root, value("w8", "warm", 8 * DAY), value("c8", "cold", 8 * DAY), value("c1", "cold", DAY))
    put(root, value("pinned", "hot", 90 * DAY, pinned=True))
    numbers, where = reconciled(root)
    reference = {"hot": ["pinned"], "warm": ["h25"], "cold": ["c1"]}
    check("T54", ([(0, 6, 4)], reference), (numbers, where))
    assert [(0, 4, 0)] == numbers
    assert {"hot": ["pinned"], "warm": ["h25", "h31", "h8"], "cold": ["c1", "c8", "w8"]} == where


def test_t55(root: Path) -> None:
    """T55: what was read last stays."""
    put(root, *(value(f"{n} min", "hot", n * MINUTE) for n in range(1, 5)))
    numbers, where = reconciled(root, **capacities(hot=2))
    check("T55", {"hot": ["3 min", "4 min"], "warm": ["1 min", "2 min"]}, where)
    assert ([(0, 2, 0)], ["1 min", "2 min"]) == (numbers, where["hot"])


def test_t56(root: Path) -> None:
    """T56: what was read last stays in cold; the others are kept in the archive."""
    put(root, *(value(f"{n} min", "cold", n * MINUTE) for n in range(1, 5)))
    numbers, where = reconciled(root, **capacities(cold=2))
    check("T56", {"cold": ["3 min", "4 min"]}, where)
    assert [(0, 0, 2)] == numbers
    assert {"cold": ["1 min", "2 min"], "archive": ["3 min", "4 min"]} == where


def test_t57(root: Path) -> None:
    """T57: pinned records take room; what is not pinned leaves."""
    put(root, *(value(f"pinned {n}", pinned=True) for n in range(3)), value("free"))
    numbers, where = reconciled(root, **capacities(hot=2))
    check("T57", [(0, 1, 0)], numbers)
    assert {"hot": ["pinned 0", "pinned 1", "pinned 2"], "warm": ["free"]} == where


def test_t58(root: Path) -> None:
    """T58: the tier holds what it may, and what has left it stays out."""
    put(root, *(value(f"h{n}", access_count=5, rev=0) for n in range(3)))
    numbers, where = reconciled(root, passes=3, **capacities(1, 10, promote=2))
    check("T58", [(2, 2, 0)] * 3, numbers)
    assert ([(0, 2, 0), (0, 0, 0), (0, 0, 0)], 1) == (numbers, len(where["hot"]))


def test_t59(root: Path) -> None:
    """T59: accesses of long ago keep nothing in hot."""
    put(root, value("x", "hot", 1000 * DAY, access_count=3, rev=0))
    numbers, where = reconciled(root, passes=2)
    check("T59", [(1, 1, 0)] * 2, numbers)
    assert ([(0, 1, 0), (0, 0, 0)], {"warm": ["x"]}) == (numbers, where)


def test_t60(root: Path) -> None:
    """T60: what was read often in cold rises, though the last time was days ago."""
    put(root, value("x", "cold", 8 * DAY, access_count=6, rev=0))
    numbers, where = reconciled(root)
    check("T60", [(0, 0, 1)], numbers)
    assert ([(1, 0, 0)], {"warm": ["x"]}) == (numbers, where)


def test_t61(root: Path) -> None:
    """T61: what was read often in cold, and lately, rises one step."""
    put(root, value("x", "cold", 0, access_count=6, rev=0))
    check("T61", ([(1, 0, 0)], {"warm": ["x"]}), reconciled(root))


def test_t62(root: Path) -> None:
    """T62: messages of days ago that were seeded now are new in the memory."""
    conversation = store(root).conversation("alice", "old")
    dated = '{"role":"user","content":"text %d","extra":{"memctl":{"created_at":"%s"}}}\n'
    conversation.append_jsonl("".join(dated % (n, ago(10 * DAY)) for n in range(5)).encode())
    store(root).memory("alice").remember_from("old")
    numbers, where = reconciled(root)
    check("T62", [(0, 10, 5)], numbers)
    assert ([(0, 0, 0)], 5) == (numbers, len(where["hot"]))
    # Messages of one time are a microsecond apart in the memory, so that their order stays.
    apart = [f"{ago(10 * DAY).removesuffix('0Z')}{n}Z" for n in range(5)]
    assert apart == sorted(row["created_at"] for row in stored(root, "hot"))


def test_t63(root: Path) -> None:
    """T63: a summary that cannot be made holds nothing up; it is named, and the beginning stands in."""
    put(root, value("idle", "warm", 200 * HOUR), value("old", "cold", 300 * HOUR), value("new", "cold", 1))
    settings = {"cold_summary__enabled": True, "cold_summary__min_bytes": 1}
    settings |= {"cold_summary__summarizer": "cmd:false", "policy__cold_capacity": 2}
    done = store(root, **settings).memory("alice").reconcile()
    check("T63", (0, 0, 0), (done.promoted, done.demoted, done.evicted))
    assert ["idle"] == list(done.passed[0].troubles)
    assert "text of idle" == stored(root, "cold")[-1]["metadata"]["summary"]


def test_t64(root: Path) -> None:
    """T64: what is in warm and cold is found without a hot tier."""
    put(root, value("m1", age=1), value("m2"))
    numbers, _ = reconciled(root, **capacities(1, 10))
    assert [(0, 1, 0)] == numbers
    (root / "tiers" / "hot" / "alice.jsonl").unlink()
    found = store(root).memory("alice").recall("", limit=5, max_hot=5, max_warm=2, max_cold=3)
    check("T64", ["m1"], [row.record.id for row in found.found])


@pytest.mark.parametrize("reads", [2, 3])
def test_accesses_lift_a_record_once(root: Path, reads: int) -> None:
    """What rose starts anew: to rise again it has to be read as often again."""
    put(root, value("x", "cold", access_count=6, rev=0))
    assert [(1, 0, 0)] == reconciled(root)[0]
    memory = store(root).memory("alice")
    for _ in range(reads):
        memory.recall("text")
    assert ([(0, 0, 0)] if reads == 2 else [(1, 0, 0)]) == reconciled(root)[0]


def test_the_present() -> None:
    """The time of these cases is the one that their stores take for the present."""
    assert NOW_US == store(Path("nowhere")).setup.time_us()
