"""The rows of the table that concern a store: permissions, links, strays, names, caches, activities."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from memctl import Store

FAST = {"durability": "none", "heal.settle_ms": 0}
TALK = b'{"role":"user","content":"hi"}\n{"role":"assistant","content":"yes"}\n'


class Disk:
    """A store with one conversation of which nothing is wrong."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store(root, settings=FAST)
        self.store.conversation("alice", "talk").append_jsonl(TALK)
        self.user = root / "conversations" / "alice"
        self.log = self.user / "talk.jsonl"

    def named(self) -> list[tuple[str, str, str, Any]]:
        """Of each problem in the whole store: target, code, severity, line."""
        return [
            (target.target, problem.code, problem.severity, problem.line)
            for target in self.store.inspect().targets
            for problem in target.problems
        ]

    def repaired(self) -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
        """What a repair of the store fixed and left; its plan says the same, a second one fixes none."""
        plan = self.store.repair(apply=False).report()
        done = self.store.repair().report()
        for target in plan["targets"]:
            target["applied"] = True
        assert plan == done
        again = self.store.repair()
        assert (0, done["left"]) == (again.fixed, again.left)
        fixed = [(t["target"], i["code"], i["action"]) for t in done["targets"] for i in t["fixed"]]
        left = [(t["target"], i["code"], i["severity"]) for t in done["targets"] for i in t["left"]]
        return fixed, left


@pytest.fixture
def disk(root: Path) -> Disk:
    return Disk(root)


def test_nothing_is_wrong_with_what_memctl_writes(disk: Disk) -> None:
    """A store that only memctl wrote has no problem, and its repair does nothing."""
    disk.store.conversation("alice", "talk").window(0)
    before = disk.log.read_bytes()
    assert [] == disk.named()
    assert ([], []) == disk.repaired()
    assert before == disk.log.read_bytes()


@pytest.mark.parametrize(("mode", "after"), [(0o644, 0o640), (0o606, 0o600), (0o777, 0o770)])
def test_mode(disk: Disk, mode: int, after: int) -> None:
    """Any permission for others on a log is taken away, those of the group stay."""
    disk.log.chmod(mode)
    assert [("alice/talk", "mode", "warning", None)] == disk.named()
    assert ([("alice/talk", "mode", "permission taken away")], []) == disk.repaired()
    assert after == disk.log.stat().st_mode & 0o7777
    assert [] == disk.named()


def test_mode_with_damage(disk: Disk) -> None:
    """A log that is replaced has the mode that repair gives it, and the damage is mended too."""
    disk.log.write_bytes(TALK + b"oops\n")
    disk.log.chmod(0o644)
    assert {"bad-json", "mode"} == {code for _, code, _, _ in disk.named()}
    fixed, left = disk.repaired()
    assert ({"bad-json", "mode"}, []) == ({code for _, code, _ in fixed}, left)
    assert (TALK, 0o640) == (disk.log.read_bytes(), disk.log.stat().st_mode & 0o7777)


def test_mode_of_directories(disk: Disk) -> None:
    """The directory of a user, and what is kept, may not be open to others either."""
    aside = disk.root / "quarantine" / "alice"
    aside.mkdir(parents=True)
    for path in (disk.user, aside.parent, aside):
        path.chmod(0o755)
    expected = {str(disk.user), str(aside.parent), str(aside)}
    assert {(path, "mode") for path in expected} == {row[:2] for row in disk.named()}
    disk.repaired()
    assert {0o750} == {path.stat().st_mode & 0o7777 for path in (disk.user, aside.parent, aside)}


def test_no_other_mode_passes_for_a_problem(disk: Disk) -> None:
    """What the group may do is the owner's affair."""
    disk.log.chmod(0o660)
    assert [] == disk.named()


def test_symlink(disk: Disk, tmp_path: Path) -> None:
    """A link in a store is an error, is not followed and is left, wherever it leads."""
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(b"oops\n")
    link = disk.user / "link.jsonl"
    link.symlink_to(outside)
    assert [(str(link), "symlink", "error", None)] == disk.named()
    assert ([], [(str(link), "symlink", "error")]) == disk.repaired()
    assert (b"oops\n", True) == (outside.read_bytes(), link.is_symlink())


@pytest.mark.parametrize("where", ["notes.txt", "conversations/notes.txt", "conversations/alice/notes.txt"])
def test_stray_file(disk: Disk, where: str) -> None:
    """A file that belongs to nothing is named wherever it lies, and left."""
    stray = disk.root / where
    stray.write_bytes(b"mine")
    stray.chmod(0o600)
    assert [(str(stray), "stray-file", "warning", None)] == disk.named()
    assert ([], [(str(stray), "stray-file", "warning")]) == disk.repaired()
    assert b"mine" == stray.read_bytes()


def test_activities_without_a_conversation_are_stray(disk: Disk) -> None:
    """Activities belong to a log; without it they are nobody's."""
    stray = disk.user / "gone.jsonl.activities"
    stray.write_bytes(b"[]")
    stray.chmod(0o600)
    assert [(str(stray), "stray-file", "warning", None)] == disk.named()


@pytest.mark.parametrize("name", ["a%2.jsonl", "a%zz.jsonl", "%61.jsonl"])
def test_odd_name(disk: Disk, name: str) -> None:
    """A file whose name no conversation is written as is looked at, and left under its name."""
    odd = disk.user / name
    odd.write_bytes(TALK)
    odd.chmod(0o600)
    assert [(str(odd), "odd-name", "warning", None)] == disk.named()
    assert 2 == sum(target.messages for target in disk.store.inspect().targets if target.target == str(odd))
    plan = disk.store.repair(apply=False)
    assert (0, 1) == (plan.fixed, plan.left)
    assert TALK == odd.read_bytes()


def test_stale_cache(disk: Disk) -> None:
    """A cache of other bytes than the log has is named as an info, and made anew."""
    talk = disk.store.conversation("alice", "talk")
    talk.window(0)
    status = disk.log.stat()
    other = TALK.replace(b"hi", b"ho")
    disk.log.write_bytes(other)
    os.utime(disk.log, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [("alice/talk", "stale-cache", "info", None)] == disk.named()
    assert ([("alice/talk", "stale-cache", "rebuilt")], []) == disk.repaired()
    assert ([], other) == (disk.named(), disk.log.read_bytes())
    assert other.splitlines() == list(talk.window(0).lines)


@pytest.mark.parametrize("data", [b"{}", b"not JSON", b"", b"[1", b"3"])
def test_bad_activities(disk: Disk, data: bytes) -> None:
    """Activities that are no array are an error and go to quarantine; the conversation has none then."""
    path = disk.user / "talk.jsonl.activities"
    path.write_bytes(data)
    path.chmod(0o600)
    before = disk.log.read_bytes()
    assert [(str(path), "bad-activities", "error", None)] == disk.named()
    plan = disk.store.repair(apply=False)
    assert ([str(path)], data) == ([t.target for t in plan.targets if t.fixed], path.read_bytes())
    done = disk.store.repair()
    (target,) = [target for target in done.targets if target.fixed]
    assert (0, len(data)) == (target.kept, target.quarantined_bytes)
    assert (False, before) == (path.exists(), disk.log.read_bytes())
    if data:
        assert target.quarantine is not None
        assert data == disk.store.quarantined(target.quarantine)
    assert b"[]" == disk.store.conversation("alice", "talk").activities()
    assert (0, []) == (disk.store.repair().fixed, disk.named())


@pytest.mark.parametrize("data", [b' [{"a":1.10}, null]\n', b"[]", b"null"])
def test_good_activities_are_no_problem(disk: Disk, data: bytes) -> None:
    """An array is left byte for byte, whatever it holds, and so is the null of a Go program."""
    path = disk.user / "talk.jsonl.activities"
    path.write_bytes(data)
    path.chmod(0o600)
    assert ([], []) == (disk.named(), disk.repaired()[0])
    assert data == path.read_bytes()
