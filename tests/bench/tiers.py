"""What the tiers cost: `python -m tests.bench.tiers` from the checkout.

Whole processes are measured, on disk, with fsync; the least of the rounds counts. Beside each stands what
`json.loads` takes over as many lines, in a process of its own, as a measure of the machine in that moment.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from memctl.core import times

RECORDS = 100_000
NOW_US = 1_772_355_600_000_000
_DAY_US = 86_400_000_000
_CHECKOUT = Path(__file__).resolve().parent.parent.parent
_WORDS = ("seat", "train", "tea", "window", "garden", "letter", "bridge", "lamp", "river", "market", "violin")
_LOADS = """
import json, sys, time
lines = open(sys.argv[1], "rb").read().split(b"\\n")[:-1]
started = time.process_time()
for line in lines:
    json.loads(line)
print(time.process_time() - started)
"""
_OFF = {"MEMCTL_POLICY_HOT_CAPACITY": "0", "MEMCTL_POLICY_WARM_CAPACITY": "0"}


class Spent(NamedTuple):
    """What a process took: seconds on the clock and of the processor, megabytes; and what it printed."""

    wall_s: float
    cpu_s: float
    memory_mb: float
    report: dict[str, Any]


class Row(NamedTuple):
    """A line of the page: what, its limits, the least of each figure."""

    what: str
    limit_s: float
    limit_mb: float
    spent: Spent

    def holds(self) -> bool:
        """Whether it took no more than it may."""
        return self.spent.wall_s <= self.limit_s and self.spent.memory_mb <= self.limit_mb


def record(chance: random.Random, number: int, old: bool) -> dict[str, Any]:
    """A record of about 250 bytes, accessed within the last day, or two days ago."""
    accessed = NOW_US - chance.randrange(_DAY_US * 9 // 10) - (2 * _DAY_US if old else 0)
    return {
        "id": f"{chance.getrandbits(64):016x}",
        "content": " ".join(chance.choice(_WORDS) for _ in range(7)) + f" {number}",
        "scope": "",
        "importance": chance.choice((0.4, 0.5, 0.6, 0.7)),
        "created_at": times.text_us(accessed - chance.randrange(30 * _DAY_US)),
        "tier": "hot",
        "access_count": 0,
        "last_access_at": times.text_us(accessed),
        "promoted_at": "0001-01-01T00:00:00Z",
        "rev": 1,
    }


class Bench:
    """A scratch directory on a disk, and memctl called in it."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.root = scratch / "store"
        self.given = scratch / "given.jsonl"

    def fill(self, *, old_every: int) -> None:
        """A store of one user with all records in hot; every so many is due to leave it."""
        chance = random.Random(1)
        rows = (record(chance, number, number % old_every == 0) for number in range(RECORDS))
        self.given.write_bytes(
            b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)
        )
        (self.scratch / "full" / "tiers" / "hot").mkdir(parents=True)
        shutil.copyfile(self.given, self.scratch / "full" / "tiers" / "hot" / "alice.jsonl")

    def reset(self) -> None:
        """The full store as it was made."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.scratch / "full", self.root)
        os.sync()

    def memctl(self, *arguments: str, lines: bytes = b"", **environ: str) -> Spent:
        """Run memctl to its end; what it took."""
        given = self.scratch / "stdin"
        given.write_bytes(lines)
        clean = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.scratch), "LANG": "C.UTF-8"}
        command = (sys.executable, "-m", "memctl", "--root", str(self.root), "--now", str(NOW_US // 10**6))
        with given.open("rb") as stdin:
            started = time.perf_counter()
            child = subprocess.Popen(
                (*command, *arguments),
                stdin=stdin,
                stdout=subprocess.PIPE,
                env=clean | {"PYTHONPATH": str(_CHECKOUT)} | environ,
            )
            assert child.stdout is not None
            printed = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
            wall_s = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, arguments
        # Kilobytes on Linux, bytes on macOS.
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return Spent(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, json.loads(printed))

    def loads_s(self) -> float:
        """Seconds of the processor that `json.loads` takes over the lines of the records."""
        command = (sys.executable, "-c", _LOADS, str(self.given))
        return float(subprocess.run(command, capture_output=True, check=True).stdout)


def least(rounds: int, measure: Callable[[], Spent]) -> Spent:
    """The least of each figure in so many rounds, with the report of the last."""
    all_spent = [measure() for _ in range(rounds)]
    figures = zip(*((spent.wall_s, spent.cpu_s, spent.memory_mb) for spent in all_spent), strict=True)
    return Spent(*map(min, figures), all_spent[-1].report)


def measured(bench: Bench, rounds: int) -> list[Row]:
    """Every row of the page."""
    reconcile = ("reconcile", "alice", "--json")

    def half() -> Spent:
        bench.reset()
        spent = bench.memctl(*reconcile, **_OFF)
        assert RECORDS // 2 == spent.report["demoted"]
        return spent

    def settled() -> Spent:
        spent = bench.memctl(*reconcile, **_OFF)
        assert spent.report["demoted"] == 0 and spent.report["users"] == 1
        return spent

    def squeezed() -> Spent:
        bench.reset()
        spent = bench.memctl(*reconcile)
        assert RECORDS - 5_550 == spent.report["archived"]
        return spent

    some = b"".join(bench.given.read_bytes().splitlines(keepends=True)[:10_000])

    def remembered() -> Spent:
        shutil.rmtree(bench.root, ignore_errors=True)
        spent = bench.memctl("remember", "alice", "--json", lines=some)
        assert spent.report["remembered"] == 10_000
        return spent

    def rebuilt() -> Spent:
        bench.reset()
        (bench.root / ".memctl").mkdir()
        spent = bench.memctl("rebuild-index", "alice", "--json")
        assert spent.report["records"] == RECORDS
        return spent

    return [
        Row("reconcile: 100,000 records in hot, 50,000 go to warm", 10, 400, least(rounds, half)),
        Row("reconcile: the same again, nothing to do", 1, 400, least(rounds, settled)),
        Row(
            "reconcile: 100,000 in hot, 94,450 go to the archive", float("inf"), 400, least(rounds, squeezed)
        ),
        Row("remember: 10,000 records from standard input", 3, 400, least(rounds, remembered)),
        Row("rebuild-index: 100,000 records", 3, 400, least(rounds, rebuilt)),
    ]


def page(rows: list[Row], loads_s: float, rounds: int) -> str:
    """The page in Markdown."""
    lines = [
        "# What the tiers cost",
        "",
        f"`python -m tests.bench.tiers --rounds {rounds} --save FILE` from the checkout. "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, other programs beside.",
        "Whole processes, on disk, with fsync; the least of the rounds; memory is the most that was held.",
        f"`json.loads` over the 100,000 lines of about 250 bytes takes {loads_s:.2f} s of the processor.",
        "",
        "| what | limit, s | on the clock, s | of the processor, s | memory, MB | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        limit = "none" if row.limit_s == float("inf") else f"{row.limit_s:g}"
        spent = row.spent
        lines.append(
            f"| {row.what} | {limit} | {spent.wall_s:.2f} | {spent.cpu_s:.2f} | {spent.memory_mb:.0f} | "
            f"{'holds' if row.holds() else 'DOES NOT HOLD'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", type=Path, help="write the page there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(Path(directory))
        bench.fill(old_every=2)
        rows = measured(bench, given.rounds)
        text = page(rows, min(bench.loads_s() for _ in range(given.rounds)), given.rounds)
    if given.save:
        given.save.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0 if all(row.holds() for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
