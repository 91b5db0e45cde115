"""Targets: what inspect and repair are given, as a list of files; one that fails does not stop the next."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memctl.core import names
from memctl.core.names import Reference
from memctl.errors import LockTimeout, MemctlError, NotFound, of_system
from memctl.ops.source import Source, open_source, store_cache
from memctl.store import census, directories, files, log, record_files, whole
from memctl.store.census import ACTIVITIES, LOG, RECORDS, UNREAD, Listed
from memctl.store.layout import user_cache_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memctl.ops.setup import Setup
    from memctl.store.locks import Lock

    Progress = Callable[[int, int], None]

Done = TypeVar("Done")


class Failed(NamedTuple):
    """A target that nothing could be done with."""

    target: str
    code: str
    message: str
    hint: str = ""


def each(
    rows: Sequence[Listed],
    work: Callable[[Listed, Progress | None], Done | None],
    progress: Progress | None,
) -> tuple[list[Done], list[Failed]]:
    """What `work` answers for each file, if anything, and those for which it raised an error.

    Raises NotFound for the only file that was asked for, and the first error where there is no answer at
    all. One of a store that was deleted meanwhile is passed over. `progress` is told of files, or, of a
    single one, is handed on.
    """
    done: list[Done] = []
    failed: list[Failed] = []
    first: MemctlError | None = None
    for number, row in enumerate(rows):
        if progress is not None and len(rows) > 1:
            progress(number, len(rows))
        try:
            if (answer := work(row, progress if len(rows) == 1 else None)) is not None:
                done.append(answer)
        except (MemctlError, OSError) as error:
            known = error if isinstance(error, MemctlError) else of_system(error)
            if isinstance(error, NotFound):
                if row.place is not None:
                    continue
                if len(rows) == 1:
                    raise
            first = first or known
            failed.append(Failed(row.name, known.code, str(known), known.hint))
    if first is not None and not done:
        raise first
    return done, failed


def listed(setup: Setup, arguments: Sequence[str]) -> list[Listed]:
    """The files that the arguments name, each once; without any, all of the store.

    An argument is a conversation, a user, a file, a directory, or `-`. Raises NotFound for what is not there.
    """
    setup.check_layout()
    if not arguments:
        if not os.path.isdir(setup.layout.root):
            raise NotFound(f"no store {setup.layout.root}", hint="--root names another one")
        return list(whole.rows(setup.layout))
    found: dict[str, Listed] = {}
    for argument in arguments:
        for row in _of_argument(setup, argument):
            found.setdefault(row.path, row)
    return list(found.values())


def _of_argument(setup: Setup, argument: str) -> Iterable[Listed]:
    if names.is_path(argument):
        return _of_path(setup, argument)
    reference = setup.reference(argument, conversation=None)
    if reference.conversation is not None:
        return _of_conversation(setup, reference)
    found = record_files.of_user(setup.layout, reference.user)
    try:
        return [*census.user(setup.layout, reference.user), *found]
    except FileNotFoundError:
        if found:
            return found
        raise NotFound(
            f"no user {reference.written()} in {setup.layout.root}; for the path: ./{reference.written()}",
            hint="memctl stats lists the users",
        ) from None


def _of_conversation(setup: Setup, reference: Reference) -> list[Listed]:
    found = census.conversation(setup.layout, reference)
    if not found:
        raise setup.missing(reference)
    return found


def _of_path(setup: Setup, argument: str) -> Iterable[Listed]:
    if argument == "-":
        return [Listed(LOG, "-", "-", None, None, [])]
    path = os.path.expanduser(argument) if argument.startswith("~") else argument
    if os.path.isdir(path):
        return _of_directory(setup, path)
    if not os.path.lexists(path):
        raise NotFound(f"no file {argument}", hint="a conversation is written USER/CONVERSATION")
    return _of_file(setup, path)


def _of_directory(setup: Setup, path: str) -> Iterable[Listed]:
    """The files below a directory; one of this store is looked at as such."""
    layout = setup.layout
    real = os.path.realpath(path)
    own = os.path.realpath("/".join((layout.conversations_base, *layout.conversations_parts)))
    if real == layout.root:
        return whole.rows(layout)
    if real == own:
        return whole.conversations(layout)
    if folders := record_files.folders_at(layout, path):
        return [row for folder in folders for row in record_files.of_folder(layout, folder)]
    if os.path.dirname(real) == own:
        return census.directory(
            layout.conversations_base, (*layout.conversations_parts, os.path.basename(real))
        )
    return [
        row
        for found in census.below(path)
        for row in ([found] if found.kind == UNREAD else _of_file(setup, found.path))
    ]


def _of_file(setup: Setup, path: str) -> list[Listed]:
    """A file; one of this store is that of its conversation, or of its user's records."""
    if row := record_files.of_path(setup.layout, path):
        return [row]
    is_activities = path.endswith(names.ACTIVITIES_SUFFIX)
    reference = census.reference_of(setup.layout, path.removesuffix(".activities") if is_activities else path)
    if reference is not None:
        found = census.conversation(setup.layout, reference)
        own = [row for row in found if row.kind == ACTIVITIES] if is_activities else found
        if own:
            return own
    return [Listed(ACTIVITIES if is_activities else LOG, path, path, None, None, [])]


def open_row(row: Listed) -> int:
    """A descriptor for reading a file; in a store over no link. Raises NotFound."""
    try:
        if row.place is None:
            return os.open(row.path, os.O_RDONLY | os.O_CLOEXEC)
        dir_fd = directories.open_at(row.place.base, row.place.parts)
        try:
            return files.open_file(dir_fd, row.place.name, row.path)
        finally:
            os.close(dir_fd)
    except FileNotFoundError:
        raise NotFound(f"no file {row.path}") from None


def source_of(setup: Setup, row: Listed) -> Source:
    """The open file of lines of a row; the caller closes its `fd`."""
    if row.place is None:
        return open_source(setup, row.path)
    user_cache = user_cache_dir()
    if row.kind == RECORDS:
        return Source(row.name, open_row(row), None, user_cache)
    cache = store_cache(setup, row.reference, row.path, user_cache)
    return Source(row.name, open_row(row), cache, user_cache)


def lock_of(setup: Setup, row: Listed, reference: Reference, command: str) -> Lock:
    """The lock of all that writes a file of the store: of its user's records, or of its conversation."""
    if row.kind == RECORDS:
        return setup.records_lock(reference.user, command)
    return setup.lock(reference, command)


def settled_size(setup: Setup, row: Listed, fd: int) -> tuple[int, bool]:
    """How large a file is once what lies behind its last LF stands still, and whether that is certain.

    It is looked at under its lock, where there is one to be had: then no memctl is writing.
    """
    size_bytes = os.fstat(fd).st_size
    if not size_bytes or os.pread(fd, 1, size_bytes - 1) == b"\n":
        return size_bytes, True
    settled = True
    with ExitStack() as held:
        if row.reference is not None and os.path.isdir(f"{setup.layout.root}/.memctl"):
            try:
                held.enter_context(lock_of(setup, row, row.reference, "inspect"))
            except LockTimeout:
                settled = False
            except (MemctlError, OSError):
                # A store that cannot be written has no locks, and no writer of ours.
                pass
        return log.settled_end(fd, setup.settle_s()), settled
