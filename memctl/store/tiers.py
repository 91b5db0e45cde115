"""Tier files: the records of a user in hot, warm and cold; appended to, replaced whole, read without a lock.

Of several lines with one id, in one or several tiers, the highest `rev` is the record. A line is added by
one write; what is removed is removed by replacing the file. Readers look at the files' sizes and times before
and after, and read again if one changed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import record as records
from memctl.core.record import Record
from memctl.core.tier import TIERS
from memctl.errors import AccessDenied, Changing
from memctl.store import directories, files, scanning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memctl.store.layout import Layout, Place

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
    for _ in range(_ATTEMPTS):
        before = state(layout, user)
        held = _read(layout, user)
        if before == state(layout, user):
            return held
    raise Changing(f"the records of {user} change faster than they can be read", hint="try again")


def _read(layout: Layout, user: str) -> Held:
    found: dict[str, Record] = {}
    bad: list[Bad] = []
    stale = dict.fromkeys(TIERS, 0)
    # From cold on: what `newer` is given second is in a hotter file, or behind in the same one.
    for tier in reversed(TIERS):
        for number, line in enumerate(lines(layout.tier(tier, user)), 1):
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


def state(layout: Layout, user: str) -> tuple[tuple[int, ...] | None, ...]:
    """What tells whether a tier file changed: of each device, inode, size and times; None without one."""
    return tuple(_state(layout.tier(tier, user)) for tier in TIERS)


def lines(place: Place) -> Iterator[scanning.Line]:
    """The lines of a file of records, without LF; none without the file. A torn last line comes as it is."""
    fd = open_for_reading(place)
    if fd is None:
        return
    try:
        yield from scanning.scan(fd, 0, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def open_for_reading(place: Place) -> int | None:
    """A descriptor of a file of records, None if there is none. Raises AccessDenied."""
    try:
        dir_fd = directories.open_at(place.base, place.parts)
    except FileNotFoundError:
        return None
    try:
        return files.open_file(dir_fd, place.name, place.path)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise AccessDenied(f"{place.path}: {error.strerror}") from None
    finally:
        os.close(dir_fd)


def users(layout: Layout) -> list[str]:
    """The names of all users that have a file in a tier, in order; names that do not decode are left out."""
    from memctl.core import names

    found = set()
    for tier in TIERS:
        place = layout.tier(tier, "x")
        try:
            dir_fd = directories.open_at(place.base, place.parts)
        except (FileNotFoundError, AccessDenied):
            continue
        try:
            entries = os.listdir(dir_fd)
        finally:
            os.close(dir_fd)
        for name in entries:
            if name.endswith(names.SUFFIX) and not name.startswith("."):
                user = names.decode(name.removesuffix(names.SUFFIX))
                if user is not None:
                    found.add(user)
    return sorted(found)


def append(layout: Layout, place: Place, lines: Iterable[bytes], *, fsync: bool) -> None:
    """Append lines (without LF) to a file of records by one write; it is made if missing.

    Durable on return with `fsync`. Called under the lock of the records. What a crash left without LF at the
    end is set apart by one: whole, it is a record; torn, it is a line that readers name and `repair` sets
    aside.
    """
    data = b"".join(line + b"\n" for line in lines)
    if not data:
        return
    dir_fd = directories.open_at(place.base, place.parts, create=True, fsync=fsync)
    try:
        try:
            fd = files.open_file(dir_fd, place.name, place.path, append=True)
        except FileNotFoundError:
            fd = files.create_file(dir_fd, place.name, append=True)
        try:
            if size_bytes := os.fstat(fd).st_size:
                reader = os.open(place.name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=dir_fd)
                try:
                    data = data if os.pread(reader, 1, size_bytes - 1) == b"\n" else b"\n" + data
                finally:
                    os.close(reader)
            elif fsync:
                directories.sync_chain(place.base, place.parts)
            files.append(fd, [data], fsync=fsync)
        finally:
            os.close(fd)
    finally:
        os.close(dir_fd)


def replace(layout: Layout, place: Place, chunks: Iterable[bytes], *, fsync: bool) -> None:
    """Put `chunks` in the place of a file of records, under the lock of the records; durable with `fsync`."""
    base, parts = layout.tmp(place)
    dir_fd = directories.open_at(place.base, place.parts, create=True, fsync=fsync)
    try:
        tmp_fd = directories.open_at(base, parts, create=True)
        try:
            files.replace_at(dir_fd, place.name, tmp_fd, chunks, fsync=fsync)
        finally:
            os.close(tmp_fd)
    finally:
        os.close(dir_fd)


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
