"""remember: check all of the input, look up the ids that came with it, write once a tier, under the lock.

A new id is looked up only where the clock is given: then it is derived, and must be another one each time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import record as records
from memctl.core import remembering
from memctl.core.tier import HOT, TIERS
from memctl.errors import BadInput, StorageError, UsageError
from memctl.ops.setup import rfc3339
from memctl.store import line_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from memctl.core.record import Record
    from memctl.core.remembering import Given
    from memctl.ops.setup import Setup

#: The fields that a caller gives beside text and id.
FIELDS = ("tier", "scope", "importance", "categories", "metadata", "pinned", "created_at")
#: Why something of the input is no record of its own, as reports name it.
SKIPPED = ("stored", "copy", "archived", "forgotten", "summary", "ephemeral", "empty")


class Remembered(NamedTuple):
    """What was remembered; the fields are the keys of its report.

    `ids` has one for each record that came in, in order; `updated` and `unchanged` are among them. `skipped`
    counts by reason what was left out (`SKIPPED`). `damaged` are lines of a conversation that hold no
    message, `mended` those that were read as repair would write them.
    """

    user: str
    remembered: int
    updated: int
    unchanged: int
    ids: list[str]
    skipped: dict[str, int]
    forgotten: list[str]
    damaged: list[dict[str, Any]]
    mended: list[dict[str, Any]]


def nothing(user: str) -> Remembered:
    """The report of an input without records."""
    return Remembered(user, 0, 0, 0, [], dict.fromkeys(SKIPPED, 0), [], [], [])


def known_fields(fields: Mapping[str, object]) -> dict[str, Any]:
    """The fields, in the kinds of JSON. Raises UsageError for a name that is none of `FIELDS`."""
    if unknown := sorted(fields.keys() - FIELDS):
        raise UsageError(f"no field {unknown[0]}; there are {', '.join(FIELDS)}")
    known: dict[str, Any] = dict(fields)
    if isinstance(known.get("categories"), tuple):
        known["categories"] = list(known["categories"])
    if hasattr(known.get("created_at"), "isoformat"):
        from memctl.core import record_form

        known["created_at"] = record_form.time(known["created_at"], "created_at")
    return known


def home(setup: Setup) -> str:
    """The tier of a new record that does not say: hot, or the one tier that all are kept in."""
    single = str(setup.settings["tiers.single"])
    return single if single and setup.settings["policy.preset"] == "single" else HOT


def remember(setup: Setup, user: str, given: Sequence[Given], *, again: bool = False) -> Remembered:
    """Store records, or what they change of stored ones; durable on return.

    An id that was forgotten comes back with a typed text, or `again`; lines with one are left out. Raises
    BadInput, with nothing stored.
    """
    if not given:
        return nothing(user)
    setup.ensure_store()
    with setup.records_lock(user, "remember"):
        return _Writing(setup, user, again).write(given)


class _Pending(NamedTuple):
    """A line to be written, and into which tier."""

    tier: str
    line: bytes


class _Writing:
    """One input on its way into the tier files of a user, under the lock of the records."""

    def __init__(self, setup: Setup, user: str, again: bool) -> None:
        self._setup = setup
        self._layout = setup.layout
        self._user = user
        self._again = again
        self._now = rfc3339(setup.time_us())
        self._home = home(setup)
        self._stored: dict[str, Record] = {}
        self._archived: dict[str, int] = {}
        self._forgotten: set[str] = set()
        #: By id, in the order of the first line of each.
        self._pending: dict[str, _Pending] = {}

    def write(self, given: Sequence[Given]) -> Remembered:
        """Write all of it; what was done."""
        own = {one.id for one in given if one.id is not None}
        fresh = self._fresh_ids(given, own)
        if own:
            self._look_up(own)
        left_out = self._left_out(given)
        ids: list[str] = []
        counts = dict.fromkeys(("remembered", "updated", "unchanged"), 0)
        for one in given:
            if one.id is None:
                id = next(fresh)
            elif one.id in left_out:
                continue
            else:
                id = one.id
            try:
                counts[self._take(one, id)] += 1
            except BadInput as error:
                raise remembering.refused(one.number, error) if one.number else error from None
            ids.append(id)
        if back := self._forgotten & self._pending.keys():
            from memctl.store import forgotten

            # Killed behind this, the id is free and nothing was acknowledged.
            forgotten.remove(self._layout, self._user, back, self._setup.fsync())
        self._append()
        done = nothing(self._user)
        done.skipped["forgotten"] = sum(one.id in left_out for one in given)
        return done._replace(
            remembered=counts["remembered"],
            updated=counts["updated"],
            unchanged=counts["unchanged"],
            ids=ids,
            forgotten=sorted(left_out),
        )

    def _fresh_ids(self, given: Sequence[Given], own: Collection[str]) -> Iterator[str]:
        """Ids for the records that came without: random, or derived where the clock is given."""
        bare = [(number, one) for number, one in enumerate(given) if one.id is None]
        if self._setup.now_us is None:
            data = os.urandom(8 * len(bare)).hex()
            return (data[at : at + 16] for at in range(0, len(data), 16))
        return iter(self._derived(bare, self._setup.now_us, set(own)))

    def _derived(self, bare: Sequence[tuple[int, Given]], now_us: int, taken: set[str]) -> list[str]:
        """Derived ids that are not taken: not in a tier, not archived, not forgotten, not in the input."""
        ids: dict[int, str] = {}
        waiting = list(bare)
        attempt = 0
        while waiting:
            tried = {}
            for number, one in waiting:
                content = str(one.fields.get("content", ""))
                tried[number] = remembering.chosen_id(now_us, number, attempt, content)
            met = self._known(set(tried.values()))
            for number, id in tried.items():
                if id not in met and id not in taken:
                    ids[number] = id
                    taken.add(id)
            waiting = [(number, one) for number, one in waiting if number not in ids]
            attempt += 1
        return [ids[number] for number, _ in bare]

    def _known(self, ids: set[str]) -> set[str]:
        from memctl.store import archive, forgotten, lookup

        known = lookup.find(self._layout, self._user, ids).keys() | forgotten.ids(self._layout, self._user)
        return known | {item.record.id for item in archive.read(self._layout, self._user)}

    def _look_up(self, ids: set[str]) -> None:
        """The records with these ids; of those that are not there, what the archive and the list say."""
        from memctl.store import archive, forgotten, lookup, unfinished

        timeout_s = float(self._setup.settings["lock.timeout_s"])
        unfinished.clear_up(self._layout, self._user, timeout_s, fsync=self._setup.fsync())
        self._stored = lookup.find(self._layout, self._user, ids)
        if len(self._stored) < len(ids):
            self._archived = {
                item.record.id: item.record.rev
                for item in archive.read(self._layout, self._user)
                if item.record.id in ids
            }
            self._forgotten = forgotten.ids(self._layout, self._user) & ids - self._stored.keys()

    def _left_out(self, given: Sequence[Given]) -> set[str]:
        """The forgotten ids that do not come back."""
        if self._again:
            return set()
        return {one.id for one in given if one.number and one.id in self._forgotten}

    def _take(self, one: Given, id: str) -> str:
        """Take a record in; what that is: remembered, updated or unchanged."""
        pending = self._pending.get(id)
        current = records.read(pending.line, pending.tier) if pending else self._stored.get(id)
        if current is None:
            # The archive may have it from before: what comes back is newer than that.
            rev = self._archived.get(id, 0) + 1
            line = remembering.new_line(one, id, now=self._now, tier=self._home, rev=rev)
            self._pending[id] = _Pending(one.fields.get("tier", self._home), line)
            return "remembered"
        rev = current.rev if pending else current.rev + 1
        changed = remembering.changed_line(one, current, now=self._now, rev=rev)
        if changed is None:
            return "unchanged"
        line, tier = changed
        self._pending[id] = _Pending(tier, line)
        return "updated"

    def _append(self) -> None:
        """One append for each tier."""
        written: list[str] = []
        for tier in TIERS:
            lines = [pending.line for pending in self._pending.values() if pending.tier == tier]
            if not lines:
                continue
            try:
                place = self._layout.tier(tier, self._user)
                line_files.append(place, lines, fsync=self._setup.fsync())
            except StorageError as error:
                hint = f"what goes to {' and '.join(written)} is stored" if written else error.hint
                raise StorageError(f"the memory of {self._user}: {error}", hint=hint) from error
            written.append(tier)
