"""Mutants: small faults put into a copy of the checkout, each with the test that has to fail for it.

`python -m tests.bench.mutants` runs all of them, or those whose names are given, and prints a table; it exits
with 1 if one survives, or if a killing test fails without any mutant.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parent.parent.parent


class Mutant(NamedTuple):
    """`old`, which occurs once in `file`, becomes `new`; then `test` fails."""

    name: str
    file: str
    old: str
    new: str
    test: str


MUTANTS = (
    Mutant(
        "an append is not synced",
        "store/log.py",
        "    if fsync:\n        files.sync_appended(",
        "    if fsync and False:\n        files.sync_appended(",
        "tests/crash/test_durability.py::test_each_change_is_synced",
    ),
    Mutant(
        "what just fits is cut",
        "core/window.py",
        "lambda s: suffix(s) <= limit - fixed)",
        "lambda s: suffix(s) < limit - fixed)",
        "tests/unit/test_window_rules.py",
    ),
    Mutant(
        "a torn tail is not healed",
        "ops/append.py",
        '    if tail is None:\n        return b"", []\n',
        '    if True:\n        return b"", []\n',
        "tests/cases/test_store_cases.py::test_b07_a_torn_tail_is_set_aside",
    ),
    Mutant(
        "`next` of covers is ignored",
        "core/covers.py",
        "if expected >= 0 and ends(expected) and begins(expected):",
        "if expected >= 0 and ends(expected):",
        "tests/unit/test_window_rules.py",
    ),
    Mutant(
        "the anchor is forgotten",
        "core/window.py",
        "    anchor = view.user\n",
        "    anchor = -1\n",
        "tests/unit/test_window_rules.py",
    ),
    Mutant(
        "printed lines are not checked",
        "store/entries.py",
        "            if crc != entry.crc:\n",
        "            if crc != entry.crc and (crc := entry.crc) is None:\n",
        "tests/crash/test_sidecar.py::test_far_from_the_end_of_a_large_log_no_byte_and_no_total_is_wrong",
    ),
    Mutant(
        "bytes4 rounds the budget down",
        "core/counting.py",
        "return 4 * budget + 3 if",
        "return 4 * budget if",
        "tests/conformance/test_reference_windows.py",
    ),
    Mutant(
        "a second result is kept",
        "core/turns.py",
        "        if id in group.answered:\n",
        "        if id in group.answered and False:\n",
        "tests/cases/test_groups.py::test_only_whole_groups_are_sent",
    ),
    Mutant(
        "the frontier is one too early",
        "store/indexing.py",
        "return entries.entry_of(boundary - 1) + 1 if boundary else 0",
        "return entries.entry_of(boundary - 1) if boundary else 0",
        "tests/window/test_window.py::test_it_is_the_largest_valid_window",
    ),
    Mutant(
        "append takes no lock",
        "ops/append.py",
        '    with setup.lock(reference, "append"):\n',
        "    if True:\n",
        "tests/cases/test_store_cases.py::test_b59_only_a_living_holder_keeps_others_out",
    ),
    Mutant(
        "a shortened summary may be one too heavy",
        "ops/shortening.py",
        "[0] <= room\n",
        "[0] <= room + 1\n",
        "tests/window/test_window.py::test_it_is_the_largest_valid_window",
    ),
    Mutant(
        "given ids are not looked up",
        "ops/append.py",
        "    if not given:\n",
        "    if given is not None:\n",
        "tests/unit/test_api.py",
    ),
    Mutant(
        "a cut index is believed in the middle of a line",
        "store/sidecar.py",
        "            self.stored(len(self) - 1)\n",
        "            pass\n",
        "tests/crash/test_sidecar.py::test_an_index_cut_inside_a_line_of_several_messages_is_not_believed",
    ),
    Mutant(
        "a grown log is not compared with its index",
        "store/sidecar.py",
        "        if status.st_size > size_bytes:\n            return self._recent_agrees()\n",
        "        if status.st_size > size_bytes:\n            return True\n",
        "tests/crash/test_sidecar.py::test_a_log_changed_behind_its_caches_is_seen",
    ),
    Mutant(
        "records prove their number only",
        "store/totals.py",
        "zlib.crc32(index.generation + self._counter)",
        "0",
        "tests/crash/test_sidecar.py::test_records_of_another_counter_change_nothing",
    ),
)


def fails(copy: Path, test: str) -> bool:
    """Whether the test fails in the copy. Raises if it cannot be run at all."""
    environ = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, cwd=copy, env=environ, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{test} cannot be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 1


def survives(copy: Path, mutant: Mutant) -> bool:
    """Whether the killing test passes although the fault is there; the copy is as before afterwards."""
    path = copy / "memctl" / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.name}: {mutant.old!r} is {text.count(mutant.old)} times in {mutant.file}")
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        return not fails(copy, mutant.test)
    finally:
        path.write_text(text)


def main() -> int:
    """Run the mutants that are named, or all."""
    chosen = [mutant for mutant in MUTANTS if not sys.argv[1:] or mutant.name in sys.argv[1:]]
    wrong = 0
    print("| mutant | killed by | |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="memctl-mutants-") as scratch:
        copy = Path(scratch) / "checkout"
        ignored = shutil.ignore_patterns("__pycache__", ".git", "*.egg-info", ".*_cache")
        shutil.copytree(CHECKOUT, copy, ignore=ignored)
        sound: dict[str, bool] = {}
        for mutant in chosen:
            if mutant.test not in sound:
                sound[mutant.test] = not fails(copy, mutant.test)
            alive = survives(copy, mutant)
            result = "killed" if not alive else "SURVIVES"
            if not sound[mutant.test]:
                result = "the test fails without it"
            wrong += result != "killed"
            print(f"| {mutant.name} | `{mutant.test}` | {result} |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
