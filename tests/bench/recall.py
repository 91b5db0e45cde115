"""How well and how fast memctl finds: `python -m tests.bench.recall` from the checkout.

Quality is measured on LoCoMo, which lies beside the checkout; `--run FILE` writes what was recalled for its
scorer. Speed is measured on made texts, whole processes, the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import locomo

RECORDS = 100_000
NEEDLES = 20
_CHECKOUT = Path(__file__).resolve().parent.parent.parent
_BAR = {"main": {"recall@10": 0.79, "mrr": 0.62}, "all": {"recall@10": 0.78}}
_FREQUENT = "the of and to a in"
_COMMON = "the of and to a in is that it was for on you with as at be this have from or we by not but"
_SYLLABLES = "ba cen do fir gu hel ing jo kan ler mo nu ost per qui ra sta tor un vel wa yon zi"


class Failed(Exception):
    """A measured command did not do what it should."""


def texts(count: int, seed: int = 7) -> Iterator[str]:
    """Sentences of 8 to 24 words: a third common ones, the others by Zipf's law, one that is nowhere else."""
    chance = random.Random(seed)
    parts, common = _SYLLABLES.split(), _COMMON.split()
    made = sorted({"".join(chance.choices(parts, k=chance.randint(2, 4))) for _ in range(12_000)})
    chance.shuffle(made)
    words = common + made
    weights = [len(made) / len(common) / 2] * len(common) + [1000 / (rank + 10) for rank in range(len(made))]
    totals: list[float] = []
    for weight in weights:
        totals.append(weight + (totals[-1] if totals else 0.0))
    for number in range(count):
        chosen = chance.choices(words, cum_weights=totals, k=chance.randint(8, 24))
        chosen.insert(chance.randrange(len(chosen)), f"x{chance.getrandbits(40):x}{number}")
        yield f"{' '.join(chosen).capitalize()}{chance.choice('..?!')}"


class Spent(NamedTuple):
    """What a process took, on the clock and of the processor, and what it printed."""

    wall_s: float
    cpu_s: float
    output: bytes


class Bench:
    """A scratch directory with a store in it, and memctl called there."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.root = scratch / "store"
        self.environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(scratch),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(_CHECKOUT),
            "MEMCTL_ROOT": str(self.root),
        }

    def run(self, *command: str) -> Spent:
        """Run a command to its end: what it took, and what it printed."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as talk:
            started = time.perf_counter()
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=talk,
                cwd=self.scratch,
                env=self.environ,
            )
            _, status, usage = os.wait4(child.pid, 0)
            wall_s = time.perf_counter() - started
            child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            talk.seek(0)
            if child.returncode:
                raise Failed(f"{' '.join(command)}: exit {child.returncode}: {talk.read().decode()[-300:]}")
            return Spent(wall_s, usage.ru_utime + usage.ru_stime, output.read())

    def memctl(self, *arguments: str) -> Spent:
        """Run memctl to its end."""
        return self.run(sys.executable, "-m", "memctl", *arguments)

    def write(self, count: int) -> list[str]:
        """Records, half of them turns of a conversation, and the same texts as messages; the texts."""
        made = list(texts(count))
        (self.root / ".memctl").mkdir(parents=True)
        tier, log = (
            self.root / "tiers" / "hot" / "bench.jsonl",
            self.root / "conversations" / "bench" / "c.jsonl",
        )
        for path in (tier, log):
            path.parent.mkdir(parents=True)
        with tier.open("w") as records, log.open("w") as messages:
            for number, text in enumerate(made):
                at = 1_600_000_000 + 900 * number
                turn = {
                    "conversation": f"c{number // 400}",
                    "metadata": {"name": "Ann" if number % 2 else "Bo"},
                }
                record = {"id": f"r{number:06}", "content": text, "importance": 0.5, "created_at": at}
                record |= {
                    "tier": "hot",
                    "access_count": 0,
                    **(turn if number % 2000 < 1000 else {}),
                    "rev": 1,
                }
                records.write(json.dumps(record) + "\n")
                own = {"memctl": {"id": f"{number:016x}", "created_at": at}}
                messages.write(json.dumps({"role": "user", "content": text, "extra": own}) + "\n")
        return made

    def drop_caches(self) -> None:
        """Remove the caches."""
        for path in sorted((self.root / ".memctl" / "cache").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()


def queries(made: list[str], count: int) -> list[str]:
    """Four words of a text each, common ones among them."""
    chance = random.Random(3)
    return [" ".join(chance.sample(chance.choice(made).rstrip(".?!").split()[:-1], 4)) for _ in range(count)]


def speed(rounds: int) -> list[str]:
    """The lines of the table of times."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        print(f"writing {RECORDS:,} records and messages", file=sys.stderr)
        made = bench.write(RECORDS)
        rows = []

        def row(what: str, spent: list[Spent], limit_s: float) -> None:
            wall_s, cpu_s = (statistics.median(one[which] for one in spent) for which in (0, 1))
            least_s = min(one.wall_s for one in spent)
            verdict = "holds" if wall_s <= limit_s else "missed"
            rows.append(f"| {what} | {wall_s:.2f} | {least_s:.2f} | {cpu_s:.2f} | {limit_s} | {verdict} |")
            print(rows[-1], file=sys.stderr)

        def anew(*command: str) -> list[Spent]:
            taken = []
            for _ in range(3):
                bench.drop_caches()
                taken.append(bench.memctl(*command))
            return taken

        asked = queries(made, rounds)
        recall, search = ("recall", "bench"), ("search", "bench")
        row("first recall: builds the index", anew(*recall, "x", "--no-touch"), 3)
        row("recall", [bench.memctl(*recall, query, "--no-touch") for query in asked], 0.2)
        row(
            "recall, six of the most common words",
            [bench.memctl(*recall, _FREQUENT, "--no-touch") for _ in range(5)],
            0.5,
        )
        row("first search: builds the index", anew(*search, "x"), 5)
        row("search", [bench.memctl(*search, query) for query in asked], 0.2)
        row(
            "`import typer`, for comparison",
            [bench.run(sys.executable, "-c", "import typer") for _ in range(5)],
            0.2,
        )
        first = 0
        for number in random.Random(5).sample(range(RECORDS), NEEDLES):
            said = bench.memctl(*recall, made[number], "-k", "1", "--no-touch", "-f", "jsonl").output
            first += json.loads(said)["id"] == f"r{number:06}"
        verdict = "holds" if first == NEEDLES else "missed"
        rows.append(
            f"| the record with the exact words comes first | {first} of {NEEDLES} | | | | {verdict} |"
        )
    return rows


def quality(run: Path | None) -> list[str]:
    """The lines of the table of categories."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        answers = list(locomo.recalled(Path(folder)))
        seconds = time.perf_counter() - started
    if run is not None:
        rows = [json.dumps({"qid": question["qid"], "ids": ids}) + "\n" for question, ids in answers]
        run.write_text("".join(rows))
    groups = locomo.scores(answers)
    lines = []
    for name, values in sorted(groups.items(), key=lambda row: (row[0] not in _BAR, row[0])):
        bar = _BAR.get(name, {})
        missed = any(values[key] < least for key, least in bar.items())
        verdict = "" if not bar else "missed" if missed else "holds"
        told = " | ".join(f"{values[key]:.3f}" for key in ("recall@5", "recall@10", "recall@50", "mrr"))
        lines.append(f"| {name} | {values['n']:.0f} | {told} | {verdict} |")
    lines.append("")
    lines.append(
        f"{len(answers):,} questions to six histories in {seconds:.0f} s, all included. "
        "The bar: main recall@10 0.79 and MRR 0.62, all recall@10 0.78."
    )
    return lines


def page(rounds: int, run: Path | None) -> str:
    """The page."""
    lines = ["# Recall: how well and how fast memctl finds", "", "## Quality", ""]
    if locomo.is_there():
        lines += ["| category | questions | recall@5 | recall@10 | recall@50 | MRR |  |"]
        lines += ["| --- | --- | --- | --- | --- | --- | --- |", *quality(run)]
    else:
        lines += ["LoCoMo does not lie beside the checkout: not measured."]
    lines += [
        "",
        "Each conversation is one user's history: appended, remembered with `--from`, then recalled.",
    ]
    lines += ["", f"## Speed, {RECORDS:,} records and as many messages", ""]
    lines += [
        "| whole process | median, s | least, s | processor, s | limit, s |  |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += speed(rounds)
    where = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    load = f"{os.getloadavg()[0]:.1f} processes wanted to run at the end"
    lines += [
        "",
        f"{where}, {os.cpu_count()} processors; {load}.",
        "Measured with `python -m tests.bench.recall`.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21, help="how many queries are measured")
    parser.add_argument("--run", type=Path, help="write what was recalled, a line a question")
    parser.add_argument("--output", type=Path, help="the page (standard output if absent)")
    given: Any = parser.parse_args()
    text = page(given.rounds, given.run)
    if given.output:
        given.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
