"""Unfinished: clear up behind a pass that was killed, before a user's records are changed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.errors import InTheWay
from memctl.store import archive, intent, journal, tiers

if TYPE_CHECKING:
    from memctl.store.layout import Layout


def clear_up(layout: Layout, user: str, timeout_s: float, *, fsync: bool) -> bool:
    """Clear up what a killed pass left, if there is such; whether there was.

    Called under the lock of the records by all that gives a record a new `rev`, takes one out of its tier or
    changes the archive, before it does. Afterwards the journal holds the accesses that the records do not
    have, and the archive no record that is still in a tier on its account. Raises LockTimeout.
    """
    try:
        left = intent.read(layout, user)
    except InTheWay:
        # What is no file is no intent of ours.
        left = None
    if left is None:
        return False
    revs = {id: record.rev for id, record in tiers.read(layout, user).records.items()}
    journal.keep_waiting(layout, user, left, revs, timeout_s, fsync=fsync)
    if left.archive is not None:
        archive.take_back(layout, user, left.archive, revs, fsync=fsync)
    intent.remove(layout, user)
    return True
