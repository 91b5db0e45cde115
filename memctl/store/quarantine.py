"""Quarantine: bytes that were set aside, each with a note of where they had been.

An item is two files in the user's directory: `ID.bytes`, the bytes as they were, and `ID.json`, the note.
Both are durable before the bytes leave the place they come from.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl, names
from memctl.errors import AccessDenied, AlreadyExists, BadInput, NotFound
from memctl.store import directories, files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memctl.store.layout import Layout

#: Behind this text in a note come the edits, which can be millions; no value of a note contains it.
_PIECES = b',"pieces":['
_BLOCK_BYTES = 1 << 16
#: The facts of a note are short.
_FACTS_MAX_BYTES = 1 << 24


class Item(NamedTuple):
    """An item: the user whose quarantine it is in, its whole note, its bytes."""

    user: str
    note: dict[str, Any]
    data: bytes


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
            files.sweep(tmp_fd)
            files.replace_at(dir_fd, f"{id}.bytes", tmp_fd, taken, fsync=fsync)
            files.replace_at(dir_fd, f"{id}.json", tmp_fd, note, fsync=fsync)
        finally:
            os.close(tmp_fd)
    finally:
        os.close(dir_fd)
    if fsync:
        directories.sync_chain(layout.root, below[:-1])


def is_kept(layout: Layout, user: str, id: str) -> bool:
    """Whether the user has an item with this id."""
    try:
        dir_fd = directories.open_at(layout.root, layout.quarantine(user))
    except FileNotFoundError:
        return False
    try:
        return files.is_file(dir_fd, f"{id}.bytes")
    finally:
        os.close(dir_fd)


def take_back(layout: Layout, user: str, id: str, *, fsync: bool = False) -> None:
    """Remove an item whose bytes stayed where they were after all, or are there again."""
    dir_fd = directories.open_at(layout.root, layout.quarantine(user))
    try:
        # What makes an item are its bytes: a note alone is not listed.
        for name in (f"{id}.bytes", f"{id}.json"):
            files.unlink(dir_fd, name, fsync=fsync)
    finally:
        os.close(dir_fd)


def items(layout: Layout) -> list[dict[str, Any]]:
    """The notes of all items without their `pieces`, oldest first, each with `user`."""
    found = [
        {"user": user, **_facts(dir_fd, name.removesuffix(".bytes"))}
        for user, dir_fd in _directories(layout)
        for name in os.listdir(dir_fd)
        if name.endswith(".bytes")
    ]
    return sorted(found, key=lambda note: (str(note.get("time", "")), str(note["id"])))


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


def opened(layout: Layout, user: str) -> Iterator[tuple[dict[str, Any], int]]:
    """The items of a user, in order: each note without its pieces, and a descriptor of its bytes.

    The descriptor is open while the item is looked at.
    """
    try:
        dir_fd = directories.open_at(layout.root, layout.quarantine(user))
    except FileNotFoundError:
        return
    try:
        for name in sorted(os.listdir(dir_fd)):
            if not name.endswith(".bytes"):
                continue
            try:
                fd = files.open_file(dir_fd, name, "/".join((layout.root, *layout.quarantine(user), name)))
            except FileNotFoundError:
                # It was put back meanwhile.
                continue
            try:
                yield _facts(dir_fd, name.removesuffix(".bytes")), fd
            finally:
                os.close(fd)
    finally:
        os.close(dir_fd)


def notes_alone(layout: Layout, user: str) -> list[dict[str, Any]]:
    """The notes, without their pieces, that a process left which was killed while it removed an item."""
    try:
        dir_fd = directories.open_at(layout.root, layout.quarantine(user))
    except FileNotFoundError:
        return []
    try:
        found = set(os.listdir(dir_fd))
        ids = (name.removesuffix(".json") for name in sorted(found) if name.endswith(".json"))
        return [_facts(dir_fd, id) for id in ids if f"{id}.bytes" not in found]
    finally:
        os.close(dir_fd)


@contextmanager
def _holding(layout: Layout, id: str) -> Iterator[tuple[str, int]]:
    """The user who has an item in quarantine, and the open directory that it is in. Raises NotFound."""
    for user, dir_fd in _directories(layout):
        if f"{id}.bytes" in os.listdir(dir_fd):
            yield user, dir_fd
            return
    raise NotFound(f"nothing with the id {id} in quarantine", hint="memctl quarantine list")


def users(root: str, folder: str) -> list[str]:
    """The users that have a directory in `folder` below the root."""
    try:
        entries = sorted(os.listdir(f"{root}/{folder}"))
    except OSError:
        return []
    return [name for entry in entries if (name := names.decode(entry)) is not None]


def _facts(dir_fd: int, id: str) -> dict[str, Any]:
    """A note but for its pieces; an item whose note is missing, or cannot be read, is still named."""
    try:
        with open(files.open_file(dir_fd, f"{id}.json", id), "rb") as file:
            data = b""
            while len(data) < _FACTS_MAX_BYTES and (block := file.read(_BLOCK_BYTES)):
                # The text may lie across two blocks.
                end = (data := data + block).find(_PIECES, max(0, len(data) - len(block) - len(_PIECES)))
                if end >= 0:
                    data = data[:end] + b"}"
                    break
        return _parsed(data, id)
    except (OSError, ValueError, AccessDenied):
        return {"id": id, "reason": "the note is missing or cannot be read"}


def _parsed(data: bytes, id: str) -> dict[str, Any]:
    note = jsonl.exact(data.decode("utf-8"))
    if type(note) is not dict:
        raise ValueError("it is no JSON object")
    return {**note, "id": id}


def read(layout: Layout, id: str) -> bytes:
    """The bytes of an item. Raises NotFound."""
    with _holding(layout, id) as (_, dir_fd):
        return _content(dir_fd, f"{id}.bytes")


def note(layout: Layout, id: str) -> dict[str, Any]:
    """The whole note of an item, with `user`, as far as it can be read. Raises NotFound."""
    with _holding(layout, id) as (user, dir_fd):
        try:
            return {"user": user, **_parsed(_content(dir_fd, f"{id}.json"), id)}
        except (OSError, ValueError, AccessDenied):
            return {"user": user, **_facts(dir_fd, id)}


def find(layout: Layout, id: str) -> Item:
    """An item with its whole note. Raises NotFound, or BadInput if note or bytes are not what was kept."""
    from hashlib import sha256

    hint = f"memctl quarantine show {id}"
    with _holding(layout, id) as (user, dir_fd):
        data = _content(dir_fd, f"{id}.bytes")
        try:
            note = _parsed(_content(dir_fd, f"{id}.json"), id)
        except FileNotFoundError:
            raise BadInput(f"the note of {id} is missing; its bytes are still there", hint=hint) from None
        except ValueError as error:
            message = f"the note of {id} is damaged ({error}); its bytes are still there"
            raise BadInput(message, hint=hint) from None
    if note.get("sha256") != sha256(data).hexdigest():
        raise BadInput(f"the bytes of {id} are not those that its note was written for", hint=hint)
    return Item(user, note, data)


def _content(dir_fd: int, name: str) -> bytes:
    with open(files.open_file(dir_fd, name, name), "rb") as file:
        return file.read()
