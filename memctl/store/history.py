"""History: the events of a store read back, of one user or of all, in the order of time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl, names, times
from memctl.store import directories, line_files, scanning
from memctl.store.layout import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.layout import Layout


class Event(NamedTuple):
    """An event: when, in microseconds since 1970 (None: unreadable), its value, the bytes of its line."""

    time_us: int | None
    value: dict[str, Any]
    line: bytes


class Odd(NamedTuple):
    """A line that is no event: the path of the file, the line from 1."""

    path: str
    line: int


def places(layout: Layout, user: str | None = None) -> list[tuple[str | None, Place]]:
    """The files of events with their users (None: of names that cannot be one), in order; or the one's."""
    if user is not None:
        return [(user, layout.events(user))]
    place = layout.events(None)
    listed: list[tuple[str | None, Place]] = []
    for name in directories.listed(place.base, place.parts):
        owner = names.decode(name.removesuffix(names.SUFFIX))
        if name.endswith(names.SUFFIX) and (owner is not None or name == place.name):
            listed.append((owner, place._replace(name=name)))
    return listed


def read(place: Place, odd: list[Odd]) -> Iterator[Event]:
    """The events of a file as they stand there; lines that are none are noted in `odd`."""
    for number, line in enumerate(line_files.lines(place), 1):
        event = parsed(line.data)
        if event is not None:
            yield event
        elif line.data.strip():
            odd.append(Odd(place.path, number))


def parsed(line: bytes) -> Event | None:
    """The event of a line without LF; None for what is none: no object, or one without a type."""
    try:
        value = jsonl.loads(line)
    except ValueError:
        return None
    if type(value) is not dict or type(value.get("type")) is not str:
        return None
    return Event(times.microseconds(value.get("time")), value, line)


class Due(NamedTuple):
    """Events that go: how many, their bytes, the oldest time as it stands there."""

    number: int
    bytes: int
    oldest: str | None


def due(place: Place, before_us: int | None) -> Due:
    """The events of a file in front of a moment, with readable times; without a moment all its lines."""
    fd = line_files.open_for_reading(place)
    if fd is None:
        return Due(0, 0, None)
    try:
        return _divided(fd, os.fstat(fd).st_size, before_us)[1]
    finally:
        os.close(fd)


def purge(layout: Layout, place: Place, before_us: int | None) -> Due:
    """Remove what `due` names; what is written meanwhile stays."""
    fd = line_files.open_for_reading(place)
    if fd is None:
        return Due(0, 0, None)
    try:
        end = os.fstat(fd).st_size
        kept, gone = _divided(fd, end, before_us)
        if not gone.number:
            return gone
        line_files.replace_or_remove(layout, place, kept, fsync=False)
        # Writers take no lock: one may have had the old file open.
        late = b"".join(scanning.stretch(fd, end, os.fstat(fd).st_size))
        if late:
            line_files.append(place, [late.removesuffix(b"\n")], fsync=False)
        return gone
    finally:
        os.close(fd)


def _divided(fd: int, end: int, before_us: int | None) -> tuple[list[bytes], Due]:
    """The lines that stay, and what goes."""
    kept: list[bytes] = []
    count = size_bytes = 0
    oldest: tuple[int, str] | None = None
    for line in scanning.scan(fd, 0, end):
        event = parsed(line.data)
        time_us = None if event is None else event.time_us
        if before_us is not None and (time_us is None or time_us >= before_us):
            kept.append(line.data + b"\n" * line.terminated)
            continue
        count += 1
        size_bytes += line.size_bytes
        if event is not None and time_us is not None and (oldest is None or time_us < oldest[0]):
            oldest = time_us, str(event.value["time"])
    return kept, Due(count, size_bytes, None if oldest is None else oldest[1])
