"""inspect: say what files hold and exactly what is wrong with them; nothing is changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import activities as activity
from memctl.core.problems import ACTIONS, ERROR, WARNING, Problem, problem
from memctl.formats import files as formats
from memctl.ops import tokens as token_counts
from memctl.ops.excerpts import Excerpt, around
from memctl.ops.file_format import form_of, is_foreign
from memctl.ops.targets import Failed, each, listed, open_row, settled_size, source_of
from memctl.store.census import ACTIVITIES, LOG, RECORDS, Listed, check_readable
from memctl.store.examined import Examined
from memctl.store.sidecar import Index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.ops.setup import Setup
    from memctl.ops.targets import Progress


class Inspected(NamedTuple):
    """What a file holds and what is wrong with it; the fields up to `problems` are the keys of its report.

    `format` is None for what is no log, no records and no activities. `records` counts each id once,
    `older_versions` the lines of a record beyond its newest. `last_summary` is a message's index. `unlisted`
    counts, by code, problems beyond those that are listed. `actions` says of each problem what
    repair does about it, "" for nothing; `excerpts` are by the index of the problem.
    """

    target: str
    format: str | None
    messages: int
    records: int
    older_versions: int
    bytes: int
    tokens: int | None
    roles: dict[str, int]
    markers: dict[str, int]
    last_summary: int | None
    open_calls: int
    problems: list[Problem]
    unlisted: dict[str, int]
    lines: int
    counts: dict[str, int]
    actions: list[str]
    excerpts: dict[int, Excerpt]

    def report(self) -> dict[str, Any]:
        """The report of `--json`."""
        values = self._asdict()
        for key in ("lines", "counts", "actions", "excerpts"):
            del values[key]
        return {**values, "problems": [found._asdict() for found in self.problems]}


class Inspection(NamedTuple):
    """All targets. `complete` is False if one could not be looked at, or its lock was held all the time."""

    targets: list[Inspected]
    errors: int
    warnings: int
    complete: bool
    failed: list[Failed]

    def report(self) -> dict[str, Any]:
        """The report of `--json`."""
        return {
            "targets": [target.report() for target in self.targets],
            "errors": self.errors,
            "warnings": self.warnings,
            "complete": self.complete,
            "failed": [failed._asdict() for failed in self.failed],
        }


def inspect(
    setup: Setup,
    arguments: Sequence[str] = (),
    *,
    tokens: bool = False,
    input_format: str | None = None,
    excerpts: bool = False,
    progress: Progress | None = None,
) -> Inspection:
    """Look at conversations, users, records, files, directories; without arguments at the whole store.

    Raises NotFound for an argument that names nothing, and where none of the files could be looked at.
    """
    form = None if input_format is None else formats.named(input_format)
    unsettled = False

    def look(row: Listed, progress: Progress | None) -> Inspected | None:
        nonlocal unsettled
        found, settled = _look(setup, row, form, tokens, excerpts, progress)
        unsettled = unsettled or not settled
        return found

    looked, failed = each(listed(setup, arguments), look, progress)
    return Inspection(
        looked,
        sum(target.counts.get(ERROR, 0) for target in looked),
        sum(target.counts.get(WARNING, 0) for target in looked),
        not (unsettled or failed),
        failed,
    )


def _look(
    setup: Setup,
    row: Listed,
    form: formats.FileFormat | None,
    tokens: bool,
    excerpts: bool,
    progress: Progress | None,
) -> tuple[Inspected | None, bool]:
    """What is in a file; None for activities with which nothing is wrong."""
    if row.kind in (LOG, RECORDS):
        return _lines(setup, row, form, tokens, excerpts, progress)
    problems = list(row.problems)
    size_bytes = 0
    name = None
    if row.kind == ACTIVITIES:
        data = read_activities(row)
        size_bytes = len(data)
        name = "activities"
        if fault := activity.fault(data):
            problems.append(problem("bad-activities", detail=fault))
        if not problems and row.reference is not None:
            return None, True
    else:
        check_readable(row)
        try:
            size_bytes = os.lstat(row.path).st_size
        except OSError:
            pass
    return _inspected(row, name, size_bytes, problems), True


def read_activities(row: Listed) -> bytes:
    """The bytes of a file of activities."""
    with open(open_row(row), "rb") as file:
        return file.read()


def _lines(
    setup: Setup,
    row: Listed,
    form: formats.FileFormat | None,
    tokens: bool,
    excerpts: bool,
    progress: Progress | None,
) -> tuple[Inspected, bool]:
    source = source_of(setup, row)
    try:
        fd = source.fd
        end, settled = settled_size(setup, row, fd)
        known = form_of(row, fd, form)
        examined = Examined(fd, end, known.examination(), progress)
        found = examined.examination
        foreign = is_foreign(row, found, form)
        diagnosis = found.diagnosis
        problems = list(row.problems)
        index = source.cache_path("index")
        agrees = None if index is None else Index.agrees(fd, index)
        if agrees is False and row.place is not None:
            # Of a file outside the store it is nobody's concern: readers find out by themselves.
            problems.append(problem("stale-cache"))
        problems += [row.problem for row in diagnosis.found]
        counted = None
        if known == formats.CONVERSATION and (tokens or agrees):
            counted = token_counts.of_log(
                source, str(setup.settings["window.counter"]), known_only=not tokens
            )
        counts = dict.fromkeys((ERROR, WARNING, "info"), 0)
        for file_problem in problems[: len(problems) - len(diagnosis.found)]:
            counts[file_problem.severity] += 1
        for (_, severity, _), number in diagnosis.counts.items():
            counts[severity] += number
        return Inspected(
            target=row.name,
            format=None if foreign else known.name,
            messages=found.messages,
            records=found.records,
            older_versions=found.older_versions,
            bytes=end,
            tokens=counted,
            roles=dict(sorted(found.roles.items())),
            markers=found.markers,
            last_summary=found.last_summary,
            open_calls=found.open_calls,
            problems=problems,
            unlisted=diagnosis.unlisted(),
            lines=found.lines,
            counts=counts,
            actions=[
                *(ACTIONS.get(found.code, "") for found in problems[: len(problems) - len(diagnosis.found)]),
                # What is none of ours is not repaired.
                *("" if foreign else row.action for row in diagnosis.found),
            ],
            excerpts=around(fd, end, problems) if excerpts else {},
        ), settled
    finally:
        os.close(source.fd)


def _inspected(row: Listed, name: str | None, size_bytes: int, problems: list[Problem]) -> Inspected:
    counts = dict.fromkeys((ERROR, WARNING, "info"), 0)
    for found in problems:
        counts[found.severity] += 1
    markers = dict.fromkeys(("summary", "incomplete", "ephemeral"), 0)
    # Activities outside a store, or under no name of one, may be anybody's.
    is_ours = row.kind != ACTIVITIES or row.reference is not None
    actions = [ACTIONS.get(found.code, "") if is_ours else "" for found in problems]
    return Inspected(
        row.name, name, 0, 0, 0, size_bytes, None, {}, markers, None, 0, problems, {}, 0, counts, actions, {}
    )
