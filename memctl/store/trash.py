"""The trash: deleted conversations, each with its activities in an entry of its user's directory."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names
from memctl.errors import AccessDenied
from memctl.store import directories
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
