"""rebuild-index: make the caches and search indexes anew from the files, or only compare them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names
from memctl.core.names import Reference
from memctl.errors import CannotCreate, Changing, MemctlError, UsageError, of_system
from memctl.ops import rebuild_search
from memctl.ops.listing import conversations
from memctl.ops.recalled import LEXICAL
from memctl.ops.source import open_source
from memctl.store import caches, tiers, users, whole
from memctl.store.entries import ENTRY_BYTES, HEADER_BYTES, Damaged
from memctl.store.sidecar import Index, is_header

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memctl.ops.setup import Setup
    from memctl.ops.source import Source

_BLOCK_BYTES = 1 << 20


class Failed(NamedTuple):
    """A conversation, or the records of a user, that could not be looked at."""

    conversation: str
    code: str
    message: str


class Rebuilt(NamedTuple):
    """What was looked at and changed: `added` caches were missing or wrong, `removed` belonged to nothing.

    `differences` is how many were found wrong or belonging to nothing; with `check` nothing was changed. A
    cache that is missing, or lacks the newest lines only, is as it may be.
    """

    users: int
    conversations: int
    messages: int
    records: int
    added: int
    removed: int
    differences: int
    failed: tuple[Failed, ...] = ()


def rebuild(
    setup: Setup,
    arguments: Sequence[str] = (),
    *,
    check: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Rebuilt:
    """Make the index of each conversation anew from its log, and put it in the place of one that differs.

    The arguments are users and conversations as they are typed; without any, all. The search indexes of
    users are compared, and made where they are missing or wrong; those that are named by a conversation
    alone keep theirs. With semantic retrieval the vectors of users are made anew. Token totals of an index
    that is right stay; those of a wrong one are counted anew when they are needed. Of many, one that cannot
    be opened does not stop the next. Raises NotFound for an argument that names nothing.
    """
    references = [_reference(setup, argument) for argument in arguments]
    owners = _owners(setup, references)
    chosen = _chosen(setup, references)
    messages = records = wrong = missing = 0
    steps = len(chosen) + len(owners)
    failed: list[Failed] = []
    for done, reference in enumerate(chosen):
        try:
            count, state = _compared(setup, reference, check=check)
        except (MemctlError, OSError) as error:
            known = error if isinstance(error, MemctlError) else of_system(error)
            if len(references) == 1 and references[0].conversation is not None:
                raise known from None
            failed.append(Failed(reference.written(), known.code, str(known)))
        else:
            messages += count
            wrong += state == "wrong"
            missing += state == "missing"
        if progress is not None:
            progress(done + 1, steps)
    for done, user in enumerate(owners, len(chosen)):
        try:
            found = list(rebuild_search.compared(setup, user, check=check))
            states = [row.state for row in found]
            # An index that has just caught up with the files has counted them.
            counted = next((row.documents for row in found if row.kind == "records"), None)
            records += len(tiers.read(setup.layout, user).records) if counted is None else counted
            if not check and setup.settings["retrieval.mode"] != LEXICAL:
                from memctl.ops.retrieval import rebuild as make_vectors

                make_vectors(setup, user)
        except (MemctlError, OSError) as error:
            known = error if isinstance(error, MemctlError) else of_system(error)
            failed.append(Failed(Reference(user).written(), known.code, str(known)))
        else:
            wrong += states.count("wrong")
            missing += states.count("missing")
        if progress is not None:
            progress(done + 1, steps)
    users: set[str | None] = {reference.user for reference in references}
    strays = [
        path
        for user in users or {None}
        for path in whole.caches_of_nothing(setup.layout, user, unfinished=True)
    ]
    if not check:
        for path in strays:
            caches.drop(path)
    return Rebuilt(
        users=len({*owners, *(row.user for row in chosen)}),
        conversations=len(chosen),
        messages=messages,
        records=records,
        added=0 if check else wrong + missing,
        removed=0 if check else len(strays),
        differences=wrong + len(strays),
        failed=tuple(failed),
    )


def _reference(setup: Setup, argument: str) -> Reference:
    if names.is_path(argument):
        raise UsageError(f"a user or a conversation is expected, not the path {argument}")
    return setup.reference(argument, conversation=None)


def _owners(setup: Setup, references: Sequence[Reference]) -> list[str]:
    """The users that are named as such; without any reference all that have a conversation or a record."""
    named = [reference.user for reference in references if reference.conversation is None]
    if not references:
        named = sorted({*users.with_records(setup.layout), *(found.user for found in conversations(setup))})
    return list(dict.fromkeys(named))


def _chosen(setup: Setup, references: Sequence[Reference]) -> list[Reference]:
    """The conversations that are named, each once; without any reference all."""
    if not references:
        return conversations(setup)
    chosen: dict[Reference, None] = {}
    for reference in references:
        found = conversations(setup, reference.user)
        if reference.conversation is not None:
            if reference not in found:
                raise setup.missing(reference)
            found = [reference]
        elif not found and reference.user not in users.with_records(setup.layout):
            raise setup.no_user(reference.user)
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def _compared(setup: Setup, reference: Reference, *, check: bool) -> tuple[int, str]:
    source = open_source(setup, reference)
    try:
        return _compare(source, check=check)
    finally:
        os.close(source.fd)


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
