"""Finding: what can be wrong with a line, in one table of code words.

The order is part of the format of the caches: a code is stored as its index here, so new ones go to the end.
"""

from __future__ import annotations

from typing import NamedTuple

CODES = (
    "",
    "torn-tail",
    "bad-json",
    "unreadable-json",
    "bad-number",
    "glued-lines",
    "nul-bytes",
    "bad-utf8",
    "not-a-message",
    "unknown-role",
    "orphan-result",
    "open-call",
    "duplicate-result",
    "empty-message",
    "ephemeral-stored",
    "blank-line",
    "bom",
    "crlf",
    "line-too-long",
)
NUMBER = {code: number for number, code in enumerate(CODES)}


#: Damage that repair mends without losing a message: such lines are served as repair would write them.
MENDED = ("bad-number", "glued-lines", "nul-bytes", "bad-utf8", "bom", "crlf")


class Finding(NamedTuple):
    """A fault of one line (1-based)."""

    line: int
    code: str


def summed_up(findings: list[Finding]) -> list[str]:
    """One phrase per code for a sentence: `bad-json (line 3)`, `crlf (lines 1-4, 9)`."""
    by_code: dict[str, list[int]] = {}
    for line, code in findings:
        by_code.setdefault(code, []).append(line)
    return [
        f"{code} (line{'s' if len(set(lines)) > 1 else ''} {_ranges(lines)})"
        for code, lines in by_code.items()
    ]


def _ranges(lines: list[int]) -> str:
    """Sorted line numbers as ranges; after twelve of them only how many more."""
    spans: list[list[int]] = []
    for line in sorted(set(lines)):
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in spans[:12]]
    if len(spans) > 12:
        shown.append(f"and {sum(b - a + 1 for a, b in spans[12:])} more")
    return ", ".join(shown)
