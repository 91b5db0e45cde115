"""purge: what goes for good, what stays, and the plan."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memctl import Store, UsageError
from memctl.store import history
from tests.conftest import Memctl

from .stored import NOW_US, line, put

DAY_US = 86_400_000_000
SETTINGS: dict[str, Any] = {"heal.settle_ms": 0, "durability": "none", "lock.timeout_s": 0.2}
KINDS = ("trash", "archive", "quarantine", "events")


def opened(root: Path, days_ago: int = 0, **more: object) -> Store:
    return Store(root, now_us=NOW_US - days_ago * DAY_US, settings=SETTINGS | more)


def archived(id: str, days_ago: int) -> bytes:
    time = opened(Path("/x"), days_ago).setup.time_us() // 1_000_000
    return line(id, f"text of {id}", tier="cold", archived_at=time_text(time), archived_for="capacity")


def time_text(seconds: int) -> str:
    from memctl.ops.setup import rfc3339

    return rfc3339(seconds * 1_000_000)


def fill(root: Path) -> None:
    """One thing of each kind of 60 days ago, one of yesterday; a conversation and a record beside."""
    for days_ago in (60, 1):
        store = opened(root, days_ago)
        talk = store.conversation("alice", f"talk{days_ago}")
        talk.append("goes", id="gone")
        talk.append("stays", id="stays")
        talk.drop(["gone"])
        store.conversation("alice", f"deleted{days_ago}").append("away")
        store.conversation("alice", f"deleted{days_ago}").set_activities(b"[]")
        store.conversation("alice", f"deleted{days_ago}").delete()
    (root / "archive").mkdir(mode=0o700)
    (root / "archive" / "alice.jsonl").write_bytes(archived("old", 60) + archived("new", 1))
    put(root, line("seat", "text"))
    leftover = root / ".memctl" / "tmp" / ".memctl-1-0123456789ab"
    leftover.parent.mkdir(exist_ok=True)
    leftover.write_bytes(b"half")


@pytest.fixture
def store(root: Path) -> Store:
    fill(root)
    return opened(root)


def tree(root: Path) -> dict[str, bytes]:
    """Each file but caches and locks."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not {"cache", "locks"} & set(path.relative_to(root).parts)
    }


def counts(report: Any) -> dict[str, int]:
    return {row["kind"]: row["items"] for row in report.kinds}


ALL = {"trash": 2, "archive": 2, "quarantine": 2, "events": 2, "leftovers": 1}


def test_all(root: Path, store: Store) -> None:
    """Without --only all four kinds go, and leftovers; conversations, records and the rest stay."""
    kept = {
        name: data
        for name, data in tree(root).items()
        if name.startswith(("conversations/", "tiers/", ".memctl/format"))
    }
    done = store.purge()
    assert (True, ALL, []) == (done.applied, counts(done), done.failed)
    assert kept == tree(root)
    assert ([], []) == (store.trash(), store.quarantine())
    assert [] == list((root / "trash" / "alice").iterdir())


def test_the_plan_is_the_deed(root: Path, store: Store) -> None:
    """Without --yes not a byte changes, and the report is that of the deed but for `applied`."""
    before = tree(root)
    plan = store.purge(apply=False)
    assert before == tree(root)
    assert plan._replace(applied=True) == store.purge()
    assert dict.fromkeys(ALL, 0) == counts(store.purge())


def test_the_plan_names_each_item(store: Store) -> None:
    """Each entry, record and item is named with its time and its bytes; the events of a user are one."""
    rows = {(row["kind"], row["time"], row["count"], row["bytes"]) for row in store.purge(apply=False).items}
    assert ("archive", "2025-12-31T00:00:00.000000Z", 1, len(archived("old", 60))) in rows
    assert {"2025-12-31T00:00:00Z", "2026-02-28T00:00:00Z"} == {row[1] for row in rows if row[0] == "trash"}
    (events,) = [row for row in rows if row[0] == "events"]
    assert ("2025-12-31T00:00:00.000000Z", 2) == events[1:3]
    names = [row["name"] for row in store.purge(apply=False).items]
    assert {"old", "new", "alice.jsonl"} <= set(names)


@pytest.mark.parametrize("kind", KINDS)
def test_only(root: Path, store: Store, kind: str) -> None:
    """With --only one kind goes; every file of the others is as it was."""
    folder = {"events": ".memctl/events/"}.get(kind, f"{kind}/")
    before = {name: data for name, data in tree(root).items() if not name.startswith(folder)}
    assert {kind: 2} == counts(store.purge(only=[kind]))
    assert before == tree(root)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("days", "gone"), [(90, 0), (61, 0), (59, 1), (2, 1), (0.5, 2), (0, 2)])
def test_older_than(store: Store, kind: str, days: float, gone: int) -> None:
    """With an age only what is older goes."""
    assert {kind: gone} == counts(store.purge(only=[kind], older_than_s=days * 86_400))
    assert {kind: 2 - gone} == counts(store.purge(only=[kind], apply=False))


def test_what_has_no_time_stays(root: Path, store: Store) -> None:
    """With an age, what has no time that can be read stays; without one it goes."""
    with open(root / "archive" / "alice.jsonl", "ab") as file:
        file.write(line("undated", "x") + b"no json\n")
    with open(root / ".memctl" / "events" / "alice.jsonl", "ab") as file:
        file.write(b'{"type":"memory.deleted"}\nno json\n')
    (root / "trash" / "alice" / "by-hand").mkdir()
    (root / "trash" / "alice" / "by-hand" / "x.jsonl").write_bytes(b"{}\n")
    store.purge(older_than_s=1)
    assert line("undated", "x") + b"no json\n" == (root / "archive" / "alice.jsonl").read_bytes()
    events = (root / ".memctl" / "events" / "alice.jsonl").read_bytes()
    assert b'{"type":"memory.deleted"}\nno json\n' == events
    assert (root / "trash" / "alice" / "by-hand" / "x.jsonl").exists()
    assert {"trash": 1, "archive": 2, "quarantine": 0, "events": 2, "leftovers": 0} == counts(store.purge())
    assert not (root / "archive" / "alice.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        pytest.param(".{}-0123456789ab", True, id="cache"),
        pytest.param(".{}-0123456789ab-journal", True, id="beside it"),
        pytest.param(".{}-short", False, id="other name"),
        pytest.param(".99999999999999999999999-0123456789ab", False, id="no process"),
        pytest.param(".0-0123456789ab", False, id="our own group"),
    ],
)
def test_caches_that_were_not_finished(root: Path, store: Store, name: str, is_one: bool) -> None:
    """An unfinished cache of a process that is no more is a leftover; whatever else has such a name stays."""
    path = root / ".memctl" / "cache" / "search" / name.format(ended_process())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"half")
    assert 1 + is_one == counts(store.purge())["leftovers"]
    assert is_one is not path.exists()


def ended_process() -> int:
    """The id of a process that is no more."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def test_events_written_meanwhile_stay(root: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that another process writes into the old file while it is replaced is kept."""
    path = root / ".memctl" / "events" / "alice.jsonl"
    late = b'{"time":"2026-03-01T00:00:00Z","type":"memory.deleted","user":"alice"}\n'
    real = history.line_files.replace

    def replace(*args: Any, **more: Any) -> None:
        with open(path, "ab") as file:
            file.write(late)
        real(*args, **more)

    monkeypatch.setattr(history.line_files, "replace", replace)
    assert {"events": 1} == counts(store.purge(only=["events"], older_than_s=30 * 86_400))
    assert 2 == path.read_bytes().count(b"\n")
    assert path.read_bytes().endswith(late)


def test_events_of_refused_names(root: Path) -> None:
    """Events of names that cannot be one are purged, too; they have no user."""
    store = opened(root)
    store.setup.event(None, "memory.identity_rejected", name=" ")
    (row,) = store.purge(only=["events"]).items
    assert (None, 1) == (row["user"], row["count"])
    assert not list((root / ".memctl" / "events").iterdir())


def test_what_a_killed_delete_left(root: Path, store: Store) -> None:
    """Entries with activities alone, and empty ones, go too."""
    (root / "trash" / "alice" / "20260101T000000Z-0009").mkdir()
    entry = root / "trash" / "alice" / "20260101T000000Z-0008"
    entry.mkdir()
    (entry / "talk60.jsonl.activities").write_bytes(b"[]")
    assert {"trash": 4} == counts(store.purge(only=["trash"]))
    assert [] == list((root / "trash" / "alice").iterdir())


def test_a_locked_conversation(root: Path, store: Store) -> None:
    """What cannot be locked is named and stays; everything else goes."""
    from memctl import Reference

    with opened(root).setup.lock(Reference("alice", "talk60"), "holding"):
        done = store.purge()
    assert [("quarantine", "alice", "lock-timeout")] == [
        (row["kind"], row["user"], row["code"]) for row in done.failed
    ]
    assert ALL | {"quarantine": 1} == counts(done)
    assert 1 == len(store.quarantine())


def test_a_locked_memory(root: Path, store: Store) -> None:
    """The archive of a user whose records are locked stays whole."""
    before = (root / "archive" / "alice.jsonl").read_bytes()
    with opened(root).setup.records_lock("alice", "holding"):
        done = store.purge(only=["archive"])
    assert ({"archive": 0}, "lock-timeout") == (counts(done), done.failed[0]["code"])
    assert before == (root / "archive" / "alice.jsonl").read_bytes()


def test_a_link_in_the_trash(root: Path, store: Store, tmp_path: Path) -> None:
    """A link in an entry is not followed, and the entry with it stays."""
    (tmp_path / "mine").write_bytes(b"precious")
    entry = root / "trash" / "alice" / "20260101T000000Z-0008"
    entry.mkdir()
    (entry / "link.jsonl").symlink_to(tmp_path / "mine")
    store.purge()
    assert b"precious" == (tmp_path / "mine").read_bytes()
    assert (entry / "link.jsonl").is_symlink()


def test_a_tenant_is_left_alone(root: Path, store: Store) -> None:
    """Without a tenant the trash of tenants stays."""
    inner = Store(root, tenant="t", settings=SETTINGS)
    inner.conversation("bob", "c").append("x")
    inner.conversation("bob", "c").delete()
    store.purge()
    assert 1 == len(inner.trash())
    assert {"trash": 1} == counts(inner.purge(only=["trash"]))


def test_unknown_kind(store: Store) -> None:
    """A kind that is none is refused before anything goes."""
    with pytest.raises(UsageError, match="trsh"):
        store.purge(only=["trash", "trsh"])
    assert 2 == len(store.trash())


def test_command(memctl: Memctl, root: Path, store: Store) -> None:
    """B64: without --yes the plan, applied false, exit 1, nothing changed; with --yes exit 0."""
    before = tree(root)
    start = ("--root", str(root), "--now", "2026-03-01T00:00:00Z")
    plan = memctl(*start, "purge", "--json")
    report = json.loads(plan.stdout)
    assert (1, False, ALL) == (
        plan.returncode,
        report["applied"],
        {row["kind"]: row["items"] for row in report["kinds"]},
    )
    said = memctl(*start, "purge", "--only", "trash", "--older-than", "30d")
    size = sum(len(data) for name, data in before.items() if "deleted60.jsonl" in name)
    wanted = b"would be removed: 1 entry in the trash, %d bytes\n" % size
    assert (1, wanted) == (said.returncode, said.stdout)
    assert before == tree(root)
    named = memctl(*start, "-v", "purge", "--only", "archive", "--yes").stdout
    assert b"removed: archive old of alice" in named
    assert 0 == memctl(*start, "-q", "purge", "--yes").returncode
    assert dict.fromkeys(ALL, 0) == counts(store.purge(apply=False))


@pytest.mark.parametrize(
    "arguments", [("--only", "trsh"), ("--older-than", "soon"), ("--older-than", "-1d"), ("alice",)]
)
def test_command_refuses(memctl: Memctl, root: Path, arguments: tuple[str, ...]) -> None:
    """What cannot be meant is 2, with empty output."""
    done = memctl("--root", str(root), "purge", *arguments, "--yes")
    assert (2, b"") == (done.returncode, done.stdout)


def test_command_with_a_failure(memctl: Memctl, root: Path, store: Store) -> None:
    """What stays is named on standard error, and the command ends with 1."""
    with opened(root).setup.records_lock("alice", "holding"):
        done = memctl("--root", str(root), "--lock-timeout", "0", "purge", "--only", "archive", "--yes")
    assert 1 == done.returncode
    assert b"archive alice stays: " in done.stderr
