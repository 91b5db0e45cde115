"""remember and pin, stopped at each change to the disk: each record once, as it was acknowledged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memctl import Store
from memctl.api.memory import Memory
from memctl.store import forgotten, tiers

from . import harness
from .test_durability import unsynced

USER = "alice"
#: What is there before: text by id, in two tiers.
OLD = {"old": "text", "warm": "other ü\u2028", "pinned": "third"}
Check = Callable[[Memory, list[str]], None]


def memory(root: Path, durability: str = "none") -> Memory:
    """The one user's memory, with locks that are not waited for."""
    return Store(root, settings={"durability": durability, "lock.timeout_s": 1}).memory(USER)


def fill(root: Path, tail: bytes = b"") -> None:
    """The records of before; `tail` is what a crash left behind the last line of hot."""
    memory(root).remember(
        [
            {"id": "old", "content": OLD["old"]},
            {"id": "warm", "content": OLD["warm"], "tier": "warm"},
            {"id": "pinned", "content": OLD["pinned"], "pinned": True},
        ]
    )
    with open(root / "tiers" / "hot" / f"{USER}.jsonl", "ab") as file:
        file.write(tail)


def texts(root: Path) -> dict[str, str]:
    """The text of every record; `list_all` and `get` say the same, and no other line is whole but none."""
    chosen = memory(root)
    found = {record.id: record.content for record in chosen.list_all()}
    assert found == {id: chosen.get(id).content for id in found}
    return found


@pytest.fixture
def template(directory: Path) -> Path:
    # What is imported before the fork need not be imported in each child.
    warm = directory / "imports"
    fill(warm)
    remember_each(warm, lambda text: None)
    change(warm, lambda text: None)
    pin_two(warm, lambda text: None)
    Store(warm).conversation(USER, "trip").append("hello", id="m1")
    seed(warm, lambda text: None)
    texts(warm)
    return directory / "template"


def crashes(action: harness.Action, template: Path, directory: Path) -> Iterator[harness.Crash]:
    """All crashes; the last one named in the output of a test that fails is the one it failed for."""
    places = 0
    for crash in harness.sweep(action, template, directory):
        print(crash.place)
        places += 1
        yield crash
    assert places > 3, "so few calls cannot be all"


def remember_each(root: Path, acknowledge: harness.Acknowledge) -> None:
    for text in ("one", "two"):
        (id,) = memory(root, "fsync").remember(text).ids
        acknowledge(json.dumps({id: text}))


BATCH = [
    {"id": "old", "content": "new"},
    {"id": "fresh", "content": "fresh", "tier": "cold"},
    {"id": "warm", "content": "moved", "tier": "hot"},
    {"id": "pinned", "content": "changed"},
]


def change(root: Path, acknowledge: harness.Acknowledge) -> None:
    memory(root, "fsync").remember(BATCH)
    acknowledge(json.dumps({one["id"]: one["content"] for one in BATCH}))


def pin_two(root: Path, acknowledge: harness.Acknowledge) -> None:
    memory(root, "fsync").pin("old", "warm")
    acknowledge("{}")


def seed(root: Path, acknowledge: harness.Acknowledge) -> None:
    memory(root, "fsync").remember_from("trip", again=True)
    acknowledge(json.dumps({"trip#m1": "hello"}))


TAILS = [b"", b'{"id":"torn","con', b'{"id":"whole","content":"w"}']


@pytest.mark.parametrize("tail", [None, *TAILS], ids=["new store", "whole", "torn tail", "no LF"])
def test_texts(tail: bytes | None, template: Path, directory: Path) -> None:
    """What was acknowledged is there once, what was not at most once, and what was there before stays."""
    before: dict[str, str] = {}
    if tail is not None:
        fill(template, tail)
        before = texts(template)
    for crash in crashes(remember_each, template, directory):
        found = texts(crash.root)
        for told in crash.acknowledged:
            before_and_told = before | json.loads(told)
            assert before_and_told.items() <= found.items()
        assert before.items() <= found.items()
        new = sorted(found[id] for id in found.keys() - before.keys())
        assert new in ([], ["one"], ["one", "two"])
        # The next one is stored whatever was left.
        (id,) = memory(crash.root).remember("next").ids
        assert found | {id: "next"} == texts(crash.root)


@pytest.mark.parametrize("tail", TAILS, ids=["whole", "torn tail", "no LF"])
def test_changes(tail: bytes, template: Path, directory: Path) -> None:
    """Each record is found once, as it was or as it was given; the same input again completes it."""
    fill(template, tail)
    before = texts(template)
    expected = before | {one["id"]: one["content"] for one in BATCH}
    for crash in crashes(change, template, directory):
        found = texts(crash.root)
        assert before.keys() <= found.keys() <= expected.keys()
        for id, text in found.items():
            assert text in (before.get(id), expected[id])
        if crash.acknowledged:
            assert expected == found
        done = memory(crash.root).remember(BATCH)
        assert len(BATCH) == done.remembered + done.updated + done.unchanged
        assert expected == texts(crash.root)
        assert ("hot", "cold", True) == (
            memory(crash.root).get("warm").tier,
            memory(crash.root).get("fresh").tier,
            memory(crash.root).get("pinned").pinned,
        )
        assert 0 == memory(crash.root).remember(BATCH).updated


def test_pins(template: Path, directory: Path) -> None:
    """No text is touched; a pin is there or not; the same command again completes it."""
    fill(template)
    before = texts(template)
    for crash in crashes(pin_two, template, directory):
        assert before == texts(crash.root)
        if crash.acknowledged:
            assert [True, True] == [memory(crash.root).get(id).pinned for id in ("old", "warm")]
        memory(crash.root).pin("old", "warm")
        assert [True, True] == [memory(crash.root).get(id).pinned for id in ("old", "warm")]
        assert before == texts(crash.root)


def test_a_forgotten_message_that_comes_back(template: Path, directory: Path) -> None:
    """It is on the list, or free, or there; and the same command again has it there once."""
    fill(template)
    Store(template).conversation(USER, "trip").append("hello", id="m1")
    layout = Store(template).setup.layout
    forgotten.add(layout, USER, ["trip#m1", "other"], "2026-03-04T09:00:00Z", False)
    before = texts(template)
    for crash in crashes(seed, template, directory):
        found = texts(crash.root)
        assert found in (before, before | {"trip#m1": "hello"})
        if crash.acknowledged:
            assert len(found) > len(before)
        seed(crash.root, lambda text: None)
        assert before | {"trip#m1": "hello"} == texts(crash.root)
        crashed = Store(crash.root).setup.layout
        assert {"other"} == forgotten.ids(crashed, USER)
        # A line that was torn is named, and stands alone.
        torn = "write" in crash.place and ("one byte" in crash.place or "half" in crash.place)
        assert len(tiers.read(crashed, USER).bad) <= int(torn)


@pytest.mark.parametrize("action", [remember_each, change, pin_two, seed])
def test_what_is_acknowledged_is_synced(action: harness.Action, template: Path, directory: Path) -> None:
    """Of all that is no cache, lock or temporary file, data and directory entry are synced at the end."""
    if action is not remember_each:
        fill(template)
        Store(template).conversation(USER, "trip").append("hello", id="m1")
        os.rename(template, directory / "store")
    outcome = harness.run(action, directory / "store")
    assert outcome.finished
    assert "fsync" in {call.name for call in outcome.calls}
    assert {} == unsynced(directory / "store", outcome.calls)


def test_a_write_that_fails_is_undone(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk stores nothing of the tier, and the error says whose memory and what went before."""
    from memctl.errors import StorageError
    from memctl.store import disk

    root = directory / "store"
    fill(root)
    before = texts(root)
    real = disk.write

    def full(fd: int, data: bytes) -> int:
        if "/tiers/cold/" in os.readlink(f"/proc/self/fd/{fd}"):
            raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(disk, "write", full)
    with pytest.raises(StorageError, match=r"the memory of alice: .*No space left") as failure:
        memory(root).remember([{"content": "a"}, {"id": "c", "content": "b", "tier": "cold"}])
    assert "what goes to hot is stored" == failure.value.hint
    assert {"a"} == set(texts(root).values()) - set(before.values())
    with pytest.raises(StorageError, match="nothing was stored"):
        memory(root).remember("c", tier="cold")
