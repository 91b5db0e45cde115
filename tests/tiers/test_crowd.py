"""Several processes at one memory: nothing is lost, nothing is there twice, no access counts twice."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from memctl.core.tier import TIERS
from tests.processes import fork, wait

from .stored import DAY, ago, places, put, store, value

pytestmark = pytest.mark.xdist_group("machine")
RECORDS = 300


def test_two_passes_at_once(root: Path) -> None:
    """Two passes at the same time make the moves of one."""
    for number in range(5):
        user = f"user{number}"
        put(root, *(value(f"r{n}", age=2 * DAY + n) for n in range(RECORDS)), user=user)

        def go(user: str = user) -> None:
            store(root, lock__timeout_s=60).memory(user).reconcile()

        assert [0, 0] == wait(fork(go), fork(go))
        assert {"warm": sorted(f"r{n}" for n in range(RECORDS))} == places(root, user)
        events = (root / ".memctl" / "events" / f"{user}.jsonl").read_bytes()
        assert RECORDS == events.count(b"tier.demoted")


def test_beside_remember_and_recall(root: Path) -> None:
    """Passes beside writers and readers: every record once, every access counted once, readers see all."""
    put(root, *(value(f"base{n}", age=n) for n in range(40)))
    small = {f"policy__{tier}_capacity": size for tier, size in zip(TIERS, (10, 20, 0), strict=True)}
    waits = {"lock__timeout_s": 60, "policy__hot_ttl": 0, "policy__demote_idle": 0, "policy__warm_ttl": 0}
    recalls, each = 25, 5

    def remember() -> None:
        for n in range(30):
            store(root, **waits).memory("alice").remember(f"new text {n}", id=f"new{n}")

    def recall() -> None:
        for _ in range(recalls):
            found = store(root, **waits).memory("alice").recall("text", limit=each, ranker="overlap")
            assert (each, True) == (len(found.found), found.touched)

    def read() -> None:
        for _ in range(40):
            ids = Counter(record.id for record in store(root, **waits).memory("alice").list_all())
            assert not [id for id in ids if ids[id] > 1]
            assert {f"base{n}" for n in range(40)} <= ids.keys()

    pids = [fork(remember), fork(recall), fork(read)]
    passes = 0
    while not all(os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) for pid in pids):
        store(root, **waits, **small).memory("alice").reconcile()
        passes += 1
        time.sleep(0.001)
    assert [0, 0, 0] == wait(*pids)
    store(root, **waits, **small).memory("alice").reconcile()
    where = places(root)
    ids = Counter(id for tier in TIERS for id in where[tier])
    assert 1 < passes
    assert dict.fromkeys([*(f"base{n}" for n in range(40)), *(f"new{n}" for n in range(30))], 1) == ids
    assert (10, 20) == (len(where["hot"]), len(where["warm"]))
    accesses = sum(record.access_count for record in store(root).memory("alice").list_all())
    assert recalls * each == accesses


def test_a_reader_between_two_tiers(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that has read cold while a record rises out of it to a tier still sees the record once."""
    from memctl.store import line_files

    put(root, value("rises", "cold", tier_access_count=6), value("falls", "warm", 8 * DAY))
    put(root, value("stays"))
    real = line_files.lines
    read: list[str] = []

    def lines(place: line_files.Place) -> object:
        yield from real(place)
        read.append(place.parts[-1])
        if read == ["cold"]:
            assert 2 == len(store(root).memory("alice").reconcile().moves)

    monkeypatch.setattr(line_files, "lines", lines)
    found = {record.id: record.tier for record in store(root).memory("alice").list_all()}
    assert {"rises": "warm", "falls": "cold", "stays": "hot"} == found
    assert ["cold", "warm", "hot"] == read[-3:]


def test_what_changes_while_a_pass_looks(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered between the look without a lock and the pass is part of the pass."""
    from memctl.ops import reconcile_user

    put(root, value("a", age=2 * DAY))
    real = reconcile_user.look
    looks = []

    def look(*args: object) -> object:
        found = real(*args)  # type: ignore[arg-type]
        looks.append(found)
        if len(looks) == 1:
            put(root, value("b", age=2 * DAY), value("a", rev=2, last_access_at=ago(0)))
        return found

    monkeypatch.setattr(reconcile_user, "look", look)
    done = store(root).memory("alice").reconcile()
    assert (["b"], 2) == ([move.id for _, move in done.moves], len(looks))
    assert {"hot": ["a"], "warm": ["b"]} == places(root)
    assert 1 == (root / "tiers" / "hot" / "alice.jsonl").read_bytes().count(b"\n")


def test_files_that_never_stand_still(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no moment is caught without a lock, the pass looks under it; a dry run says that it cannot."""
    from memctl.errors import Changing
    from memctl.store import survey

    put(root, value("a", age=2 * DAY))
    real = survey._survey
    calls = []

    def changing(*args: object) -> object:
        calls.append(1)
        found = real(*args)  # type: ignore[arg-type]
        if len(calls) <= 16:
            put(root, value(f"r{len(calls)}"))
        return found

    monkeypatch.setattr(survey, "_survey", changing)
    with pytest.raises(Changing):
        store(root).memory("alice").reconcile(dry_run=True)
    assert (8, {"hot"}) == (len(calls), set(places(root)))
    assert ["a"] == [move.id for _, move in store(root).memory("alice").reconcile().moves]
