"""inspect: say what files hold and exactly what is wrong with them; nothing is changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import activities as activity
from memctl.core import counting
from memctl.core.problems import ACTIONS, ERROR, WARNING, Problem, problem
from memctl.errors import MemctlError, NotFound, of_system
from memctl.formats import files as formats
from memctl.ops.excerpts import Excerpt, around
from memctl.ops.source import Source, with_index
from memctl.ops.targets import listed, open_row, settled_size, source_of
from memctl.store import log
from memctl.store.census import ACTIVITIES, LOG, Listed, check_readable
from memctl.store.entries import Damaged
from memctl.store.examined import Examined
from memctl.store.sidecar import Index
from memctl.store.totals import Totals
from memctl.store.weighing import weigher

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memctl.ops.setup import Setup

    Progress = Callable[[int, int], None]


class Inspected(NamedTuple):
    """What a file holds and what is wrong with it; the fields up to `problems` are the keys of its report.

    `format` is None for what is no log and no activities. `last_summary` is a message's index. `unlisted`
    counts, by code, problems beyond those that are listed. `actions` says of each problem what
    repair does about it, "" for nothing; `excerpts` are by the index of the problem.
    """

    target: str
    format: str | None
    messages: int
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


class Failed(NamedTuple):
    """A target that could not be looked at."""

    target: str
    code: str
    message: str


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
    """Look at conversations, users, files, directories; without arguments at the whole store.

    Raises NotFound for an argument that names nothing, and where none of the files could be looked at.
    """
    form = None if input_format is None else formats.named(input_format)
    rows = listed(setup, arguments)
    looked: list[Inspected] = []
    failed: list[Failed] = []
    errors: list[MemctlError] = []
    complete = True
    for number, row in enumerate(rows):
        if progress is not None and len(rows) > 1:
            progress(number, len(rows))
        try:
            found, settled = _look(setup, row, form, tokens, excerpts, progress if len(rows) == 1 else None)
        except NotFound as error:
            if len(rows) == 1 and row.place is None:
                raise
            if row.place is None:
                errors.append(error)
                failed.append(Failed(row.name, error.code, str(error)))
                complete = False
            # One of a store was deleted meanwhile.
            continue
        except (MemctlError, OSError) as error:
            known = error if isinstance(error, MemctlError) else of_system(error)
            errors.append(known)
            failed.append(Failed(row.name, known.code, str(known)))
            complete = False
            continue
        complete = complete and settled
        if found is not None:
            looked.append(found)
    if errors and not looked:
        raise errors[0]
    return Inspection(
        looked,
        sum(target.counts.get(ERROR, 0) for target in looked),
        sum(target.counts.get(WARNING, 0) for target in looked),
        complete,
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
    if row.kind == LOG:
        return _log(setup, row, form, tokens, excerpts, progress)
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


def _log(
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
        known = form or formats.recognised(log.read_span(fd, 0, formats.HEAD_BYTES)) or formats.FORMATS[0]
        examined = Examined(fd, end, known.examination(), progress)
        found = examined.examination
        in_store = row.place is not None
        is_foreign = form is None and not found.messages and found.others.rule_out(in_store=in_store)
        findings = found.findings
        problems = list(row.problems)
        index = source.cache_path("index")
        agrees = None if index is None else Index.agrees(fd, index)
        if agrees is False and row.place is not None:
            # Of a file outside the store it is nobody's concern: readers find out by themselves.
            problems.append(problem("stale-cache"))
        problems += [row.problem for row in findings.found]
        counted = None
        if tokens or agrees:
            counted = _tokens(source, str(setup.settings["window.counter"]), known_only=not tokens)
        counts = dict.fromkeys((ERROR, WARNING, "info"), 0)
        for file_problem in problems[: len(problems) - len(findings.found)]:
            counts[file_problem.severity] += 1
        for (_, severity, _), number in findings.counts.items():
            counts[severity] += number
        return Inspected(
            target=row.name,
            format=None if is_foreign else known.name,
            messages=found.messages,
            bytes=end,
            tokens=counted,
            roles=dict(sorted(found.roles.items())),
            markers=found.markers,
            last_summary=found.last_summary,
            open_calls=found.open_calls,
            problems=problems,
            unlisted=findings.unlisted(),
            lines=found.lines,
            counts=counts,
            actions=[
                *(ACTIONS.get(found.code, "") for found in problems[: len(problems) - len(findings.found)]),
                # What is none of ours is not repaired.
                *("" if is_foreign else row.action for row in findings.found),
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
        row.name, name, 0, size_bytes, None, {}, markers, None, 0, problems, {}, 0, counts, actions, {}
    )


class _NotCounted(Exception):
    """Tokens would have to be counted first."""


def _tokens(source: Source, counter: str, *, known_only: bool) -> int | None:
    """The tokens of the log; with `known_only` None unless all of them were counted before."""
    if known_only and not os.path.exists(source.cache_path(counter) or ""):
        return None

    def refuse(_: Sequence[dict[str, Any]]) -> list[int]:
        raise _NotCounted

    weigh = refuse if known_only else weigher(counter, source.user_cache)

    def answer(index: Index) -> int | None:
        totals = Totals(index, source.cache_path(counter), counter, weigh)
        try:
            totals.reach(0)
            return counting.tokens(totals.upto(len(index)).all - totals.upto(0).all, counter)
        finally:
            totals.close()

    try:
        return with_index(source, None, answer)
    except (_NotCounted, Damaged):
        return None
