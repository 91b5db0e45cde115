"""trash: put a deleted conversation back, with its activities."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from memctl.errors import AlreadyExists, NotFound
from memctl.ops.setup import rfc3339, stamp
from memctl.store import directories, files, moving, quarantine, trash
from memctl.store.trash import Trashed

if TYPE_CHECKING:
    from memctl.core.names import Reference
    from memctl.ops.setup import Setup


def restore(setup: Setup, reference: Reference) -> Trashed:
    """Put the newest deleted conversation of this name back. AlreadyExists if there is one again."""
    _newest(setup, reference)
    setup.ensure_store()
    with setup.lock(reference, "restore"):
        # Somebody else may have restored it while this process waited.
        item = _newest(setup, reference)
        place = setup.place(reference)
        below = setup.layout.trash(reference.user)
        base, tmp = setup.layout.tmp(place)
        with ExitStack() as opened:

            def directory(base: str, parts: tuple[str, ...], create: bool) -> int:
                fd = directories.open_at(base, parts, create=create, fsync=setup.fsync())
                opened.callback(os.close, fd)
                return fd

            dir_fd = directory(place.base, place.parts, True)
            tmp_fd = directory(base, tmp, True)
            user_fd = directory(setup.layout.root, below, False)
            entry_fd = directory(setup.layout.root, (*below, item.entry), False)
            if place.name in os.listdir(dir_fd):
                raise AlreadyExists(
                    f"{reference.written()} exists again; nothing was restored",
                    hint=f"memctl delete {reference.written()} --yes moves it away first",
                )
            if setup.fsync():
                directories.sync_chain(place.base, place.parts)
            activities = setup.layout.activities(reference.user, reference.conversation or "").name
            if files.is_file(entry_fd, activities):
                _keep_stray(setup, reference, dir_fd, activities, entry_fd)
                moving.move(entry_fd, activities, dir_fd, activities, tmp_fd, fsync=setup.fsync())
            moving.move(entry_fd, place.name, dir_fd, place.name, tmp_fd, fsync=setup.fsync())
            directories.remove_empty(user_fd, item.entry)
        setup.event(reference.user, "memory.restored", conversation=reference.conversation, trash=item.entry)
    return item


def _newest(setup: Setup, reference: Reference) -> Trashed:
    wanted = (reference.user, reference.conversation)
    for item in trash.items(setup.layout):
        if (item.user, item.conversation) == wanted:
            return item
    raise NotFound(f"no {reference.written()} in the trash", hint="memctl trash list")


def _keep_stray(setup: Setup, reference: Reference, dir_fd: int, name: str, entry_fd: int) -> None:
    """Activities without a log, which the restored ones replace: kept, unless they are the same."""
    try:
        stray, ours = (_content(fd, name) for fd in (dir_fd, entry_fd))
    except FileNotFoundError:
        return
    if stray != ours:
        note = {
            "conversation": reference.written(),
            "reason": "stray-activities",
            "time": rfc3339(setup.time_us()),
        }
        moment = stamp(setup.time_us())
        quarantine.put(setup.layout, reference.user, stray, note, stamp=moment, fsync=setup.fsync())


def _content(dir_fd: int, name: str) -> bytes:
    with open(files.open_file(dir_fd, name, name), "rb") as file:
        return file.read()
