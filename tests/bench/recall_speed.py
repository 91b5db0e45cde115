"""What recall and search cost over 100,000: `python -m tests.bench.recall_speed` from the checkout.

Whole processes, one after another, on a store that was searched before; the median of the rounds counts. Two
questions in a row are never the same. The unit beside milliseconds is t, the time of
`python -c "import typer"`, measured in the same rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

#: The median of a whole process over 100,000 records or messages, in milliseconds.
LIMIT_MS = 200
_CHECKOUT = Path(__file__).resolve().parent.parent.parent
_TYPER = (sys.executable, "-c", "import typer")
_START = 1_735_689_600  # 2025-01-01


def words(number: int, size: int, chance: random.Random) -> str:
    """A text of words that are as unevenly frequent as those of a language, and one that nothing else has."""
    ranks = (min(int(chance.paretovariate(0.9)), 30_000) for _ in range(size - 1))
    text = [f"w{rank:x}{'aeiou'[rank % 5]}n" for rank in ranks]
    text.insert(chance.randrange(size), f"only{number:06}")
    return " ".join(text)


def texts(count: int) -> Iterator[str]:
    """As many texts of 8 to 40 words, the same each time."""
    chance = random.Random(1)
    for number in range(count):
        yield words(number, chance.randrange(8, 40), chance)


def fill(root: Path, count: int) -> None:
    """Records in three tiers and one conversation of as many messages, over a year."""
    step_s = 365 * 86_400 / count
    tiers = {tier: root / "tiers" / tier / "alice.jsonl" for tier in ("hot", "warm", "cold")}
    log = root / "conversations" / "alice" / "talk.jsonl"
    for path in (*tiers.values(), log):
        path.parent.mkdir(parents=True, mode=0o700)
    lines: dict[Path, list[str]] = {path: [] for path in (*tiers.values(), log)}
    for number, text in enumerate(texts(count)):
        created_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_START + number * step_s))
        tier = ("hot", "warm", "cold", "cold")[number % 4]
        record = {"id": f"r{number:06}", "content": text, "scope": "", "importance": number % 10 / 10}
        record |= {"created_at": created_at, "tier": tier, "access_count": 0, "rev": 1}
        lines[tiers[tier]].append(json.dumps(record))
        extra = {"memctl": {"id": f"m{number:06}", "created_at": created_at}}
        role = ("user", "assistant")[number % 2]
        lines[log].append(json.dumps({"role": role, "content": text, "extra": extra}))
    for path, rows in lines.items():
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        path.chmod(0o600)


def questions(count: int, rounds: int) -> Iterator[str]:
    """Three words of some text, the rare one among them every other time; and common words now and then."""
    chance = random.Random(2)
    known = list(texts(count))
    for number in range(rounds):
        text = known[chance.randrange(count)].split()
        if number % 2:
            text = [word for word in text if not word.startswith("only")]
        yield " ".join(chance.sample(text, 3))


def took_ms(arguments: tuple[str, ...], environ: dict[str, str]) -> float:
    """How long a process takes, with its output read; it has to end well."""
    start = time.perf_counter()
    subprocess.run(arguments, env=environ, check=True, capture_output=True)
    return (time.perf_counter() - start) * 1000


def main() -> int:
    """Measure and print; 1 if a median is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=41)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "store")
        fill(root, given.count)
        # Not PYTHONDONTWRITEBYTECODE: what is installed is compiled.
        environ = {"PATH": os.environ.get("PATH", ""), "HOME": name, "PYTHONPATH": str(_CHECKOUT)}
        environ["PYTHONPYCACHEPREFIX"] = f"{name}/compiled"
        memctl = (sys.executable, "-m", "memctl", "--root", str(root))
        kinds = {
            "recall": lambda query: (*memctl, "recall", "alice", query),
            "recall, blank": lambda _query: (*memctl, "recall", "alice", "--no-touch"),
            "search": lambda query: (*memctl, "search", "alice", query),
            "search in a conversation": lambda query: (*memctl, "search", "alice/talk", query),
        }
        for kind, command in kinds.items():
            print(f"first {kind}: {took_ms(command('w1en'), environ):,.0f} ms", flush=True)
        taken: dict[str, list[float]] = {kind: [] for kind in kinds}
        unit: list[float] = []
        for query in questions(given.count, given.rounds):
            unit.append(took_ms(_TYPER, environ))
            for kind, command in kinds.items():
                taken[kind].append(took_ms(command(query), environ))
        t = statistics.median(unit)
        print(f"t: {t:.0f} ms")
        for kind, times in taken.items():
            median = statistics.median(times)
            print(f"{kind}: median {median:.0f} ms ({median / t:.1f} t), least {min(times):.0f} ms")
        return int(max(map(statistics.median, taken.values())) > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
