"""reconcile: fold accesses in, promote, demote and evict, for one user or many; made for cron."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import observing, times
from memctl.core.tier import TIERS
from memctl.core.tiering import Policy
from memctl.errors import BadInput, Changing, LockTimeout, MemctlError, of_system
from memctl.ops import reconcile_user
from memctl.ops.cold_summaries import Summaries, Summarizer
from memctl.ops.refresh_search import refresh
from memctl.ops.setup import rfc3339
from memctl.store import archive, collecting, directories, events, tiers, unfinished
from memctl.store.users import with_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from memctl.core.migration import Move
    from memctl.core.observing import MigrationObserver
    from memctl.ops.reconcile_user import Look, Rules
    from memctl.ops.setup import Setup
    from memctl.settings import Settings

    Progress = Callable[[int, int], None]

_POLICY = "policy."


class Passed(NamedTuple):
    """What one user's pass did, or would do.

    `left_out`: lines that are no records, by tier and line, or of the journal; `troubles`: why a record got
    another summary than it was to, or none.
    """

    user: str
    moves: list[Move]
    archived: int
    deleted: list[str]
    accesses: int
    summaries: int
    troubles: dict[str, str]
    left_out: list[tuple[str, int]]

    def count(self, kind: str) -> int:
        """How many records were promoted, demoted or evicted."""
        return sum(move.kind == kind for move in self.moves)


class Failed(NamedTuple):
    """A user whose pass failed."""

    user: str
    error: MemctlError


class MigrationReport(NamedTuple):
    """What a run did, or with a dry run would do. A record counts once, by where it ends.

    `evicted` has the archived in it. `skipped`: users whose lock another process held; `unheard`: observers
    that raised, by user.
    """

    passed: list[Passed]
    skipped: list[str]
    failed: list[Failed]
    unheard: list[tuple[str, observing.Unheard]]

    @property
    def promoted(self) -> int:
        """Records that went to a hotter tier."""
        return sum(row.count("promoted") for row in self.passed)

    @property
    def demoted(self) -> int:
        """Records that went to a colder tier."""
        return sum(row.count("demoted") for row in self.passed)

    @property
    def evicted(self) -> int:
        """Records that left the tiers."""
        return sum(row.count("evicted") for row in self.passed)

    @property
    def archived(self) -> int:
        """Records that left the tiers for the archive."""
        return sum(row.archived for row in self.passed)

    @property
    def moves(self) -> list[tuple[str, Move]]:
        """Every move with its user."""
        return [(row.user, move) for row in self.passed for move in row.moves]

    def report(self, *, explain: bool = False) -> dict[str, Any]:
        """The report in JSON's own kinds; with `explain` every move is in it."""
        value: dict[str, Any] = {
            key: getattr(self, key) for key in ("promoted", "demoted", "evicted", "archived")
        }
        value["users"] = len(self.passed)
        value["skipped"] = self.skipped
        value["failed"] = [
            {"user": user, "code": error.code, "message": str(error)} for user, error in self.failed
        ]
        value["deleted"] = [{"user": row.user, "id": id} for row in self.passed for id in row.deleted]
        value["left_out"] = [
            {"user": row.user, "where": where, "line": line}
            for row in self.passed
            for where, line in row.left_out
        ]
        value["accesses"] = sum(row.accesses for row in self.passed)
        value["summaries"] = sum(row.summaries for row in self.passed)
        value["summary_troubles"] = [
            {"user": row.user, "id": id, "message": message}
            for row in self.passed
            for id, message in row.troubles.items()
        ]
        if explain:
            value["moves"] = [
                {"user": user, "id": move.id, "from": move.source, "to": move.target, "reason": move.reason}
                for user, move in self.moves
            ]
        return value


def rules_of(settings: Settings) -> Rules:
    """The rules by which records move, by the settings: a preset's numbers give way to those that are set."""
    preset = settings["policy.preset"]
    single = str(settings["tiers.single"]) if preset == "single" else ""
    presets = {"default": Policy.default, "session": Policy.session, "single": Policy.single_level}
    policy = presets[preset]()
    given = {}
    for field in Policy._fields:
        name = _POLICY + field.removesuffix("_s")
        if settings.origin(name) != "default":
            given[field] = settings[name]
    return reconcile_user.Rules(policy._replace(**given), single, settings["policy.evict"] == "archive")


def at(setup: Setup, now: datetime | str | float | None) -> Setup:
    """The setup at another present; None: its own. Raises BadInput for what is no time."""
    if now is None:
        return setup
    us = times.microseconds(now)
    if us is None:
        raise BadInput(f"now = {now!r} is no time")
    return setup._replace(now_us=us)


def users(setup: Setup, named: Sequence[str], *, everybody: bool) -> list[str]:
    """The users of a run, each once. Raises NotFound for a name that nothing in the store has."""
    if everybody:
        return with_records(setup.layout)
    chosen = list(dict.fromkeys(named))
    for user in chosen:
        if not _is_known(setup, user):
            raise setup.no_user(user)
    return chosen


def _is_known(setup: Setup, user: str) -> bool:
    """Whether a user has records, had some, or has conversations."""
    layout = setup.layout
    if any(tiers.state(layout, user)) or archive.size_bytes(layout, user):
        return True
    place = layout.log(user, "x")
    try:
        os.close(directories.open_at(place.base, place.parts))
    except FileNotFoundError:
        return False
    return True


def reconcile(
    setup: Setup,
    chosen: Sequence[str],
    *,
    dry_run: bool = False,
    skip_locked: bool = False,
    jobs: int = 1,
    observers: Sequence[MigrationObserver | None] = (),
    raises: bool = False,
    progress: Progress | None = None,
) -> MigrationReport:
    """Reconcile the records of users; what is done is durable on return. `chosen` are known users.

    One user's trouble does not stop the next, and is in the report; with `raises` it is raised. With
    `skip_locked` a user is skipped whose records another process changes; else that is waited for. With
    `jobs` above 1 so many processes share the users. Observers are told after a user's moves are durable, in
    this process, and not of a dry run.
    """
    rules = rules_of(setup.settings)
    if skip_locked:
        waiting = setup.settings.with_values({"lock.timeout_s": 0}, "flag --skip-locked")
        setup = setup._replace(settings=waiting)
    task = Task(setup, rules, dry_run, skip_locked)
    report = MigrationReport([], [], [], [])
    for done, (user, result) in enumerate(_results(task, chosen, jobs)):
        if isinstance(result, Passed):
            report.passed.append(result)
            if not dry_run:
                report.unheard.extend((user, row) for row in observing.tell(observers, user, result.moves))
        elif result is None:
            report.skipped.append(user)
        elif raises:
            raise result
        else:
            report.failed.append(Failed(user, result))
        if progress is not None:
            progress(done + 1, len(chosen))
    return report


class Task(NamedTuple):
    """What is done for each user."""

    setup: Setup
    rules: Rules
    dry_run: bool
    skip_locked: bool


def _results(
    task: Task, chosen: Sequence[str], jobs: int
) -> Iterator[tuple[str, Passed | MemctlError | None]]:
    if jobs > 1 and len(chosen) > 1:
        from memctl.ops import parallel

        yield from parallel.shared(run, task, chosen, jobs)
        return
    summarizer = Summarizer(task.setup.settings, dry_run=task.dry_run)
    for user in chosen:
        yield user, run(task, user, summarizer)


def run(task: Task, user: str, summarizer: Summarizer | None = None) -> Passed | MemctlError | None:
    """One user's pass; the error where it failed, None where it was skipped."""
    summarizer = summarizer or Summarizer(task.setup.settings, dry_run=task.dry_run)
    try:
        with collecting.paused():
            return _pass(task, user, summarizer)
    except LockTimeout as error:
        return None if task.skip_locked and not isinstance(error, Changing) else error
    except MemctlError as error:
        return error
    except OSError as error:
        return of_system(error)


def _pass(task: Task, user: str, summarizer: Summarizer) -> Passed:
    setup, rules = task.setup, task.rules
    look = None
    try:
        look = reconcile_user.look(setup, user, rules)
        # A command that summarizes takes its time: nobody waits for it.
        summaries = summarizer.summaries(setup, user, look)
        if task.dry_run or look.is_settled:
            return _passed(user, look, rules, summaries)
    except Changing:
        # Under the lock the files stand still.
        if task.dry_run:
            raise
    setup.ensure_store()
    with setup.records_lock(user, "reconcile"):
        layout, timeout_s = setup.layout, float(setup.settings["lock.timeout_s"])
        left = unfinished.clear_up(layout, user, timeout_s, fsync=setup.fsync())
        if look is None or left or not look.is_same(setup, user):
            look = reconcile_user.look(setup, user, rules)
            summaries = summarizer.summaries(setup, user, look)
        if not look.is_settled:
            reconcile_user.carry_out(setup, user, look, rules, summaries.texts)
            events.record_many(layout, user, map(_event, look.moves), rfc3339(setup.time_us()), setup.run_id)
    if look.moves or look.pending.accesses:
        refresh(setup, user)
    return _passed(user, look, rules, summaries)


def _event(move: Move) -> tuple[str, dict[str, Any]]:
    facts = {"record_id": move.id, "from_tier": move.source, "to_tier": move.target, "reason": move.reason}
    if move.target is None:
        del facts["to_tier"]
    return f"tier.{move.kind}", facts


def _passed(user: str, look: Look, rules: Rules, summaries: Summaries) -> Passed:
    evicted = [move.id for move in look.moves if move.target is None]
    bad = [(row.tier, row.line) for row in look.found.bad]
    return Passed(
        user=user,
        moves=look.moves,
        archived=len(evicted) if rules.keeps_evicted else 0,
        deleted=[] if rules.keeps_evicted else evicted,
        accesses=sum(row.number for row in look.pending.accesses.values()),
        summaries=len(summaries.texts),
        troubles=summaries.troubles,
        left_out=sorted(bad, key=lambda row: (TIERS.index(row[0]), row[1]))
        + [("journal", line) for line in [0] * bool(look.pending.unread) + look.pending.bad],
    )
