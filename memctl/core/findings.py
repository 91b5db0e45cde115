"""Findings: the problems of one file as they are found, each with what repair does about it."""

from __future__ import annotations

from typing import NamedTuple

from memctl.core.problems import ACTIONS, TABLE, WARNING, Problem

#: So many problems of one code are listed; further ones are counted.
LISTED_MAX = 50_000


class Found(NamedTuple):
    """A problem, and what repair does about it; "" for nothing."""

    problem: Problem
    action: str


class Findings:
    """The problems of a file. `counts` has all of them, by code, severity and action; `found` lists most."""

    def __init__(self) -> None:
        self.found: list[Found] = []
        #: Milder problems that stand behind graver ones of the same line and code, and are left.
        self.remaining: list[Found] = []
        self.counts: dict[tuple[str, str, str], int] = {}
        self._listed: dict[str, int] = {}

    def add(self, problem: Problem, *, mends: bool) -> None:
        """One problem more; `mends`: repair does something about it."""
        code = problem.code
        action = ACTIONS.get(code, "set aside") if mends else ""
        key = (code, problem.severity, action)
        self.counts[key] = self.counts.get(key, 0) + 1
        listed = self._listed.get(code, 0)
        if listed < LISTED_MAX:
            self._listed[code] = listed + 1
            self.found.append(Found(problem, action))

    def add_blank_lines(self, line: int, offset: int, data: bytes, *, mends: bool) -> None:
        """Blank lines that follow one another, from `line` at `offset` on; `data` has LF between them."""
        severity = TABLE["blank-line"].severity
        room = max(1, LISTED_MAX - self._listed.get("blank-line", 0))
        listed = data.split(b"\n", room)[:room]
        for blank in listed:
            self.add(Problem("blank-line", severity, line, offset, len(blank), ""), mends=mends)
            line += 1
            offset += len(blank) + 1
        action = ACTIONS["blank-line"] if mends else ""
        self.counts["blank-line", severity, action] += data.count(b"\n") + 1 - len(listed)

    def unlisted(self) -> dict[str, int]:
        """How many problems there are beyond those that are listed, by code."""
        numbers: dict[str, int] = {}
        for (code, _, _), number in self.counts.items():
            numbers[code] = numbers.get(code, 0) + number
        return {
            code: number - self._listed[code]
            for code, number in sorted(numbers.items())
            if number > self._listed[code]
        }

    def add_bad_summary(self, line: int, offset: int, length: int) -> None:
        """The place up to which a summary covers was not found; that takes a second look at the log."""
        self.add(Problem("bad-summary", TABLE["bad-summary"].severity, line, offset, length, ""), mends=False)

    def note_summary_found(self, line: int) -> None:
        """The summary on a line, whose place was not found, has one again once the rest is repaired."""
        for at, (problem, action) in enumerate(self.found):
            if problem.code == "bad-summary" and problem.line == line and not action:
                self.found[at] = Found(problem, ACTIONS["bad-summary"])
                self.counts["bad-summary", WARNING, ""] -= 1
                key = ("bad-summary", WARNING, ACTIONS["bad-summary"])
                self.counts[key] = self.counts.get(key, 0) + 1

    def sort(self) -> None:
        """Put what is listed in the order of the file."""
        self.found.sort(key=lambda found: found.problem.place)
