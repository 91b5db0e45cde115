"""The reference's cases for remember, recall, cold summaries, the index, events and stores, on real files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memctl import (
    BadInput,
    ChatMessage,
    CognitiveRecord,
    Level,
    Memory,
    Namespace,
    NotFound,
    Policy,
    RecallWeights,
    Record,
    Settings,
    Store,
    message_record,
)
from memctl.ops.reconcile import rules_of
from memctl.ops.setup import rfc3339

from .differences import check

NOW = "2026-03-01T09:00:00Z"
NOW_US = 1_772_355_600_000_000
HOUR_US = 3_600_000_000
#: Nothing moves.
SINGLE = {"policy.preset": "single"}


def ago(hours: float) -> str:
    """The time so many hours before the present of these tests."""
    return rfc3339(NOW_US - round(hours * HOUR_US))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


def memory(place: Path, settings: Mapping[str, object] | None = None, now_us: int = NOW_US) -> Memory:
    """The memory of one user, at a present that stands still."""
    return Store(place, settings=settings or {}, now_us=now_us).memory("u")


def put(place: Path, *records: Record) -> None:
    """Write records as another program would: a line in the file of the tier."""
    for record in records:
        path = place / "tiers" / record.tier / "u.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(record.to_json() + b"\n")


def record(id: str, content: str, tier: str = "hot", **more: Any) -> Record:
    """A record that was made and accessed just now."""
    return Record.new(id, content, tier=tier, **{"created_at": NOW, "last_access_at": NOW, **more})


def ids(memory: Memory, query: str = "", **more: Any) -> list[str]:
    """The ids of an answer in the order in which it is replayed."""
    return [one.record.id for one in memory.recall(query, **more).in_time()]


# -- settings ----------------------------------------------------------------------------------------------


def policy(**values: object) -> Policy:
    """The policy of settings below `policy.`."""
    return rules_of(Settings.from_mapping({f"policy.{name}": value for name, value in values.items()})).policy


REFERENCE = Policy(50, 500, 5000, 24 * 3600, 720 * 3600, 0, 168 * 3600, 3)


@pytest.mark.parametrize(
    ("id", "expected", "given"),
    [
        ("T28", REFERENCE, {}),
        ("T29 ttl", REFERENCE._replace(warm_ttl_s=3600), {"warm_ttl": "1h"}),
        (
            "T30",
            Policy(5, 10, 20, 3600, 24 * 3600, 0, 60, 3),
            {
                "hot_capacity": 5,
                "warm_capacity": 10,
                "cold_capacity": 20,
                "hot_ttl": "1h",
                "warm_ttl": "24h",
                "promote_access": 3,
                "demote_idle": "1m",
            },
        ),
        (
            "T31",
            REFERENCE._replace(
                hot_capacity=10,
                warm_capacity=20,
                cold_capacity=30,
                hot_ttl_s=3600,
                warm_ttl_s=24 * 3600,
                demote_idle_s=600,
            ),
            {
                "hot_capacity": "10",
                "warm_capacity": "20",
                "cold_capacity": "30",
                "hot_ttl": "1h",
                "warm_ttl": "24h",
                "demote_idle": "10m",
            },
        ),
        ("single", Policy.single_level(), {"preset": "single"}),
        (
            "session",
            REFERENCE._replace(hot_capacity=20, warm_capacity=100, cold_capacity=1000),
            {"preset": "session"},
        ),
    ],
)
def test_settings_of_the_policy(id: str, expected: Policy, given: dict[str, object]) -> None:
    """What is set replaces the reference's number, the rest stays."""
    check(id, expected, policy(**given))


def test_off_can_be_set() -> None:
    """The reference takes a 0 for a number that is not given: only a policy in the program has no rule."""
    check("off", 50, policy(hot_capacity=0).hot_capacity)


# -- recall ------------------------------------------------------------------------------------------------


def test_t33_the_total_is_kept(place: Path) -> None:
    """Five records, a total of 2: of equal texts one is in the answer, of different ones two."""
    put(place, *(record(f"m{number}", "message") for number in range(5)))
    check("T33", 2, len(ids(memory(place), limit=2, max_warm=0, max_cold=0)))
    put(place, *(record(f"n{number}", f"message {number}") for number in range(5)))
    assert 2 == len(ids(memory(place), limit=2, max_warm=0, max_cold=0))


def test_t34_one_tier_fills_the_answer(place: Path) -> None:
    """Eight records in warm, eight asked for: all come, whatever the share of warm would be."""
    put(place, *(record(f"m{number}", f"message {number}", "warm") for number in range(8)))
    check("T34", 8, len(ids(memory(place, SINGLE), limit=8)))


def test_t35_recall_moves_nothing(place: Path) -> None:
    """An access that lifts a record is counted at once; the next pass carries it up."""
    put(place, record("warm-1", "important", "warm", access_count=1))
    ours = memory(place, {"policy.promote_access": 2, "policy.hot_capacity": 10})
    assert ["warm-1"] == ids(ours, "important", limit=1)
    seen = ours.get("warm-1")
    check("T35", (2, "hot"), (seen.access_count, seen.tier))
    assert 1 == ours.reconcile().promoted
    assert (2, "hot") == (ours.get("warm-1").access_count, ours.get("warm-1").tier)


def test_t36_the_way_up(place: Path) -> None:
    """Warm to hot at 3 accesses, cold to warm at 6, and from there 3 more, not the 6 once again."""
    put(place, record("w", "alpha one", "warm"), record("c", "alpha two", "cold"))
    ours = memory(place)
    ways: dict[str, list[str]] = {"w": [], "c": []}
    for _ in range(9):
        assert {"w", "c"} == set(ids(ours, "alpha"))
        ours.reconcile()
        for id, way in ways.items():
            way.append(ours.get(id).tier)
    assert ["warm"] * 2 + ["hot"] * 7 == ways["w"]
    check("T36", ["cold"] * 5 + ["warm"] + ["hot"] * 3, ways["c"])
    assert ["cold"] * 5 + ["warm"] * 3 + ["hot"] == ways["c"]


@pytest.mark.parametrize("ranker", ["overlap", "fused", "recent"])
def test_t37_the_last_in_order(place: Path, ranker: str) -> None:
    """With recency alone an empty query gives the newest, oldest first."""
    put(place, *(record(f"m{hours}", f"message {hours}", created_at=ago(hours)) for hours in range(1, 6)))
    weights = {"weight_semantic": 0.01, "weight_recency": 1, "weight_importance": 0.01}
    check("T37", ["m3", "m2", "m1"], ids(memory(place, SINGLE), limit=3, ranker=ranker, **weights))


def test_t38_cold_is_searched(place: Path) -> None:
    """A record in cold is found by its searchable text, once."""
    put(place, record("cold-1", "{}", "cold", importance=0.8, metadata={"searchable": "billing"}))
    check("T38", ["cold-1"], ids(memory(place), "billing", limit=5))


def test_t39_the_cognitive_adapter(place: Path) -> None:
    """What an agent remembers without knowing of tiers comes back without them."""
    ours = memory(place).cognitive()
    id = ours.remember(CognitiveRecord("fact-1", "user prefers dark mode"))
    (found,) = ours.recall("dark mode", 5)
    check("T39", ("fact-1", "fact-1", "user prefers dark mode"), (id, found.id, found.content))
    stored = memory(place).get("fact-1")
    assert ("hot", "2026-03-01T09:00:00.000000Z") == (stored.tier, stored.value["last_access_at"])


def test_t40_the_better_match_is_taken(place: Path) -> None:
    """Of two records of one time the one that the query names."""
    put(place, record("a", "weather forecast sunny"), record("b", "billing invoice overdue"))
    check("T40", ["b"], ids(memory(place), "billing invoice", limit=1))


def test_t41_the_configured_limit(place: Path) -> None:
    """A limit in the settings holds where none is given."""
    put(place, *(record(f"m{number}", f"message {number}") for number in range(4)))
    check("T41", 2, len(ids(memory(place, {"recall.limit": 2}))))


def test_t42_nothing_there(place: Path) -> None:
    """A user without records has an empty answer; nothing is made on disk."""
    check("T42", [], ids(memory(place), "anything"))
    assert not place.exists()


def test_t43_importance(place: Path) -> None:
    """0 counts as 0.5, as there; what is not from 0 to 1 is refused."""

    def kept(importance: float) -> object:
        try:
            return memory(place).get(memory(place).remember("x", importance=importance).ids[0]).importance
        except BadInput:
            return "refused"

    assert (0.5, 0.3, 1) == (kept(0), kept(0.3), kept(1))
    check("T43", (0.5, 0.5, 5), (kept(0), kept(-1), kept(5)))


def test_t44_remembering_again(place: Path) -> None:
    """What is given takes the place of what was there; what is not given stays."""
    put(place, record("x", "old", "cold", access_count=9, importance=0.9, metadata={"a": "1"}))
    memory(place).remember({"id": "x", "content": "new"})
    seen = memory(place).get("x")
    reference = ("new", "hot", 0, 0.5, {})
    ours = (seen.content, seen.tier, seen.access_count, seen.importance, seen.metadata)
    check("T44", reference, ours)
    assert ("new", "cold", 9, 0.9, {"a": "1"}) == ours


@pytest.mark.parametrize("now_us", [NOW_US, None])
def test_t45_an_id_of_16_digits(place: Path, now_us: int | None) -> None:
    """A record without an id gets one, with a clock and with a present that stands still."""
    (id,) = Store(place, now_us=now_us).memory("u").remember("x").ids
    check("T45", (16, True), (len(id), set(id) <= set("0123456789abcdef")))


def test_t46_the_only_place_goes_to_the_match(place: Path) -> None:
    """The reference gives the one place of the answer to cold, whatever lies there."""
    put(place, record("hotmatch", "alpha beta"), record("coldjunk", "zzz", "cold"))
    ours = ids(memory(place), "alpha beta", limit=1)
    check("T46", ["coldjunk"], ours)
    assert ["hotmatch"] == ours


def test_t47_a_hit_stays_where_it_is(place: Path) -> None:
    """The reference demotes what it has found where hot is over its capacity."""
    put(place, record("r0", "alpha beta"), *(record(f"r{number}", f"other {number}") for number in (1, 2, 3)))
    ours = memory(place, {"policy.hot_capacity": 2})
    found = [(one.record.id, one.record.tier) for one in ours.recall("alpha beta", limit=2).in_time()]
    check("T47", [("r0", "warm"), ("r1", "warm")], found)
    assert [("r0", "hot")] == found
    assert "hot" == ours.get("r0").tier


def test_t48_an_answer_is_not_lost(place: Path) -> None:
    """An access that cannot be noted takes nothing from the answer, and none is noted by half."""
    put(place, *(record(f"m{number}", f"message {number}") for number in range(5)))
    (place / ".memctl" / "locks" / "access" / "u.lock").mkdir(parents=True)
    answer = memory(place).recall("message", limit=5)
    check("T48", ("error", 0), ("answer", len(answer.found)))
    assert (5, False) == (len(answer.found), answer.touched)
    assert [0] * 5 == [one.record.access_count for one in answer.found]


def test_t49_equal_scores_by_id(place: Path) -> None:
    """Two records with the same words and times have the same score; the ids decide."""
    put(place, record("b", "hello world"), record("a", "world hello"))
    found = memory(place).recall("hello world", ranker="overlap").found
    check("T49", [("a", 0.9), ("b", 0.9)], [(one.record.id, round(one.score, 9)) for one in found])


def test_t50_scores_of_recall(place: Path) -> None:
    """`overlap` scores every record to the letter; the default finds only what the query finds."""
    put(
        place,
        record("a", "hello world", importance=0.9, created_at=ago(24)),
        record("b", "other topic", importance=0.2, created_at=ago(48)),
    )
    found = memory(place).recall("hello", ranker="overlap").found
    scores = [(one.record.id, round(one.score, 6)) for one in found]
    check("T50", [("a", 0.690063), ("b", 0.265443)], scores)
    check("B14", ["a", "b"], [one.record.id for one in memory(place).recall("hello").found])
    assert ["a"] == ids(memory(place), "hello")


def test_b7_none_of_a_tier(place: Path) -> None:
    """A cap of 0 is none, a negative one is refused; the reference takes both for not given."""
    put(place, record("h", "alpha one"), record("w", "alpha two", "warm"))
    check("B7", ["h", "w"], ids(memory(place), "alpha", max_hot=0))
    assert ["w"] == ids(memory(place), "alpha", max_hot=0)
    with pytest.raises(BadInput):
        memory(place).recall("alpha", max_hot=-1)


def test_b9_names_do_not_meet(place: Path) -> None:
    """Users whose names would run together in a key prefix have nothing in common."""
    one, two = Namespace("s", "a:b", "c"), Namespace("s", "a", "b:c")
    assert one.key_prefix() == two.key_prefix()
    store = Store(place, now_us=NOW_US)
    names = ["x", "x:y", "a/b", "a:b", "a%2Fb"]
    for name in names:
        store.memory(name).remember(f"note of {name}", id="n")
    found = {name: [one.record.content for one in store.memory(name).recall("note").found] for name in names}
    check("B9", ["note of x", "note of x:y"], found["x"])
    assert {name: [f"note of {name}"] for name in names} == found


def test_b13_the_same_answer_each_time(place: Path) -> None:
    """Records of equal times and worth come in one order, again and again."""
    put(place, *(record(f"m{number:03d}", f"note {number}") for number in range(200)))
    answers = {tuple(ids(memory(place), "note", limit=5, touch=False)) for _ in range(5)}
    assert 1 == len(answers)


def test_b15_weights_of_the_adapter(place: Path) -> None:
    """The reference's adapter keeps its weights and never uses them."""
    put(
        place,
        record("new", "alpha gamma delta", importance=0.1),
        record("worth", "alpha beta gamma", importance=1, created_at=ago(2000)),
    )
    by_default = memory(place).cognitive().recall("alpha", 1)
    recency = memory(place).cognitive(RecallWeights(0.001, 10, 0.001)).recall("alpha", 1)
    importance = memory(place).cognitive(RecallWeights(0.001, 0.001, 10)).recall("alpha", 1)
    assert 1 == len(by_default)
    check("B15-weights", by_default * 2, recency + importance)
    assert ["new", "worth"] == [recency[0].id, importance[0].id]


# -- cold summaries ----------------------------------------------------------------------------------------


def cooled(place: Path, made: Record, **settings: object) -> tuple[Record, Any]:
    """A record of warm after the pass that took it to cold, and the report."""
    put(place, made)
    named = {f"cold_summary.{name}": value for name, value in settings.items()}
    ours = memory(place, {"cold_summary.enabled": "on", **named})
    report = ours.reconcile()
    assert (1, "cold") == (report.demoted, ours.get(made.id).tier)
    return ours.get(made.id), report


def idle(content: str, **more: Any) -> Record:
    return record("x", content, "warm", last_access_at=ago(8 * 24), **more)


def test_t65_a_summarizer(place: Path) -> None:
    """Its answer stands beside the text, which stays."""
    text = "detail " * 32
    seen, _ = cooled(
        place,
        idle(text, metadata={"searchable": text}),
        min_bytes=10,
        max_chars=64,
        summarizer="cmd:echo llm compressed facts",
    )
    assert "llm compressed facts" == seen.metadata["summary"]
    check("T65", "llm compressed facts", seen.content)
    assert text == seen.content


def test_t66_a_summary_of_the_searchable_text(place: Path) -> None:
    """It is the beginning of what is searched; searchable text and content stay."""
    seen, _ = cooled(place, idle("x" * 64, metadata={"searchable": "y" * 64}), min_bytes=10, max_chars=20)
    short = "y" * 20 + "…"
    assert short == seen.metadata["summary"]
    check("T66", ("true", short, short), (seen.metadata.get("cold_summary"), seen.content, seen.searchable))
    assert ("x" * 64, "y" * 64) == (seen.content, seen.searchable)


@pytest.mark.parametrize(("size", "length"), [(4095, 4095), (4096, 513), (5000, 513)])
def test_t67_what_is_large(place: Path, size: int, length: int) -> None:
    """From 4,096 bytes on the short form has 512 characters and an ellipsis."""
    cooled(place, idle("x" * size))
    (found,) = memory(place).recall("", touch=False).found
    check("T67", length, len(found.text(brief=True)))
    assert size == len(found.text())


def test_t68_a_summarizer_that_fails(place: Path) -> None:
    """The beginning stands for it, and the report says so."""
    text = "  abcdefghijklmnop  "
    seen, report = cooled(place, idle(text), min_bytes=1, max_chars=10, summarizer="cmd:false")
    check("T68", ("abcdefghij…", 13), (seen.metadata["summary"], len(seen.metadata["summary"].encode())))
    assert ["x"] == [row["id"] for row in report.report()["summary_troubles"]]


def test_t69_a_size_that_was_set(place: Path) -> None:
    """It decides what is large, and stays, as the text does."""
    seen, _ = cooled(place, idle("short", size_bytes=9999))
    assert "short" == seen.metadata["summary"]
    check("T69", ("short", 5), (seen.content, seen.value["size_bytes"]))
    assert 9999 == seen.value["size_bytes"]


def test_t70_a_message_stays_one(place: Path) -> None:
    """The reference puts prose in the place of a message's JSON, and later cannot read it."""
    message = ChatMessage("user", "word " * 1000, time=ago(8 * 24))
    made = message_record(message)
    seen, _ = cooled(place, made._replace(tier="warm"))

    def is_json() -> bool:
        try:
            return bool(json.loads(seen.content))
        except ValueError:
            return False

    check("T70", False, is_json())
    assert message.to_json() == seen.content.encode()
    assert 513 == len(seen.metadata["summary"])


# -- the index ---------------------------------------------------------------------------------------------


def entries(place: Path, query: str) -> list[str]:
    """What the index finds, once it agrees with the files."""
    ours = memory(place)
    found = sorted(ids(ours, query, touch=False))
    assert 0 == ours.rebuild_index(check=True).differences
    return found


def test_t71_what_left_cold(place: Path) -> None:
    """A record that was promoted is found once, where it is; the reference's index of cold keeps it."""
    put(place, record("x", "alpha beta", "cold", access_count=5, metadata={"summary": "gamma"}))
    ours = memory(place, {"policy.promote_access": 1})
    assert ["x"] == ids(ours, "gamma")
    ours.reconcile()
    found = [(one.record.id, one.record.tier) for one in ours.recall("gamma", touch=False).found]
    check("T71", [("x", "cold"), ("x", "warm")], found)
    assert [("x", "warm")] == found
    assert ["x"] == entries(place, "gamma")


def test_t72_the_searchable_text_is_found(place: Path) -> None:
    """A message record is found by the text of its message."""
    message = message_record(ChatMessage("user", "billing issue"))
    memory(place).remember({**message.value, "id": "msg-1"})
    check("T72", ["msg-1"], entries(place, "billing"))
    assert "billing issue" == memory(place).get("msg-1").searchable


def test_t73_an_index_that_fails(place: Path) -> None:
    """Remembering has nothing to do with it: it succeeds, and what is remembered is found."""
    cache = place / ".memctl" / "cache"
    cache.parent.mkdir(parents=True)
    cache.write_text("in the way")
    done = memory(place).remember("alpha", id="x")
    check("T73", "error", f"{done.remembered} remembered")
    cache.unlink()
    assert ["x"] == entries(place, "alpha")


def test_t74_a_record_without_an_id(place: Path) -> None:
    """It is in the index under the id that it got, once, also after a rebuild."""
    (id,) = memory(place).remember("  hello  ").ids
    memory(place).rebuild_index()
    check("T74", ["", id], entries(place, "hello"))
    assert [id] == entries(place, "hello")


def test_t75_what_was_removed(place: Path) -> None:
    """Nothing finds it any more, before and after a rebuild."""
    for id in ("x", "y"):
        memory(place).remember(f"alpha {id}", id=id)
    assert ["x", "y"] == entries(place, "alpha")
    memory(place).forget(["x"])
    ours = [entries(place, "alpha")]
    memory(place).rebuild_index()
    ours.append(entries(place, "alpha"))
    check("T75", [["x", "y"]] * 2, ours)
    assert [["y"]] * 2 == ours


def test_t76_without_an_index(place: Path) -> None:
    """Where no cache can be written, remembering and recalling work."""
    cache = place / ".memctl" / "cache"
    cache.parent.mkdir(parents=True)
    cache.write_text("in the way")
    memory(place).remember("alpha", id="x")
    check("T76", ["x"], ids(memory(place), "alpha"))
    assert "in the way" == cache.read_text()


# -- seeding -----------------------------------------------------------------------------------------------


def test_seeding_again_adds_nothing(place: Path) -> None:
    """The reference makes every message a record once more; here it is one by its id."""
    store = Store(place, now_us=NOW_US)
    store.conversation("u", "c").append("hello world", id="m1")
    for _ in range(2):
        store.memory("u").remember_from("c")
    found = [(one.id, one.content) for one in store.memory("u").list_all()]
    check("seed-again", 2, len(found))
    assert [("c#m1", "hello world")] == found


def test_seeded_messages_are_plain_text(place: Path) -> None:
    """The text is the content; the reference has the message as JSON there, and the text once more."""
    store = Store(place, now_us=NOW_US)
    store.conversation("u", "c").append("hello world", id="m1")
    store.memory("u").remember_from("c")
    (seen,) = store.memory("u").list_all()
    reference = message_record(ChatMessage("user", "hello world", time=NOW))
    check(
        "seed-content",
        (reference.content, reference.metadata["searchable"]),
        (seen.content, seen.metadata.get("searchable")),
    )
    same = ("importance", "categories", "tier", "scope")
    assert [reference.value[key] for key in same] == [seen.value[key] for key in same]
    assert {"role": "user", "kind": "message", "message_id": "m1"} == seen.metadata


def test_seeded_messages_keep_their_order(place: Path) -> None:
    """The reference gives messages without a time the same one; here a conversation is told in its order."""
    said = [("user", "message z"), ("assistant", "message y"), ("user", "message x")]
    store = Store(place, now_us=NOW_US)
    for (role, text), id in zip(said, "cba", strict=True):
        store.conversation("u", "c").append(text, role=role, id=id)
    store.memory("u").remember_from("c")
    times = {one.id: one.value["created_at"] for one in store.memory("u").list_all()}
    reference = {message_record(ChatMessage(role, text, time=NOW)).value["created_at"] for role, text in said}
    check("seed-order", len(reference), len(set(times.values())))
    assert ["c#c", "c#b", "c#a"] == ids(store.memory("u"), "message")


# -- observers, events, metrics ----------------------------------------------------------------------------


class Seen:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    def promoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        self.told.append(("promoted", user, id, from_tier, to_tier))

    def demoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        self.told.append(("demoted", user, id, from_tier, to_tier))

    def evicted(self, user: str, id: str, from_tier: str) -> None:
        self.told.append(("evicted", user, id, from_tier))


class Idle:
    """An observer that does nothing."""

    def promoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        """Nothing."""

    def demoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        """Nothing."""

    def evicted(self, user: str, id: str, from_tier: str) -> None:
        """Nothing."""


def moving(place: Path) -> Store:
    """A store in which the next pass promotes, demotes and evicts one record each."""
    put(
        place,
        record("up", "one", "warm", access_count=3),
        record("down", "two", "hot", last_access_at=ago(48)),
        record("out", "three", "cold", last_access_at=ago(48)),
    )
    return Store(place, settings={"policy.cold_ttl": "1h"}, now_us=NOW_US, run_id="run-1")


def test_t81_the_event_of_a_promotion(place: Path) -> None:
    """It has the run, the record, where it was and where it is."""
    store = moving(place)
    store.memory("u").reconcile()
    (event,) = store.events("u", types=["tier.promoted"]).events
    value = event.value
    ours = tuple(value.get(key) for key in ("type", "run_id", "record_id", "from_tier", "to_tier"))
    check("T81", ("MemoryPromoted", "run-1", "up", "warm", "hot"), ours)
    assert ("tier.promoted", "run-1", "up", "warm", "hot") == ours


def test_t82_observers(place: Path) -> None:
    """Several are told, what is None is passed over, and an eviction has no destination."""
    store, sink = moving(place), Seen()
    report = store.memory("u").reconcile(observers=[None, Idle(), sink])
    evicted = [row for row in sink.told if row[0] == "evicted"]
    check("T82", [("evicted", "u", "out", "cold")], evicted)
    assert ["demoted", "evicted", "promoted"] == sorted(row[0] for row in sink.told)
    assert (1, 1, 1, []) == (report.promoted, report.demoted, report.evicted, report.unheard)
    (event,) = store.events("u", types=["tier.evicted"]).events
    assert "out" == event.value["record_id"]
    assert "to_tier" not in event.value


def test_t83_the_metric_of_moves(place: Path, tmp_path: Path) -> None:
    """Each move counts once."""
    store = moving(place)
    store.memory("u").reconcile()
    store.stats(metrics=str(tmp_path / "memctl.prom"))
    lines = (tmp_path / "memctl.prom").read_text().splitlines()
    counts = [line.rsplit(" ", 1)[1] for line in lines if line.startswith("memctl_tier_migrations_total{")]
    check("T83", 3, sum(map(float, counts)))


def test_t84_the_depth_of_nothing(place: Path) -> None:
    """A user without records has three tiers that hold none."""
    store = Store(place, now_us=NOW_US)
    store.conversation("u", "c").append("hello")
    (row,) = store.stats("u").users
    check("T84", [0, 0, 0], [row.tiers[tier]["records"] for tier in Level])


# -- stores ------------------------------------------------------------------------------------------------


def test_t89_one_tier_only(place: Path) -> None:
    """With a single tier all that is remembered goes there, and is there after a restart."""
    settings = {"policy.preset": "single", "tiers.single": "warm"}
    memory(place, settings).remember("hello", id="m1")
    found = [(one.record.id, one.record.tier) for one in memory(place, settings).recall("", limit=10).found]
    check("T89", [("m1", "warm")], found)


def test_the_record_of_a_seed_from_a_store_of_the_reference(place: Path) -> None:
    """A file of records that the reference's form fills is a tier: every line is a record as it stands."""
    made = [message_record(ChatMessage("user", f"hello {number}", time=NOW)) for number in range(3)]
    put(place, *made)
    assert sorted(one.to_json() for one in made) == sorted(one.raw for one in memory(place).list_all())
    with pytest.raises(NotFound):
        memory(place).get("nowhere")
