"""The library's memory as a program uses it: remember, recall, pin, reconcile, forget, and the rest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import memctl
from memctl import (
    BadInput,
    BadName,
    ChatMessage,
    CognitiveRecord,
    InMemoryStore,
    Level,
    LockTimeout,
    NotFound,
    Policy,
    Record,
    Store,
    UsageError,
    message_record,
)

NOW = datetime(2026, 3, 4, 9, tzinfo=UTC)
NOW_US = 1_772_614_800_000_000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", now_us=NOW_US)


class Told:
    """A MigrationObserver that keeps what it is told."""

    def __init__(self) -> None:
        self.moves: list[tuple[str, ...]] = []

    def promoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        self.moves.append((user, id, from_tier, to_tier))

    def demoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        self.moves.append((user, id, from_tier, to_tier))

    def evicted(self, user: str, id: str, from_tier: str) -> None:
        self.moves.append((user, id, from_tier))


class Raising(Told):
    """An observer that fails at every demotion."""

    def demoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        raise RuntimeError(f"no place for {id}")


# -- a life ------------------------------------------------------------------------------------------------


def test_a_life_of_a_memory(store: Store) -> None:
    """Remember, recall, pin, reconcile over the months, forget: each step sees what the last one did."""
    memory = store.memory("alice")
    assert [] == memory.list_all()
    done = memory.remember("The spare key is under the mat.", id="key", importance=0.9, categories=["house"])
    memory.remember("Alice is allergic to nuts.", id="nuts")
    assert (["key"], 1, 0) == (done.ids, done.remembered, done.updated)

    answer = memory.recall("where is the key")
    assert ["key"] == [one.record.id for one in answer.found]
    assert 1 == memory.get("key").access_count
    assert ["nuts"] == [one.record.id for one in memory.recall("allergic", touch=False).found]
    assert 0 == memory.get("nuts").access_count

    assert ["nuts"] == memory.pin("nuts").changed
    assert memory.get("nuts").pinned
    told = Told()
    report = memory.reconcile(NOW + timedelta(days=30), observers=[None, told])
    assert (0, 1, 0) == (report.promoted, report.demoted, report.evicted)
    assert [("alice", "key", "hot", "warm")] == told.moves
    assert 0 == memory.reconcile(NOW + timedelta(days=30)).demoted
    assert [("nuts", "hot"), ("key", "warm")] == [(one.id, one.tier) for one in memory.list_all()]

    assert ["nuts"] == memory.unpin("nuts").changed
    gone = memory.forget("key")
    assert (True, ["key"]) == (gone.applied, [row["id"] for row in gone.records])
    with pytest.raises(NotFound):
        memory.get("key")
    assert [] == memory.recall("where is the key").found
    assert ["nuts"] == [record.id for record in memory.list_all()]
    assert 0 == memory.rebuild_index(check=True).differences


def test_the_parts_of_an_answer(store: Store) -> None:
    """An answer has the records best first and in time, each with its score and what that is made of."""
    memory = store.memory("alice")
    memory.remember("tea in the morning", id="old", created_at=NOW - timedelta(days=9))
    memory.remember("tea tea tea", id="new")
    answer = memory.recall("tea", limit=5)
    assert isinstance(answer, memctl.Recall)
    assert ["old", "new"] == [one.record.id for one in answer.in_time()]
    assert sorted((one.score for one in answer.found), reverse=True) == [one.score for one in answer.found]
    for one in answer.found:
        assert isinstance(one, memctl.Recalled)
        assert {"semantic", "recency", "importance"} <= one.scores.keys()
        assert isinstance(one.record, Record)
    assert (2, 2) == (answer.records, answer.explain()["found"])


def test_nothing_is_made_by_looking(store: Store) -> None:
    """A user who has nothing is an empty answer, and leaves nothing on disk."""
    memory = store.memory("nobody")
    assert ([], [], []) == (memory.list_all(), memory.recall("x").found, memory.cognitive().list_all())
    assert 0 == memory.reconcile().demoted
    with pytest.raises(NotFound):
        memory.get("x")
    assert not Path(store.root).exists()


# -- what can be given -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        Record.new("x", "hello", tier=Level.WARM, categories=["a"], metadata={"k": "v"}),
        {"id": "x", "content": "hello", "tier": "warm", "categories": ["a"], "metadata": {"k": "v"}},
        [Record.new("x", "hello", tier="warm", categories=["a"], metadata={"k": "v"})],
        ({"id": "x", "content": "hello", "tier": Level.WARM, "categories": ("a",), "metadata": {"k": "v"}},),
    ],
)
def test_a_record_in_every_form(store: Store, given: Any) -> None:
    """A Record, a mapping, and several of either are stored alike."""
    assert ["x"] == store.memory("u").remember(given).ids
    seen = store.memory("u").get("x")
    assert ("hello", "warm", ["a"], {"k": "v"}) == (seen.content, seen.tier, seen.categories, seen.metadata)
    assert b"2026-03-04T09:00:00.000000Z" in seen.raw


def test_fields_of_a_text(store: Store) -> None:
    """Fields by name, in the kinds that a program has."""
    memory = store.memory("u")
    memory.remember(
        "hello",
        id="x",
        tier=Level.COLD,
        scope="s",
        importance=0.25,
        categories=["a", "b"],
        metadata={"k": "v"},
        pinned=True,
        created_at=datetime(2026, 1, 1, 12, tzinfo=UTC),
    )
    seen = memory.get("x")
    assert ("cold", "s", 0.25, ["a", "b"], True) == (
        seen.tier,
        seen.scope,
        seen.importance,
        seen.categories,
        seen.pinned,
    )
    assert "2026-01-01T12:00:00Z" == seen.value["created_at"]
    memory.remember({"id": "y", "content": "hello", "created_at": datetime(2026, 1, 1, 12, tzinfo=UTC)})
    assert "2026-01-01T12:00:00Z" == memory.get("y").value["created_at"]


@pytest.mark.parametrize("given", [5, None, [5], ["text"], [["a"]]])
def test_what_is_no_record(store: Store, given: Any) -> None:
    """It is refused in our own family of errors, and nothing is stored."""
    with pytest.raises(BadInput):
        store.memory("u").remember(given)
    assert not Path(store.root).exists()


def test_fields_are_checked(store: Store) -> None:
    """A name that is no field, an id beside records, a tier that is none: refused, nothing stored."""
    memory = store.memory("u")
    with pytest.raises(UsageError, match="importence"):
        memory.remember("x", importence=1)  # type: ignore[call-arg]
    with pytest.raises(UsageError):
        memory.remember([{"content": "x"}], id="x")
    with pytest.raises(BadInput):
        memory.remember("x", tier="lukewarm")
    with pytest.raises(BadName):
        store.memory(" ")
    assert [] == memory.list_all()


@pytest.mark.parametrize(
    "moment", [NOW - timedelta(days=2), "2026-03-02T09:00:00Z", 1_772_442_000, 1_772_442_000_000]
)
def test_moments_in_every_form(store: Store, moment: Any) -> None:
    """A time is a datetime, RFC 3339, Unix seconds or milliseconds, wherever one is asked for."""
    memory = store.memory("u")
    memory.remember("tea yesterday", id="new", created_at=NOW - timedelta(days=1))
    memory.remember("tea long ago", id="old", created_at=NOW - timedelta(days=3))
    assert ["new"] == [one.record.id for one in memory.recall("tea", since=moment, touch=False).found]
    assert ["old"] == [one.record.id for one in memory.recall("tea", until=moment, touch=False).found]
    assert ["old"] == [row["id"] for row in memory.forget(before=moment, apply=False).records]
    assert 2 == memory.reconcile(NOW + timedelta(days=2), dry_run=True).demoted
    assert 0 == memory.reconcile(moment, dry_run=True).demoted
    assert [] == store.events("u", since=moment).events


@pytest.mark.parametrize("moment", ["soon", "", True, float("inf")])
def test_what_is_no_moment(store: Store, moment: Any) -> None:
    """It is BadInput that names the argument, and nothing is done."""
    memory = store.memory("u")
    memory.remember("tea", id="x")
    for call in (
        lambda: memory.recall("tea", since=moment),
        lambda: memory.recall("tea", until=moment),
        lambda: memory.forget(before=moment),
        lambda: memory.reconcile(moment),
        lambda: store.events("u", since=moment),
    ):
        with pytest.raises(BadInput, match="no time"):
            call()
    assert 0 == memory.get("x").access_count


@pytest.mark.parametrize(
    ("expected", "filters"),
    [
        (["a"], {"tier": Level.HOT}),
        (["b"], {"tier": ["warm", Level.COLD]}),
        (["a"], {"categories": "x"}),
        (["b"], {"categories": ["x", "y"]}),
        (["b"], {"metadata": {"k": "v"}}),
        (["a"], {"scope": "s"}),
        ([], {"conversation": "c"}),
        (["b"], {"max_hot": 0}),
    ],
)
def test_filters(store: Store, expected: list[str], filters: dict[str, Any]) -> None:
    """One word stands for a list of one; of several categories all have to be there."""
    memory = store.memory("u")
    memory.remember("tea one", id="a", scope="s", categories=["x"])
    memory.remember("tea two", id="b", tier="warm", categories=["x", "y"], metadata={"k": "v"})
    found = [one.record.id for one in memory.recall("tea", touch=False, limit=1, **filters).found]
    assert expected[:1] == found[: len(expected)] and len(expected) == len(found)


def test_one_id_is_one_word(store: Store) -> None:
    """An id that is given as it is, not in a list, is not taken for a list of its letters."""
    memory = store.memory("u")
    for id in ("a", "b", "ab"):
        memory.remember(f"note {id}", id=id)
    memory.forget("ab")
    assert ["a", "b"] == [record.id for record in memory.list_all()]
    memory.remember("note c", id="c", categories=["ab"])
    memory.forget(categories="ab")
    assert ["a", "b"] == [record.id for record in memory.list_all()]


def test_forgetting_nothing_is_an_error(store: Store) -> None:
    """Neither an empty list of ids nor no argument forgets all."""
    memory = store.memory("u")
    memory.remember("note", id="a")
    with pytest.raises(UsageError):
        memory.forget()
    with pytest.raises(UsageError):
        memory.forget([])
    assert ["a"] == [record.id for record in memory.list_all()]


# -- reconcile ---------------------------------------------------------------------------------------------


def test_an_observer_that_raises(store: Store) -> None:
    """It stops neither the pass nor the others, and the report names it with what it raised."""
    memory = store.memory("u")
    memory.remember("note", id="a")
    memory.remember("other", id="b")
    told = Told()
    report = memory.reconcile(NOW + timedelta(days=2), observers=[Raising(), told])
    assert ["a", "b"] == [move[1] for move in told.moves]
    ((user, unheard),) = report.unheard
    assert ("u", 0, "no place for a", 2) == (user, unheard.observer, str(unheard.error), unheard.times)
    assert ["warm", "warm"] == [record.tier for record in memory.list_all()]


def test_a_dry_run_tells_no_observer(store: Store) -> None:
    """Its report is that of the real run, and nothing is changed or told."""
    memory = store.memory("u")
    memory.remember("note", id="a")
    told = Told()
    planned = memory.reconcile(NOW + timedelta(days=2), observers=[told], dry_run=True)
    assert ([], "hot") == (told.moves, memory.get("a").tier)
    done = memory.reconcile(NOW + timedelta(days=2), observers=[told])
    assert planned.moves == done.moves
    assert 1 == len(told.moves)


def test_reconciling_many(store: Store) -> None:
    """The store reconciles named users or everybody, and neither or both is an error."""
    for user in ("u", "v", "w"):
        store.memory(user).remember("note", id="a")
    later = Store(store.root, now_us=NOW_US + 2 * 86_400_000_000)
    told = Told()
    assert 2 == later.reconcile("u", "w", observers=[told]).demoted
    assert ["u", "w"] == [move[0] for move in told.moves]
    assert 1 == later.reconcile(everybody=True).demoted
    for wrong in (lambda: later.reconcile(), lambda: later.reconcile("u", everybody=True)):
        with pytest.raises(UsageError):
            wrong()
    with pytest.raises(NotFound):
        later.reconcile("u", "nobody")
    with pytest.raises(BadName):
        later.reconcile(" ")


def test_a_lock_that_is_held(store: Store) -> None:
    """What writes records waits for the lock and names it; what reads does not."""
    memory = Store(store.root, settings={"lock.timeout_s": 0.05}, now_us=NOW_US).memory("u")
    memory.remember("note", id="a")
    with store.setup.records_lock("u", "other"):
        for call in (
            lambda: memory.remember("x"),
            lambda: memory.pin("a"),
            lambda: memory.reconcile(NOW + timedelta(days=2)),
            lambda: memory.forget("a"),
        ):
            with pytest.raises(LockTimeout):
                call()
        assert ["a"] == [one.record.id for one in memory.recall("note").found]
        assert ["a"] == [record.id for record in memory.list_all()]
    assert "hot" == memory.get("a").tier


# -- policy ------------------------------------------------------------------------------------------------


def test_a_policy_by_hand(store: Store) -> None:
    """A program asks the rules itself, about records as they are stored."""
    memory = store.memory("u")
    memory.remember("note", id="a")
    record, policy = memory.get("a"), Policy.default()
    assert "hot" == policy.target_tier(record, NOW + timedelta(hours=24), {"hot": 50})
    assert "warm" == policy.target_tier(record, NOW + timedelta(hours=25), {"hot": 1})
    assert "warm" == policy.target_tier(record, NOW, {"hot": 51})
    assert (False, True) == (policy.should_promote(record), policy.should_demote(record, NOW, 51))
    assert [("warm", True), ("cold", True), ("", False)] == list(map(policy.next_tier_on_demote, Level))
    assert "hot" == Policy.single_level().target_tier(record, NOW + timedelta(days=999), {"hot": 999})
    with pytest.raises(BadInput):
        policy.should_demote(record, "soon", 1)


# -- the adapter -------------------------------------------------------------------------------------------


def test_the_cognitive_memory(store: Store) -> None:
    """What it remembers has all its fields, lies in hot, and comes back oldest first, within the limit."""
    cognitive = store.memory("u").cognitive()
    given = CognitiveRecord(
        "a", "tea one", "s", ("x",), 0.75, (NOW - timedelta(days=2)).isoformat(), {"k": "v"}
    )
    assert "a" == cognitive.remember(given)
    fresh = cognitive.remember(CognitiveRecord("", "tea two"))
    assert 16 == len(fresh)
    assert ["a", fresh] == [one.id for one in cognitive.recall("tea")]
    assert 1 == len(cognitive.recall("tea", 1))
    (seen,) = (one for one in cognitive.list_all() if one.id == "a")
    assert (*given[:5], given.metadata) == (*seen[:5], seen.metadata)
    stored = store.memory("u").get("a")
    assert ("hot", "2026-03-04T09:00:00.000000Z") == (stored.tier, stored.value["last_access_at"])
    assert 0.5 == store.memory("u").get(fresh).importance


def test_the_default_limit_of_the_adapter(store: Store) -> None:
    """Without a limit the setting counts, 20 where it is not set."""
    memory = store.memory("u")
    memory.remember([{"id": f"n{number}", "content": f"tea {number}"} for number in range(25)])
    assert 20 == len(memory.cognitive().recall("tea"))
    assert 20 == len(memory.cognitive().recall("tea", -1))
    few = Store(store.root, settings={"recall.limit": 3}, now_us=NOW_US)
    assert 3 == len(few.memory("u").cognitive().recall("tea"))


def test_correcting_through_the_adapter(store: Store) -> None:
    """Remembering an id again changes what it says; its accesses and its pin stay."""
    memory = store.memory("u")
    memory.cognitive().remember(CognitiveRecord("a", "tea", importance=0.9))
    memory.pin("a")
    memory.recall("tea")
    memory.cognitive().remember(CognitiveRecord("a", "coffee"))
    seen = memory.get("a")
    assert ("coffee", 0.9, True, 1) == (seen.content, seen.importance, seen.pinned, seen.access_count)


# -- between stores ----------------------------------------------------------------------------------------


def test_records_go_between_stores(store: Store) -> None:
    """A record of one memory can be put in a store of the reference's interface, and back in another."""
    memory = store.memory("u")
    memory.remember("note", id="a", tier="warm", metadata={"k": "v"})
    kept = InMemoryStore()
    for record in memory.list_all():
        kept.put(record)
    other = store.memory("v")
    other.remember(kept.list("warm"))
    one, two = memory.get("a"), other.get("a")
    assert (one.content, one.tier, one.metadata) == (two.content, two.tier, two.metadata)


def test_a_record_goes_where_it_was_read(store: Store) -> None:
    """The tier of a record is that of its file, whatever its line says."""
    path = Path(store.root, "tiers", "cold", "u.jsonl")
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"id":"a","content":"note","tier":"hot"}\n')
    record = store.memory("u").get("a")
    store.memory("v").remember(record)
    assert ("cold", "cold") == (record.tier, store.memory("v").get("a").tier)


def test_message_records_are_found_by_their_text(store: Store) -> None:
    """The JSON around the text of a message is nothing to be found by."""
    memory = store.memory("u")
    memory.remember([message_record(ChatMessage("user", "where is the key")), Record.new("x", "a note")])
    assert 1 == len(memory.recall("key").found)
    assert [] == memory.recall("content").found


def test_a_day_is_no_moment(store: Store) -> None:
    """A date without a time of day is refused by name, in a field and in a record."""
    day: Any = NOW.date()
    with pytest.raises(BadInput, match="created_at"):
        store.memory("u").remember("x", created_at=day)
    with pytest.raises(BadInput, match="created_at"):
        store.memory("u").remember({"content": "x", "created_at": day})
