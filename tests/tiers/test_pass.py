"""What a pass writes: the moved lines, the folded accesses, the archive, events; and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memctl import BadInput, Store
from memctl.core.tier import TIERS
from memctl.store import disk, journal

from .stored import DAY, HOUR, NOW_US, UNSET, ago, file, line, places, put, store, stored, tree, value

OFF = {f"policy__{tier}_capacity": 0 for tier in TIERS}


def events(root: Path, user: str = "alice") -> list[dict[str, Any]]:
    path = root / ".memctl" / "events" / f"{user}.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def note(root: Path, *ids: str, seconds_ago: float = 0, times: int = 1) -> None:
    """Accesses, as recall notes them."""
    for _ in range(times):
        assert journal.note(store(root).setup.layout, "alice", ids, ago(seconds_ago), 1.0)


def test_a_moved_line(root: Path) -> None:
    """A move changes tier, entry, accesses since and rev; every other byte of the line stays."""
    raw = (
        b'{"id":"a", "n":123456789012345678901234567890,"x":"\\ud800","tier":"hot","access_count":2,'
        b'"tier_access_count":1,"last_access_at":"%b","rev":4}' % ago(2 * DAY).encode()
    )
    put(root, raw + b"\n", tier="hot")
    assert 1 == store(root).memory("alice").reconcile().demoted
    expected = (
        raw.replace(b'"tier":"hot"', b'"tier":"warm"')
        .replace(b'"tier_access_count":1', b'"tier_access_count":0')
        .replace(b'"rev":4}', b'"rev":5,"promoted_at":"%b"}' % ago(0).encode())
    )
    assert (b"", expected + b"\n") == (file(root, "hot"), file(root, "warm"))


def test_accesses_are_folded_in(root: Path) -> None:
    """Accesses count in all and in the tier, the newest is the last one; the journal is empty then."""
    put(root, value("a", age=HOUR, access_count=4, tier_access_count=1), value("b", age=HOUR))
    note(root, "a", "gone", seconds_ago=60)
    note(root, "a", seconds_ago=120)
    done = store(root).memory("alice").reconcile()
    assert (0, 2) == (len(done.moves), done.passed[0].accesses)
    a, b = stored(root, "hot")
    assert value("b", age=HOUR) == b
    assert (6, 3, ago(60), 2) == (
        a["access_count"],
        a["tier_access_count"],
        a["last_access_at"],
        a["rev"],
    )
    assert not (root / ".memctl" / "access" / "alice.jsonl").exists()
    assert not (root / ".memctl" / "state" / "fold" / "alice.json").exists()


@pytest.mark.parametrize(("tier", "needed", "target"), [("warm", 3, "hot"), ("cold", 6, "warm")])
def test_accesses_lift(root: Path, tier: str, needed: int, target: str) -> None:
    """The access that makes the number full lifts the record; in its new tier it begins at 0."""
    put(root, value("a", tier))
    note(root, "a", times=needed - 1)
    assert 0 == store(root).memory("alice").reconcile().promoted
    note(root, "a")
    done = store(root).memory("alice").reconcile()
    assert [("alice", ("a", tier, target, "accesses"))] == done.moves
    (row,) = stored(root, target)
    assert (needed, 0, ago(0)) == (row["access_count"], row["tier_access_count"], row["promoted_at"])


def test_an_access_keeps_a_record(root: Path) -> None:
    """A record that was recalled lately does not go, though its line has an old time."""
    put(root, value("a", age=2 * DAY), value("b", age=2 * DAY))
    note(root, "a", seconds_ago=HOUR)
    store(root).memory("alice").reconcile()
    assert {"hot": ["a"], "warm": ["b"]} == places(root)


def test_evicted_to_the_archive(root: Path) -> None:
    """What leaves cold is a line of the archive, with its accesses, and when and why; its bytes else stay."""
    put(root, value("a", "cold", 3, extra={"x": 1.0}), value("b", "cold", 2), value("c", "cold", 1))
    note(root, "a", seconds_ago=2.5)
    done = store(root, policy__cold_capacity=2).memory("alice").reconcile()
    assert (1, 1, []) == (done.evicted, done.archived, done.report()["deleted"])
    expected = value("a", "cold", 3, extra={"x": 1.0}) | {
        "access_count": 1,
        "last_access_at": ago(2.5),
        "rev": 2,
        "tier_access_count": 1,
        "archived_at": ago(0),
        "archived_for": "cold_capacity",
    }
    archive = (root / "archive" / "alice.jsonl").read_bytes()
    assert expected == json.loads(archive)
    assert archive.startswith(line(value("a", "cold", 3, extra={"x": 1.0}))[:60])
    assert ["a"] == [record.id for record in store(root).memory("alice").records(archived=True).records]


def test_evicted_for_good(root: Path) -> None:
    """With `policy.evict = delete` the report names each id, and no archive is made."""
    put(root, *(value(id, "cold", age) for id, age in (("a", 3), ("b", 2), ("c", 1))))
    done = store(root, policy__cold_capacity=1, policy__evict="delete").memory("alice").reconcile()
    assert (2, 0) == (done.evicted, done.archived)
    assert [{"user": "alice", "id": id} for id in "ab"] == done.report()["deleted"]
    assert {"cold": ["c"]} == places(root)


def test_events(root: Path) -> None:
    """Each move leaves an event, in the order of ids, with the rule that made it."""
    put(root, value("b", age=2 * DAY), value("a", "warm", tier_access_count=3), value("c", "cold", 9))
    note(root, "a")
    alice = Store(root, now_us=NOW_US, run_id="run-1", settings={"policy.cold_ttl": 5}).memory("alice")
    alice.reconcile()
    start = {"time": ago(0), "user": "alice", "run_id": "run-1"}
    move = {"type": "tier.promoted", "record_id": "a", "from_tier": "warm", "to_tier": "hot"}
    assert [
        start | move | {"reason": "accesses"},
        start
        | {"type": "tier.demoted", "record_id": "b", "from_tier": "hot", "to_tier": "warm"}
        | {"reason": "hot_ttl"},
        start | {"type": "tier.evicted", "record_id": "c", "from_tier": "cold", "reason": "cold_ttl"},
    ] == events(root)


def test_a_settled_store_is_not_written(root: Path) -> None:
    """Where there is nothing to do no byte and no time of any file changes, and no lock is taken."""
    put(root, value("a"), value("b", "warm"), value("c", "cold"))
    before = tree(root)
    done = store(root).memory("alice").reconcile()
    assert (before, []) == (tree(root), done.moves)


def test_a_dry_run(root: Path) -> None:
    """A dry run changes nothing, and its report is that of the run."""
    put(root, value("a", age=2 * DAY), value("b", "warm"), b"no record\n", tier="warm")
    put(root, *(value(f"c{n}", "cold", n) for n in range(3)))
    note(root, "b", times=3)
    before = tree(root)
    asked = store(root, policy__cold_capacity=1)
    planned = asked.memory("alice").reconcile(dry_run=True)
    assert before == tree(root)
    done = asked.memory("alice").reconcile()
    assert planned.report(explain=True) == done.report(explain=True)
    assert (1, 1, 2) == (done.promoted, done.demoted, done.evicted)


def test_older_lines_go(root: Path) -> None:
    """Lines that a newer one took the place of, in any tier, are gone after a pass; the newest stays."""
    put(root, value("a", rev=1), value("a", rev=3, content="newest"), value("b"), value("a", rev=2))
    put(root, value("a", "warm", rev=2), value("c", "warm"), value("b", "cold", rev=1))
    assert [] == store(root).memory("alice").reconcile().moves
    assert [value("a", rev=3, content="newest"), value("b")] == stored(root, "hot")
    assert {"hot": ["a", "b"], "warm": ["c"]} == places(root)


BAD = [b"no json", b'{"content":"no id"}', b"[1]", b'{"id":""}', b"\xff\xfe", b'{"id":"torn"', b""]


def test_lines_that_are_no_records_stay(root: Path) -> None:
    """They stay byte for byte between the same neighbours, and each is named by its number."""
    keep, leave = value("keep"), value("leave", age=2 * DAY)
    put(root, keep, *(bad + b"\n" for bad in BAD[:3]), leave, *(bad + b"\n" for bad in BAD[3:]), tier="hot")
    done = store(root).memory("alice").reconcile()
    assert line(keep) + b"".join(bad + b"\n" for bad in BAD) == file(root, "hot")
    assert [("hot", number) for number in (2, 3, 4, 6, 7, 8)] == done.passed[0].left_out
    assert {"user": "alice", "where": "hot", "line": 2} == done.report()["left_out"][0]
    again = store(root).memory("alice").reconcile()
    assert [("hot", number) for number in (2, 3, 4, 5, 6, 7)] == again.passed[0].left_out


@pytest.mark.parametrize("tail", [b'{"id":"torn', line(value("whole", "warm"))[:-1]], ids=["torn", "whole"])
def test_a_last_line_without_its_end(root: Path, tail: bytes) -> None:
    """What a crash left at the end of a file stays a line of its own when records come in behind it."""
    put(root, tail, value("a", age=2 * DAY), tier="warm")
    store(root).memory("alice").reconcile()
    lines = file(root, "warm").splitlines()
    assert [tail, "a"] == [lines[0], json.loads(lines[1])["id"]]
    assert 2 == len(lines)


def test_what_cannot_be_read_of_the_journal(root: Path) -> None:
    """A line of the journal that is none is named once, and gone after the pass."""
    put(root, value("a"))
    note(root, "a")
    with (root / ".memctl" / "access" / "alice.jsonl").open("ab") as journal_file:
        journal_file.write(b"torn\n")
    note(root, "a")
    done = store(root).memory("alice").reconcile()
    assert ([("journal", 3)], 2) == (done.passed[0].left_out, done.passed[0].accesses)
    assert [] == store(root).memory("alice").reconcile().passed[0].left_out


def test_no_records(root: Path) -> None:
    """A user without records has nothing to move, and nothing is made."""
    done = store(root).memory("alice").reconcile()
    assert (0, 0, 0, []) == (done.promoted, done.demoted, done.evicted, done.moves)
    assert not root.exists()


@pytest.mark.parametrize("now", [NOW_US / 1_000_000, "2026-03-01T09:00:00Z", None])
def test_the_present_of_a_pass(root: Path, now: Any) -> None:
    """A pass takes place at the time it is given, in any form; else at that of the store."""
    put(root, value("a", age=2 * DAY))
    store(root, now_us=NOW_US if now is None else 0).memory("alice").reconcile(now)
    assert [ago(0)] == [row["promoted_at"] for row in stored(root, "warm")]


def test_a_present_that_is_none(root: Path) -> None:
    """What is no time is refused."""
    with pytest.raises(BadInput, match="soon"):
        store(root).memory("alice").reconcile("soon")


SETTINGS: list[tuple[dict[str, Any], dict[str, list[str]]]] = [
    ({}, {"hot": ["new"], "warm": ["old", "warm"], "cold": ["cold"]}),
    ({"policy__hot_ttl": "off"}, {"hot": ["new", "old"], "warm": ["warm"], "cold": ["cold"]}),
    ({"policy__preset": "single"}, {"hot": ["new", "old"], "warm": ["warm"], "cold": ["cold"]}),
    (
        {"policy__preset": "single", "policy__hot_capacity": 1},
        {"hot": ["new"], "warm": ["old", "warm"], "cold": ["cold"]},
    ),
    ({"policy__preset": "single", "tiers__single": "cold"}, {"cold": ["cold", "new", "old", "warm"]}),
    ({"policy__cold_ttl": "1d"}, {"hot": ["new"], "warm": ["old", "warm"], "archive": ["cold"]}),
]


@pytest.mark.parametrize(("settings", "expected"), SETTINGS, ids=str)
def test_settings(root: Path, settings: dict[str, Any], expected: dict[str, list[str]]) -> None:
    """The policy is that of the settings: a preset's numbers give way to those that are set."""
    put(root, value("new"), value("old", age=2 * DAY), value("warm", "warm", 2 * DAY))
    put(root, value("cold", "cold", 2 * DAY))
    store(root, **settings).memory("alice").reconcile()
    assert expected == places(root)


@pytest.mark.parametrize(("preset", "expected"), [("session", [20, 100, 1000]), ("default", [50, 500, 5000])])
def test_presets_hold_so_many(root: Path, preset: str, expected: list[int]) -> None:
    """A preset's capacities, filled from hot on; what is too much is in the archive."""
    put(root, *(value(f"r{n}") for n in range(6000)))
    done = store(root, policy__preset=preset).memory("alice").reconcile()
    where = places(root)
    assert expected == [len(where[tier]) for tier in TIERS]
    assert (6000 - sum(expected), done.archived) == (len(where.get("archive", [])), done.evicted)


def test_moved_tiers(root: Path, tmp_path: Path) -> None:
    """Tiers in other directories are moved between as in the store."""
    put(root, value("a", age=2 * DAY))
    slow = tmp_path / "slow"
    store(root, tiers__warm=str(slow)).memory("alice").reconcile()
    assert ["a"] == [json.loads(row)["id"] for row in (slow / "alice.jsonl").read_bytes().splitlines()]
    assert b"" == file(root, "hot")


def test_files_are_private(root: Path) -> None:
    """New files have mode 0600 and new directories 0700; a file that is replaced keeps its mode."""
    put(root, value("a", age=2 * DAY), value("b"), value("c", "cold", 1), value("d", "cold"))
    note(root, "b")
    (root / "tiers" / "hot" / "alice.jsonl").chmod(0o640)
    store(root, policy__cold_capacity=1).memory("alice").reconcile()
    modes = {path: mode & 0o777 for path, (mode, _, _) in tree(root).items()}
    assert 0o640 == modes.pop("tiers/hot/alice.jsonl")
    assert {0o600, 0o700} == {mode for path, mode in modes.items() if path != "tiers"}


def test_files_are_written_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves one way replace each file once; moves both ways write the smallest file once more."""
    renamed: list[str] = []
    real = disk.rename

    def rename(src: str, dst: str, **more: Any) -> None:
        renamed.append(dst)
        real(src, dst, **more)

    monkeypatch.setattr(disk, "rename", rename)
    put(root, value("a", age=2 * DAY), value("b", "warm", 99 * DAY))
    store(root).memory("alice").reconcile()
    assert 3 == renamed.count("alice.jsonl")
    renamed.clear()
    put(root, value("c", age=2 * DAY), value("d", "warm", tier_access_count=3))
    assert 2 == len(store(root).memory("alice").reconcile().moves)
    assert 3 == renamed.count("alice.jsonl")


def test_unset_is_kept(root: Path) -> None:
    """A record whose times were never set does not move by time."""
    put(root, value("a", last_access_at=UNSET, created_at=UNSET))
    assert [] == store(root, now_us=NOW_US * 3).memory("alice").reconcile().moves


def test_the_index_follows(root: Path) -> None:
    """After a pass the search index, where there is one, is as the files are; no reader waits for it."""
    put(root, *(value(f"r{n}", age=2 * DAY + n) for n in range(5)))
    memory = store(root).memory("alice")
    memory.reconcile()
    assert not (root / ".memctl" / "cache").exists()
    assert 5 == len(memory.recall("text", touch=False).found)
    index = root / ".memctl" / "cache" / "search" / "alice.records.db"
    put(root, *(value(f"s{n}", age=2 * DAY + n) for n in range(5)))
    assert 5 == len(memory.reconcile().moves)
    written = index.read_bytes()
    assert 10 == len(memory.recall("text", touch=False).found)
    assert written == index.read_bytes()


def test_a_broken_index_stops_nothing(root: Path) -> None:
    """An index that is no index does not stop a pass, and recall finds what there is."""
    put(root, value("a", age=2 * DAY))
    index = root / ".memctl" / "cache" / "search" / "alice.records.db"
    index.mkdir(parents=True)
    memory = store(root).memory("alice")
    assert 1 == len(memory.reconcile().moves)
    assert ["a"] == [row.record.id for row in memory.recall("text", touch=False).found]
