"""`memctl pin` and `unpin`: all that are named, or none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl import Store
from memctl.api.memory import Memory
from memctl.errors import NotFound
from memctl.store import archive, forgotten
from tests.conftest import Memctl

NOW = "2026-03-04T09:00:00.000000Z"


@pytest.fixture
def memory(root: Path) -> Memory:
    """Alice's memory: a in hot, b in warm, c in cold and pinned, with accesses and keys of its own."""
    memory = Store(root).memory("alice")
    memory.remember(
        [
            {"id": "a", "content": "A"},
            {"id": "b", "content": "B", "tier": "warm", "access_count": 2, "mine": 1},
            {"id": "c", "content": "C", "tier": "cold", "pinned": True},
        ]
    )
    return memory


def files(root: Path) -> dict[Path, tuple[bytes, int]]:
    """The bytes and times of the tier files."""
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in (root / "tiers").rglob("*")
        if path.is_file()
    }


def test_a_pinned_record_keeps_all_else(memory: Memory, root: Path) -> None:
    """The line is the old one with `pinned` and one version more, in the same tier."""
    before = memory.get("b")
    done = memory.pin("b")
    assert ("alice", True, ["b"], []) == done
    after = memory.get("b")
    assert ("warm", before.rev + 1, True) == (after.tier, after.rev, after.pinned)
    assert {**before.value, "pinned": True, "rev": before.rev + 1} == after.value
    assert 2 == (root / "tiers" / "warm" / "alice.jsonl").read_bytes().count(b"\n")
    assert not memory.unpin("b").pinned
    assert {**before.value, "pinned": False, "rev": before.rev + 2} == memory.get("b").value


def test_several_in_several_tiers(memory: Memory) -> None:
    """Each once, in the order that was given; what is so already is named apart."""
    assert (["b", "a"], ["c"]) == memory.pin("b", "c", "a", "b")[2:]
    assert [True, True, True] == [record.pinned for record in memory.list_all()]


def test_no_change_writes_nothing(memory: Memory, root: Path) -> None:
    """What is pinned already, or free already, leaves every byte and time as it was."""
    before = files(root)
    assert ([], ["c"]) == memory.pin("c")[2:]
    assert ([], ["a", "b"]) == memory.unpin("a", "b")[2:]
    assert before == files(root)


def test_all_or_nothing(memory: Memory, root: Path) -> None:
    """One id that is not there changes nothing of the others."""
    before = files(root)
    with pytest.raises(NotFound, match="no record nope of alice"):
        memory.pin("a", "nope", "b")
    assert before == files(root)


def test_where_a_missing_record_is(memory: Memory) -> None:
    """The error of an archived or a forgotten record says so."""
    layout = memory.setup.layout
    archive.append(layout, "alice", [archive.line(b'{"id":"old","rev":1}', NOW, "x")], fsync=False)
    forgotten.add(layout, "alice", ["gone"], NOW, False)
    for id, said in (("old", "was archived"), ("gone", "was forgotten")):
        with pytest.raises(NotFound, match=said):
            memory.pin(id)


def test_the_commands(memctl: Memctl, memory: Memory, root: Path) -> None:
    """What changed is a line each; --json is one object; an unknown user makes no store."""
    done = memctl("--root", str(root), "pin", "alice", "a", "c")
    assert (0, b"pinned a\n1 record pinned before\n", b"") == (done.returncode, done.stdout, done.stderr)
    assert b"" == memctl("--root", str(root), "-q", "unpin", "alice", "a").stdout
    done = memctl("--root", str(root), "unpin", "alice", "a", "c", "--json")
    report = {"user": "alice", "pinned": False, "changed": ["c"], "unchanged": ["a"]}
    assert report == json.loads(done.stdout)
    done = memctl("--root", str(root / "other"), "pin", "alice", "a", "--json")
    assert (66, b"") == (done.returncode, done.stdout)
    assert "not-found" == json.loads(done.stderr)["error"]["code"]
    assert not (root / "other").exists()
    assert 2 == memctl("--root", str(root), "pin", "alice").returncode
