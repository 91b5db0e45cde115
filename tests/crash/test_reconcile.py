"""reconcile, stopped at each change to the disk: every record and access once; the next pass ends it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memctl import Store
from memctl.core.tier import TIERS
from memctl.ops.recalled import Recall
from memctl.store import archive, disk, intent, journal
from tests.processes import fork
from tests.tiers.stored import DAY, NOW_US, ago, id_of, places, put, store, value

from . import harness
from .test_durability import unsynced

#: Moves from every tier to every other that there can be, and out of cold.
POLICY: dict[str, Any] = {
    "policy__hot_capacity": 3,
    "policy__warm_capacity": 3,
    "policy__cold_capacity": 2,
    "policy__cold_ttl": "300d",
    "lock__timeout_s": 1,
}
RECORDS = {
    "kept": ("hot", 1, {}),
    "pinned": ("hot", 9 * DAY, {"pinned": True}),
    "fell": ("hot", 2 * DAY, {"access_count": 4}),
    "rises": ("warm", 2, {"tier_access_count": 2}),
    "stays": ("warm", 9, {}),
    "cooled": ("warm", 8 * DAY, {}),
    "wakes": ("cold", 3, {"tier_access_count": 5}),
    "leaves": ("cold", 400 * DAY, {"access_count": 7}),
    "last": ("cold", 20 * DAY, {}),
    "squeezed": ("cold", 30 * DAY, {}),
}
ACCESSED = ("rises", "wakes", "stays", "fell", "stays")


def fill(root: Path) -> None:
    for id, (tier, age, more) in RECORDS.items():
        put(root, value(id, tier, age, **more))
    put(root, value("stays", "cold", 99, rev=0), b"no record\n", tier="cold")
    layout = store(root).setup.layout
    for id in ACCESSED:
        # A day ago: `fell` still has to go.
        assert journal.note(layout, "alice", [id], ago(1.5 * DAY), 1.0)


def reconcile(root: Path, acknowledge: harness.Acknowledge) -> None:
    store(root, **POLICY).memory("alice").reconcile()
    acknowledge("done")


def shown(root: Path) -> dict[str, tuple[str, int]]:
    """Of each record its text and accesses, as readers see it; the archive only tells of what left."""
    memory = store(root).memory("alice")
    rows = {record.id: record for record in memory.records(archived=True).records}
    live = memory.list_all()
    assert len({record.id for record in live}) == len(live)
    rows |= {record.id: record for record in live}
    return {id: (record.content, record.access_count) for id, record in rows.items()}


@pytest.fixture
def template(directory: Path) -> Path:
    # What is imported before the fork need not be imported in each child.
    warm = directory / "imports"
    fill(warm)
    reconcile(warm, lambda text: None)
    root = directory / "template"
    fill(root)
    return root


def expected(template: Path, directory: Path) -> tuple[dict[str, tuple[str, int]], dict[str, list[str]]]:
    """What readers see, before and after, and where all is after a pass that nothing stops."""
    root = directory / "whole"
    shutil.copytree(template, root)
    before = shown(root)
    reconcile(root, lambda text: None)
    assert before == shown(root)
    return before, places(root)


def test_the_pass_has_moves_of_every_kind(template: Path) -> None:
    """The pass that is stopped moves records both ways between tiers, and evicts to the archive."""
    done = store(template, **POLICY).memory("alice").reconcile(dry_run=True)
    pairs = {(move.source, move.target) for _, move in done.moves}
    assert {("hot", "warm"), ("warm", "hot"), ("warm", "cold"), ("cold", "warm"), ("cold", None)} == pairs
    assert (5, [("cold", 6)]) == (done.passed[0].accesses, done.passed[0].left_out)


def test_stopped_anywhere(template: Path, directory: Path) -> None:
    """Wherever it is stopped, readers see every record once with its accesses; the next pass ends it."""
    before, after = expected(template, directory)
    crashes = 0
    for crash in harness.sweep(reconcile, template, directory):
        crashes += 1
        assert before == shown(crash.root), crash.place
        again = store(crash.root, **POLICY).memory("alice").reconcile()
        assert before == shown(crash.root), crash.place
        assert after == places(crash.root), crash.place
        assert [("cold", number) for _, number in again.passed[0].left_out] == again.passed[0].left_out
        lines = archive.read(store(crash.root).setup.layout, "alice")
        assert len(lines) == len(after["archive"]), crash.place
        layout = store(crash.root).setup.layout
        assert intent.read(layout, "alice") is None, crash.place
        assert journal.pending(layout, "alice", {}).is_empty, crash.place
        settled = store(crash.root, **POLICY).memory("alice").reconcile()
        assert [] == settled.moves, crash.place
    assert crashes > 40


def test_stopped_anywhere_and_then_changed(template: Path, directory: Path) -> None:
    """Another command behind a stopped pass, which makes new revs, counts no access twice and loses none."""
    before, _ = expected(template, directory)
    for crash in harness.sweep(reconcile, template, directory):
        memory = store(crash.root, **POLICY).memory("alice")
        live = [record.id for record in memory.list_all()]
        memory.pin(*live)
        memory.remember("new text", id="stays")
        assert {**before, "stays": ("new text", before["stays"][1])} == shown(crash.root), crash.place
        memory.reconcile()
        assert {**before, "stays": ("new text", before["stays"][1])} == shown(crash.root), crash.place
        where = places(crash.root)
        assert sorted(RECORDS) == sorted(id for ids in where.values() for id in ids), crash.place


def test_recalled_behind_a_stopped_pass(template: Path, directory: Path) -> None:
    """An access that comes behind a stopped pass is counted once, with those in front of it."""
    before, _ = expected(template, directory)
    for crash in harness.sweep(reconcile, template, directory):
        asked = store(crash.root, **POLICY)
        found: Recall = asked.memory("alice").recall("text of stays", ranker="overlap", limit=1)
        assert ["stays"] == [row.record.id for row in found.found], crash.place
        for _ in range(2):
            text, accesses = before["stays"]
            assert {**before, "stays": (text, accesses + 1)} == shown(crash.root), crash.place
            asked.memory("alice").reconcile()


def test_a_full_disk(template: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the disk is full, every record is there once, and the next pass ends what was begun."""
    before, after = expected(template, directory)
    real = disk.write
    for stop_at in range(1, 30):
        root = directory / f"full{stop_at}"
        shutil.copytree(template, root)
        calls = 0

        def write(fd: int, data: bytes) -> int:
            nonlocal calls
            calls += 1
            if calls >= stop_at:  # noqa: B023
                raise OSError(28, "No space left on device")
            return real(fd, data)

        monkeypatch.setattr(disk, "write", write)
        failed = ""
        try:
            reconcile(root, lambda text: None)
        except Exception as error:
            failed = str(error)
        monkeypatch.setattr(disk, "write", real)
        assert before == shown(root)
        reconcile(root, lambda text: None)
        assert (before, after) == (shown(root), places(root))
        if calls < stop_at:
            assert "" == failed
            return
    raise AssertionError("the pass has more writes than that")


def test_durable_in_order(template: Path, directory: Path) -> None:
    """Every file and entry of the truth is synced before the next step, and nothing waits at the end."""
    root = directory / "store"
    shutil.copytree(template, root)

    def durable(root: Path, acknowledge: harness.Acknowledge) -> None:
        settings = {name.replace("__", "."): given for name, given in POLICY.items()}
        Store(root, now_us=NOW_US, settings=settings).memory("alice").reconcile()
        acknowledge("done")

    outcome = harness.run(durable, root)
    assert ["done"] == outcome.acknowledged
    assert {} == unsynced(root, outcome.calls)
    synced = [call.path for call in outcome.calls if call.name == "fsync"]
    renamed = [(at, call.path) for at, call in enumerate(outcome.calls) if call.name == "rename"]
    for at, path in renamed:
        if "/tiers/" in path:
            directory_of = os.path.dirname(path)
            following = [call for call in outcome.calls[at:] if call.name in ("fsync", "rename")]
            assert ("fsync", directory_of) == (following[1].name, following[1].path)
    assert any("/archive/" in path for path in synced)


@pytest.mark.xdist_group("machine")
def test_killed(directory: Path) -> None:
    """Killed by a signal at any time, again and again, a memory of hundreds loses and doubles nothing."""
    root = directory / "store"
    chance = random.Random(7)
    ids = [f"r{number}" for number in range(400)]
    put(root, *(value(id, chance.choice(TIERS), chance.uniform(0, 60 * DAY)) for id in ids))
    layout = store(root).setup.layout
    accesses: Counter[str] = Counter()
    small = {f"policy__{tier}_capacity": size for tier, size in zip(TIERS, (30, 90, 150), strict=True)}
    killed = rounds = 0
    # On a fast machine more of them end before they are killed: so many have to be hit all the same.
    while rounds < 40 or (killed <= 10 and rounds < 400):
        rounds += 1
        some = chance.sample(ids, 30)
        assert journal.note(layout, "alice", some, ago(0), 1.0)
        accesses.update(some)
        pid = fork(lambda: store(root, lock__timeout_s=5, **small).memory("alice").reconcile())
        time.sleep(chance.uniform(0.0, 0.06))
        os.kill(pid, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        live = store(root).memory("alice").list_all()
        assert len({record.id for record in live}) == len(live)
        for record in live:
            assert accesses[record.id] == record.access_count
    store(root, **small).memory("alice").reconcile()
    where = places(root)
    assert sorted(ids) == sorted(id for found in where.values() for id in found)
    assert killed > 10


def test_the_eye_for_doubles(directory: Path) -> None:
    """The helper that counts ids sees one that stands in two files."""
    root = directory / "store"
    put(root, value("a"), value("a", "warm"))
    assert {"hot": ["a"], "warm": ["a"]} == places(root)
    assert "" == id_of(b"no json")
