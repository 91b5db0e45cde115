"""Programs that watch moves: what they are told, in which order, and what a broken one does to others."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl import MigrationObserver

from .stored import DAY, places, put, store, value

Told = tuple[str, ...]


class Recorder:
    """Keeps what it is told; `fails` names what it then raises for."""

    def __init__(self, root: Path, fails: str = "") -> None:
        self.told: list[Told] = []
        self.seen: list[dict[str, list[str]]] = []
        self._root = root
        self._fails = fails

    def _tell(self, *facts: str) -> None:
        self.told.append(facts)
        self.seen.append(places(self._root))
        if self._fails == facts[0]:
            raise RuntimeError(f"no {facts[0]}")

    def promoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        self._tell("promoted", user, id, from_tier, to_tier)

    def demoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        self._tell("demoted", user, id, from_tier, to_tier)

    def evicted(self, user: str, id: str, from_tier: str) -> None:
        self._tell("evicted", user, id, from_tier)


EXPECTED = [
    ("demoted", "alice", "a", "hot", "warm"),
    ("evicted", "alice", "b", "cold"),
    ("promoted", "alice", "c", "warm", "hot"),
    ("demoted", "alice", "d", "hot", "warm"),
]


@pytest.fixture
def filled(root: Path) -> Path:
    """A store in which the next pass makes the expected moves."""
    put(root, value("a", age=2 * DAY), value("b", "cold", 2 * DAY), value("d", age=2 * DAY))
    put(root, value("c", "warm", tier_access_count=3))
    return root


def test_all_are_told(filled: Path) -> None:
    """Every observer is told of every move, in the order of ids, after all of them are on disk."""
    observers: list[MigrationObserver | None] = [Recorder(filled), None, Recorder(filled)]
    store(filled, policy__cold_ttl="1d").memory("alice").reconcile(observers=observers)
    for observer in observers:
        if isinstance(observer, Recorder):
            assert EXPECTED == observer.told
            done = {"hot": ["c"], "warm": ["a", "d"], "archive": ["b"]}
            assert [done] * 4 == observer.seen


@pytest.mark.parametrize("fails", ["promoted", "demoted", "evicted"])
def test_one_that_raises(filled: Path, fails: str) -> None:
    """One that raises keeps nothing from the others nor from itself, nor from the pass; it is named."""
    broken, sound = Recorder(filled, fails), Recorder(filled)
    done = store(filled, policy__cold_ttl="1d").memory("alice").reconcile(observers=[broken, sound])
    assert (EXPECTED, EXPECTED) == (broken.told, sound.told)
    ((user, unheard),) = done.unheard
    assert ("alice", 0, f"no {fails}", 2 if fails == "demoted" else 1) == (
        user,
        unheard.observer,
        str(unheard.error),
        unheard.times,
    )


def test_a_dry_run_tells_nothing(filled: Path) -> None:
    """What did not happen is told to no one."""
    observer = Recorder(filled)
    store(filled).memory("alice").reconcile(observers=[observer], dry_run=True)
    assert [] == observer.told
