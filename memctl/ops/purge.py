"""purge: remove for good what a store keeps aside: trash, archive, quarantine, events.

Each thing goes under the lock of those who put it there or take it back. One that cannot be removed does not
stop the next.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import names, times
from memctl.core import record as records
from memctl.core.tier import COLD
from memctl.errors import BadName, MemctlError, UsageError, of_system
from memctl.store import erasure, history, leftovers, line_files, quarantine, trash, unfinished, users

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from memctl.ops.setup import Setup

KINDS = ("trash", "archive", "quarantine", "events")
LEFTOVERS = "leftovers"


class Purged(NamedTuple):
    """What was, or without `applied` would be, removed; the fields are the keys of the report.

    `items` have `kind`, `user`, `name`, `time` (None: unknown), `count` and `bytes`; `kinds` sums them up.
    """

    applied: bool
    kinds: list[dict[str, Any]]
    items: list[dict[str, Any]]
    failed: list[dict[str, Any]]


def purge(
    setup: Setup, *, only: Collection[str] = (), older_than_s: float | None = None, apply: bool
) -> Purged:
    """Remove what is of these kinds (of all without any) and older than that; only the plan without `apply`.

    What has no readable time stays where an age is given. Without `only`, what killed processes left
    unfinished goes too. Raises UsageError for an unknown kind.
    """
    for kind in only:
        if kind not in KINDS:
            raise UsageError(f"no kind {kind}; there are {', '.join(KINDS)}")
    setup.check_layout()
    before_us = None if older_than_s is None else setup.time_us() - round(older_than_s * 1_000_000)
    run = _Run(setup, before_us, apply)
    steps = {"trash": run.trash, "archive": run.archive, "quarantine": run.quarantine, "events": run.events}
    if not only:
        steps[LEFTOVERS] = run.leftovers
    kinds = []
    for kind, step in steps.items():
        if only and kind not in only:
            continue
        first = len(run.items)
        step()
        rows = run.items[first:]
        count, size_bytes = (sum(row[key] for row in rows) for key in ("count", "bytes"))
        kinds.append({"kind": kind, "items": count, "bytes": size_bytes})
    return Purged(apply, kinds, run.items, run.failed)


class _Run:
    """One purge: what it names, or removes and names, and what it could not remove."""

    def __init__(self, setup: Setup, before_us: int | None, apply: bool) -> None:
        self._setup = setup
        self._before_us = before_us
        self._apply = apply
        self.items: list[dict[str, Any]] = []
        self.failed: list[dict[str, Any]] = []

    def trash(self) -> None:
        """The entries of the trash, by the time in their names."""
        for entry in trash.entries(self._setup.layout):
            if self._is_due(entry.deleted_at):
                with self._going("trash", entry.user, entry.name):
                    with self._locked(entry.user, entry.conversation):
                        if self._apply and not trash.remove(
                            self._setup.layout, entry, fsync=self._setup.fsync()
                        ):
                            continue
                    self._add("trash", entry.user, entry.name, entry.deleted_at, entry.bytes)

    def archive(self) -> None:
        """The archived records of each user, by when they were archived."""
        layout = self._setup.layout
        for user in users.archived(layout):
            with self._going("archive", user, None), ExitStack() as held:
                if self._apply:
                    held.enter_context(self._setup.records_lock(user, "purge"))
                    timeout_s = float(self._setup.settings["lock.timeout_s"])
                    unfinished.clear_up(layout, user, timeout_s, fsync=self._setup.fsync())
                rows = []
                for line in line_files.lines(layout.archive(user)):
                    record = records.read(line.data, COLD)
                    when = None if record is None else record.value.get("archived_at")
                    when = when if type(when) is str else None
                    if self._is_due(when) and line.data.strip():
                        rows.append(("" if record is None else record.id, when, line.size_bytes))
                if self._apply and rows:
                    erasure.remove_lines(layout, layout.archive(user), self._goes, fsync=self._setup.fsync())
                for id, when, size_bytes in rows:
                    self._add("archive", user, id, when, size_bytes)

    def _goes(self, line: bytes) -> bool:
        record = records.read(line, COLD)
        return self._is_due(None if record is None else record.value.get("archived_at"))

    def quarantine(self) -> None:
        """The items of quarantine, by the time in their notes; also notes without bytes."""
        layout, fsync = self._setup.layout, self._setup.fsync()
        for user in quarantine.users(layout.root, "quarantine"):
            found: list[tuple[dict[str, Any], int]] = []
            with self._going("quarantine", user, None):
                found = [(note, os.fstat(fd).st_size) for note, fd in quarantine.opened(layout, user)]
                found += [(note, 0) for note in quarantine.notes_alone(layout, user)]
            for note, size_bytes in found:
                when = note.get("time")
                if not self._is_due(when):
                    continue
                with self._going("quarantine", user, note["id"]):
                    of_records = self._apply and "records" in note
                    with ExitStack() as held:
                        if of_records:
                            held.enter_context(self._setup.records_lock(user, "purge"))
                        held.enter_context(self._locked(user, _conversation(user, note.get("conversation"))))
                        if self._apply:
                            quarantine.take_back(layout, user, note["id"], fsync=fsync)
                    self._add("quarantine", user, note["id"], when, size_bytes)

    def events(self) -> None:
        """The events of each user, by their time."""
        for user, place in history.places(self._setup.layout):
            with self._going("events", user, place.name):
                if self._apply:
                    gone = history.purge(self._setup.layout, place, self._before_us)
                else:
                    gone = history.due(place, self._before_us)
                if gone.number:
                    self._add("events", user, place.name, gone.oldest, gone.bytes, gone.number)

    def leftovers(self) -> None:
        """What killed processes left unfinished."""
        for path, size_bytes in leftovers.found(self._setup.layout):
            self._add(LEFTOVERS, None, path, None, size_bytes)
        if self._apply:
            leftovers.sweep(self._setup.layout)

    def _is_due(self, when: object) -> bool:
        """Whether something of this time goes."""
        if self._before_us is None:
            return True
        moment_us = times.microseconds(when)
        return moment_us is not None and moment_us < self._before_us

    def _add(
        self, kind: str, user: str | None, name: str, when: object, size_bytes: int, count: int = 1
    ) -> None:
        time = when if type(when) is str else None
        row = {"kind": kind, "user": user, "name": name, "time": time, "count": count, "bytes": size_bytes}
        self.items.append(row)

    @contextmanager
    def _going(self, kind: str, user: str | None, name: str | None) -> Iterator[None]:
        """What fails inside is noted, and stops nothing else."""
        try:
            yield
        except (MemctlError, OSError) as error:
            known = error if isinstance(error, MemctlError) else of_system(error)
            self.failed.append(
                {"kind": kind, "user": user, "name": name, "code": known.code, "message": str(known)}
            )

    @contextmanager
    def _locked(self, user: str, conversation: str | None) -> Iterator[None]:
        """Nobody puts something of this conversation aside, or takes it back, while this is held."""
        if not self._apply or conversation is None:
            yield
            return
        with self._setup.lock(names.Reference(user, conversation), "purge"):
            yield


def _conversation(user: str, written: object) -> str | None:
    """The conversation of the user that a note names."""
    try:
        reference = names.parse_reference(written) if type(written) is str else None
    except (BadName, UsageError):
        return None
    return reference.conversation if reference is not None and reference.user == user else None
