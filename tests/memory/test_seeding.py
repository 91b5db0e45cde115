"""`remember --from`: messages as records, each once, whatever was copied, archived or forgotten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memctl import Store
from memctl.api.memory import Memory
from memctl.core import marker
from memctl.errors import NotFound, UsageError
from memctl.ops.remember import SKIPPED, Remembered
from memctl.store import archive, forgotten
from tests.conftest import Memctl

NOW = "2026-03-04T09:00:00.000000Z"
NOW_US = 1_772_614_800_000_000


@pytest.fixture
def store(root: Path) -> Store:
    """A store whose clock stands still."""
    return Store(root, now_us=NOW_US)


@pytest.fixture
def memory(store: Store) -> Memory:
    """Alice's memory, empty."""
    return store.memory("alice")


def say(store: Store, conversation: str, *messages: dict[str, Any]) -> None:
    """Append messages to a conversation of alice's."""
    store.conversation("alice", conversation).append(messages)


def message(role: str, content: Any, id: str | None = None, **more: Any) -> dict[str, Any]:
    """A message in the stored form."""
    own = {"extra": {"memctl": {"id": id}}} if id is not None else {}
    return {"role": role, "content": content, **more, **own}


def write(root: Path, conversation: str, *values: dict[str, Any]) -> None:
    """A conversation as another program writes it: without ids and times of ours."""
    path = root / "conversations" / "alice" / f"{conversation}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text("".join(json.dumps(value) + "\n" for value in values))


def left_out(done: Remembered) -> dict[str, int]:
    """The reasons that occurred, with their counts."""
    assert set(SKIPPED) == set(done.skipped)
    return {reason: number for reason, number in done.skipped.items() if number}


def texts(memory: Memory) -> dict[str, str]:
    """The texts of all records, by id."""
    return {record.id: record.content for record in memory.list_all()}


def test_a_message_becomes_a_record(memory: Memory, store: Store, root: Path) -> None:
    """Every field of the record, byte for byte; the clock of its tier starts at entry."""
    created = {"memctl": {"id": "m1", "created_at": "2024-01-01T10:00:00+01:00"}}
    say(store, "trip", {"role": "user", "content": "hi", "name": "Ann", "extra": created})
    done = memory.remember_from("trip", provenance="chat_hydrate")
    assert ((1, ["trip#m1"]), {}) == ((done.remembered, done.ids), left_out(done))
    assert (
        '{"id":"trip#m1","content":"hi","scope":"","categories":["user"],"importance":0.7,'
        '"created_at":"2024-01-01T09:00:00.000000Z","metadata":{"provenance":"chat_hydrate","role":"user",'
        '"kind":"message","message_id":"m1","name":"Ann"},"tier":"hot","access_count":0,'
        f'"last_access_at":"{NOW}","promoted_at":"0001-01-01T00:00:00Z","conversation":"trip","rev":1}}\n'
    ) == (root / "tiers" / "hot" / "alice.jsonl").read_text()


@pytest.mark.parametrize(
    ("role", "importance"),
    [("user", 0.7), ("assistant", 0.6), ("tool", 0.4), ("system", 0.5), ("developer", 0.5), ("robot", 0.5)],
)
def test_roles(memory: Memory, root: Path, role: str, importance: float) -> None:
    """Each role has its importance and is the category; one that we do not know is remembered too."""
    write(root, "trip", message(role, "text"))
    memory.remember_from("trip")
    (record,) = memory.list_all()
    assert (importance, [role], role) == (record.importance, record.categories, record.metadata["role"])
    assert NOW == record.value["created_at"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([None] * 6, [f"2026-03-04T09:00:00.00000{n}Z" for n in range(6)]),
        (["2024-01-01T00:00:00Z"] * 6, [f"2024-01-01T00:00:00.00000{n}Z" for n in range(6)]),
        (
            [5, 5, 5, 5.000001, 4, 4],
            [
                "1970-01-01T00:00:05.000000Z",
                "1970-01-01T00:00:05.000001Z",
                "1970-01-01T00:00:05.000002Z",
                "1970-01-01T00:00:05.000003Z",
                "1970-01-01T00:00:04.000000Z",
                "1970-01-01T00:00:04.000001Z",
            ],
        ),
        (["9999-12-31T23:59:59.999999Z"] * 6, ["9999-12-31T23:59:59.999999Z"] * 6),
    ],
    ids=["no times", "one second", "nearly equal and going back", "the last moment"],
)
def test_messages_of_one_time_keep_their_order(
    memory: Memory, root: Path, written: list[Any], expected: list[str]
) -> None:
    """Of messages of one time each is a microsecond later, so that recall has them in their order."""
    said = [f"turn {number}" for number in range(6)]
    own = [{} if time is None else {"extra": {"memctl": {"created_at": time}}} for time in written]
    write(root, "trip", *({**message("user", text), **time} for text, time in zip(said, own, strict=True)))
    ids = memory.remember_from("trip").ids
    assert expected == [memory.get(id).value["created_at"] for id in ids]
    if expected == sorted(set(expected)):
        assert said == [one.record.content for one in memory.recall("turn", touch=False).in_time()]


def test_a_later_message_of_the_same_moment_comes_last(memory: Memory, root: Path) -> None:
    """A second pass at the same moment gives what is new a place behind what was there."""
    said = [message("user", f"turn {number}") for number in range(9)]
    write(root, "trip", *said[:4])
    memory.remember_from("trip")
    write(root, "trip", *said)
    memory.remember_from("trip")
    recalled = memory.recall("turn", touch=False).in_time()
    assert [one["content"] for one in said] == [one.record.content for one in recalled]


def test_fields_of_every_record(memory: Memory, store: Store, root: Path) -> None:
    """What is given beside the conversation is in each record; categories and metadata are added."""
    say(store, "trip", message("user", "a"), message("assistant", "b"))
    fields: dict[str, Any] = {"tier": "cold", "importance": 0.1, "scope": "s", "pinned": True}
    memory.remember_from("trip", categories=["c"], metadata={"k": "v"}, **fields)
    for record, role in zip(
        sorted(memory.list_all(), key=lambda r: r.content), ("user", "assistant"), strict=True
    ):
        assert ("cold", 0.1, "s", True) == (record.tier, record.importance, record.scope, record.pinned)
        assert [role, "c"] == record.categories
        assert ("v", role) == (record.metadata["k"], record.metadata["role"])
    with pytest.raises(UsageError, match="role of a record comes from its message"):
        memory.remember_from("trip", metadata={"role": "king"})


def test_what_is_left_out_is_counted(memory: Memory, root: Path) -> None:
    """Summaries, ephemeral messages and those without text are no records; each is counted by its reason."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    write(
        root,
        "trip",
        message("user", "text"),
        marker.new_summary_message("sum"),
        marker.new_ephemeral_message("assistant", "gone"),
        message("assistant", "", tool_calls=[call]),
        message("assistant", None, tool_calls=[call]),
        message("user", " \n"),
        message("user", [{"type": "image_url", "image_url": {"url": "x"}}]),
        marker.mark_incomplete(message("assistant", "half an answ")),
    )
    done = memory.remember_from("trip")
    assert {"summary": 1, "ephemeral": 1, "empty": 4} == left_out(done)
    assert {"text", "half an answ"} == set(texts(memory).values())


def test_lists_of_parts(memory: Memory, root: Path) -> None:
    """Of a content that is a list the text parts are the text, one a line; eino's lists too."""
    parts = [{"type": "text", "text": "one"}, {"type": "image_url", "image_url": {"url": "x"}}, "two"]
    write(
        root,
        "trip",
        message("user", parts),
        message("user", "", user_input_multi_content=[{"type": "text", "text": "three"}]),
    )
    memory.remember_from("trip")
    assert {"one\ntwo", "three"} == set(texts(memory).values())


def test_again_adds_only_what_is_new(memory: Memory, store: Store, root: Path) -> None:
    """The second time nothing is written; later messages are added."""
    say(store, "trip", message("user", "a"), message("user", "b"))
    assert 2 == memory.remember_from("trip").remembered
    path = root / "tiers" / "hot" / "alice.jsonl"
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    done = memory.remember_from("trip", "trip")
    assert (0, {"stored": 2}) == (done.remembered, left_out(done))
    assert before == (path.read_bytes(), path.stat().st_mtime_ns)
    say(store, "trip", message("user", "c"))
    done = memory.remember_from("trip")
    assert (1, {"stored": 2}) == (done.remembered, left_out(done))


def test_a_record_that_was_changed_stays(memory: Memory, store: Store) -> None:
    """Seeding is no update: what was put right by hand, moved or pinned is left alone."""
    say(store, "trip", message("user", "a", "m"))
    memory.remember_from("trip")
    memory.remember("put right", id="trip#m", tier="cold", pinned=True)
    assert {"stored": 1} == left_out(memory.remember_from("trip"))
    assert {"trip#m": "put right"} == texts(memory)


# -- copies ------------------------------------------------------------------------------------------------


def test_a_copied_message_counts_once(memory: Memory, store: Store) -> None:
    """The same id, role and text from another conversation is a copy, in one run and in a later one."""
    say(store, "s1", message("user", "a", "a1"), message("assistant", "b", "a2"))
    say(store, "s2", message("user", "a", "a1"), message("assistant", "b", "a2"), message("user", "c", "b3"))
    say(store, "s3", message("user", "a", "c1"))
    done = memory.remember_from("s1", "s2", "s3")
    assert (["s1#a1", "s1#a2", "s2#b3", "s3#c1"], {"copy": 2}) == (done.ids, left_out(done))
    say(store, "s4", message("user", "a", "a1"), message("user", "d", "d1"))
    done = memory.remember_from("s4", "s2")
    assert (["s4#d1"], {"copy": 3, "stored": 1}) == (done.ids, left_out(done))


@pytest.mark.parametrize("other", [message("user", "other", "1"), message("assistant", "a", "1")])
def test_an_equal_id_alone_is_no_copy(memory: Memory, store: Store, other: dict[str, Any]) -> None:
    """With another text, or another role, it is another message."""
    say(store, "s1", message("user", "a", "1"))
    say(store, "s2", other)
    assert ["s1#1", "s2#1"] == memory.remember_from("s1", "s2").ids


def test_derived_ids_are_no_copies(memory: Memory, root: Path) -> None:
    """Lines without an id are messages of their own, also where their bytes are equal."""
    for name in ("s1", "s2"):
        write(root, name, message("user", "hi"), message("user", "hi"))
    done = memory.remember_from("s1", "s2")
    assert (4, {}) == (done.remembered, left_out(done))
    assert {"stored": 4} == left_out(memory.remember_from("s1", "s2"))


def test_one_id_twice_in_a_conversation(memory: Memory, root: Path) -> None:
    """The same message again is a copy; another text under its id is one of its own, each time the same."""
    lines = [message("user", text, "m") for text in ("a", "b", "a", "c", "b")]
    write(root, "trip", *lines)
    done = memory.remember_from("trip")
    assert {"trip#m": "a", "trip#m~2": "b", "trip#m~3": "c"} == texts(memory)
    assert {"copy": 2} == left_out(done)
    assert 0 == memory.remember_from("trip").remembered


# -- archived and forgotten --------------------------------------------------------------------------------


def test_what_was_archived_does_not_come_again(memory: Memory, store: Store) -> None:
    """Neither from its conversation nor as a copy from another one, and not with `again` either."""
    say(store, "s1", message("user", "a", "a1"))
    say(store, "s2", message("user", "a", "a1"))
    memory.remember_from("s1")
    layout = store.setup.layout
    archive.append(layout, "alice", [archive.line(memory.get("s1#a1").raw, NOW, "cold_ttl")], fsync=False)
    Path(layout.tier("hot", "alice").path).unlink()
    done = memory.remember_from("s1", "s2", again=True)
    assert (0, {"archived": 1, "copy": 1}) == (done.remembered, left_out(done))


def test_what_was_forgotten_does_not_come_again(memory: Memory, store: Store) -> None:
    """It is left out, counted and named; `again` brings it back and takes it off the list."""
    say(store, "s1", message("user", "a", "a1"), message("user", "b", "a2"))
    layout = store.setup.layout
    forgotten.add(layout, "alice", ["s1#a1", "else"], NOW, False)
    done = memory.remember_from("s1")
    assert (["s1#a2"], ["s1#a1"], {"forgotten": 1}) == (done.ids, done.forgotten, left_out(done))
    assert ["s1#a1"] == memory.remember_from("s1", again=True).ids
    assert {"else"} == forgotten.ids(layout, "alice")


@pytest.mark.parametrize("source", ["kept", "dropped", "deleted"])
def test_a_copy_of_what_was_forgotten_does_not_come_either(memory: Memory, store: Store, source: str) -> None:
    """Whether its first conversation still has the message or not."""
    say(store, "s1", message("user", "a", "a1"), message("user", "z", "a2"))
    say(store, "s2", message("user", "a", "a1"), message("user", "b", "b1"))
    forgotten.add(store.setup.layout, "alice", ["s1#a1"], NOW, False)
    if source == "dropped":
        store.conversation("alice", "s1").drop(["a1"])
    elif source == "deleted":
        store.conversation("alice", "s1").delete(hard=True)
    done = memory.remember_from("s2")
    assert (["s2#b1"], {"forgotten": 1}) == (done.ids, left_out(done))
    assert ["s2#a1"] == memory.remember_from("s2", again=True).ids


def test_another_text_under_a_forgotten_id_comes(memory: Memory, store: Store) -> None:
    """Where the first conversation shows that its message was another one, this one is remembered."""
    say(store, "s1", message("user", "secret", "1"))
    say(store, "s2", message("user", "tea", "1"))
    forgotten.add(store.setup.layout, "alice", ["s1#1"], NOW, False)
    assert ["s2#1"] == memory.remember_from("s2").ids


# -- the command -------------------------------------------------------------------------------------------


def test_the_command(memctl: Memctl, store: Store, root: Path) -> None:
    """Several conversations; ids on standard output; what was left out and damaged lines on the other."""
    say(store, "s1", message("user", "a", "a1"))
    say(store, "a/b", message("user", "b", "b1"), marker.new_summary_message("sum"))
    path = root / "conversations" / "alice" / "s1.jsonl"
    path.write_bytes(b'{"role":"us\n' + path.read_bytes() + b'\xef\xbb\xbf{"role":"user","content":"c"}\n')
    done = memctl("--root", str(root), "remember", "alice", "--from", "s1", "--from", "a%2Fb")
    first, mended, other = done.stdout.decode().splitlines()
    assert (0, "s1#a1", "a/b#b1") == (done.returncode, first, other)
    assert mended.startswith("s1#")
    assert [
        "memctl: alice/s1: no message: bad-json (line 1)",
        "memctl: alice/s1: mended in what is remembered: bom (line 3)",
        "memctl: left out: summary 1",
    ] == done.stderr.decode().splitlines()
    done = memctl("--root", str(root), "remember", "alice", "--from", "s1", "--json")
    report = json.loads(done.stdout)
    assert [{"conversation": "alice/s1", "line": 1, "code": "bad-json"}] == report["damaged"]
    assert [{"conversation": "alice/s1", "line": 3, "code": "bom"}] == report["mended"]
    assert (2, []) == (report["skipped"]["stored"], report["ids"])


def test_a_conversation_that_is_missing(memory: Memory, store: Store, root: Path) -> None:
    """Nothing is stored of the others either."""
    say(store, "s1", message("user", "a"))
    with pytest.raises(NotFound, match="no conversation alice/nothing"):
        memory.remember_from("s1", "nothing")
    assert not (root / "tiers").exists()


def test_ids_and_names_with_the_sign_between_them(memory: Memory, store: Store) -> None:
    """`#` in names and ids changes nothing: what was forgotten is found behind any of them."""
    say(store, "a#b", message("user", "x", "c#d"))
    assert ["a#b#c#d"] == memory.remember_from("a#b").ids
    say(store, "other", message("user", "x", "c#d"))
    forgotten.add(store.setup.layout, "alice", ["a#b#c#d"], NOW, False)
    Path(store.setup.layout.tier("hot", "alice").path).unlink()
    assert {"forgotten": 1} == left_out(memory.remember_from("other"))


def test_a_path_like_record_id_makes_no_path(memory: Memory, store: Store, root: Path) -> None:
    """B68: whatever the conversation and the message are called, the record lies in the tier file."""
    say(store, "../x", message("user", "text", "/abs/../y"))
    assert ["../x#/abs/../y"] == memory.remember_from("../x").ids
    assert "text" == memory.get("../x#/abs/../y").content
    assert [root / "tiers" / "hot" / "alice.jsonl"] == [p for p in (root / "tiers").rglob("*") if p.is_file()]
