"""What stands in the place of the journal, or of what a killed pass left, stops no answer and no command."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from memctl import Store
from tests.conftest import Memctl

JOURNAL = ".memctl/access/alice.jsonl"
INTENT = ".memctl/state/fold/alice.json"
READERS = (("records", "alice"), ("get", "alice", "one"), ("recall", "alice", "blue"))
#: At the first pass `one` leaves hot.
NOW = ("--now", "2026-03-04T09:00:00Z")
LATER = ("--now", "2026-03-06T09:00:00Z")


def stand_in(path: Path, kind: str, tmp_path: Path) -> None:
    """Put something else in the place of a file or directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind == "directory":
        path.mkdir()
        (path / "x").write_bytes(b"")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        target = tmp_path / "elsewhere"
        target.mkdir(exist_ok=True)
        path.symlink_to(target)


@pytest.fixture
def filled(memctl: Memctl, root: Path) -> Path:
    """A store with a record that was recalled once."""
    assert (
        0 == memctl("--root", str(root), *NOW, "remember", "alice", "the blue door", "--id", "one").returncode
    )
    assert 0 == memctl("--root", str(root), *NOW, "recall", "alice", "blue").returncode
    return root


@pytest.mark.parametrize("kind", ["directory", "pipe", "link"])
@pytest.mark.parametrize("place", [JOURNAL, INTENT])
def test_readers_answer_and_say_so(
    memctl: Memctl, filled: Path, tmp_path: Path, place: str, kind: str
) -> None:
    """records, get and recall print the record and name on standard error what they could not read."""
    stand_in(filled / place, kind, tmp_path)
    for reader in READERS:
        done = memctl("--root", str(filled), *NOW, *reader)
        assert (0, ["one"]) == (
            done.returncode,
            [json.loads(line)["id"] for line in done.stdout.splitlines()],
        )
        assert f"are not shown: {filled / place} is " in done.stderr.decode()


@pytest.mark.parametrize("place", [".memctl/access", ".memctl/state"])
def test_links_in_the_place_of_directories(memctl: Memctl, filled: Path, tmp_path: Path, place: str) -> None:
    """They stop no reader either, and nothing is read or written behind them."""
    stand_in(filled / place, "link", tmp_path)
    for reader in READERS:
        done = memctl("--root", str(filled), *NOW, *reader)
        assert (0, 1) == (done.returncode, len(done.stdout.splitlines()))
        assert "is a symbolic link" in done.stderr.decode()
    assert [] == os.listdir(tmp_path / "elsewhere")


@pytest.mark.parametrize("kind", ["directory", "link"])
@pytest.mark.parametrize("place", [JOURNAL, INTENT])
def test_commands_that_write_go_on(
    memctl: Memctl, filled: Path, tmp_path: Path, place: str, kind: str
) -> None:
    """remember, pin, reconcile and forget do their work; the pass reports the journal as left out."""
    stand_in(filled / place, kind, tmp_path)
    assert (
        0
        == memctl("--root", str(filled), *NOW, "remember", "alice", "the blue gate", "--id", "one").returncode
    )
    assert (
        0
        == memctl("--root", str(filled), *NOW, "remember", "alice", "the red gate", "--id", "two").returncode
    )
    assert 0 == memctl("--root", str(filled), *NOW, "pin", "alice", "two").returncode
    done = memctl("--root", str(filled), *LATER, "reconcile", "alice", "--json")
    report = json.loads(done.stdout)
    assert (0, 1) == (done.returncode, report["demoted"])
    assert [{"user": "alice", "where": "journal", "line": 0}] == report["left_out"]
    assert 0 == memctl("--root", str(filled), *LATER, "forget", "alice", "one", "--yes").returncode
    assert ["two"] == [record.id for record in Store(filled).memory("alice").list_all()]


def test_a_link_in_the_place_of_the_intent_is_replaced(memctl: Memctl, filled: Path, tmp_path: Path) -> None:
    """A pass that archives puts its own file there: not behind the link, and not with a link's mode."""
    from memctl.store import intent
    from memctl.store.layout import Layout

    stand_in(filled / INTENT, "link", tmp_path)
    intent.write(Layout.of(str(filled)), "alice", intent.Intent("m", 0, {}, None), fsync=False)
    status = (filled / INTENT).lstat()
    assert (stat.S_IFREG | 0o600) == status.st_mode
    assert [] == os.listdir(tmp_path / "elsewhere")


def test_the_pass_says_it_to_people(memctl: Memctl, filled: Path, tmp_path: Path) -> None:
    """Without --json a line on standard error tells that no access was counted."""
    stand_in(filled / JOURNAL, "directory", tmp_path)
    done = memctl("--root", str(filled), *NOW, "reconcile", "alice")
    assert 0 == done.returncode
    assert "alice: the journal of accesses cannot be read; nothing of it is counted" in done.stderr.decode()
