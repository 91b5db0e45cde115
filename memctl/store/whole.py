"""The whole store: the files of all users, and what lies beside their conversations and records."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memctl.core import names
from memctl.core.problems import problem
from memctl.core.tier import TIERS
from memctl.errors import AccessDenied
from memctl.store import census, record_files
from memctl.store.census import CACHE, OTHER, UNREAD, Listed, open_to_others, other

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.layout import Layout

#: What lies directly below the root of a store, beside the directories of the table below.
_AT_ROOT = frozenset(("memctl.toml", "conversations", "tenants", ".memctl"))
#: Directory at the root -> how the names of its files end, at each depth; None is a directory.
_BELOW: dict[str, tuple[tuple[str, ...] | None, ...]] = {
    "quarantine": (None, (".bytes", ".json")),
    "trash": (None, None, (names.SUFFIX, names.ACTIVITIES_SUFFIX)),
}
_CACHES = (".memctl", "cache", "conversations")
_INDEXES = (".memctl", "cache", "search")
_VECTORS = (".memctl", "cache", "vectors")


def rows(layout: Layout) -> Iterator[Listed]:
    """All files of a store: conversations user by user, records, then what else is wrong in it."""
    yield from conversations(layout)
    yield from record_files.of_store(layout)
    yield from _beside(layout)
    for path in caches_of_nothing(layout):
        yield Listed(
            CACHE, path, path, None, None, [problem("stale-cache", detail="of nothing that is there")]
        )


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
    folders = {"/".join((base, *parts)) for base, parts in record_files.directories_of(layout)}
    if not own.startswith(f"{layout.root}/"):
        yield from _flawed(own)
    yield from _flawed(layout.root)
    for name, status in _listed(layout.root):
        path = f"{layout.root}/{name}"
        if stat.S_ISLNK(status.st_mode):
            yield other(path, status)
        elif name == "tiers" or _leads_to(path, {own, *folders}):
            yield from _holding(path, status, own, folders, strays=name == "tiers")
        elif name in _BELOW:
            yield from _below(path, status, (None, *_BELOW[name]))
        elif name not in _AT_ROOT:
            yield other(path, status)
        elif name == "tenants":
            yield from _below(path, status, (None, None))
        else:
            yield from _below(path, status, ())


def _leads_to(path: str, held: set[str]) -> bool:
    """Whether a path is one of these, or on the way to one."""
    return any(other == path or other.startswith(f"{path}/") for other in held)


def _holding(
    path: str, status: os.stat_result, own: str, folders: set[str], *, strays: bool
) -> Iterator[Listed]:
    """A directory of conversations or records, whose files were looked at already, or one that leads there.

    `own` is that of the conversations. With `strays` nothing else belongs beside those that it leads to.
    """
    if not stat.S_ISDIR(status.st_mode):
        yield other(path, status)
        return
    if path in folders:
        return
    yield from _flawed(path)
    if path == own:
        return
    try:
        found = _listed(path)
    except OSError:
        yield Listed(UNREAD, path, path, None, None, [])
        return
    for name, below in found:
        if _leads_to(f"{path}/{name}", {own, *folders}):
            yield from _holding(f"{path}/{name}", below, own, folders, strays=strays)
        elif strays:
            yield other(f"{path}/{name}", below)


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
    """The paths of caches that belong to no conversation and to no records; with `user` of this one's only.

    With `unfinished` also those of conversations that are being written, or were left half written.
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
    yield from _indexes_of_nothing(layout, user)
    for directory, _ in _entries(layout, _VECTORS):
        owner = names.decode(directory)
        if user in (None, owner) and not (_has_records(layout, owner) or _has_conversations(layout, owner)):
            for name, status in _entries(layout, (*_VECTORS, directory)):
                if stat.S_ISREG(status.st_mode):
                    yield "/".join((layout.root, *_VECTORS, directory, name))


def _indexes_of_nothing(layout: Layout, user: str | None) -> Iterator[str]:
    for name, status in _entries(layout, _INDEXES):
        # Beside an index stands what SQLite needs to undo a change of it.
        file_name, kind, _ = (*name.rsplit(".", 2), "", "")[:3]
        owner = names.decode(file_name)
        if not stat.S_ISREG(status.st_mode) or name.startswith(".") or user not in (None, owner):
            continue
        is_held = {"records": _has_records, "messages": _has_conversations}.get(kind)
        if is_held is None or not is_held(layout, owner):
            yield "/".join((layout.root, *_INDEXES, name))


def _has_records(layout: Layout, user: str | None) -> bool:
    return user is not None and any(not _is_gone(layout.tier(tier, user).path) for tier in TIERS)


def _has_conversations(layout: Layout, user: str | None) -> bool:
    if user is None:
        return False
    own = layout.log(user, "x")
    try:
        return any(name.endswith(names.SUFFIX) for name, _ in census.entries(own.base, own.parts))
    except (FileNotFoundError, AccessDenied):
        return False
    except OSError:
        return True


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
