"""Seeded conversations in which nothing is wrong, with summaries that hide parts of them.

A log is a list of stored lines, each with its LF. Each message has a content of its own, most have an id.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

#: How a summary says what it covers: as condense writes it, not at all, with fingerprints that meet nothing.
COVERS, NO_COVERS, STALE_COVERS = "covers", "no covers", "stale covers"
FINGERPRINT_LINES = 3
_TEXTS = ("hello", "ä€ 日本語", 'x }{ "y" \\', "a\u2028b", "tab\t", "🙂", "42", "<&>")


def make(seed: int, summaries: tuple[str, ...] = ()) -> list[bytes]:
    """The log of a seed: one to seven turns, with these summaries in this order, spread over them."""
    return _Writer(random.Random(f"log {seed}"), summaries).write()


def fingerprint(lines: list[bytes]) -> str:
    """What `covers` says of lines, which are given with their LF."""
    return hashlib.sha256(b"\n".join(line[:-1] for line in lines)).hexdigest()[:16]


def covers(lines: list[bytes], kept: int) -> dict[str, Any]:
    """What a summary behind `lines` says that covers all but the last `kept` of them."""
    at = len(lines) - kept
    return {
        "kept": kept,
        "last": fingerprint(lines[max(0, at - FINGERPRINT_LINES) : at]),
        "next": fingerprint(lines[at : at + FINGERPRINT_LINES]),
    }


def summary(lines: list[bytes], kept: int) -> bytes:
    """The line of a summary behind `lines`."""
    extra = {"__eino_ext_memory_summary": True, "memctl": {"covers": covers(lines, kept)}}
    message = {"role": "assistant", "content": "a summary", "extra": extra}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class _Writer:
    def __init__(self, rng: random.Random, summaries: tuple[str, ...]) -> None:
        self.rng = rng
        self.summaries = list(summaries)
        self.lines: list[bytes] = []
        self.boundary = 0

    def write(self) -> list[bytes]:
        turns = self.rng.randint(max(1, len(self.summaries)), 7)
        behind = set(self.rng.sample(range(turns), len(self.summaries)))
        if self.rng.random() < 0.3:
            self._add({"role": "system", "content": self._text()})
        for turn in range(turns):
            self._turn(turn)
            if turn in behind:
                self._summary(self.summaries.pop(0))
        return self.lines

    def _turn(self, turn: int) -> None:
        self._add({"role": "user", "content": self._text()})
        for step in range(self.rng.randint(0, 2)):
            ids = [f"call-{turn}-{step}-{number}" for number in range(self.rng.randint(1, 3))]
            function = {"name": "look", "arguments": '{"at":1}'}
            made = [{"id": id, "type": "function", "function": function} for id in ids]
            self._add({"role": "assistant", "content": "", "tool_calls": made})
            for id in ids:
                self._add({"role": "tool", "content": self._text(), "tool_call_id": id})
        self._add({"role": "assistant", "content": self._text()})

    def _summary(self, kind: str) -> None:
        extra: dict[str, Any] = {"__eino_ext_memory_summary": True}
        own = len(self.lines)
        if kind == NO_COVERS:
            self.boundary = own
        elif kind == STALE_COVERS:
            extra["memctl"] = {"covers": {"kept": own + 3, "last": "0" * 16, "next": "f" * 16}}
        else:
            # The one before it stands in what is kept, or in what is covered: both are met.
            at = self.boundary = self.rng.randint(self.boundary, own)
            extra["memctl"] = {"covers": covers(self.lines, own - at)}
        self._add({"role": "assistant", "content": self._text(), "extra": extra})

    def _text(self) -> str:
        return f"{self.rng.choice(_TEXTS)} {len(self.lines)}"

    def _add(self, message: dict[str, Any]) -> None:
        if self.rng.random() < 0.7:
            extra = message.setdefault("extra", {})
            extra["memctl"] = {"id": f"id-{len(self.lines)}", **extra.get("memctl", {})}
        separators = self.rng.choice(((",", ":"), (", ", ": ")))
        text = json.dumps(message, ensure_ascii=self.rng.random() < 0.3, separators=separators)
        self.lines.append(text.encode() + b"\n")
