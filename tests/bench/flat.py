"""What a call costs whatever the length of the history: `python -m tests.bench.flat` from the checkout.

Whole processes are measured, in rounds in which each kind of call comes once, so that a busy machine slows
all of them; the least of the rounds counts. The unit is t, the time of `python -c "import typer"`.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.bench import logs

SMALL = 100
UNCOUNTED = 20
MEMORY_LIMIT_MB = 80
RATIO_LIMIT = 1.2
#: Kind of call -> the most it may cost, in t.
LIMITS = {
    "append": 1.8,
    "append --id": 2.2,
    "window -b 8000, all counted": 1.8,
    f"window -b 8000, {UNCOUNTED} messages not counted": 2.5,
}
_TYPER = (sys.executable, "-c", "import typer")
_CHECKOUT = Path(__file__).resolve().parent.parent.parent


class Spent(NamedTuple):
    """What one process took: seconds on the clock, seconds of the processor, megabytes at most."""

    wall_s: float
    cpu_s: float
    memory_mb: float


class Failed(Exception):
    """A measured command did not do what it should."""


class Bench:
    """A scratch directory with one conversation for each size, and the ways to call memctl on it."""

    def __init__(self, scratch: Path, sizes: dict[str, int]) -> None:
        self.root = scratch / "store"
        self.sizes = sizes
        self.environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(scratch),
            "LANG": "C.UTF-8",
            "MEMCTL_ROOT": str(self.root),
        }
        self.fresh = logs.Writer(2)
        self.written = 0
        self.least: dict[tuple[str, ...], Spent] = {}

    def log(self, name: str) -> Path:
        return self.root / "conversations" / "bench" / f"{name}.jsonl"

    def prepare(self) -> None:
        (self.root / ".memctl").mkdir(parents=True, exist_ok=True)
        for name, count in self.sizes.items():
            print(f"writing {count:,} messages", file=sys.stderr)
            logs.write(self.log(name), count)

    def run(self, command: tuple[str, ...], output: Path | None = None) -> Spent:
        """Run one command to its end; what it took."""
        with open(output or os.devnull, "wb") as file:
            started = time.perf_counter()
            child = subprocess.Popen(command, stdout=file, cwd=_CHECKOUT, env=self.environ)
            _, status, usage = os.wait4(child.pid, 0)
            wall_s = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise Failed(f"{' '.join(command)}: exit {child.returncode}")
        # Kilobytes on Linux, bytes on macOS.
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return Spent(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)

    def measure(self, key: tuple[str, ...], command: tuple[str, ...]) -> None:
        """Run and keep the least of each figure (of memory the most)."""
        spent = self.run(command)
        old = self.least.get(key, spent)
        self.least[key] = Spent(
            min(old.wall_s, spent.wall_s),
            min(old.cpu_s, spent.cpu_s),
            max(old.memory_mb, spent.memory_mb),
        )

    def add_uncounted(self, name: str) -> None:
        """Put messages behind the log as another program would; nobody has counted them."""
        with self.log(name).open("ab") as file:
            for _ in range(UNCOUNTED):
                self.written += 1
                file.write(self.fresh.fresh(self.written))

    def round(self, number: int, entry: str, program: tuple[str, ...]) -> None:
        """One measurement of each kind on each size."""
        for name in self.sizes:
            ref = f"bench/{name}"
            window = (*program, "window", ref, "-b", "8000")
            kinds = iter(LIMITS)
            text = f"A question of the usual length, number {number}?"
            self.measure((entry, name, next(kinds)), (*program, "append", ref, text))
            id = f"{entry}-{number}"
            self.measure((entry, name, next(kinds)), (*program, "append", ref, text, "--id", id))
            self.run(window)
            self.measure((entry, name, next(kinds)), window)
            self.add_uncounted(name)
            self.measure((entry, name, next(kinds)), window)

    def first(self, program: tuple[str, ...], name: str) -> tuple[Spent, int]:
        """The first window of a log without caches: what it took, and how many messages were counted."""
        shutil.rmtree(self.root / ".memctl" / "cache", ignore_errors=True)
        spent = self.run((*program, "window", f"bench/{name}", "-b", "8000"))
        return spent, self._counted(name)

    def again(self, program: tuple[str, ...], name: str) -> Spent:
        """The first window for a counter of a log that has been looked at: the end has to be counted."""
        (self.root / ".memctl" / "cache" / "conversations" / "bench" / f"{name}.o200k_base").unlink()
        return self.run((*program, "window", f"bench/{name}", "-b", "8000"))

    def _counted(self, name: str) -> int:
        from memctl.store.sidecar import Index
        from memctl.store.totals import Totals

        cache = self.root / ".memctl" / "cache" / "conversations" / "bench" / name
        fd = os.open(self.log(name), os.O_RDONLY)
        index = Index(fd, f"{cache}.index")
        # All is counted already, so nothing is weighed.
        totals = Totals(index, f"{cache}.o200k_base", "o200k_base", lambda values: [0 for _ in values])
        counted = totals.end - totals.base
        totals.close()
        index.close()
        os.close(fd)
        return counted

    def is_exact(self, program: tuple[str, ...], name: str) -> bool:
        """Whether a window that ends in messages not counted yet is the window of a fresh look.

        The fresh look is at a new conversation made of the head and the end of this one.
        """
        self.add_uncounted(name)
        with self.log(name).open("rb") as file:
            head = file.readline()
            file.seek(max(file.tell() + 1, self.log(name).stat().st_size - (1 << 20)) - 1)
            file.readline()
            self.log("fresh").write_bytes(head + file.read())
        grown, fresh = (self._explained(program, ref) for ref in (name, "fresh"))
        self.log("fresh").unlink()
        return grown == fresh and grown[1] > 0

    def _explained(self, program: tuple[str, ...], name: str) -> tuple[bytes, int]:
        import json

        command = (*program, "window", f"bench/{name}", "-b", "8000", "--explain")
        done = subprocess.run(command, capture_output=True, check=True, cwd=_CHECKOUT, env=self.environ)
        return done.stdout, json.loads(done.stderr)["tokens"]


def entries() -> dict[str, tuple[str, ...]]:
    """The ways to start memctl: the module, and the script beside the interpreter if there is one."""
    found: dict[str, tuple[str, ...]] = {"python -m memctl": (sys.executable, "-m", "memctl")}
    script = Path(sys.executable).parent / "memctl"
    if script.exists():
        found["memctl"] = (str(script),)
    return found


class Line(NamedTuple):
    """A line of the table."""

    cells: tuple[str, ...]
    holds: bool


def judged(bench: Bench, t: Spent) -> list[Line]:
    """The measurements against their limits, kind by kind."""
    lines = []
    for entry in entries():
        for kind, limit in LIMITS.items():
            small, large = (bench.least[entry, name, kind] for name in bench.sizes)
            ratio = large.wall_s / small.wall_s
            times = max(small.wall_s, large.wall_s) / t.wall_s
            memory_mb = max(small.memory_mb, large.memory_mb)
            holds = times <= limit and ratio <= RATIO_LIMIT and memory_mb < MEMORY_LIMIT_MB
            cells = (
                f"`{entry}` {kind}",
                *(f"{spent.wall_s * 1000:.0f} / {spent.cpu_s * 1000:.0f}" for spent in (small, large)),
                f"{times:.2f} t",
                f"{limit} t",
                f"{ratio:.2f}",
                f"{memory_mb:.0f}",
                "holds" if holds else "DOES NOT HOLD",
            )
            lines.append(Line(cells, holds))
    return lines


def page(bench: Bench, rounds: int, lines: list[Line], notes: list[str]) -> str:
    """The measurements as a page of Markdown."""
    small, large = (f"{count:,} messages, ms" for count in bench.sizes.values())
    head = ("call", small, large, "most", "limit", "large : small", "MB", "")
    rows = [head, ("---",) * len(head), *(line.cells for line in lines)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    grown = (rounds + 1) * len(entries()) * (UNCOUNTED + 2)
    size_mb = bench.log("large").stat().st_size / 1e6
    return f"""# Flat: what a call costs, whatever the length of the history

{table}

Each figure is the least of {rounds} whole processes: time on the clock / time of the processor (user and
system). t is `python -c "import typer"`, measured in the same rounds. Memory is the greatest resident size of
any of the processes; its limit is {MEMORY_LIMIT_MB} MB, that of large : small is {RATIO_LIMIT}. The large
log has {size_mb:,.0f} MB. Windows are measured right after the log changed, when memctl looks hardest. Every
round adds messages to both logs: at the end the small one has {SMALL + grown:,}.

{chr(10).join(f"- {note}" for note in notes)}

Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} processors.
Measured with `python -m tests.bench.flat`.
"""


def measure(bench: Bench, rounds: int) -> tuple[str, bool]:
    """All of it; the page, and whether every limit holds."""
    programs = entries()
    program = programs["python -m memctl"]
    bench.prepare()
    notes = []
    for name, count in bench.sizes.items():
        print(f"first window of {count:,} messages", file=sys.stderr)
        spent, counted = bench.first(program, name)
        after = bench.again(program, name)
        notes.append(
            f"The first window of {count:,} messages without any cache: {spent.wall_s:.2f} s, "
            f"{spent.memory_mb:.0f} MB, {counted:,} messages counted. With the index, but nothing counted: "
            f"{after.wall_s * 1000:.0f} ms."
        )
    for number in range(rounds + 1):
        print(f"round {number} of {rounds}", file=sys.stderr)
        bench.measure(("t",), _TYPER)
        for entry, command in programs.items():
            bench.round(number, entry, command)
        if number == 0:
            # The first one only warms: files in memory, compiled modules.
            bench.least.clear()
    t = bench.least["t",]
    notes.insert(0, f"t is {t.wall_s * 1000:.0f} ms on the clock, {t.cpu_s * 1000:.0f} ms of the processor.")
    lines = judged(bench, t)
    for name, count in bench.sizes.items():
        exact = bench.is_exact(program, name)
        holds = "holds" if exact else "DOES NOT HOLD"
        text = f"window of {count:,} messages, {UNCOUNTED} not counted, equals that of a fresh look"
        lines.append(Line((text, *([""] * 6), holds), exact))
    return page(bench, rounds, lines, notes), all(line.holds for line in lines)


def main() -> int:
    """Measure, print the page; 1 if a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scratch", type=Path, help="where 1 GB is written; a temporary directory")
    parser.add_argument("--size", type=int, default=1_000_000, help="messages of the large log")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--save", type=Path, help="write the page there too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memctl-bench-", dir=given.scratch) as scratch:
        bench = Bench(Path(scratch), {"small": SMALL, "large": given.size})
        text, holds = measure(bench, max(given.rounds, 15))
    print(text)
    if given.save is not None:
        given.save.write_text(text)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
