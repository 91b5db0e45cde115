"""Diagnosis: the problems of one file as they are found, each with what repair does about it."""

from __future__ import annotations

from typing import NamedTuple

from memctl.core.problems import ACTIONS, TABLE, Problem

SET_ASIDE = "set aside"
#: So many problems of one code are listed; further ones are counted.
LISTED_MAX = 50_000


class Found(NamedTuple):
    """A problem, and what repair does about it; "" for nothing."""

    problem: Problem
    action: str


class Diagnosis:
    """The problems of a file. `counts` has all of them, by code, severity and action; `found` lists most.

    `remaining` has problems that repair leaves and inspect does not count: milder ones that stand behind
    graver ones of the same line and code. It lists as many; `remaining_counts` has all of them, by code.
    """

    def __init__(self) -> None:
        self.found: list[Found] = []
        self.remaining: list[Found] = []
        self.counts: dict[tuple[str, str, str], int] = {}
        self.remaining_counts: dict[str, int] = {}
        self._listed: dict[str, int] = {}

    def add(self, problem: Problem, *, mends: bool, leaves: bool = False) -> None:
        """One problem more. `mends`: repair does something about it; `leaves`: its line is set aside."""
        code = problem.code
        # What is never mended by itself goes with a message of its line.
        action = "" if not mends else SET_ASIDE if leaves else ACTIONS.get(code, SET_ASIDE)
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

    def add_remaining(self, problem: Problem) -> None:
        """A milder problem more that is left once the graver one of its line and code is mended."""
        number = self.remaining_counts.get(problem.code, 0) + 1
        self.remaining_counts[problem.code] = number
        if number <= LISTED_MAX:
            self.remaining.append(Found(problem, ""))

    def unlisted(self, *, remaining: bool = False) -> dict[str, int]:
        """How many problems there are beyond those that are listed, by code; of `remaining` ones too."""
        numbers: dict[str, int] = {}
        for (code, _, _), number in self.counts.items():
            numbers[code] = numbers.get(code, 0) + number
        beyond = {code: number - self._listed[code] for code, number in numbers.items()}
        if remaining:
            for code, number in self.remaining_counts.items():
                beyond[code] += max(0, number - LISTED_MAX)
        return {code: number for code, number in sorted(beyond.items()) if number}

    @property
    def severities_left(self) -> set[str]:
        """The severities of all problems that repair leaves."""
        left = {severity for (_, severity, action), number in self.counts.items() if number and not action}
        return left | {found.problem.severity for found in self.remaining}

    def sort(self) -> None:
        """Put what is listed in the order of the file."""
        self.found.sort(key=lambda found: found.problem.place)
