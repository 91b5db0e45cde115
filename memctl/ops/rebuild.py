"""rebuild-index: make the caches of conversations anew from the files, or only compare them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names
from memctl.errors import AccessDenied, CannotCreate, Changing, MemctlError, NotFound
from memctl.ops.listing import conversations
from memctl.ops.source import open_source
from memctl.store import caches, directories
from memctl.store.entries import ENTRY_BYTES, HEADER_BYTES, Damaged
from memctl.store.sidecar import Index, is_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memctl.ops.setup import Setup
    from memctl.ops.source import Source

_CACHES = (".memctl", "cache", "conversations")
_BLOCK_BYTES = 1 << 20


class Rebuilt(NamedTuple):
    """What was looked at and changed: `added` caches were missing or wrong, `removed` belonged to nothing.

    `differences` is how many were found wrong or belonging to nothing; with `check` nothing was changed. A
    cache that is missing, or lacks the newest lines only, is as it may be.
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
    if conversation is not None and user is not None and not chosen:
        raise setup.missing(names.Reference(user, conversation))
    if user is not None and not everything:
        raise NotFound(f"no user {names.Reference(user)} in {setup.layout.root}", hint="memctl list")
    messages = wrong = missing = 0
    for done, reference in enumerate(chosen):
        try:
            source = open_source(setup, reference)
        except MemctlError:
            if conversation is not None:
                raise
            continue
        try:
            count, state = _compare(source, check=check)
        finally:
            os.close(source.fd)
        messages += count
        wrong += state == "wrong"
        missing += state == "missing"
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
        added=0 if check else wrong + missing,
        removed=0 if check else len(strays),
        differences=wrong + len(strays),
    )


def _compare(source: Source, *, check: bool) -> tuple[int, str]:
    """How many messages the log has, and how the kept index was: `right`, `missing` or `wrong`.

    Without `check` the latter two are put right.
    """
    path = source.cache_path("index")
    tmp = None if path is None else f"{os.path.dirname(path)}/.{os.getpid()}-new"
    if tmp is not None:
        caches.drop(tmp)
    try:
        fresh = Index(source.fd, tmp)
    except Damaged:
        raise Changing(f"{source.name} changes faster than it can be read", hint="try again") from None
    messages = fresh.last().messages
    written = tmp is not None and os.path.exists(tmp)
    fresh.close()
    if path is None or tmp is None or not written:
        return messages, "right"
    state = _state(path, tmp)
    try:
        if state != "right" and not check:
            caches.place(tmp, path)
    except OSError as error:
        raise CannotCreate(f"{path}: {error.strerror}") from None
    finally:
        caches.drop(tmp)
    return messages, state


def _state(path: str, fresh: str) -> str:
    """How the kept index is, beside a fresh one; entries that only lack the newest lines are right."""
    if not os.path.lexists(path):
        return "missing"
    try:
        with open(path, "rb") as one, open(fresh, "rb") as two:
            size_bytes = os.fstat(one.fileno()).st_size - HEADER_BYTES
            if not is_header(one.read(HEADER_BYTES)) or size_bytes % ENTRY_BYTES:
                return "wrong"
            two.seek(HEADER_BYTES)
            while block := one.read(_BLOCK_BYTES):
                if block != two.read(len(block)):
                    return "wrong"
    except OSError:
        return "wrong"
    return "right"


def _strays(setup: Setup, user: str | None, known: set[tuple[str, str | None]]) -> Iterator[tuple[str, str]]:
    """Caches that belong to no conversation."""
    try:
        base_fd = directories.open_at(setup.layout.root, _CACHES)
    except (OSError, AccessDenied):
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
