"""delete: a conversation leaves for the trash, or for good, with its activities and caches."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.errors import AccessDenied
from memctl.ops.setup import stamp
from memctl.store import directories, files, log, moving, trash

if TYPE_CHECKING:
    from memctl.core.names import Reference
    from memctl.ops.setup import Setup


class Deleted(NamedTuple):
    """What a deletion removed, or without `applied` would remove. `trash`: the entry's name, None if gone."""

    conversation: str
    applied: bool
    bytes: int
    trash: str | None


def delete(setup: Setup, reference: Reference, *, apply: bool, hard: bool = False) -> Deleted:
    """Move a conversation and its activities to the trash, or with `hard` unlink them; durable on return."""
    place = setup.place(reference)
    size_bytes = _size(setup, reference)
    plan = Deleted(reference.written(), apply, size_bytes, None)
    if not apply:
        return plan
    setup.ensure_store()
    activities = setup.layout.activities(reference.user, reference.conversation or "")
    with setup.lock(reference, "delete"):
        size_bytes = _size(setup, reference)
        dir_fd = directories.open_at(place.base, place.parts)
        try:
            if hard:
                entry = None
                files.unlink(dir_fd, activities.name, fsync=setup.fsync())
                files.unlink(dir_fd, place.name, fsync=setup.fsync())
            else:
                entry = trash.next_entry(setup.layout, reference.user, stamp(setup.time_us()))
                _to_trash(setup, reference, dir_fd, activities.name, entry)
        finally:
            os.close(dir_fd)
        _drop_caches(setup, reference)
        setup.event(
            reference.user,
            "memory.deleted",
            conversation=reference.conversation,
            bytes=size_bytes,
            trash=entry,
        )
    return plan._replace(bytes=size_bytes, trash=entry)


def _size(setup: Setup, reference: Reference) -> int:
    fd = log.open_log(setup.place(reference), str(setup.missing(reference)))
    try:
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def _to_trash(setup: Setup, reference: Reference, dir_fd: int, activities: str, entry: str) -> None:
    """Both are in one place at every moment, the old one or the trash: the activities are copied first."""
    root, durable = setup.layout.root, setup.fsync()
    parts = (*setup.layout.trash(reference.user), entry)
    name = setup.place(reference).name
    trash_fd = directories.open_at(root, parts, create=True, fsync=durable)
    try:
        if durable:
            directories.sync_chain(root, parts[:-1])
        copied = files.is_file(dir_fd, activities)
        if copied:
            moving.copy(dir_fd, activities, trash_fd, activities, trash_fd, fsync=durable)
        moving.move(dir_fd, name, trash_fd, name, trash_fd, fsync=durable)
        if copied:
            files.unlink(dir_fd, activities, fsync=durable)
    finally:
        os.close(trash_fd)


def _drop_caches(setup: Setup, reference: Reference) -> None:
    index = setup.layout.cache(reference.user, reference.conversation or "", "index")
    try:
        dir_fd = directories.open_at(index.base, index.parts)
    except (OSError, AccessDenied):
        return
    try:
        stem = index.name.removesuffix("index")
        for name in os.listdir(dir_fd):
            if name.startswith(stem) and "." not in name[len(stem) :]:
                files.unlink(dir_fd, name)
    except OSError:
        # A cache that stays is found to be of another log.
        return
    finally:
        os.close(dir_fd)
