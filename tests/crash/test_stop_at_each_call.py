"""Each command that writes, stopped at each of its changes to the disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memctl import Conversation, Store
from memctl.errors import NotFound

from . import harness
from .invariants import (
    CONVERSATION,
    USER,
    assert_heals,
    assert_kept,
    assert_reads,
    contents,
    log_bytes,
    log_path,
    set_aside,
    store,
)

OLD = ("first", "second ü\u2028", "third")
NEW = ("fourth", "fifth", "sixth")
ACTIVITIES, OTHER_ACTIVITIES = b'[{"a":1}]', b'[{"b":[2,3]},4]'
TORN = b'{"role":"user","content":"torn he'
WHOLE = b'{"role":"user","content":"no newline"}'


def chat(root: Path) -> Conversation:
    """The conversation, for preparing and looking: without fsync."""
    return store(root).conversation(USER, CONVERSATION)


def fill(root: Path, tail: bytes = b"") -> None:
    for text in OLD:
        chat(root).append(text, id=f"id of {text}")
    with log_path(root).open("ab") as log:
        log.write(tail)


@pytest.fixture
def template(directory: Path) -> Path:
    # What is imported before the fork need not be imported in each child.
    fill(directory / "warm")
    return directory / "template"


def crashes(action: harness.Action, template: Path, directory: Path) -> Iterator[harness.Crash]:
    """All crashes; the last one named in the output of a test that fails is the one it failed for."""
    places = []
    for crash in harness.sweep(action, template, directory):
        print(crash.place)
        places.append(crash.place)
        yield crash
    assert len(places) > 5, "so few calls cannot be all"


def durable(root: Path) -> Conversation:
    """The conversation as a user has it: with fsync, which is counted among the calls."""
    return store(root, durability="fsync").conversation(USER, CONVERSATION)


def append_each(root: Path, acknowledge: harness.Acknowledge) -> None:
    for text in NEW:
        durable(root).append(text)
        acknowledge(text)


def append_at_once(root: Path, acknowledge: harness.Acknowledge) -> None:
    durable(root).append([{"role": "user", "content": text} for text in NEW])
    for text in NEW:
        acknowledge(text)


def append_with_ids(root: Path, acknowledge: harness.Acknowledge) -> None:
    for texts in (NEW[:1], NEW[1:], (OLD[1],)):
        messages = [
            {"role": "user", "content": text, "extra": {"memctl": {"id": f"id of {text}"}}} for text in texts
        ]
        durable(root).append(messages)
        for text in texts:
            acknowledge(text)


@pytest.mark.parametrize("action", [append_each, append_at_once])
@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(None, id="new conversation"),
        pytest.param(b"", id="existing conversation"),
        pytest.param(TORN, id="torn tail"),
        pytest.param(WHOLE, id="whole tail without LF"),
        pytest.param(WHOLE + TORN, id="whole and torn tail"),
    ],
)
def test_append(action: harness.Action, tail: bytes | None, template: Path, directory: Path) -> None:
    """Stopped anywhere in an append, nothing acknowledged is lost, and the next append heals."""
    if tail is not None:
        fill(template, tail)
    before = log_bytes(template)
    for crash in crashes(action, template, directory):
        whole = before if not before.endswith(TORN) else before.removesuffix(TORN)
        assert_kept(log_bytes(crash.root), whole, crash.acknowledged, list(NEW))
        if before.endswith(TORN) and TORN not in set_aside(crash.root):
            assert before in log_bytes(crash.root)
        assert_heals(crash.root)
        assert_kept(log_bytes(crash.root), whole, crash.acknowledged, list(NEW))
        assert before.endswith(TORN) == (TORN in set_aside(crash.root))
        assert_reads(crash.root)


@pytest.mark.parametrize("tail", [None, b"", TORN, WHOLE], ids=["new", "existing", "torn", "whole"])
def test_append_with_ids_is_completed_by_a_retry(tail: bytes | None, template: Path, directory: Path) -> None:
    """After a crash anywhere, the same command with the same ids leaves each message exactly once."""
    if tail is not None:
        fill(template, tail)
    before = contents(log_bytes(template).removesuffix(TORN))
    expected = before + [text for text in (*NEW, OLD[1]) if text not in before]
    for crash in crashes(append_with_ids, template, directory):
        assert_kept(log_bytes(crash.root), log_bytes(template).removesuffix(TORN), crash.acknowledged, [])
        for _ in range(2):
            append_with_ids(crash.root, lambda text: None)
            assert expected == contents(log_bytes(crash.root))
        assert_reads(crash.root)


def test_activities(template: Path, directory: Path) -> None:
    """Activities are the old or the new array, whole; once acknowledged the new one."""
    fill(template)
    chat(template).set_activities(ACTIVITIES)

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        durable(root).set_activities(OTHER_ACTIVITIES)
        acknowledge("set")

    for crash in crashes(action, template, directory):
        allowed = {OTHER_ACTIVITIES} if crash.acknowledged else {ACTIVITIES, OTHER_ACTIVITIES}
        assert chat(crash.root).activities() in allowed
        assert {f"{CONVERSATION}.jsonl", f"{CONVERSATION}.jsonl.activities"} == names_beside_log(crash.root)
        chat(crash.root).set_activities(OTHER_ACTIVITIES)
        assert OTHER_ACTIVITIES == chat(crash.root).activities()
        assert log_bytes(template) == log_bytes(crash.root)


def names_beside_log(root: Path) -> set[str]:
    return {path.name for path in log_path(root).parent.iterdir()}


def test_drop(template: Path, directory: Path) -> None:
    """The log is the old or the new one, whole; with the new one, what left it is in quarantine."""
    fill(template)
    old = log_bytes(template)
    lines = old.splitlines(keepends=True)

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        durable(root).drop([f"id of {OLD[1]}"])
        acknowledge("dropped")

    for crash in crashes(action, template, directory):
        new = lines[0] + lines[2]
        now = log_bytes(crash.root)
        assert now in ({new} if crash.acknowledged else {old, new})
        assert {f"{CONVERSATION}.jsonl"} == names_beside_log(crash.root)
        if now == new:
            assert lines[1] in set_aside(crash.root)
            with pytest.raises(NotFound):
                action(crash.root, lambda text: None)
        else:
            action(crash.root, lambda text: None)
        assert new == log_bytes(crash.root)
        assert_heals(crash.root)


def trashed_pairs(root: Path) -> list[tuple[bytes, bytes]]:
    """Log and activities of each deleted conversation that the trash lists."""
    found = []
    for item in store(root).trash():
        entry = root / "trash" / item.user / item.entry
        log = entry / f"{item.conversation}.jsonl"
        found.append((log.read_bytes(), Path(f"{log}.activities").read_bytes()))
    return found


def in_place(root: Path) -> tuple[bytes, bytes] | None:
    """Log and activities, if the conversation is there."""
    if not log_path(root).exists():
        return None
    return log_bytes(root), chat(root).activities()


def test_delete(template: Path, directory: Path) -> None:
    """At each moment log and activities are together, in their place or in the trash, and can be restored."""
    fill(template)
    chat(template).set_activities(ACTIVITIES)
    pair = (log_bytes(template), ACTIVITIES)

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        durable(root).delete()
        acknowledge("deleted")

    for crash in crashes(action, template, directory):
        there = in_place(crash.root)
        assert [pair] == ([there] if there else []) + trashed_pairs(crash.root)
        assert not (there and crash.acknowledged)
        if there:
            action(crash.root, lambda text: None)
        store(crash.root).restore(USER, CONVERSATION)
        assert pair == in_place(crash.root)
        assert [] == store(crash.root).trash()
        assert_heals(crash.root)


def test_delete_hard(template: Path, directory: Path) -> None:
    """Stopped anywhere, the log is whole or gone; the same command again removes all that is left."""
    fill(template)
    chat(template).set_activities(ACTIVITIES)
    chat(template).window(0)

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        durable(root).delete(hard=True)
        acknowledge("deleted")

    for crash in crashes(action, template, directory):
        if log_path(crash.root).exists():
            assert log_bytes(template) == log_bytes(crash.root)
            assert not crash.acknowledged
            action(crash.root, lambda text: None)
        assert set() == names_beside_log(crash.root)


def test_restore(template: Path, directory: Path) -> None:
    """At each moment log and activities are in the trash or in their place; a second try brings all back."""
    fill(template)
    chat(template).set_activities(ACTIVITIES)
    pair = (log_bytes(template), ACTIVITIES)
    chat(template).delete()

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        store(root, durability="fsync").restore(USER, CONVERSATION)
        acknowledge("restored")

    for crash in crashes(action, template, directory):
        there = in_place(crash.root)
        assert there in ((pair,) if crash.acknowledged else (None, pair))
        if there is None:
            action(crash.root, lambda text: None)
        assert pair == in_place(crash.root)
        assert [] == store(crash.root).trash()
        assert_heals(crash.root)


def cold(template: Path) -> None:
    fill(template)


def warm(template: Path) -> None:
    """Caches that reach part of the log."""
    fill(template)
    chat(template).window(50)
    chat(template).count(window_budget=0)
    chat(template).append("later")


def stale(template: Path) -> None:
    """Caches of a log that another program rewrote."""
    warm(template)
    data = log_bytes(template).replace(b"first", b"FIRST")
    log_path(template).write_bytes(data)


@pytest.mark.parametrize("prepare", [cold, warm, stale])
def test_window(prepare: Callable[[Path], None], template: Path, directory: Path) -> None:
    """Stopped while it writes its caches, a window leaves the log alone, and the next answers right."""
    prepare(template)
    data = log_bytes(template)
    bare = directory / "bare"
    shutil.copytree(template, bare)
    shutil.rmtree(bare / ".memctl" / "cache", ignore_errors=True)
    expected = [chat(bare).window(budget) for budget in (0, 40, 60)]

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        for budget in (40, 0):
            durable(root).window(budget)
        acknowledge("answered")

    for crash in crashes(action, template, directory):
        assert data == log_bytes(crash.root)
        assert expected == [chat(crash.root).window(budget) for budget in (0, 40, 60)]
        assert_heals(crash.root)


def test_a_store_of_its_own_is_unharmed_by_the_harness(directory: Path) -> None:
    """The wrapped primitives stay in the child: the parent writes and syncs as ever."""
    harness.run(append_each, directory / "store")
    Store(directory / "store").conversation(USER, CONVERSATION).append("seventh")
    assert [*NEW, "seventh"] == contents(log_bytes(directory / "store"))
