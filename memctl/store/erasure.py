"""Erasure: lines leave files of records for good; what was derived from them leaves with them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.core.edits import Edits
from memctl.store import caches, directories, leftovers, line_files, revision, scanning, vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memctl.store.layout import Layout, Place

#: What search indexes are kept of.
_KINDS = ("records", "messages")


def remove_lines(layout: Layout, place: Place, goes: Callable[[bytes], bool], *, fsync: bool) -> int:
    """Remove the lines of a file of records for which `goes` (given without LF) says so; how many went.

    Called under the lock of the records. All other bytes stay; a file of which nothing stays is removed.
    """
    fd = line_files.open_for_reading(place)
    if fd is None:
        return 0
    try:
        end = os.fstat(fd).st_size
        edits = Edits()
        number = 0
        for line in scanning.scan(fd, 0, end):
            if goes(line.data):
                number += 1
                edits.add(line.offset, line.size_bytes, b"", 0, "")
        if not number:
            return 0
        if edits.removed_bytes < end:
            line_files.replace(layout, place, revision.edited(fd, edits, end), fsync=fsync)
        else:
            line_files.remove(place, fsync=fsync)
        return number
    finally:
        os.close(fd)


def drop_derived(layout: Layout, user: str) -> None:
    """Remove what is made of a user's texts: search indexes, vectors, what killed processes left unfinished.

    The file of an index is removed whole, because its pages keep what is deleted from it.
    """
    for path in _indexes(layout, user):
        caches.drop(path)
    vectors.drop(layout, user)
    leftovers.sweep(layout)


def _indexes(layout: Layout, user: str) -> Iterator[str]:
    """The files of a user's search indexes, those that SQLite has beside them too."""
    wanted = tuple(layout.search_index(user, kind).name for kind in _KINDS)
    place = layout.search_index(user, _KINDS[0])
    for name in directories.listed(place.base, place.parts):
        if name in wanted or name.startswith(tuple(f"{start}{mark}" for start in wanted for mark in ".-")):
            yield "/".join((place.base, *place.parts, name))
