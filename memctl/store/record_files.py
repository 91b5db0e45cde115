"""Record files: those of the records of a user or of a whole store, and what is wrong with them as files.

They lie in folders: the tiers, each of which may be anywhere, the archive, and the forgotten ids.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memctl.core import names
from memctl.core.problems import problem
from memctl.core.tier import TIERS
from memctl.store import census
from memctl.store.census import OTHER, RECORDS, UNREAD, Listed, open_to_others, other
from memctl.store.layout import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.layout import Layout

#: All folders, in the order in which they are looked at.
FOLDERS = (*TIERS, "archive", "forgotten")


def place(layout: Layout, folder: str, user: str) -> Place:
    """The file of a user in a folder."""
    if folder in TIERS:
        return layout.tier(folder, user)
    return layout.archive(user) if folder == "archive" else layout.forgotten(user)


def directory(layout: Layout, folder: str) -> tuple[str, tuple[str, ...]]:
    """Where the files of a folder lie: a base directory, and the names below it."""
    own = place(layout, folder, "x")
    return own.base, own.parts


def directories_of(layout: Layout) -> list[tuple[str, tuple[str, ...]]]:
    """The directories of all folders, in their order."""
    return [directory(layout, folder) for folder in FOLDERS]


def of_user(layout: Layout, user: str) -> list[Listed]:
    """The files of the records of a user, or what stands in the way to them."""
    found = []
    for folder in FOLDERS:
        own = place(layout, folder, user)
        try:
            if row := census.in_the_way(own.base, own.parts):
                found.append(row)
                continue
            status = os.lstat(own.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        found.append(_row(own, folder, status))
    return found


def of_store(layout: Layout) -> Iterator[Listed]:
    """All files in all folders, folder by folder, and what else lies there."""
    for folder in FOLDERS:
        yield from of_folder(layout, folder)


def of_folder(layout: Layout, folder: str) -> Iterator[Listed]:
    """All files in a folder; a directory that cannot be entered or listed is a row of its own."""
    base, parts = directory(layout, folder)
    path = "/".join((base, *parts))
    try:
        if census.in_the_way(base, parts) is not None:
            # Below the root, what is no directory is named with all else that does not belong there.
            return
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            if not path.startswith(f"{layout.root}/"):
                yield other(path, status)
            return
        if problems := open_to_others(status):
            yield Listed(OTHER, path, path, None, None, problems)
        found = census.entries(base, parts)
    except (FileNotFoundError, NotADirectoryError):
        return
    except PermissionError:
        yield Listed(UNREAD, path, path, None, None, [])
        return
    for name, status in found:
        if not name.startswith("."):
            yield _row(Place(base, parts, name), folder, status)


def _row(own: Place, folder: str, status: os.stat_result) -> Listed:
    if not own.name.endswith(names.SUFFIX) or not stat.S_ISREG(status.st_mode):
        return other(own.path, status)
    problems = open_to_others(status)
    stem = own.name.removesuffix(names.SUFFIX)
    user = names.decode(stem)
    if user is None:
        problems.append(problem("odd-name", detail=f"no user is written {stem}"))
    reference = None if user is None else names.Reference(user)
    return Listed(RECORDS, own.path, own.path, reference, own, problems, folder)


def of_path(layout: Layout, path: str) -> Listed | None:
    """The file of records of this store that a path leads to, or None."""
    real = os.path.realpath(path)
    for folder in FOLDERS:
        base, parts = directory(layout, folder)
        if os.path.dirname(real) != os.path.realpath("/".join((base, *parts))):
            continue
        try:
            row = _row(Place(base, parts, os.path.basename(real)), folder, os.lstat(real))
        except OSError:
            return None
        return row if row.kind == RECORDS else None
    return None


def folders_at(layout: Layout, path: str) -> list[str]:
    """The folders whose directory a path leads to."""
    real = os.path.realpath(path)
    return [
        folder
        for folder in FOLDERS
        if os.path.realpath("/".join((directory(layout, folder)[0], *directory(layout, folder)[1]))) == real
    ]
