"""delete and restore: log, activities and caches travel together, and nothing is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl import Store
from memctl.errors import AlreadyExists, NotFound


def store(root: Path, **more: object) -> Store:
    return Store(root, settings={"durability": "none"} | more)  # type: ignore[arg-type]


def fill(root: Path, text: str = "one", activities: bytes = b"[1]") -> bytes:
    chat = store(root).conversation("a", "b")
    chat.append(text, id=text)
    chat.set_activities(activities)
    chat.window(100, counter="bytes4")
    return log_of(root).read_bytes()


def log_of(root: Path) -> Path:
    return root / "conversations" / "a" / "b.jsonl"


def caches(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob(".memctl/cache/conversations/a/*"))


def test_there_and_back(tmp_path: Path) -> None:
    """Restored, a conversation has the bytes and the activities that it had."""
    data = fill(tmp_path)
    done = store(tmp_path).conversation("a", "b").delete()
    assert (True, len(data)) == (done.applied, done.bytes)
    assert [] == list(log_of(tmp_path).parent.iterdir())
    assert [("a", "b", done.trash, len(data))] == [
        (item.user, item.conversation, item.entry, item.bytes) for item in store(tmp_path).trash()
    ]
    store(tmp_path).restore("a", "b")
    chat = store(tmp_path).conversation("a", "b")
    assert (data, b"[1]", []) == (log_of(tmp_path).read_bytes(), chat.activities(), store(tmp_path).trash())


def test_only_its_own_caches_go(tmp_path: Path) -> None:
    """The caches of a deleted conversation go; those of one with a longer name stay."""
    for name in ("b", "b.c", "b.ids", "bb"):
        chat = store(tmp_path).conversation("a", name)
        chat.append("one", id="1")
        chat.window(100, counter="bytes4")
    before = caches(tmp_path)
    store(tmp_path).conversation("a", "b").delete()
    assert {name for name in before if name.count(".") == 1 and name.startswith("b.")} == set(before) - set(
        caches(tmp_path)
    )
    assert 3 * (len(before) // 4) == len(caches(tmp_path))


@pytest.mark.parametrize("hard", [False, True])
def test_the_plan_changes_nothing(hard: bool, tmp_path: Path) -> None:
    """Without `apply` only the size is told."""
    data = fill(tmp_path)
    done = store(tmp_path).conversation("a", "b").delete(apply=False, hard=hard)
    assert (False, len(data), None) == (done.applied, done.bytes, done.trash)
    assert (data, []) == (log_of(tmp_path).read_bytes(), store(tmp_path).trash())


def test_hard(tmp_path: Path) -> None:
    """Deleted hard, nothing of log, activities and caches is left, and nothing is in the trash."""
    fill(tmp_path, text="secret words")
    store(tmp_path).conversation("a", "b").delete(hard=True)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [] == [path for path in files if b"secret words" in path.read_bytes()]
    assert ([], [], []) == (
        list(log_of(tmp_path).parent.iterdir()),
        caches(tmp_path),
        store(tmp_path).trash(),
    )
    with pytest.raises(NotFound):
        store(tmp_path).restore("a", "b")


def test_restore_over_an_existing_one(tmp_path: Path) -> None:
    """An existing conversation is never replaced by a restored one."""
    fill(tmp_path)
    store(tmp_path).conversation("a", "b").delete()
    data = fill(tmp_path, text="another", activities=b"[2]")
    with pytest.raises(AlreadyExists):
        store(tmp_path).restore("a", "b")
    assert (data, b"[2]") == (
        log_of(tmp_path).read_bytes(),
        store(tmp_path).conversation("a", "b").activities(),
    )
    assert 1 == len(store(tmp_path).trash())


def test_the_newest_of_one_second_comes_back_first(tmp_path: Path) -> None:
    """Of several deleted conversations of one name the last deleted is restored, then the one before."""
    logs = []
    for n in range(12):
        logs.append(fill(tmp_path, text=f"text {n}"))
        Store(tmp_path, now_us=1_800_000_000_000_000).conversation("a", "b").delete()
    for data in logs[::-1]:
        store(tmp_path).restore("a", "b")
        assert data == log_of(tmp_path).read_bytes()
        store(tmp_path).conversation("a", "b").delete(hard=True)
    assert [] == store(tmp_path).trash()


def test_stray_activities_are_kept(tmp_path: Path) -> None:
    """Other activities in the place of the restored ones go to quarantine."""
    fill(tmp_path)
    store(tmp_path).conversation("a", "b").delete()
    stray = log_of(tmp_path).with_name("b.jsonl.activities")
    stray.write_bytes(b'["stray"]')
    store(tmp_path).restore("a", "b")
    assert b"[1]" == store(tmp_path).conversation("a", "b").activities()
    assert [b'["stray"]'] == [store(tmp_path).quarantined(i["id"]) for i in store(tmp_path).quarantine()]


def test_strays_in_the_trash(tmp_path: Path) -> None:
    """What else lies in the trash is passed over."""
    data = fill(tmp_path)
    store(tmp_path).conversation("a", "b").delete()
    user = tmp_path / "trash" / "a"
    (user / "a file").write_bytes(b"")
    (user / "29990101T000000Z-0001").mkdir()
    (user / "29990101T000000Z-0001" / "b.jsonl").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "trash" / "file").write_bytes(b"")
    assert ["b"] == [item.conversation for item in store(tmp_path).trash()]
    store(tmp_path).restore("a", "b")
    assert data == log_of(tmp_path).read_bytes()


def test_events_tell_what_left_and_what_came_back(tmp_path: Path) -> None:
    """A deletion and a restoration are noted with type, user and conversation."""
    store = Store(tmp_path, run_id="r1")
    store.conversation("a", "b").append("x")
    store.conversation("a", "b").delete()
    store.restore("a", "b")
    lines = (tmp_path / ".memctl" / "events" / "a.jsonl").read_text().splitlines()
    expected = [
        {"type": "memory.deleted", "user": "a", "conversation": "b", "run_id": "r1"},
        {"type": "memory.restored", "user": "a", "conversation": "b", "run_id": "r1"},
    ]
    assert expected == [{key: json.loads(line)[key] for key in expected[0]} for line in lines]
