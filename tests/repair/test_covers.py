"""What summaries hide is hidden after a repair too, less what is gone, whatever happened to the file."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from memctl import Store
from memctl.core.window import Window
from tests.window import oracle
from tests.window.logs import fingerprint

from . import damages, engine, logs

#: The summaries of a log, from none to three, one in what another keeps or covers.
SUMMARIES = (
    (),
    (logs.COVERS,),
    (logs.NO_COVERS,),
    (logs.STALE_COVERS,),
    (logs.COVERS, logs.COVERS),
    (logs.NO_COVERS, logs.COVERS),
    (logs.COVERS, logs.STALE_COVERS),
    (logs.STALE_COVERS, logs.COVERS),
    (logs.COVERS, logs.COVERS, logs.COVERS),
    (logs.COVERS, logs.NO_COVERS, logs.COVERS),
    (logs.STALE_COVERS, logs.COVERS, logs.STALE_COVERS),
)
NAMES = tuple(damages.DAMAGES)
PAIRS = tuple(combinations(NAMES, 2))


class Files:
    """Windows of files, by memctl itself."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = Store(directory / "store", settings={"heal.settle_ms": 0})
        self.count = 0

    def window(self, data: bytes) -> Window:
        self.count += 1
        path = self.directory / f"{self.count}.jsonl"
        path.write_bytes(data)
        return self.store.at(str(path)).window(0)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.mark.parametrize("summaries", SUMMARIES, ids=", ".join)
def test_what_is_hidden_before_any_damage(files: Files, summaries: tuple[str, ...]) -> None:
    """Of a log as it was written, memctl and the rule as it is stated here hide the same."""
    for seed in range(10):
        _check_window(files, b"".join(logs.make(seed, summaries)))


@pytest.mark.parametrize("name", NAMES)
def test_each_damage_keeps_what_is_hidden(files: Files, name: str) -> None:
    """With one damage, for every order of summaries."""
    for seed, summaries in enumerate(SUMMARIES):
        _check(files, seed, summaries, (name,))


@pytest.mark.parametrize("name", NAMES[:-1])
def test_each_pair_of_damages_keeps_what_is_hidden(files: Files, name: str) -> None:
    """With two damages, each pair for one order of summaries at least."""
    for number, pair in enumerate(PAIRS):
        if pair[0] == name:
            seed = 1_000 + number
            _check(files, seed, SUMMARIES[number % len(SUMMARIES)], pair if number % 2 else pair[::-1])


def _check(files: Files, seed: int, summaries: tuple[str, ...], names: tuple[str, ...]) -> None:
    data = damages.inflict(names, random.Random(seed), logs.make(seed, summaries))
    outcome = engine.repaired(data)
    engine.check(outcome)
    before, after = engine.messages(data), engine.messages(outcome.new)
    gone = engine.bag(before) - engine.bag(after)
    for hidden in (True, False):
        of_before, of_after = engine.bag(before, hidden=hidden), engine.bag(after, hidden=hidden)
        assert Counter() == of_after - of_before, names
        assert Counter() == of_before - gone - of_after, names
    covered = files.window(data).covered
    made = sum(one.is_made and one.is_hidden for one in after)
    lost = engine.bag(before, hidden=True) - engine.bag(after, hidden=True)
    assert covered - sum(lost.values()) + made == _check_window(files, outcome.new), names


def _check_window(files: Files, data: bytes) -> int:
    """How many messages memctl's window covers, which is as many as the rule says, and shows the others."""
    window = files.window(data)
    # The rule is stated for lines that Python reads: what nests too deep is no message.
    lines = [b"{}" if b"[" * 501 in line else line for line in data.split(b"\n")[:-1]]
    expected = oracle.window(lines, None, lambda _: 0, fingerprint)
    assert expected["covered"] == window.covered
    shown = [*expected["head"], expected["summary"], expected["anchor"], *expected["rest"]]
    assert [lines[at] for at in shown if at is not None] == list(window.lines)
    return window.covered
