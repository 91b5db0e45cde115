"""Tier files: the records of a user in hot, warm and cold, read without a lock.

Of several lines with one id, in one or several tiers, the highest `rev` is the record. A line is added by
one write; what is removed is removed by replacing the file. Readers look at the files' sizes and times before
and after, and read again if one changed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memctl.core import record as records
from memctl.core.record import Record
from memctl.core.tier import TIERS
from memctl.errors import Changing
from memctl.store import collecting, directories, line_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.store.layout import Layout, Place

Answer = TypeVar("Answer")
#: What tells whether a tier file changed, of each: device, inode, size and times; None without a file.
Files = tuple[tuple[int, ...] | None, ...]
_ATTEMPTS = 8


class Bad(NamedTuple):
    """A line of a tier file that is no record: tier, line from 1, whether it has its LF."""

    tier: str
    line: int
    terminated: bool


class Held(NamedTuple):
    """The records of a user by id, in no order, and the lines that are none."""

    records: dict[str, Record]
    bad: list[Bad]
    #: Lines that a newer version of their record has taken the place of, by tier.
    stale: dict[str, int]


def read(layout: Layout, user: str) -> Held:
    """The records of a user as one moment had them. Raises Changing if no such moment is caught."""
    with collecting.paused():
        return at_one_moment(layout, user, lambda _: _read(layout, user))


def at_one_moment(layout: Layout, user: str, look: Callable[[Files], Answer]) -> Answer:
    """What `look`, given the state of the tier files, answers while none of them changes. Raises Changing."""
    for _ in range(_ATTEMPTS):
        before = state(layout, user)
        answer = look(before)
        if before == state(layout, user):
            return answer
    raise Changing(f"the records of {user} change faster than they can be read", hint="try again")


def _read(layout: Layout, user: str) -> Held:
    found: dict[str, Record] = {}
    bad: list[Bad] = []
    stale = dict.fromkeys(TIERS, 0)
    # From cold on: what `newer` is given second is in a hotter file, or behind in the same one.
    for tier in reversed(TIERS):
        for number, line in enumerate(line_files.lines(layout.tier(tier, user)), 1):
            record = records.read(line.data, tier)
            if record is None:
                if line.data.strip():
                    bad.append(Bad(tier, number, line.terminated))
                continue
            other = found.get(record.id)
            if other is not None:
                kept = records.newer(other, record)
                stale[(other if kept is record else record).tier] += 1
                record = kept
            found[record.id] = record
    return Held(found, bad, stale)


def state(layout: Layout, user: str) -> Files:
    """The state of each tier file."""
    return tuple(_state(layout.tier(tier, user)) for tier in TIERS)


def _state(place: Place) -> tuple[int, ...] | None:
    try:
        dir_fd = directories.open_at(place.base, place.parts)
    except FileNotFoundError:
        return None
    try:
        status = os.stat(place.name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    finally:
        os.close(dir_fd)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
