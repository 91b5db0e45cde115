"""Census: the files of a store, a user or a directory, and what is wrong with them as files."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names
from memctl.core.problems import Problem, problem
from memctl.store import directories
from memctl.store.layout import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.core.names import Reference
    from memctl.store.layout import Layout

LOG, ACTIVITIES, OTHER = "log", "activities", "other"
#: What lies directly below the root of a store.
_AT_ROOT = frozenset(
    (
        "memctl.toml",
        "conversations",
        "tiers",
        "archive",
        "quarantine",
        "trash",
        "forgotten",
        "tenants",
        ".memctl",
    )
)
_FOR_OTHERS = 0o007


class Listed(NamedTuple):
    """A file to look at. `name` is what people type or read; `reference` and `place` are those of a store's.

    `problems` are those of the file as such; what is in it has not been looked at.
    """

    kind: str
    name: str
    path: str
    reference: Reference | None
    place: Place | None
    problems: list[Problem]


def conversation(layout: Layout, reference: Reference) -> list[Listed]:
    """The log of a conversation and its activities; none if neither is there."""
    place = layout.log(reference.user, reference.conversation or "")
    wanted = {place.name, place.name.removesuffix(names.SUFFIX) + names.ACTIVITIES_SUFFIX}
    return [
        row for row in _of_directory(place.base, place.parts, wanted) if row.kind != OTHER or row.problems
    ]


def user(layout: Layout, name: str) -> list[Listed]:
    """The files of a user; FileNotFoundError if there is no such user."""
    place = layout.log(name, "x")
    return list(_of_directory(place.base, place.parts, None))


def store(layout: Layout) -> Iterator[Listed]:
    """All files of a store: conversations user by user, then what else is wrong in it."""
    base, parts = layout.conversations_base, layout.conversations_parts
    top = "/".join((base, *parts))
    for name, status in _entries(base, parts):
        path = f"{top}/{name}"
        if stat.S_ISDIR(status.st_mode):
            if not name.startswith("."):
                yield from _of_directory(base, (*parts, name), None)
        else:
            yield _other(path, status)
    yield from _elsewhere(layout)


def _elsewhere(layout: Layout) -> Iterator[Listed]:
    """What does not belong at the root, and permissions of others anywhere below it."""
    own = "/".join((layout.conversations_base, *layout.conversations_parts))
    for name, status in _entries(layout.root, ()):
        path = f"{layout.root}/{name}"
        if name not in _AT_ROOT or stat.S_ISLNK(status.st_mode):
            yield _other(path, status)
        elif name == "memctl.toml" or path == own:
            if problems := _mode(status):
                yield Listed(OTHER, path, path, None, None, problems)
        elif name != "tenants":
            yield from _open_to_others(path, status)


def _open_to_others(path: str, status: os.stat_result) -> Iterator[Listed]:
    if problems := _mode(status):
        yield Listed(OTHER, path, path, None, None, problems)
    if not stat.S_ISDIR(status.st_mode):
        return
    try:
        found = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        try:
            below = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if not stat.S_ISLNK(below.st_mode):
            yield from _open_to_others(entry.path, below)


def _of_directory(base: str, parts: tuple[str, ...], wanted: set[str] | None) -> Iterator[Listed]:
    """The files of a user's directory, or those of them that are `wanted`."""
    directory = "/".join((base, *parts))
    owner = names.decode(parts[-1]) if parts else None
    if wanted is None:
        problems = _mode(os.stat(directory))
        if owner is None:
            problems.append(problem("odd-name", detail=f"no user is written {parts[-1]}"))
        if problems:
            yield Listed(OTHER, directory, directory, None, None, problems)
    found = _entries(base, parts)
    present = {name for name, status in found}
    for name, status in found:
        if wanted is None or name in wanted:
            yield _of_user(base, parts, owner, name, status, present)


def _of_user(
    base: str,
    parts: tuple[str, ...],
    owner: str | None,
    name: str,
    status: os.stat_result,
    present: set[str],
) -> Listed:
    place = Place(base, parts, name)
    kind = OTHER
    if name.endswith(names.SUFFIX):
        kind = LOG
    elif name.endswith(names.ACTIVITIES_SUFFIX) and name.removesuffix(".activities") in present:
        kind = ACTIVITIES
    if kind == OTHER or not stat.S_ISREG(status.st_mode):
        return _other(place.path, status)
    problems = _mode(status)
    stem = name.removesuffix(".activities").removesuffix(names.SUFFIX)
    conversation = names.decode(stem)
    reference = None
    if owner is not None and conversation is not None and not conversation.endswith(names.SUFFIX):
        reference = names.Reference(owner, conversation)
    elif owner is not None:
        problems.append(problem("odd-name", detail=f"no conversation is written {stem}"))
    shown = place.path if reference is None or kind == ACTIVITIES else reference.written()
    return Listed(kind, shown, place.path, reference, place, problems)


def _other(path: str, status: os.stat_result) -> Listed:
    if stat.S_ISLNK(status.st_mode):
        return Listed(OTHER, path, path, None, None, [problem("symlink", detail=_link(path))])
    what = "a directory" if stat.S_ISDIR(status.st_mode) else "no regular file"
    detail = os.path.basename(path) if stat.S_ISREG(status.st_mode) else f"{os.path.basename(path)}, {what}"
    return Listed(OTHER, path, path, None, None, [problem("stray-file", detail=detail), *_mode(status)])


def _link(path: str) -> str:
    try:
        return f"to {os.readlink(path)}"
    except OSError:
        return ""


def _mode(status: os.stat_result) -> list[Problem]:
    if not stat.S_IMODE(status.st_mode) & _FOR_OTHERS:
        return []
    return [problem("mode", detail=f"{stat.S_IMODE(status.st_mode):04o}")]


def _entries(base: str, parts: tuple[str, ...]) -> list[tuple[str, os.stat_result]]:
    """The names in a directory with their status, in order; no link is followed on the way."""
    dir_fd = directories.open_at(base, parts)
    try:
        found = []
        for name in sorted(os.listdir(dir_fd)):
            try:
                found.append((name, os.stat(name, dir_fd=dir_fd, follow_symlinks=False)))
            except FileNotFoundError:
                continue
        return found
    finally:
        os.close(dir_fd)


def below(directory: str) -> Iterator[str]:
    """The paths of the files below a directory that are named as logs are; links are not followed."""
    for path, folders, found in os.walk(directory):
        folders.sort()
        for name in sorted(found):
            full = os.path.join(path, name)
            if name.endswith(names.SUFFIX) and not os.path.islink(full):
                yield full


def reference_of(layout: Layout, path: str) -> Reference | None:
    """The conversation of this store whose log a path leads to, or None."""
    base = os.path.realpath("/".join((layout.conversations_base, *layout.conversations_parts)))
    parts = os.path.relpath(os.path.realpath(path), base).split("/")
    if len(parts) != 2 or not parts[1].endswith(names.SUFFIX):
        return None
    owner, conversation = names.decode(parts[0]), names.decode(parts[1][: -len(names.SUFFIX)])
    if owner is None or conversation is None or owner == ".." or conversation.endswith(names.SUFFIX):
        return None
    return names.Reference(owner, conversation)


def store_of(path: str) -> str | None:
    """The root of the store that a path lies in, any store; None outside of all."""
    at = os.path.realpath(path)
    while (parent := os.path.dirname(at)) != at:
        at = parent
        if os.path.isfile(f"{at}/.memctl/format"):
            return at
    return None
