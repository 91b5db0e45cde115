"""Leftovers: files that killed processes had not finished; nobody holds them any more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core.tier import TIERS
from memctl.errors import AccessDenied
from memctl.store import caches, directories, disk, files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.layout import Layout

#: Directories of caches, in which unfinished files lie beside finished ones; USER is any directory.
_CACHES = ("conversations", "search", "vectors")


class Leftover(NamedTuple):
    """An unfinished file: its path and its size."""

    path: str
    bytes: int


def found(layout: Layout) -> list[Leftover]:
    """What killed processes left unfinished, in order; what a process at work has is not among it."""
    return sorted(
        Leftover(f"{path}/{name}", size)
        for path, dir_fd in _directories(layout)
        for name, size in _unheld(dir_fd)
    )


def sweep(layout: Layout) -> None:
    """Remove all of it."""
    for _, dir_fd in _directories(layout):
        files.sweep(dir_fd)
        for name in caches.unfinished(dir_fd):
            try:
                disk.unlink(name, dir_fd=dir_fd)
            except OSError:
                continue


def _directories(layout: Layout) -> Iterator[tuple[str, int]]:
    """Where unfinished files may lie: each directory's path and a descriptor, open while it is looked at."""
    places = {layout.tmp(layout.log("x", "x")), *(layout.tmp(layout.tier(tier, "x")) for tier in TIERS)}
    places.add((layout.root, (".memctl", "tmp")))
    for kind in _CACHES:
        parts: tuple[str, ...] = (".memctl", "cache", kind)
        places.add((layout.root, parts))
        places |= {(layout.root, (*parts, name)) for name in _names(layout.root, parts)}
    for base, parts in sorted(places):
        try:
            dir_fd = directories.open_at(base, parts)
        except (OSError, AccessDenied):
            continue
        try:
            yield "/".join((base, *parts)), dir_fd
        finally:
            os.close(dir_fd)


def _names(base: str, parts: tuple[str, ...]) -> list[str]:
    try:
        return directories.listed(base, parts)
    except (OSError, AccessDenied):
        return []


def _unheld(dir_fd: int) -> Iterator[tuple[str, int]]:
    """The unfinished files of a directory that nobody holds, with their sizes."""
    yield from files.unfinished(dir_fd)
    for name in caches.unfinished(dir_fd):
        try:
            yield name, os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_size
        except OSError:
            continue
