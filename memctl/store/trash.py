"""The trash: deleted conversations, each with its activities in an entry of its user's directory."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names
from memctl.errors import AccessDenied
from memctl.store import directories, files
from memctl.store.quarantine import users

if TYPE_CHECKING:
    from memctl.store.layout import Layout


class Trashed(NamedTuple):
    """A conversation in the trash."""

    user: str
    conversation: str
    deleted_at: str
    bytes: int
    entry: str


class Entry(NamedTuple):
    """An entry with all its files: a conversation, its activities, or what a kill left of them.

    `conversation` is None where no file is named for one.
    """

    user: str
    name: str
    conversation: str | None
    deleted_at: str
    files: list[str]
    bytes: int


def entries(layout: Layout) -> list[Entry]:
    """All entries of the trash, user by user, oldest first; what is no file in them is left out."""
    found = []
    for user in users(layout.root, "trash"):
        for name in sorted(_names(layout, layout.trash(user))):
            entry = _entry(layout, user, name)
            if entry is not None:
                found.append(entry)
    return found


def _entry(layout: Layout, user: str, name: str) -> Entry | None:
    try:
        dir_fd = directories.open_at(layout.root, (*layout.trash(user), name))
    except (OSError, AccessDenied):
        return None
    try:
        present = [file for file in sorted(os.listdir(dir_fd)) if files.is_file(dir_fd, file)]
        sizes = [os.stat(file, dir_fd=dir_fd, follow_symlinks=False).st_size for file in present]
    except FileNotFoundError:
        # It is being restored.
        return None
    finally:
        os.close(dir_fd)
    stems = (file.removesuffix(".activities").removesuffix(names.SUFFIX) for file in present)
    conversation = next((text for stem in stems if (text := names.decode(stem)) is not None), None)
    return Entry(user, name, conversation, _time_of(name), present, sum(sizes))


def remove(layout: Layout, entry: Entry, *, fsync: bool) -> bool:
    """Remove the files of an entry for good, and an entry with nothing else in it; whether it was there."""
    removed = False
    try:
        user_fd = directories.open_at(layout.root, layout.trash(entry.user))
    except FileNotFoundError:
        return False
    try:
        try:
            dir_fd = directories.open_at(layout.root, (*layout.trash(entry.user), entry.name))
        except FileNotFoundError:
            return False
        try:
            for name in entry.files:
                removed = files.unlink(dir_fd, name, fsync=fsync) or removed
        finally:
            os.close(dir_fd)
        directories.remove_empty(user_fd, entry.name)
    finally:
        os.close(user_fd)
    return removed or not entry.files


def items(layout: Layout) -> list[Trashed]:
    """What is in the trash, newest first."""
    found = [
        item
        for user in users(layout.root, "trash")
        for entry in _names(layout, layout.trash(user))
        for item in _in_entry(layout, user, entry)
    ]
    return sorted(found, key=lambda item: item.entry, reverse=True)


def _in_entry(layout: Layout, user: str, entry: str) -> list[Trashed]:
    parts = (*layout.trash(user), entry)
    found = []
    for name in _names(layout, parts):
        conversation = names.decode(name.removesuffix(names.SUFFIX))
        if not name.endswith(names.SUFFIX) or conversation is None:
            continue
        try:
            status = os.stat("/".join((layout.root, *parts, name)), follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISREG(status.st_mode):
            found.append(Trashed(user, conversation, _time_of(entry), status.st_size, entry))
    return found


def _names(layout: Layout, parts: tuple[str, ...]) -> list[str]:
    """What lies in a directory; nothing if it is none or gone, as after somebody else's restore."""
    try:
        fd = directories.open_at(layout.root, parts)
    except (OSError, AccessDenied):
        return []
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


def _time_of(entry: str) -> str:
    """`20260304T091231Z-…` as RFC 3339."""
    day, _, clock = entry.partition("T")
    return f"{day[:4]}-{day[4:6]}-{day[6:8]}T{clock[:2]}:{clock[2:4]}:{clock[4:6]}Z"


def next_entry(layout: Layout, user: str, stamp: str) -> str:
    """A name for an entry of the trash: the time, and a number behind all of the same second."""
    prefix = f"{stamp}-"
    entries = _names(layout, layout.trash(user))
    taken = [entry.removeprefix(prefix) for entry in entries if entry.startswith(prefix)]
    number = max((int(digits, 10) for digits in taken if digits.isdecimal()), default=0) + 1
    return f"{prefix}{number:04}"
