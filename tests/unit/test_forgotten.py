"""The forgotten list: ids once, with times, and what a crash or another hand left in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.store import forgotten
from memctl.store.layout import Layout

TIME = "2026-03-01T00:00:00Z"


@pytest.fixture
def layout(root: Path) -> Layout:
    return Layout.of(str(root))


def path(root: Path) -> Path:
    return root / "forgotten" / "alice.jsonl"


def test_ids_are_added_once(root: Path, layout: Layout) -> None:
    """An id is on the list once, with the time of its first entry; the file is for its owner alone."""
    assert set() == forgotten.ids(layout, "alice")
    forgotten.add(layout, "alice", ["a", "b", "a"], TIME, True)
    forgotten.add(layout, "alice", ["b", "c"], "2026-04-01T00:00:00Z", True)
    forgotten.add(layout, "alice", [], TIME, True)
    rows = [json.loads(line) for line in path(root).read_bytes().splitlines()]
    assert [("a", TIME), ("b", TIME), ("c", "2026-04-01T00:00:00Z")] == [
        (row["id"], row["time"]) for row in rows
    ]
    assert {"a", "b", "c"} == forgotten.ids(layout, "alice")
    assert (0o600, 0o700) == (path(root).stat().st_mode & 0o777, path(root).parent.stat().st_mode & 0o777)


@pytest.mark.parametrize("id", ["a#b", "ü", '"', "\ud800", "a\nb", "<&>", " "])
def test_any_id(layout: Layout, id: str) -> None:
    """Whatever an id is, it is read back."""
    forgotten.add(layout, "alice", [id], TIME, False)
    assert {id} == forgotten.ids(layout, "alice")


def test_removed_ids_may_come_back(root: Path, layout: Layout) -> None:
    """Ids are taken off the list, all other bytes stay; an empty list is no file."""
    forgotten.add(layout, "alice", ["a", "b"], TIME, False)
    with open(path(root), "ab") as file:
        file.write(b'{"id":"c", "note":"by hand"}\nno json\n')
    forgotten.remove(layout, "alice", ["a", "nothing"], True)
    kept = b'{"id":"b","time":"%s"}\n{"id":"c", "note":"by hand"}\nno json\n' % TIME.encode()
    assert kept == path(root).read_bytes()
    forgotten.remove(layout, "alice", ["nothing"], True)
    assert kept == path(root).read_bytes()
    path(root).write_bytes(kept.splitlines(keepends=True)[0])
    forgotten.remove(layout, "alice", ["b"], True)
    assert not path(root).exists()
    forgotten.remove(layout, "alice", ["b"], True)


def test_a_torn_line(root: Path, layout: Layout) -> None:
    """What a crash left of a line is no id, and does not spoil the next one."""
    forgotten.add(layout, "alice", ["a"], TIME, False)
    with open(path(root), "ab") as file:
        file.write(b'{"id":"torn')
    assert {"a"} == forgotten.ids(layout, "alice")
    forgotten.add(layout, "alice", ["b"], TIME, False)
    assert {"a", "b"} == forgotten.ids(layout, "alice")
