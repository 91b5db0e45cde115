"""The whole store: the files of all users, and what lies beside their conversations."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memctl.core import names
from memctl.core.problems import problem
from memctl.errors import AccessDenied
from memctl.store import census
from memctl.store.census import CACHE, OTHER, UNREAD, Listed, open_to_others, other

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.layout import Layout

#: What lies directly below the root of a store, beside the directories of the table below.
_AT_ROOT = frozenset(("memctl.toml", "conversations", "tenants", ".memctl"))
#: Directory at the root -> how the names of its files end, at each depth; None is a directory.
_BELOW: dict[str, tuple[tuple[str, ...] | None, ...]] = {
    "tiers": (None, (names.SUFFIX,)),
    "archive": ((names.SUFFIX,),),
    "forgotten": ((names.SUFFIX,),),
    "quarantine": (None, (".bytes", ".json")),
    "trash": (None, None, (names.SUFFIX, names.ACTIVITIES_SUFFIX)),
}
_CACHES = (".memctl", "cache", "conversations")


def rows(layout: Layout) -> Iterator[Listed]:
    """All files of a store: conversations user by user, then what else is wrong in it."""
    yield from conversations(layout)
    yield from _beside(layout)
    for path in caches_of_nothing(layout):
        yield Listed(CACHE, path, path, None, None, [problem("stale-cache", detail="of no conversation")])


def conversations(layout: Layout) -> Iterator[Listed]:
    """The files of all users."""
    base, parts = layout.conversations_base, layout.conversations_parts
    top = "/".join((base, *parts))
    try:
        if census.in_the_way(base, parts) is not None:
            # At the root, what is no directory is named with all else that does not belong there.
            return
        found = census.entries(base, parts)
    except FileNotFoundError:
        return
    except PermissionError:
        yield Listed(UNREAD, top, top, None, None, [])
        return
    for name, status in found:
        if not stat.S_ISDIR(status.st_mode):
            yield other(f"{top}/{name}", status)
        elif not name.startswith("."):
            yield from census.directory(base, (*parts, name))


def _beside(layout: Layout) -> Iterator[Listed]:
    """What does not belong at the root or below it, and what is open to others there."""
    own = "/".join((layout.conversations_base, *layout.conversations_parts))
    if not own.startswith(f"{layout.root}/"):
        yield from _flawed(own)
    yield from _flawed(layout.root)
    for name, status in _listed(layout.root):
        path = f"{layout.root}/{name}"
        if stat.S_ISLNK(status.st_mode):
            yield other(path, status)
        elif own == path or own.startswith(f"{path}/"):
            yield from _own(path, status)
        elif name in _BELOW:
            yield from _below(path, status, (None, *_BELOW[name]))
        elif name not in _AT_ROOT:
            yield other(path, status)
        elif name == "tenants":
            yield from _below(path, status, (None, None))
        else:
            yield from _below(path, status, ())


def _own(path: str, status: os.stat_result) -> Iterator[Listed]:
    """The directory of the conversations, whose files were looked at already."""
    if stat.S_ISDIR(status.st_mode):
        yield from _flawed(path)
    else:
        yield other(path, status)


def _flawed(path: str) -> Iterator[Listed]:
    try:
        problems = open_to_others(os.lstat(path))
    except OSError:
        return
    if problems:
        yield Listed(OTHER, path, path, None, None, problems)


def _below(
    path: str, status: os.stat_result, expected: tuple[tuple[str, ...] | None, ...]
) -> Iterator[Listed]:
    """A file or directory, and all below: links, strays, what is open to others, what cannot be listed.

    `expected` is what belongs here and at each depth below; where it ends nothing is looked at any more. An
    empty one takes everything, however deep.
    """
    # A directory may be nested deeper than calls can be: what is to be looked at is held here, last first.
    waiting = [(path, status, expected)]
    while waiting:
        path, status, expected = waiting.pop()
        is_directory = stat.S_ISDIR(status.st_mode)
        if not _belongs(path, status, expected):
            yield other(path, status)
            continue
        if problems := open_to_others(status):
            yield Listed(OTHER, path, path, None, None, problems)
        if not is_directory or len(expected) == 1:
            continue
        try:
            found = _listed(path)
        except OSError:
            # No permission, or the path is longer than the system takes.
            yield Listed(UNREAD, path, path, None, None, [])
            continue
        waiting += [(f"{path}/{name}", below, expected[1:]) for name, below in reversed(found)]


def _belongs(path: str, status: os.stat_result, expected: tuple[tuple[str, ...] | None, ...]) -> bool:
    """Whether a file or directory is what is expected in its place."""
    is_directory = stat.S_ISDIR(status.st_mode)
    if not (is_directory or stat.S_ISREG(status.st_mode)):
        return False
    if not expected:
        return True
    if expected[0] is None:
        return is_directory
    return not is_directory and path.endswith(expected[0])


def _listed(path: str) -> list[tuple[str, os.stat_result]]:
    try:
        return census.entries(path, ())
    except FileNotFoundError:
        return []


def tenants(layout: Layout) -> int:
    """How many tenants a store has, which `rows` does not look into; 0 where they cannot be listed."""
    return sum(stat.S_ISDIR(status.st_mode) for _, status in _entries(layout, ("tenants",)))


def caches_of_nothing(layout: Layout, user: str | None = None, *, unfinished: bool = False) -> Iterator[str]:
    """The paths of caches that belong to no conversation; with `user` of this one's only.

    With `unfinished` also those that are being written, or were left half written.
    """
    for directory, _ in _entries(layout, _CACHES):
        owner = names.decode(directory)
        if user is not None and owner != user:
            continue
        for name, status in _entries(layout, (*_CACHES, directory)):
            if not stat.S_ISREG(status.st_mode):
                continue
            if name.startswith("."):
                # No encoded name begins with a point.
                if unfinished:
                    yield "/".join((layout.root, *_CACHES, directory, name))
                continue
            conversation = names.decode(name.rpartition(".")[0])
            if owner is None or conversation is None or _is_gone(layout.log(owner, conversation).path):
                yield "/".join((layout.root, *_CACHES, directory, name))


def _is_gone(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def _entries(layout: Layout, parts: tuple[str, ...]) -> list[tuple[str, os.stat_result]]:
    try:
        return census.entries(layout.root, parts)
    except (OSError, AccessDenied):
        return []
