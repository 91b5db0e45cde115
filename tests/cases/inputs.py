"""The inputs of the cases, and what commands print of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Run = Callable[..., subprocess.CompletedProcess[bytes]]
Put = Callable[[str, bytes], Path]
Write = Callable[[bytes], Path]
DATA = Path(__file__).parent / "data"


class Printed(NamedTuple):
    """What `window` printed: lines with LF, the report of `--explain`, the talk beside it."""

    lines: list[bytes]
    explain: dict[str, Any]
    talk: list[str]

    @property
    def left_out(self) -> list[tuple[int, str]]:
        return [(item["line"], item["code"]) for item in self.explain["left_out"]]

    @property
    def named(self) -> set[str]:
        """The codes that the talk names."""
        return {phrase.split(" (line")[0].rpartition(" ")[2] for phrase in self.talk if " (line" in phrase}


def case_bytes(case: str, name: str = "input.jsonl") -> bytes:
    """An input of a case, by the case's number."""
    (directory,) = DATA.glob(f"{case}-*")
    return (directory / name).read_bytes()


def case_lines(case: str, name: str = "input.jsonl") -> list[bytes]:
    """The lines of an input, each with its LF."""
    return split(case_bytes(case, name))


def split(data: bytes) -> list[bytes]:
    """Lines ended by LF and nothing else, each with its LF; the last one may lack it."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def pairs(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(row["code"], row["line"]) for row in rows]


def report_of(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The one JSON value on standard output; nothing is said beside it."""
    assert (b"", 1) == (done.stderr, done.stdout.count(b"\n"))
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def repaired(memctl: Run, file: str, *options: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """`repair FILE OPTIONS --json`: the exit code, the report, its one target."""
    done = memctl("repair", file, *options, "--json")
    report = report_of(done)
    (target,) = report["targets"]
    return done.returncode, report, target
