"""Archive: the records that a pass took out of cold, each a line with when and why; only ever added to.

A line is the record's own with `archived_at` and `archived_for` (the reason) at its end. Of several lines
with one id the newest counts.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import record as records
from memctl.core.tier import COLD
from memctl.errors import MemctlError
from memctl.store import intent, line_files, scanning, tiers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memctl.core.record import Record
    from memctl.store.layout import Layout


class Archived(NamedTuple):
    """A record that left cold: when (RFC 3339) and why; "" where the line does not say."""

    record: Record
    archived_at: str
    reason: str


def marks(archived_at: str, reason: str) -> dict[str, str]:
    """What the line of a record in the archive has beside the record's own."""
    return {"archived_at": archived_at, "archived_for": reason}


def line(raw: bytes, archived_at: str, reason: str) -> bytes:
    """The line of a record in the archive, without LF: its own bytes, with two keys more."""
    return records.with_values(raw, marks(archived_at, reason))


def append(layout: Layout, user: str, lines: Iterable[bytes], *, fsync: bool) -> None:
    """Add lines as `line` makes them, by one write, under the lock of the records; durable with `fsync`."""
    line_files.append(layout.archive(user), lines, fsync=fsync)


def read(layout: Layout, user: str) -> list[Archived]:
    """The archived records, each id once, as its newest line has it, in the order of those lines.

    What a pass added that did not come to take the record out of its tier is not archived.
    """
    read = [(row.offset, records.read(row.data, COLD)) for row in line_files.lines(layout.archive(user))]
    # In this order: a pass that ends meanwhile has taken out of the tiers what was read here.
    start = _start_of_left(layout, user)
    revs: Mapping[str, int] = {}
    if start is not None and any(record is not None and offset >= start for offset, record in read):
        revs = {id: record.rev for id, record in tiers.read(layout, user).records.items()}
    found: dict[str, Archived] = {}
    for offset, record in read:
        if record is None or (start is not None and offset >= start and _stays(record, revs)):
            continue
        # The newest of an id stands where it was added.
        found.pop(record.id, None)
        found[record.id] = _archived(record)
    return list(found.values())


def _start_of_left(layout: Layout, user: str) -> int | None:
    """Where in the archive a pass began to add that is at work, or was killed; None without one."""
    try:
        left = intent.read(layout, user)
    except (OSError, MemctlError):
        # It is history: without it there is still an answer.
        return None
    return None if left is None else left.archive


def _archived(record: Record) -> Archived:
    when, why = (record.value.get(key) for key in ("archived_at", "archived_for"))
    return Archived(record, when if type(when) is str else "", why if type(why) is str else "")


def size_bytes(layout: Layout, user: str) -> int:
    """The size of the archive, 0 without one."""
    fd = line_files.open_for_reading(layout.archive(user))
    if fd is None:
        return 0
    try:
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def take_back(layout: Layout, user: str, start: int, revs: Mapping[str, int], *, fsync: bool) -> None:
    """Take off the archive what a killed pass added from `start` on, of records that are in a tier still.

    `revs` are those of the records in the tiers: a record that is there, older than its line in the archive,
    was about to leave. What the kill left of a line goes too: its record is in its tier.
    """
    place = layout.archive(user)
    fd = line_files.open_for_reading(place)
    if fd is None:
        return
    try:
        end = os.fstat(fd).st_size
        added = list(scanning.scan(fd, start, end))
        kept = [stored.data for stored in added if stored.terminated and not _is_live(stored.data, revs)]
        if len(kept) < len(added):
            chunks = itertools.chain(scanning.stretch(fd, 0, start), (data + b"\n" for data in kept))
            line_files.replace(layout, place, chunks, fsync=fsync)
    finally:
        os.close(fd)


def _is_live(data: bytes, revs: Mapping[str, int]) -> bool:
    record = records.read(data, COLD)
    return record is not None and _stays(record, revs)


def _stays(record: Record, revs: Mapping[str, int]) -> bool:
    """Whether what is in the archive is in a tier still, as it was before."""
    return revs.get(record.id, record.rev) < record.rev
