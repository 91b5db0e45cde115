"""B77, B79 and B81: records and messages found through the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .inputs import Put, Run, case_bytes, case_lines


def rows(memctl: Run, root: Path, *arguments: str) -> list[dict[str, Any]]:
    """The JSON lines that a command prints; it ends with 0 and says nothing."""
    done = memctl("--root", str(root), *arguments, "-f", "jsonl")
    assert (0, b"") == (done.returncode, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def best(found: list[dict[str, Any]]) -> str:
    """The id with the highest score."""
    return str(max(found, key=lambda row: row["score"])["id"])


@pytest.fixture
def b77(memctl: Run, root: Path, put: Put) -> Path:
    """The four texts of B77 as facts l1 to l4, and as the conversation alice/b77."""
    for number, line in enumerate(case_lines("B77"), 1):
        done = memctl(
            "--root", str(root), "remember", "alice", json.loads(line)["content"], "--id", f"l{number}"
        )
        assert (0, f"l{number}\n".encode()) == (done.returncode, done.stdout)
    put("b77", case_bytes("B77"))
    return root


def test_b77_recall(memctl: Run, b77: Path) -> None:
    """B77: words of two characters, of mixed script and of English are found; punctuation alone is not."""
    found = {
        query: rows(memctl, b77, "recall", "alice", query, "-k", "4", "--no-touch")
        for query in ("備份", "issue化", "migrate", "。", "???")
    }
    assert ("l1", "l3", "l4") == tuple(best(found[query]) for query in ("備份", "issue化", "migrate"))
    assert "l2" not in {row["id"] for row in found["備份"]}
    assert ([], []) == (found["。"], found["???"])


@pytest.mark.parametrize("target", ["alice", "alice/b77", "{file}"])
def test_b77_search(memctl: Run, b77: Path, target: str) -> None:
    """B77: the message with the word comes first, its neighbour without the word not at all."""
    file = b77 / "conversations" / "alice" / "b77.jsonl"
    found = rows(memctl, b77, "search", target.format(file=file), "備份")
    assert [0] == [row["index"] for row in found][:1]
    assert 1 not in {row["index"] for row in found}


def test_b79(memctl: Run, root: Path) -> None:
    """B79: a fact that was told three times takes one place of an answer, and is stored three times."""
    texts = [line[len("remember: ") :] for line in case_bytes("B79", "steps.txt").decode().split("\n")]
    for text in texts[:3]:
        done = memctl("--root", str(root), "remember", "alice", text)
        assert 0 == done.returncode
        assert 1 == len(done.stdout.splitlines())
    assert 1 == len(rows(memctl, root, "recall", "alice", "spare key", "-k", "2"))
    assert 3 == len(rows(memctl, root, "records", "alice"))
    assert 0 == memctl("--root", str(root), "reconcile", "alice").returncode
    assert 1 == len(rows(memctl, root, "recall", "alice", "spare key", "-k", "2"))
    assert 0 == memctl("--root", str(root), "rebuild-index", "alice", "--check").returncode


def test_b81(memctl: Run, root: Path, put: Put) -> None:
    """B81: of two answers the newer one is better; the lines are oldest first, the same in 20 runs."""
    put("b81", case_bytes("B81"))
    assert 0 == memctl("--root", str(root), "remember", "alice", "--from", "b81").returncode
    ask = ("--now", "2026-03-01T00:00:00Z", "recall", "alice", "ssh port of the box", "--no-touch")
    found = rows(memctl, root, *ask)
    scores = {row["content"].split()[-1]: row["score"] for row in found}
    assert scores["49222"] > scores["22"]
    assert "blue" not in scores or min(scores.values()) == scores["blue"]
    expected = [last for last in ("22", "49222", "blue") if last in scores]
    assert expected == list(scores)
    assert all("created_at" in row for row in found)
    (only,) = rows(memctl, root, *ask, "-k", "1")
    assert "49222" in only["content"]
    printed = {memctl("--root", str(root), *ask, "-f", "jsonl").stdout for _ in range(20)}
    assert 1 == len(printed)
