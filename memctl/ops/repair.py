"""repair: print the plan, or carry it out; every byte that leaves a file is kept in quarantine."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from memctl.core import activities as activity
from memctl.core.edits import Edits
from memctl.core.problems import ACTIONS, INFO, Problem, problem
from memctl.errors import BadInput, Overtaken, UsageError
from memctl.formats import files as formats
from memctl.ops import aside, carrying, destination
from memctl.ops.file_format import form_of, is_foreign
from memctl.ops.repaired import Repaired, Repairs, Request, codes
from memctl.ops.targets import each, listed, lock_of, open_row, settled_size, source_of
from memctl.store import caches, log
from memctl.store.census import ACTIVITIES, CACHE, LOG, RECORDS, Listed, check_readable
from memctl.store.examined import Examined
from memctl.store.sidecar import Index

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memctl.ops.setup import Setup
    from memctl.ops.source import Source
    from memctl.ops.targets import Progress

#: Files of lines, which are examined.
_LINES = (LOG, RECORDS)
#: How often a file that other programs change under our eyes is looked at.
_ATTEMPTS = 5


def repair(
    setup: Setup,
    arguments: Sequence[str] = (),
    *,
    apply: bool = False,
    output: str | None = None,
    fix_text: bool = False,
    only: Collection[str] = (),
    input_format: str | None = None,
    progress: Progress | None = None,
) -> Repairs:
    """Plan the repair of conversations, users, records, files, directories, the whole store; or do it.

    Durable on return, file by file; one that cannot be repaired does not stop the next. Raises NotFound for
    an argument that names nothing, and the first failure where nothing could be done at all.
    """
    form = None if input_format is None else formats.named(input_format)
    request = Request(codes(only, fix_text=fix_text), apply, output, form)
    rows = listed(setup, arguments)
    if output is not None:
        rows = [row for row in rows if row.kind in _LINES]
        if len(rows) != 1:
            raise UsageError(f"-o is for one file, not {len(rows)}")
        destination.check_output(setup, rows[0], output)

    def mend(row: Listed, progress: Progress | None) -> Repaired | None:
        return _repair(setup, row, request, progress)

    done, failed = each(rows, mend, progress)
    fixed = sum(target.fixed_count for target in done)
    return Repairs(done, fixed, sum(target.left_count for target in done), failed)


def _repair(setup: Setup, row: Listed, request: Request, progress: Progress | None) -> Repaired | None:
    """Repair one file; None for activities with which nothing is wrong."""
    with ExitStack() as held:
        if request.apply and request.output is None and row.kind not in _LINES and row.reference is None:
            return _other(row, request)
        if request.apply and request.output is None and row.reference is not None:
            setup.ensure_store()
            held.enter_context(lock_of(setup, row, row.reference, "repair"))
        if row.kind in _LINES:
            return _lines(setup, row, request, progress)
        if row.kind == ACTIVITIES:
            return _activities(setup, row, request)
        return _other(row, request)


# -- files of lines ----------------------------------------------------------------------------------------


def _lines(setup: Setup, row: Listed, request: Request, progress: Progress | None) -> Repaired:
    in_place = request.apply and request.output is None
    for _ in range(_ATTEMPTS - 1):
        try:
            return _lines_as_they_are(setup, row, request, in_place, progress)
        except Overtaken:
            # Nothing was changed: what is there now is looked at anew.
            continue
    return _lines_as_they_are(setup, row, request, in_place, progress)


def _lines_as_they_are(
    setup: Setup, row: Listed, request: Request, in_place: bool, progress: Progress | None
) -> Repaired:
    if in_place:
        destination.check_in_place(setup, row)
    source = source_of(setup, row)
    try:
        fd = source.fd
        if in_place and row.reference is None:
            destination.hold(setup, row, fd)
        if in_place:
            # The lock is held already.
            end = log.settled_end(fd, setup.settle_s())
        else:
            end, _ = settled_size(setup, row, fd)
        known = form_of(row, fd, request.form)
        examined = Examined(fd, end, known.examination(request.wanted), progress)
        found = examined.examination
        if is_foreign(row, found, request.form):
            raise BadInput(
                f"{row.name} holds no {known.holds}, but something else; it is left as it is",
                hint=f"--input-format {known.name} takes it for what it should be all the same",
            )
        problems = list(row.problems) if request.output is None else []
        # Of a file outside the store the cache is nobody's concern: readers find out by themselves.
        index = source.cache_path("index") if row.place is not None else None
        if request.output is None and index is not None and Index.agrees(fd, index) is False:
            problems.append(problem("stale-cache"))
        carried = aside.of_log(row, source, examined, end, request.output)
        late = 0
        if in_place or request.output is not None:
            late = carrying.carry_out(setup, row, source, examined, end, carried, request.output)
        if in_place:
            _mend_file(setup, row, source, problems, request)
        return _repaired(row, examined, end, problems, request, carried, late)
    finally:
        os.close(source.fd)


def _mend_file(
    setup: Setup, row: Listed, source: Source, problems: Sequence[Problem], request: Request
) -> None:
    """What is wrong with the file and its cache rather than with what is in it."""
    wanted = {found.code for found in problems} & request.wanted
    if "mode" in wanted:
        carrying.take_from_others(row.path)
    if "stale-cache" in wanted:
        # Of the log that is there now.
        now = source_of(setup, row)
        try:
            carrying.rebuild_cache(now)
        finally:
            os.close(now.fd)


def _repaired(
    row: Listed,
    examined: Examined,
    end: int,
    problems: list[Problem],
    request: Request,
    carried: aside.Aside,
    late: int,
) -> Repaired:
    found = examined.examination
    diagnosis = found.diagnosis
    edits = examined.edits
    fixed, left = _of_file(problems, request)
    severities = diagnosis.severities_left | {row["severity"] for row in left}
    for row_found, action in (*diagnosis.found, *diagnosis.remaining):
        if action:
            fixed.append({"code": row_found.code, "line": row_found.line, "action": action})
        else:
            left.append({"code": row_found.code, "line": row_found.line, "severity": row_found.severity})
    listed_fixed, listed_left = len(fixed), len(left)
    unlisted = diagnosis.unlisted(remaining=True)
    of_lines = sum(number for (_, _, action), number in diagnosis.counts.items() if action)
    beyond = sum(unlisted.values())
    fixed_beyond = of_lines - sum(1 for _, action in diagnosis.found if action)
    return Repaired(
        target=row.name,
        applied=request.apply or request.output is not None,
        kept=end - edits.removed_bytes + edits.newlines,
        fixed=fixed,
        quarantined_bytes=edits.removed_bytes,
        summaries_rewritten=examined.rewritten,
        left=sorted(left, key=lambda item: item["line"] or 0),
        added_bytes=edits.added_bytes - edits.newlines,
        late_bytes=late,
        quarantine=carried.quarantine,
        backup=carried.backup,
        unlisted=unlisted,
        fixed_count=listed_fixed + fixed_beyond,
        left_count=listed_left + beyond - fixed_beyond,
        leaves_trouble=bool(severities - {INFO}),
        messages=found.messages - len(found.plan.gone) + len(found.plan.added),
        records=found.records,
    )


def _of_file(
    problems: Sequence[Problem], request: Request
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What is fixed and what is left of the problems of a file as such."""
    fixed, left = [], []
    for found in problems:
        if found.code in request.wanted and found.code in ACTIONS:
            fixed.append({"code": found.code, "line": None, "action": ACTIONS[found.code]})
        else:
            left.append({"code": found.code, "line": None, "severity": found.severity})
    return fixed, left


# -- other files ------------------------------------------------------------------------------------------


def _activities(setup: Setup, row: Listed, request: Request) -> Repaired | None:
    problems = list(row.problems)
    if row.reference is None:
        # Outside a store, or under no name of one, it may be anybody's.
        request = request._replace(wanted=frozenset())
    fd = open_row(row)
    try:
        size = os.fstat(fd).st_size
        edits = Edits()
        if fault := activity.fault(log.read_span(fd, 0, size)):
            problems.append(problem("bad-activities", detail=fault))
            if "bad-activities" in request.wanted and size:
                edits.add(0, size, b"", 1, "bad-activities")
        if not problems and row.reference is not None:
            return None
        carried = aside.of_activities(row, fd, edits)
        if request.apply:
            wanted = {found.code for found in problems} & request.wanted
            if "bad-activities" in wanted:
                carrying.set_activities_aside(setup, row, fd, edits, carried)
            elif "mode" in wanted:
                carrying.take_from_others(row.path)
    finally:
        os.close(fd)
    return _plain(row, problems, request, edits.removed_bytes, carried.quarantine)


def _other(row: Listed, request: Request) -> Repaired:
    """A file that is no log: what is wrong with it as a file."""
    check_readable(row)
    if request.apply and row.kind == CACHE and "stale-cache" in request.wanted:
        caches.drop(row.path)
    if request.apply and "mode" in request.wanted and any(found.code == "mode" for found in row.problems):
        carrying.take_from_others(row.path)
    return _plain(row, row.problems, request, 0, None)


def _plain(
    row: Listed, problems: Sequence[Problem], request: Request, removed: int, quarantine: str | None
) -> Repaired:
    fixed, left = _of_file(problems, request)
    return Repaired(
        target=row.name,
        applied=request.apply,
        kept=0,
        fixed=fixed,
        quarantined_bytes=removed,
        summaries_rewritten=0,
        left=left,
        added_bytes=0,
        late_bytes=0,
        quarantine=quarantine,
        backup=None,
        unlisted={},
        fixed_count=len(fixed),
        left_count=len(left),
        leaves_trouble=any(row["severity"] != INFO for row in left),
        messages=0,
        records=0,
    )
