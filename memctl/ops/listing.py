"""list: the conversations of a store, newest first, as their files are."""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names, turns
from memctl.errors import MemctlError
from memctl.ops.log_view import LogView
from memctl.ops.source import Source, store_cache, with_index
from memctl.store import directories, files
from memctl.store.layout import user_cache_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.ops.setup import Setup
    from memctl.store.sidecar import Index


class Listed(NamedTuple):
    """A conversation's line of the listing. `updated_at` is the file's modification time, None if absurd.

    `addressable` is False for a file that another program named: only its `path` reaches it.
    """

    user: str
    conversation: str
    messages: int
    bytes: int
    updated_at: str | None
    last_role: str | None
    summaries: int
    problems: int
    addressable: bool
    path: str
    mtime_ns: int


class Listing(NamedTuple):
    """Conversations, newest first, and what was passed over, one phrase each."""

    conversations: list[Listed]
    notes: list[str]


def listing(setup: Setup, user: str | None = None) -> Listing:
    """The conversations of a user, or of all. An unknown user has none."""
    listed: list[Listed] = []
    notes: list[str] = []
    for dir_fd, directory, name, path in _logs(setup, user, notes):
        listed += _listed(setup, dir_fd, directory, name, path, notes)
    listed.sort(key=lambda row: (-row.mtime_ns, row.user, row.conversation))
    return Listing(listed, notes)


def conversations(setup: Setup, user: str | None = None) -> list[names.Reference]:
    """The conversations that can be named, without looking into them or their caches."""
    found = []
    for _, directory, name, _ in _logs(setup, user, []):
        owner, conversation = names.decode(directory), names.decode(name[: -len(names.SUFFIX)])
        if owner is not None and conversation is not None and not conversation.endswith(names.SUFFIX):
            found.append(names.Reference(owner, conversation))
    return found


def _logs(setup: Setup, user: str | None, notes: list[str]) -> Iterator[tuple[int, str, str, str]]:
    """Each log: its open directory, the directory's name, its own, its path."""
    base, parts = setup.layout.conversations_base, setup.layout.conversations_parts
    for directory in _user_dirs(setup, user, notes):
        try:
            dir_fd = directories.open_at(base, (*parts, directory))
        except FileNotFoundError:
            continue
        except OSError as error:
            if user is not None:
                raise
            notes.append(f"{'/'.join((base, *parts, directory))}: {error.strerror}")
            continue
        try:
            for name in sorted(os.listdir(dir_fd)):
                if name.endswith(names.SUFFIX):
                    yield dir_fd, directory, name, "/".join((base, *parts, directory, name))
        finally:
            os.close(dir_fd)


def _user_dirs(setup: Setup, user: str | None, notes: list[str]) -> list[str]:
    if user is not None:
        return [names.encode(user)]
    base, parts = setup.layout.conversations_base, setup.layout.conversations_parts
    try:
        dir_fd = directories.open_at(base, parts)
    except FileNotFoundError:
        return []
    try:
        found = []
        for name in sorted(os.listdir(dir_fd)):
            try:
                mode = os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode
            except FileNotFoundError:
                continue
            if stat.S_ISDIR(mode) and not name.startswith("."):
                found.append(name)
            elif stat.S_ISLNK(mode):
                notes.append(f"{'/'.join((base, *parts, name))} is a symbolic link, not followed")
        return found
    finally:
        os.close(dir_fd)


def _listed(
    setup: Setup, dir_fd: int, directory: str, name: str, path: str, notes: list[str]
) -> Iterator[Listed]:
    stem = name[: -len(names.SUFFIX)]
    user, conversation = names.decode(directory), names.decode(stem)
    if conversation is not None and conversation.endswith(names.SUFFIX):
        conversation = None
    try:
        fd = files.open_file(dir_fd, name, path)
    except FileNotFoundError:
        return
    except (OSError, MemctlError) as error:
        notes.append(str(error) if path in str(error) else f"{path}: {error}")
        return
    try:
        status = os.fstat(fd)
        addressable = user is not None and conversation is not None
        user_cache = user_cache_dir()
        reference = names.Reference(user or "", conversation or "") if addressable else None
        source = Source(path, fd, store_cache(setup, reference, path, user_cache), user_cache)
        messages, role, summaries, problems = with_index(source, None, _facts)
    except MemctlError as error:
        notes.append(f"{path}: {error}")
        return
    finally:
        os.close(fd)
    yield Listed(
        user=user if user is not None else directory,
        conversation=conversation if conversation is not None else stem,
        messages=messages,
        bytes=status.st_size,
        updated_at=_updated_at(status.st_mtime_ns // 1_000_000_000),
        last_role=role,
        summaries=summaries,
        problems=problems,
        addressable=addressable,
        path=path,
        mtime_ns=status.st_mtime_ns,
    )


def _updated_at(seconds: int) -> str | None:
    """A modification time in whole seconds; None for one beyond all calendars."""
    try:
        moment = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return None
    return f"{moment.tm_year:04d}-{time.strftime('%m-%dT%H:%M:%SZ', moment)}"


def _facts(index: Index) -> tuple[int, str | None, int, int]:
    """Messages, role of the last one, summaries, problems."""
    last = index.last()
    role = None
    if last.messages:
        number = index.entry_of(last.messages - 1)
        kind = index[number].role
        role = turns.role_of(kind, index.value(number) if kind == turns.OTHER_ROLE else {})
    view = LogView(index)
    summaries = (1 + view.earlier_summaries(0)) if last.summary else 0
    return last.messages, role, summaries, last.marks + bool(view.open_tail(0))
