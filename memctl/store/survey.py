"""Survey: the records of a user as the rules of tiers see them, and where in the files their lines lie.

What a pass over many records needs of each, and no more. `store.tiers` reads whole records.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import jsonl
from memctl.core import record as records
from memctl.core.tier import TIERS
from memctl.core.tiering import State, state_of
from memctl.store import line_files, scanning, tiers

if TYPE_CHECKING:
    from memctl.store.layout import Layout
    from memctl.store.tiers import Bad, Files


class Seen(NamedTuple):
    """A record: its state, its `rev` as it is written, where its line begins, its size with LF."""

    state: State
    rev: int
    offset: int
    size_bytes: int


class Survey(NamedTuple):
    """The records by id; by tier the places of lines that a newer one replaced; lines that are no records.

    `files` tells whether a file changed since (`tiers.state`).
    """

    seen: dict[str, Seen]
    stale: dict[str, list[tuple[int, int]]]
    bad: list[Bad]
    files: Files


def survey(layout: Layout, user: str) -> Survey:
    """The records of a user as one moment had them. Raises Changing if no such moment is caught."""
    return tiers.at_one_moment(layout, user, lambda files: _survey(layout, user, files))


def _survey(layout: Layout, user: str, files: Files) -> Survey:
    seen: dict[str, Seen] = {}
    stale: dict[str, list[tuple[int, int]]] = {tier: [] for tier in TIERS}
    bad: list[Bad] = []
    # From cold on, so that of equal revs the hotter, or the later in a file, comes last (`record.newer`).
    for tier in reversed(TIERS):
        fd = line_files.open_for_reading(layout.tier(tier, user))
        if fd is None:
            continue
        try:
            _look(fd, tier, seen, stale, bad)
        finally:
            os.close(fd)
    return Survey(seen, stale, bad, files)


def _look(
    fd: int, tier: str, seen: dict[str, Seen], stale: dict[str, list[tuple[int, int]]], bad: list[Bad]
) -> None:
    loads, rev_of, make = jsonl.loads, records.rev_of, tuple.__new__
    number = 0
    for offset, lines, terminated in scanning.batches(fd, 0, os.fstat(fd).st_size):
        at = offset
        for data in lines:
            number += 1
            start, size_bytes = at, len(data) + terminated
            at += size_bytes
            try:
                value = loads(data)
            except ValueError:
                record = records.read(data, tier)
                value = None if record is None else record.value
            id = value.get("id") if type(value) is dict else None
            if type(id) is not str or not id:
                if data.strip():
                    bad.append(tiers.Bad(tier, number, terminated))
                continue
            rev = rev_of(value)
            if id in seen:
                other = seen[id]
                if other.rev > rev:
                    stale[tier].append((start, size_bytes))
                    continue
                stale[other.state.tier].append((other.offset, other.size_bytes))
            seen[id] = make(Seen, (state_of(value, tier, rev), rev, start, size_bytes))
