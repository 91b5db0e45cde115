"""Quarantine: bytes that were set aside, each with a note of where they had been.

An item is two files in the user's directory: `ID.bytes`, the bytes as they were, and `ID.json`, the note.
Both are durable before the bytes leave the place they come from.
"""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Any

from memctl.core import jsonl, names
from memctl.errors import AccessDenied, AlreadyExists, NotFound
from memctl.store import directories, files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memctl.store.layout import Layout


def put(layout: Layout, user: str, data: bytes, note: dict[str, Any], *, stamp: str, fsync: bool) -> str:
    """Keep `data` with its note; the id of the item. `stamp` is the time in the id (YYYYMMDDTHHMMSSZ).

    The id is derived, so that a run with a given clock can be repeated.
    """
    import hashlib

    dir_fd = directories.open_at(layout.root, layout.quarantine(user), create=True, fsync=fsync)
    try:
        path = "/".join((layout.root, *layout.quarantine(user)))
        for attempt in count():
            derived = hashlib.sha256(b"%d " % attempt + jsonl.dumps(note) + data).hexdigest()[:8]
            id = f"{stamp}-{derived}"
            try:
                files.create_at(dir_fd, f"{id}.bytes", data, f"{path}/{id}.bytes", fsync=fsync)
                break
            except AlreadyExists:
                continue
        full = {"id": id, **note, "length": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        files.create_at(dir_fd, f"{id}.json", jsonl.dumps(full) + b"\n", f"{path}/{id}.json", fsync=fsync)
    finally:
        os.close(dir_fd)
    if fsync:
        directories.sync_chain(layout.root, layout.quarantine(user)[:-1])
    return id


def put_edits(
    layout: Layout, user: str, id: str, note: Iterable[bytes], taken: Iterable[bytes], *, fsync: bool
) -> None:
    """Keep what edits took out of a file as the item `id` (`store.revision`), durable on return.

    The id follows from what is kept: the same item, left by a process that was killed, is written over.
    """
    below = layout.quarantine(user)
    dir_fd = directories.open_at(layout.root, below, create=True, fsync=fsync)
    try:
        tmp_fd = directories.open_at(layout.root, (".memctl", "tmp"), create=True, fsync=fsync)
        try:
            files.replace_at(dir_fd, f"{id}.bytes", tmp_fd, taken, fsync=fsync)
            files.replace_at(dir_fd, f"{id}.json", tmp_fd, note, fsync=fsync)
        finally:
            os.close(tmp_fd)
    finally:
        os.close(dir_fd)
    if fsync:
        directories.sync_chain(layout.root, below[:-1])


def take_back(layout: Layout, user: str, id: str) -> None:
    """Remove an item whose bytes stayed where they were after all."""
    dir_fd = directories.open_at(layout.root, layout.quarantine(user))
    try:
        for name in (f"{id}.json", f"{id}.bytes"):
            files.unlink(dir_fd, name)
    finally:
        os.close(dir_fd)


def items(layout: Layout) -> list[dict[str, Any]]:
    """The notes of all items, oldest first, each with `user`."""
    found = [
        {"user": user, **_note(dir_fd, name.removesuffix(".bytes"))}
        for user, dir_fd in _directories(layout)
        for name in os.listdir(dir_fd)
        if name.endswith(".bytes")
    ]
    return sorted(found, key=lambda note: str(note["id"]))


def _directories(layout: Layout) -> Iterator[tuple[str, int]]:
    """Each user's directory, open while it is looked at; one that cannot be opened is passed over."""
    for user in users(layout.root, "quarantine"):
        try:
            dir_fd = directories.open_at(layout.root, layout.quarantine(user))
        except (OSError, AccessDenied):
            continue
        try:
            yield user, dir_fd
        finally:
            os.close(dir_fd)


def users(root: str, folder: str) -> list[str]:
    """The users that have a directory in `folder` below the root."""
    try:
        entries = sorted(os.listdir(f"{root}/{folder}"))
    except OSError:
        return []
    return [name for entry in entries if (name := names.decode(entry)) is not None]


def _note(dir_fd: int, id: str) -> dict[str, Any]:
    """A note; an item whose note is missing, or cannot be read, is still named."""
    try:
        with open(files.open_file(dir_fd, f"{id}.json", id), "rb") as file:
            note = jsonl.exact(file.read().decode())
        if isinstance(note, dict):
            return {**note, "id": id}
    except (OSError, ValueError, AccessDenied):
        pass
    return {"id": id, "reason": "the note is missing or cannot be read"}


def read(layout: Layout, id: str) -> bytes:
    """The bytes of an item. Raises NotFound."""
    for _, dir_fd in _directories(layout):
        if f"{id}.bytes" in os.listdir(dir_fd):
            with open(files.open_file(dir_fd, f"{id}.bytes", id), "rb") as file:
                return file.read()
    raise NotFound(f"nothing with the id {id} in quarantine", hint="memctl quarantine list")
