"""What inspect and repair cost: `python -m tests.bench.inspect` from the checkout.

Whole processes are measured. The unit of speed is `json.loads` over the lines of the same file, in a process
of its own between the others, so that a busy machine slows both; the least of the rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import hostile, logs

MESSAGES, LARGE_MESSAGES, FILES = 100_000, 1_000_000, 1_000
RATIO_LIMIT = 4.0
MEMORY_LIMIT_MB = 200
_CHECKOUT = Path(__file__).resolve().parent.parent.parent
_LOADS = """
import json, sys, time
lines = open(sys.argv[1], "rb").read().split(b"\\n")[:-1]
started = time.process_time()
for line in lines:
    json.loads(line)
print(time.process_time() - started)
"""


class Spent(NamedTuple):
    """What one process took: seconds on the clock, seconds of the processor, megabytes at most."""

    wall_s: float
    cpu_s: float
    memory_mb: float


class Failed(Exception):
    """A measured command did not do what it should."""


class Bench:
    """A scratch directory, and memctl called in it."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(scratch),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(_CHECKOUT),
        }

    def memctl(self, *arguments: str) -> Spent:
        """Run memctl to its end; what it took."""
        command = (sys.executable, "-m", "memctl", *arguments)
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self.scratch, env=self.environ)
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1, 65):
            raise Failed(f"{' '.join(command)}: exit {child.returncode}")
        # Kilobytes on Linux, bytes on macOS.
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return Spent(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)

    def loads(self, name: str) -> float:
        """Seconds of the processor that `json.loads` takes over the lines of a file."""
        command = (sys.executable, "-c", _LOADS, name)
        return float(subprocess.run(command, capture_output=True, check=True, cwd=self.scratch).stdout)


# -- the files ----------------------------------------------------------------------------------------------


_CYRILLIC = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопярстуввхыз")


def messages(count: int) -> Iterator[dict[str, Any]]:
    """Messages in prose: one in eight in letters beyond ASCII, one in three with signs that Go escapes."""
    for number, line in enumerate(logs.Writer().lines(count)):
        message = json.loads(line)
        if number % 8 == 0:
            message["content"] = message["content"].translate(_CYRILLIC)
        elif number % 3 == 0:
            message["content"] = f"<b>{message['content']}</b> & more"
        yield message


def stored(count: int) -> Iterator[dict[str, Any]]:
    """The same as memctl stores them, with id and time."""
    ids = random.Random(3)
    for number, message in enumerate(messages(count)):
        day, second = divmod(number * 2, 86_400)
        stamp = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T{second // 3600:02}:{second // 60 % 60:02}"
        own = {
            "id": f"{ids.getrandbits(64):016x}",
            "created_at": f"{stamp}:{second % 60:02}.{number % 1000:06}Z",
        }
        yield {**message, "extra": {"memctl": own}}


def compact(message: dict[str, Any]) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def escaped(message: dict[str, Any]) -> str:
    text = compact(message)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


Made = Callable[[int], Iterator[dict[str, Any]]]
Form = Callable[[dict[str, Any]], str]
#: What is in a file -> its messages, and how a line is written.
FORMS: dict[str, tuple[Made, Form]] = {
    "compact": (messages, compact),
    "with spaces, as `json.dumps` writes": (messages, json.dumps),
    "with `\\u003c`, as Go writes": (messages, escaped),
    "compact, with ids and times": (stored, compact),
}


def write(path: Path, count: int, made: Made, form: Form) -> None:
    """A log of `count` messages."""
    with path.open("w", encoding="utf-8") as file:
        for message in made(count):
            file.write(form(message) + "\n")


def write_directory(path: Path, count: int) -> None:
    """A directory of logs with one line each, and one with a summary."""
    path.mkdir()
    for number, message in enumerate(messages(count)):
        (path / f"talk-{number}.jsonl").write_text(compact(message) + "\n")
    summary = {"role": "assistant", "content": "so far", "extra": {"__eino_ext_memory_summary": True}}
    (path / "talk-0.jsonl").open("a").write(compact(summary) + "\n")


# -- the page -----------------------------------------------------------------------------------------------


class Page:
    """Tables in the making; `holds` is False once a limit does not hold."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.holds = True

    def table(self, *head: str) -> None:
        self.text += ["", f"| {' | '.join(head)} |", f"| {' | '.join(['---'] * len(head))} |"]

    def row(self, *cells: str, holds: bool) -> None:
        self.holds = self.holds and holds
        self.text.append(f"| {' | '.join(cells)} | {'holds' if holds else 'DOES NOT HOLD'} |")
        print(self.text[-1], file=sys.stderr, flush=True)


def speed(bench: Bench, page: Page, rounds: int) -> None:
    """inspect of many messages, in each form, against `json.loads`."""
    page.table(
        f"inspect of {MESSAGES:,} messages", "MB", "inspect, s", "`json.loads`, s", "ratio", "peak, MB", ""
    )
    for name, (made, form) in FORMS.items():
        path = bench.scratch / "speed.jsonl"
        write(path, MESSAGES, made, form)
        least_s, loads_s, memory_mb = float("inf"), float("inf"), 0.0
        for _ in range(rounds):
            loads_s = min(loads_s, bench.loads(path.name))
            spent = bench.memctl("inspect", f"./{path.name}", "--json")
            least_s, memory_mb = min(least_s, spent.cpu_s), max(memory_mb, spent.memory_mb)
        ratio = least_s / loads_s
        size = f"{path.stat().st_size / 1e6:.0f}"
        cells = (name, size, f"{least_s:.2f}", f"{loads_s:.2f}", f"{ratio:.2f}", f"{memory_mb:.0f}")
        page.row(*cells, holds=ratio <= RATIO_LIMIT)
        path.unlink()


def sizes(bench: Bench, page: Page) -> None:
    """inspect of one large file, and of very many small ones."""
    page.table("inspect of", "MB", "clock, s", "processor, s", "peak, MB", "")
    path = bench.scratch / "large.jsonl"
    write(path, LARGE_MESSAGES, stored, compact)
    spent = bench.memctl("inspect", f"./{path.name}", "--json")
    cells = (f"{spent.wall_s:.1f}", f"{spent.cpu_s:.1f}", f"{spent.memory_mb:.0f}")
    size = f"{path.stat().st_size / 1e6:.0f}"
    page.row(
        f"one file of {LARGE_MESSAGES:,} messages", size, *cells, holds=spent.memory_mb < MEMORY_LIMIT_MB
    )
    path.unlink()
    write_directory(bench.scratch / "many", FILES)
    spent = bench.memctl("inspect", "./many")
    cells = (f"{spent.wall_s:.1f}", f"{spent.cpu_s:.1f}", f"{spent.memory_mb:.0f}")
    page.row(f"{FILES:,} files of one line", "1", *cells, holds=spent.memory_mb < MEMORY_LIMIT_MB)


def memory(bench: Bench, page: Page) -> None:
    """inspect and repair of files that are hard to look at."""
    page.table(f"{hostile.SIZE_BYTES >> 20} MB of", *("inspect, s", "peak, MB", "repair, s", "peak, MB", ""))
    for name in hostile.FILES:
        path = bench.scratch / "hard.jsonl"
        made = (sys.executable, "-m", "tests.bench.hostile", name, str(path))
        subprocess.run(made, check=True, cwd=_CHECKOUT)
        looked = bench.memctl("inspect", f"./{path.name}", "--json")
        form = ("--input-format", "memctl")
        mended = bench.memctl("repair", f"./{path.name}", "--apply", "-o", "out.jsonl", "--json", *form)
        cells = [f for spent in (looked, mended) for f in (f"{spent.cpu_s:.1f}", f"{spent.memory_mb:.0f}")]
        page.row(name, *cells, holds=max(looked.memory_mb, mended.memory_mb) < MEMORY_LIMIT_MB)
        for left in bench.scratch.glob("out.jsonl*"):
            left.unlink()
        path.unlink()


def main() -> int:
    """Measure, print the page; 1 if a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scratch", type=Path, help="where 1 GB is written; a temporary directory")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--save", type=Path, help="write the page there too")
    given = parser.parse_args()
    page = Page()
    with tempfile.TemporaryDirectory(prefix="memctl-bench-", dir=given.scratch) as scratch:
        bench = Bench(Path(scratch))
        speed(bench, page, given.rounds)
        sizes(bench, page)
        memory(bench, page)
    tables = "\n".join(page.text)
    text = f"""# Inspect: what it costs to look at files, and to repair them
{tables}

Times are those of the processor (user and system) of whole processes, unless it says clock. Of speed the
least of {given.rounds} processes counts, with `json.loads` over the lines measured between them, without
the reading of the file; at most {RATIO_LIMIT:g} times that is the limit. Peaks are the greatest resident
size; their limit is {MEMORY_LIMIT_MB} MB. Tokens are not counted.

Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} processors.
Measured with `python -m tests.bench.inspect`.
"""
    print(text)
    if given.save is not None:
        given.save.write_text(text)
    return 0 if page.holds else 1


if __name__ == "__main__":
    sys.exit(main())
