"""rebuild-index: make the caches of conversations anew from the files, or only compare them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names
from memctl.errors import CannotCreate, MemctlError
from memctl.ops.listing import conversations
from memctl.ops.source import open_source
from memctl.store import caches, directories
from memctl.store.entries import HEADER_BYTES
from memctl.store.sidecar import Index, is_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memctl.ops.setup import Setup
    from memctl.ops.source import Source

_CACHES = (".memctl", "cache", "conversations")
_BLOCK_BYTES = 1 << 20


class Rebuilt(NamedTuple):
    """What was looked at and changed: `added` caches were missing or wrong, `removed` belonged to nothing.

    `differences` is how many of both were found; with `check` nothing was changed.
    """

    users: int
    conversations: int
    messages: int
    added: int
    removed: int
    differences: int


def rebuild(
    setup: Setup,
    user: str | None = None,
    conversation: str | None = None,
    *,
    check: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Rebuilt:
    """Make the index of each conversation anew from its log, and put it in the place of one that differs.

    Token totals of an index that is right stay; those of a wrong one are counted anew when they are needed.
    Of many conversations, those that cannot be opened are passed over.
    """
    everything = conversations(setup, user)
    chosen = [row for row in everything if conversation in (None, row.conversation)]
    messages = wrong = 0
    for done, reference in enumerate(chosen):
        try:
            source = open_source(setup, reference)
        except MemctlError:
            if conversation is not None:
                raise
            continue
        try:
            count, same = _compare(source, check=check)
        finally:
            os.close(source.fd)
        messages += count
        wrong += not same
        if progress is not None:
            progress(done + 1, len(chosen))
    strays = list(_strays(setup, user, {(row.user, row.conversation) for row in everything}))
    if not check:
        for directory, name in strays:
            caches.drop("/".join((setup.layout.root, *_CACHES, directory, name)))
    return Rebuilt(
        users=len({row.user for row in chosen}),
        conversations=len(chosen),
        messages=messages,
        added=0 if check else wrong,
        removed=0 if check else len(strays),
        differences=wrong + len(strays) if check else 0,
    )


def _compare(source: Source, *, check: bool) -> tuple[int, bool]:
    """How many messages the log has, and whether the kept index is the one that the log gives."""
    path = source.cache_path("index")
    tmp = None if path is None else f"{os.path.dirname(path)}/.{os.getpid()}-new"
    if tmp is not None:
        caches.drop(tmp)
    fresh = Index(source.fd, tmp)
    messages = fresh.last().messages
    written = tmp is not None and os.path.exists(tmp)
    fresh.close()
    if path is None or tmp is None or not written:
        return messages, True
    same = _same_entries(path, tmp)
    try:
        if not (same or check):
            caches.place(tmp, path)
    except OSError as error:
        raise CannotCreate(f"{path}: {error.strerror}") from None
    finally:
        caches.drop(tmp)
    return messages, same


def _same_entries(path: str, other: str) -> bool:
    try:
        with open(path, "rb") as one, open(other, "rb") as two:
            if not is_header(one.read(HEADER_BYTES)):
                return False
            two.seek(HEADER_BYTES)
            while True:
                block = one.read(_BLOCK_BYTES)
                if block != two.read(_BLOCK_BYTES):
                    return False
                if not block:
                    return True
    except OSError:
        return False


def _strays(setup: Setup, user: str | None, known: set[tuple[str, str | None]]) -> Iterator[tuple[str, str]]:
    """Caches that belong to no conversation."""
    try:
        base_fd = directories.open_at(setup.layout.root, _CACHES)
    except OSError:
        return
    try:
        found = os.listdir(base_fd)
    finally:
        os.close(base_fd)
    for directory in sorted(found):
        owner = names.decode(directory)
        if user is not None and owner != user:
            continue
        path = "/".join((setup.layout.root, *_CACHES, directory))
        for name in sorted(os.listdir(path)) if os.path.isdir(path) else ():
            conversation = names.decode(name.rpartition(".")[0])
            if (owner, conversation) not in known:
                yield directory, name
