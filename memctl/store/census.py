"""Census: the files of a conversation, a user or a directory, and what is wrong with them as files."""

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

#: Kinds of files; an unread one is a directory whose files cannot be listed, a cache belongs to nothing.
#: A log is a file of lines outside of the store, too, whatever they turn out to be.
LOG, RECORDS, ACTIVITIES, OTHER, UNREAD, CACHE = "log", "records", "activities", "other", "unread", "cache"
_FOR_OTHERS = 0o007
_OF_STORE = ("conversations", "tiers", "archive", "tenants")


class Listed(NamedTuple):
    """A file to look at. `name` is what people type or read; `reference` and `place` are those of a store's.

    `problems` are those of the file as such; what is in it has not been looked at. Of a file of records the
    reference is the user alone, and `folder` a tier, `archive` or `forgotten`.
    """

    kind: str
    name: str
    path: str
    reference: Reference | None
    place: Place | None
    problems: list[Problem]
    folder: str = ""


def conversation(layout: Layout, reference: Reference) -> list[Listed]:
    """The log of a conversation and its activities, or what stands in the way to them; none without a log."""
    place = layout.log(reference.user, reference.conversation or "")
    activities = place.name.removesuffix(names.SUFFIX) + names.ACTIVITIES_SUFFIX
    try:
        if row := in_the_way(place.base, place.parts):
            return [row]
        os.lstat(place.path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = _of_directory(place.base, place.parts, {place.name, activities})
    return [row for row in found if row.kind != OTHER or row.problems]


def user(layout: Layout, name: str) -> list[Listed]:
    """The files of a user, or what stands in the way to them; FileNotFoundError if there is no such user."""
    place = layout.log(name, "x")
    if row := in_the_way(place.base, place.parts):
        return [row]
    return list(directory(place.base, place.parts))


def in_the_way(base: str, parts: tuple[str, ...]) -> Listed | None:
    """The first of some directories below `base` that is a link or no directory; none if all can be entered.

    Raises FileNotFoundError if one is missing.
    """
    path = base
    for part in parts:
        path = f"{path}/{part}"
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            return other(path, status)
    return None


def directory(base: str, parts: tuple[str, ...]) -> Iterator[Listed]:
    """All files of a user's directory."""
    return _of_directory(base, parts, None)


def _of_directory(base: str, parts: tuple[str, ...], wanted: set[str] | None) -> Iterator[Listed]:
    """The files of a user's directory, or those of them that are `wanted`."""
    path = "/".join((base, *parts))
    owner = names.decode(parts[-1]) if parts else None
    try:
        if wanted is None:
            problems = open_to_others(os.lstat(path))
            if owner is None:
                problems.append(problem("odd-name", detail=f"no user is written {parts[-1]}"))
            if problems:
                yield Listed(OTHER, path, path, None, None, problems)
        found = entries(base, parts)
    except FileNotFoundError:
        # It was removed meanwhile.
        return
    except PermissionError:
        yield Listed(UNREAD, path, path, None, None, [])
        return
    present = {name for name, status in found}
    for name, status in found:
        if wanted is None or name in wanted:
            yield _of_user(base, parts, owner, name, status, present)


def check_readable(row: Listed) -> None:
    """Raise PermissionError for a directory whose files could not be listed."""
    if row.kind == UNREAD:
        os.listdir(row.path)


def _of_user(
    base: str,
    parts: tuple[str, ...],
    owner: str | None,
    name: str,
    status: os.stat_result,
    present: set[str],
) -> Listed:
    place = Place(base, parts, name)
    kind = _kind_of_log(name, present)
    if kind is None or not stat.S_ISREG(status.st_mode):
        return other(place.path, status)
    problems = open_to_others(status)
    stem = name.removesuffix(".activities").removesuffix(names.SUFFIX)
    conversation = names.decode(stem)
    reference = None
    if owner is not None and conversation is not None and not conversation.endswith(names.SUFFIX):
        reference = names.Reference(owner, conversation)
    elif owner is not None:
        problems.append(problem("odd-name", detail=f"no conversation is written {stem}"))
    shown = place.path if reference is None or kind == ACTIVITIES else reference.written()
    return Listed(kind, shown, place.path, reference, place, problems)


def other(path: str, status: os.stat_result) -> Listed:
    """What belongs to nothing: a link, or a stray."""
    if stat.S_ISLNK(status.st_mode):
        return Listed(OTHER, path, path, None, None, [problem("symlink", detail=_link(path))])
    what = "a directory" if stat.S_ISDIR(status.st_mode) else "no regular file"
    detail = os.path.basename(path) if stat.S_ISREG(status.st_mode) else f"{os.path.basename(path)}, {what}"
    return Listed(
        OTHER, path, path, None, None, [problem("stray-file", detail=detail), *open_to_others(status)]
    )


def _link(path: str) -> str:
    try:
        return f"to {os.readlink(path)}"
    except OSError:
        return ""


def open_to_others(status: os.stat_result) -> list[Problem]:
    """The problem of a file or directory on which others have a permission."""
    if not stat.S_IMODE(status.st_mode) & _FOR_OTHERS:
        return []
    return [problem("mode", detail=f"{stat.S_IMODE(status.st_mode):04o}")]


def entries(base: str, parts: tuple[str, ...]) -> list[tuple[str, os.stat_result]]:
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


def below(folder: str) -> Iterator[Listed]:
    """The logs below a directory outside of the store, with their activities; links are not followed.

    Directories that cannot be listed come last.
    """
    unread: list[str] = []
    # A directory may be nested deeper than calls can be: what is to be looked at is held here, last first.
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as scanned:
                found = sorted(scanned, key=lambda entry: entry.name)
        except OSError:
            # No permission, or the path is longer than the system takes.
            unread.append(path)
            continue
        present = {entry.name for entry in found}
        for entry in found:
            if (kind := _kind_of_log(entry.name, present)) and entry.is_file(follow_symlinks=False):
                yield Listed(kind, entry.path, entry.path, None, None, [])
        folders = [entry for entry in found if entry.is_dir(follow_symlinks=False)]
        if any(entry.name == ".memctl" for entry in folders):
            # A store: its conversations and its records; what else is kept there is no log.
            folders = [entry for entry in folders if entry.name in _OF_STORE]
        waiting += [entry.path for entry in reversed(folders)]
    yield from (Listed(UNREAD, path, path, None, None, []) for path in unread)


def _kind_of_log(name: str, present: set[str]) -> str | None:
    """Whether a file with this name is a log, or the activities of one that is `present`."""
    if name.endswith(names.SUFFIX):
        return LOG
    if name.endswith(names.ACTIVITIES_SUFFIX) and name.removesuffix(".activities") in present:
        return ACTIVITIES
    return None


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
    """The root of the store that what a path leads to lies in, any store; None outside of all."""
    return store_holding(os.path.realpath(path))


def store_holding(at: str) -> str | None:
    """The root of the store that has a path, given without links on the way; None outside of all."""
    while (parent := os.path.dirname(at)) != at:
        at = parent
        if os.path.isfile(f"{at}/.memctl/format"):
            return at
    return None
