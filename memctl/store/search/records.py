"""The records of a user as the search index takes them: the tier files, the hottest first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from memctl.core import jsonl, record, times
from memctl.core.tier import TIERS
from memctl.store import line_files, scanning
from memctl.store.search import marks
from memctl.store.search.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.core.record import Record
    from memctl.store.layout import Layout
    from memctl.store.search.index import Located
    from memctl.store.search.marks import Mark


class RecordFiles:
    """The tier files of a user, held open as they were when `marks` was asked last; a `marks.Truth`."""

    keyed = True

    def __init__(self, layout: Layout, user: str) -> None:
        self._places = {tier: layout.tier(tier, user) for tier in TIERS}
        self._open: dict[str, int] = {}
        self._ends: dict[str, tuple[int, int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        for fd in self._open.values():
            os.close(fd)
        self._open = {}

    def marks(self) -> dict[str, Mark]:
        """The state of each file, as yet unread. Raises AccessDenied."""
        self.close()
        for tier, place in self._places.items():
            if (fd := line_files.open_for_reading(place)) is not None:
                self._open[tier] = fd
        return {tier: marks.state(os.fstat(fd)) for tier, fd in self._open.items()}

    def grew(self, source: str, old: Mark) -> bool:
        """Whether the file is the one it was, with more behind what was read of it."""
        fd = self._open.get(source)
        return fd is not None and marks.grew(fd, old)

    def read(self, source: str, start: int) -> Iterator[Entry]:
        """The records of the lines from `start` on; lines that are none are left out."""
        fd = self._open[source]
        end, size_bytes, bad = start, os.fstat(fd).st_size, 0
        for first, lines, terminated in scanning.batches(fd, start, size_bytes):
            at = end = first
            for line in lines:
                if (found := entry(line, source, at)) is not None:
                    yield found
                elif terminated and line.strip():
                    bad += 1
                at += len(line) + 1
            if terminated or found is not None:
                end = size_bytes
        self._ends[source] = end, bad

    def done(self, source: str, mark: Mark) -> Mark:
        """The mark with how far `read` came."""
        end, bad = self._ends[source]
        return mark._replace(end=end, tail=marks.tail(self._open[source], end), bad=bad)

    def line(self, place: Located) -> bytes:
        """The line of a record, without LF, from the file that was read."""
        return os.pread(self._open[place.source], place.size, place.start)


def entry(line: bytes, tier: str, start: int) -> Entry | None:
    """A record as the index takes it: found by its searchable text or its content, and by its summary.

    None if the line is no record. This runs once a record of a whole store, so the common case comes first.
    """
    found: Record | None = None
    try:
        value = jsonl.loads(line)
        id, rev, text = value["id"], value["rev"], value["content"]
        is_common = type(id) is type(text) is str and id and type(rev) is int and rev >= 0
    except (ValueError, KeyError, TypeError):
        is_common = False
    if not is_common:
        found = record.read(line, tier)
        if found is None:
            return None
        value, id, rev, text = found.value, found.id, found.rev, found.content
    name = summary = None
    if metadata := value.get("metadata"):
        if "searchable" in metadata:
            found = found or record.read(line, tier)
            text = found.searchable if found is not None else text
        if type(metadata) is dict:
            name, summary = metadata.get("name"), metadata.get("summary")
    conversation, importance = value.get("conversation"), value.get("importance")
    if type(importance) is not float or not 0 < importance <= 1:
        found = found or record.read(line, tier)
        importance = min(found.importance, 1.0) if found is not None else record.IMPORTANCE
    return Entry(
        id,
        f"{text}\n{summary}" if summary else text,
        rev,
        conversation if type(conversation) is str else "",
        _seconds(value.get("created_at")),
        name if type(name) is str else "",
        importance,
        start,
        len(line),
    )


def _seconds(value: object) -> float:
    """A stored time in seconds since 1970, 0 for none."""
    moment = times.stored(value)
    return 0.0 if moment is None or moment.year == 1 else moment.timestamp()
