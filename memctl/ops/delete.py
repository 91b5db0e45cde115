"""delete: a conversation leaves for the trash, or for good, with its activities and caches."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names
from memctl.errors import AlreadyExists, NotFound
from memctl.ops.setup import stamp
from memctl.store import files, log
from memctl.store.quarantine import users

if TYPE_CHECKING:
    from memctl.core.names import Reference
    from memctl.ops.setup import Setup
    from memctl.store.layout import Place


class Deleted(NamedTuple):
    """What a deletion removed, or without `applied` would remove. `trash`: the entry's name, None if gone."""

    conversation: str
    applied: bool
    bytes: int
    trash: str | None


def delete(setup: Setup, reference: Reference, *, apply: bool, hard: bool = False) -> Deleted:
    """Move a conversation and its activities to the trash, or with `hard` unlink them; durable on return."""
    place = setup.place(reference)
    missing = str(setup.missing(reference))
    fd = log.open_log(place, missing)
    size_bytes = os.fstat(fd).st_size
    os.close(fd)
    plan = Deleted(reference.written(), apply, size_bytes, None)
    if not apply:
        return plan
    setup.ensure_store()
    activities = setup.layout.activities(reference.user, reference.conversation or "")
    with setup.lock(reference, "delete"):
        os.close(log.open_log(place, missing))
        entry = None if hard else f"{stamp(setup.time_us())}-{os.urandom(4).hex()}"
        dir_fd = files.open_dir(place.base, place.parts)
        try:
            for item in (activities, place):
                if entry is None:
                    files.unlink(dir_fd, item.name, fsync=setup.fsync())
                else:
                    _to_trash(setup, reference, dir_fd, item, entry)
        finally:
            os.close(dir_fd)
        _drop_caches(setup, reference)
    return plan._replace(trash=entry)


def _to_trash(setup: Setup, reference: Reference, dir_fd: int, item: Place, entry: str) -> None:
    parts = (*setup.layout.trash(reference.user), entry)
    trash_fd = files.open_dir(setup.layout.root, parts, create=True, fsync=setup.fsync())
    try:
        files.move(dir_fd, item.name, trash_fd, item.name, fsync=setup.fsync())
    except FileNotFoundError:
        pass
    finally:
        os.close(trash_fd)


def _drop_caches(setup: Setup, reference: Reference) -> None:
    index = setup.layout.cache(reference.user, reference.conversation or "", "index")
    try:
        dir_fd = files.open_dir(index.base, index.parts)
    except OSError:
        return
    try:
        stem = index.name.removesuffix("index")
        for name in os.listdir(dir_fd):
            if name.startswith(stem) and "." not in name[len(stem) :]:
                files.unlink(dir_fd, name)
    finally:
        os.close(dir_fd)


class Trashed(NamedTuple):
    """A conversation in the trash."""

    user: str
    conversation: str
    deleted_at: str
    bytes: int
    entry: str


def trashed(setup: Setup) -> list[Trashed]:
    """What is in the trash, newest first."""
    found = []
    for user in users(setup.layout.root, "trash"):
        parts = setup.layout.trash(user)
        user_fd = files.open_dir(setup.layout.root, parts)
        try:
            entries = os.listdir(user_fd)
        finally:
            os.close(user_fd)
        for entry in entries:
            fd = files.open_dir(setup.layout.root, (*parts, entry))
            try:
                for name in os.listdir(fd):
                    conversation = names.decode(name.removesuffix(names.SUFFIX))
                    if name.endswith(names.SUFFIX) and conversation is not None:
                        size_bytes = os.stat(name, dir_fd=fd).st_size
                        found.append(Trashed(user, conversation, _time_of(entry), size_bytes, entry))
            finally:
                os.close(fd)
    return sorted(found, key=lambda item: item.entry, reverse=True)


def _time_of(entry: str) -> str:
    """`20260304T091231Z-…` as RFC 3339."""
    day, _, clock = entry.partition("T")
    return f"{day[:4]}-{day[4:6]}-{day[6:8]}T{clock[:2]}:{clock[2:4]}:{clock[4:6]}Z"


def restore(setup: Setup, reference: Reference) -> Trashed:
    """Put the newest deleted conversation of this name back. AlreadyExists if there is one again."""
    matching = [
        item
        for item in trashed(setup)
        if (item.user, item.conversation) == (reference.user, reference.conversation)
    ]
    if not matching:
        raise NotFound(f"no {reference.written()} in the trash", hint="memctl trash list")
    item = matching[0]
    place = setup.place(reference)
    activities = setup.layout.activities(reference.user, reference.conversation or "")
    parts = (*setup.layout.trash(reference.user), item.entry)
    with setup.lock(reference, "restore"):
        dir_fd = files.open_dir(place.base, place.parts, create=True, fsync=setup.fsync())
        trash_fd = files.open_dir(setup.layout.root, parts)
        try:
            if place.name in os.listdir(dir_fd):
                raise AlreadyExists(
                    f"{reference.written()} exists again; nothing was restored",
                    hint=f"memctl delete {reference.written()} --yes moves it away first",
                )
            for one in (activities, place):
                try:
                    files.move(trash_fd, one.name, dir_fd, one.name, fsync=setup.fsync())
                except FileNotFoundError:
                    continue
        finally:
            os.close(trash_fd)
            os.close(dir_fd)
        user_fd = files.open_dir(setup.layout.root, setup.layout.trash(reference.user))
        try:
            files.remove_empty_dir(user_fd, item.entry)
        finally:
            os.close(user_fd)
    return item
