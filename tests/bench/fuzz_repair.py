"""Fuzzing of repair: `python -m tests.bench.fuzz_repair 1000000 [SEED]` from the checkout.

A seed gives the same input everywhere (`tests.bench.mutations`). What holds for every repair
(`tests.repair.engine.check`) is checked on each, in process; on one in a thousand also what the command does
in a process of its own. Exit 1 if an input failed; `1 SEED` tries it again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from memctl.core.line_examination import DEFAULT
from tests.bench import mutations
from tests.repair import engine

#: Seconds of the processor that one input may take.
TIME_LIMIT_S = 2.0
CHILD_EVERY = 1000
#: An input without end is noticed when so many take longer than this.
_AT_ONCE, _AT_ONCE_LIMIT_S = 100, 60.0
_CHECKOUT = Path(__file__).resolve().parent.parent.parent


class Slow(Exception):
    """An input took longer than it may."""


def check(seed: int) -> None:
    """Repair the input of a seed; raises what is wrong with that."""
    wanted = DEFAULT | {"bad-text"} if seed % 4 == 0 else DEFAULT
    data = mutations.make(seed)
    started = time.perf_counter()
    outcome = engine.repaired(data, wanted)
    if time.perf_counter() - started > TIME_LIMIT_S:
        # The machine may have been busy with something else.
        started = time.process_time()
        engine.repaired(data, wanted)
        if (spent_s := time.process_time() - started) > TIME_LIMIT_S:
            raise Slow(f"{spent_s:.1f} s")
    engine.check(outcome, wanted)


def check_in_child(seed: int) -> None:
    """Let the command inspect and repair the input of a seed; raises what is wrong with that."""
    data = mutations.make(seed)
    outcome = engine.repaired(data)
    with tempfile.TemporaryDirectory() as scratch:
        file, repaired = Path(scratch, "in.jsonl"), Path(scratch, "out.jsonl")
        file.write_bytes(data)
        looked = _run(scratch, "inspect", "./in.jsonl", "--json")
        assert looked.returncode in (0, 1), looked.stderr
        assert outcome.examination.messages == json.loads(looked.stdout)["targets"][0]["messages"]
        forms = ("--input-format", "memctl")
        done = _run(scratch, "repair", "./in.jsonl", "--apply", "-o", "out.jsonl", "--json", *forms)
        assert done.returncode in (0, 1), done.stderr
        assert outcome.new == repaired.read_bytes()
        assert len(outcome.taken) == json.loads(done.stdout)["targets"][0]["quarantined_bytes"]
        assert data == file.read_bytes()
        again = _run(scratch, "repair", "./out.jsonl", "--json", *forms)
        assert 0 == json.loads(again.stdout)["fixed"]


def _run(scratch: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "memctl", *arguments],
        cwd=scratch,
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": scratch, "PYTHONPATH": str(_CHECKOUT)},
        capture_output=True,
        timeout=60,
    )


def main() -> int:
    """Fuzz; the seeds that fail are printed, each with why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1_000_000, help="how many inputs")
    parser.add_argument("seed", type=int, nargs="?", default=0, help="the first seed")
    options = parser.parse_args()
    failed = 0
    started = time.perf_counter()
    # Whatever hangs is stopped where it is.
    signal.signal(signal.SIGVTALRM, _stop)
    for number, seed in enumerate(range(options.seed, options.seed + options.count), 1):
        if number % _AT_ONCE == 1:
            signal.setitimer(signal.ITIMER_VIRTUAL, _AT_ONCE_LIMIT_S)
        try:
            check(seed)
            if seed % CHILD_EVERY == 0:
                check_in_child(seed)
        except Exception:
            failed += 1
            print(f"seed {seed}: {traceback.format_exc(limit=-4)}", flush=True)
        if number % 10_000 == 0 or number == options.count:
            spent_s = time.perf_counter() - started
            print(f"{number:,} inputs, {failed:,} failed, {spent_s:,.0f} s", file=sys.stderr, flush=True)
    return 1 if failed else 0


def _stop(*_: object) -> None:
    raise Slow("no end in sight")


if __name__ == "__main__":
    sys.exit(main())
