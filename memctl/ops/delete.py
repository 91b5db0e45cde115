"""delete: a conversation leaves for the trash, or for good, with its activities and caches."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names
from memctl.errors import AccessDenied, AlreadyExists, NotFound
from memctl.ops.setup import rfc3339, stamp
from memctl.store import files, log, quarantine
from memctl.store.quarantine import users

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
        dir_fd = files.open_dir(place.base, place.parts)
        try:
            if hard:
                entry = None
                files.unlink(dir_fd, activities.name, fsync=setup.fsync())
                files.unlink(dir_fd, place.name, fsync=setup.fsync())
            else:
                entry = _next_entry(setup, reference)
                _to_trash(setup, reference, dir_fd, activities.name, entry)
        finally:
            os.close(dir_fd)
        _drop_caches(setup, reference)
    return plan._replace(bytes=size_bytes, trash=entry)


def _size(setup: Setup, reference: Reference) -> int:
    fd = log.open_log(setup.place(reference), str(setup.missing(reference)))
    try:
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def _next_entry(setup: Setup, reference: Reference) -> str:
    """A name for an entry of the trash: the time, and a number behind all of the same second."""
    prefix = f"{stamp(setup.time_us())}-"
    entries = _names(setup, setup.layout.trash(reference.user))
    taken = [entry.removeprefix(prefix) for entry in entries if entry.startswith(prefix)]
    number = max((int(digits, 10) for digits in taken if digits.isdecimal()), default=0) + 1
    return f"{prefix}{number:04}"


def _to_trash(setup: Setup, reference: Reference, dir_fd: int, activities: str, entry: str) -> None:
    """Both are in one place at every moment, the old one or the trash: the activities are copied first."""
    root, durable = setup.layout.root, setup.fsync()
    parts = (*setup.layout.trash(reference.user), entry)
    name = setup.place(reference).name
    trash_fd = files.open_dir(root, parts, create=True, fsync=durable)
    try:
        if durable:
            files.sync_chain(root, parts[:-1])
        copied = _is_file(dir_fd, activities)
        if copied:
            files.copy(dir_fd, activities, trash_fd, activities, trash_fd, fsync=durable)
        files.move(dir_fd, name, trash_fd, name, trash_fd, fsync=durable)
        if copied:
            files.unlink(dir_fd, activities, fsync=durable)
    finally:
        os.close(trash_fd)


def _is_file(dir_fd: int, name: str) -> bool:
    try:
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode)


def _drop_caches(setup: Setup, reference: Reference) -> None:
    index = setup.layout.cache(reference.user, reference.conversation or "", "index")
    try:
        dir_fd = files.open_dir(index.base, index.parts)
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


class Trashed(NamedTuple):
    """A conversation in the trash."""

    user: str
    conversation: str
    deleted_at: str
    bytes: int
    entry: str


def trashed(setup: Setup) -> list[Trashed]:
    """What is in the trash, newest first."""
    found = [
        item
        for user in users(setup.layout.root, "trash")
        for entry in _names(setup, setup.layout.trash(user))
        for item in _in_entry(setup, user, entry)
    ]
    return sorted(found, key=lambda item: item.entry, reverse=True)


def _in_entry(setup: Setup, user: str, entry: str) -> list[Trashed]:
    parts = (*setup.layout.trash(user), entry)
    found = []
    for name in _names(setup, parts):
        conversation = names.decode(name.removesuffix(names.SUFFIX))
        if not name.endswith(names.SUFFIX) or conversation is None:
            continue
        try:
            status = os.stat("/".join((setup.layout.root, *parts, name)), follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISREG(status.st_mode):
            found.append(Trashed(user, conversation, _time_of(entry), status.st_size, entry))
    return found


def _names(setup: Setup, parts: tuple[str, ...]) -> list[str]:
    """What lies in a directory; nothing if it is none or gone, as after somebody else's restore."""
    try:
        fd = files.open_dir(setup.layout.root, parts)
    except (FileNotFoundError, NotADirectoryError):
        return []
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


def _time_of(entry: str) -> str:
    """`20260304T091231Z-…` as RFC 3339."""
    day, _, clock = entry.partition("T")
    return f"{day[:4]}-{day[4:6]}-{day[6:8]}T{clock[:2]}:{clock[2:4]}:{clock[4:6]}Z"


def restore(setup: Setup, reference: Reference) -> Trashed:
    """Put the newest deleted conversation of this name back. AlreadyExists if there is one again."""
    _newest(setup, reference)
    with setup.lock(reference, "restore"):
        # Somebody else may have restored it while this process waited.
        item = _newest(setup, reference)
        place = setup.place(reference)
        trash = setup.layout.trash(reference.user)
        base, tmp = setup.layout.tmp(place)
        with ExitStack() as opened:

            def directory(base: str, parts: tuple[str, ...], create: bool) -> int:
                fd = files.open_dir(base, parts, create=create, fsync=setup.fsync())
                opened.callback(os.close, fd)
                return fd

            dir_fd = directory(place.base, place.parts, True)
            tmp_fd = directory(base, tmp, True)
            user_fd = directory(setup.layout.root, trash, False)
            entry_fd = directory(setup.layout.root, (*trash, item.entry), False)
            if place.name in os.listdir(dir_fd):
                raise AlreadyExists(
                    f"{reference.written()} exists again; nothing was restored",
                    hint=f"memctl delete {reference.written()} --yes moves it away first",
                )
            if setup.fsync():
                files.sync_chain(place.base, place.parts)
            activities = setup.layout.activities(reference.user, reference.conversation or "").name
            if _is_file(entry_fd, activities):
                _keep_stray(setup, reference, dir_fd, activities, entry_fd)
                files.move(entry_fd, activities, dir_fd, activities, tmp_fd, fsync=setup.fsync())
            files.move(entry_fd, place.name, dir_fd, place.name, tmp_fd, fsync=setup.fsync())
            files.remove_empty_dir(user_fd, item.entry)
    return item


def _newest(setup: Setup, reference: Reference) -> Trashed:
    wanted = (reference.user, reference.conversation)
    for item in trashed(setup):
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
