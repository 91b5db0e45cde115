"""Fuzzed files, the first of those that `python -m tests.bench.fuzz_repair` makes without end."""

from __future__ import annotations

import pytest

from memctl.core.problems import TABLE
from tests.bench import fuzz_repair, mutations
from tests.repair import engine

COUNT, AT_ONCE = 2000, 100


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_nothing_is_lost_and_nothing_left_to_do(first: int) -> None:
    """Every message stays or is named, every byte comes back, a second repair finds nothing, in time."""
    for seed in range(first, first + AT_ONCE):
        try:
            fuzz_repair.check(seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("seed", [1, 5, 11, 17])
def test_the_command_does_the_same(seed: int) -> None:
    """inspect and repair in a process of their own end without a traceback, with the same file."""
    fuzz_repair.check_in_child(seed)


def test_inputs_are_damaged_in_every_way() -> None:
    """What a log can have wrong occurs among the inputs, so none of the checks is without an object."""
    codes = set()
    for seed in range(COUNT):
        codes |= {found.problem.code for found in engine.repaired(mutations.make(seed)).problems}
    elsewhere = {"mode", "symlink", "stray-file", "odd-name", "stale-cache", "bad-activities", "not-a-record"}
    assert {"line-too-long"} == set(TABLE) - codes - elsewhere
