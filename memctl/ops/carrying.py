"""Carrying a repair out: first what leaves is kept, then the file is replaced, then the caches go."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core.counting import COUNTERS
from memctl.errors import MemctlError, NotFound, UsageError
from memctl.ops.setup import rfc3339
from memctl.ops.source import with_index
from memctl.store import beside, caches, census, directories, files, quarantine, revision
from memctl.store.layout import Place
from memctl.store.rewrite import replace_log

if TYPE_CHECKING:
    from memctl.core.edits import Edits
    from memctl.ops.setup import Setup
    from memctl.ops.source import Source
    from memctl.store.census import Listed
    from memctl.store.examined import Examined

#: The caches that lie beside each other for a log.
KINDS = ("index", "ids", *COUNTERS)


class Carried(NamedTuple):
    """Where what is taken out goes, and the note's facts; all of it follows from the file and the edits.

    `quarantine` is an item's id, or a path; `backup` a path.
    """

    id: str
    facts: dict[str, Any]
    quarantine: str | None
    backup: str | None


def check_in_place(setup: Setup, row: Listed) -> None:
    """Raise UsageError for a file that cannot be replaced where it lies."""
    if row.path == "-":
        raise UsageError("standard input is repaired into a file", hint="give -o FILE")
    if row.reference is not None:
        return
    if row.place is not None:
        raise UsageError(
            f"{row.path} has a name that no conversation has, so there is no lock for it", hint="give -o FILE"
        )
    status = os.stat(row.path)
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{row.path} is not a regular file", hint="give -o FILE")
    if status.st_nlink > 1:
        raise UsageError(
            f"{row.path} has {status.st_nlink} hard links; a repair in place would part them",
            hint="give -o FILE",
        )
    root = census.store_of(row.path)
    if root is not None:
        hint = "give -o FILE, or name the conversation"
        if root != setup.layout.root:
            hint = f"memctl --root {root} repair USER/CONVERSATION, or give -o FILE"
        raise UsageError(f"{row.path} lies in the store {root}", hint=hint)


def check_output(row: Listed, output: str) -> None:
    """Raise UsageError for an output that would touch the input, or that is no place for a file."""
    if output == "-":
        raise UsageError("-o wants a file: a file of quarantine is kept beside it")
    if os.path.isdir(output):
        raise UsageError(f"-o {output} is a directory, a file is expected")
    if row.path != "-" and os.path.exists(output) and os.path.samefile(output, row.path):
        raise UsageError("-o names the input itself", hint="--apply repairs it in place")
    if census.store_of(output) is not None:
        raise UsageError(f"-o {output} lies in a store, where only its own commands write")
    if not os.path.isdir(os.path.dirname(output) or "."):
        raise NotFound(f"no directory {os.path.dirname(output)}")


# -- where it goes ----------------------------------------------------------------------------------------


def of_log(
    setup: Setup, row: Listed, source: Source, examined: Examined, end: int, output: str | None
) -> Carried:
    """Where the bytes that leave a log go."""
    edits = examined.edits
    facts = _facts(row, edits)
    if not len(edits):
        return Carried("", facts, None, None)
    id = revision.item_id(facts, edits, source.fd)
    if output is None and row.reference is not None:
        return Carried(id, facts, id, None)
    path = os.path.realpath(output if output is not None else row.path)
    shown = output if output is not None else row.path
    aside = f"{shown}{beside.QUARANTINE_END}" if edits.removed_bytes else None
    backup = None
    if output is None and row.path != "-":
        backup = beside.backup_of(path, source.fd, end)
        backup = os.path.join(os.path.dirname(shown), os.path.basename(backup)) if path == shown else backup
    return Carried(id, facts, aside, backup)


def of_activities(row: Listed, fd: int, edits: Edits) -> Carried:
    """Where activities go that are none."""
    facts = {**_facts(row, edits), "activities": True}
    if not len(edits):
        return Carried("", facts, None, None)
    id = revision.item_id(facts, edits, fd)
    return Carried(id, facts, id, None)


def _facts(row: Listed, edits: Edits) -> dict[str, Any]:
    first = edits[0] if len(edits) else None
    named: dict[str, Any] = {"file": os.path.basename(row.path)}
    if row.reference is not None:
        named = {"conversation": row.reference.written()}
    return {
        **named,
        "reason": "repaired",
        "codes": edits.codes(),
        "line": first.line if first else None,
        "offset": first.offset if first else None,
    }


def _note(setup: Setup, carried: Carried, edits: Edits, fd: int, end: int) -> dict[str, Any]:
    """The note: with the sizes and digests of before and after, by which the repair can be undone."""
    taken_bytes, taken = revision.digest(revision.taken_out(fd, edits))
    new_bytes, new = revision.digest(revision.edited(fd, edits, end))
    return {
        "id": carried.id,
        **carried.facts,
        "time": rfc3339(setup.time_us()),
        "length": taken_bytes,
        "sha256": taken,
        "size_before": end,
        "size_after": new_bytes,
        "sha256_after": new,
    }


# -- doing it ---------------------------------------------------------------------------------------------


def carry_out(
    setup: Setup,
    row: Listed,
    source: Source,
    examined: Examined,
    end: int,
    carried: Carried,
    output: str | None,
) -> int:
    """Keep what leaves, then write the repaired file; how many bytes arrived meanwhile and were kept.

    Durable on return. The log's lock is held where there is one.
    """
    edits, fd, fsync = examined.edits, source.fd, setup.fsync()
    if output is None and not len(edits):
        return 0
    note = _note(setup, carried, edits, fd, end) if len(edits) else {}
    if output is None and row.reference is not None and row.place is not None:
        return _in_store(setup, row, row.place, source, edits, end, carried, note)
    path = os.path.realpath(row.path if output is None else output)
    if edits.removed_bytes:
        taken = revision.taken_out(fd, edits)
        beside.add_section(path, carried.id, revision.note(note, edits), taken, fsync=fsync)
    if output is not None:
        beside.write(path, revision.edited(fd, edits, end), fsync=fsync)
        return 0
    if carried.backup is not None:
        backup = os.path.join(os.path.dirname(path), os.path.basename(carried.backup))
        beside.keep_backup(backup, fd, end, fsync=fsync)
    directory, name = os.path.split(path)
    late = replace_log(
        (directory, ()),
        Place(directory, (), name),
        fd,
        revision.edited(fd, edits, end),
        end,
        fsync=fsync,
        settle_s=setup.settle_s(),
    )
    drop_caches(source)
    return late


def _in_store(
    setup: Setup,
    row: Listed,
    place: Place,
    source: Source,
    edits: Edits,
    end: int,
    carried: Carried,
    note: dict[str, Any],
) -> int:
    assert row.reference is not None
    user, fd = row.reference.user, source.fd
    taken = revision.taken_out(fd, edits)
    try:
        quarantine.put_edits(
            setup.layout, user, carried.id, revision.note(note, edits), taken, fsync=setup.fsync()
        )
        late = replace_log(
            setup.layout.tmp(place),
            place,
            fd,
            revision.edited(fd, edits, end),
            end,
            fsync=setup.fsync(),
            settle_s=setup.settle_s(),
        )
    except (OSError, MemctlError):
        # Once the log is replaced, what was set aside is the only copy.
        if _is_in_place(fd, place):
            quarantine.take_back(setup.layout, user, carried.id)
        raise
    drop_caches(source)
    setup.event(
        user,
        "memory.repaired",
        conversation=row.reference.conversation,
        quarantine=carried.id,
        quarantined_bytes=edits.removed_bytes,
        codes=edits.codes(),
    )
    return late


def _is_in_place(fd: int, place: Place) -> bool:
    """Whether the open file is still the one that its name leads to."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(place.path, follow_symlinks=False))
    except OSError:
        return False


def set_activities_aside(setup: Setup, row: Listed, fd: int, edits: Edits, carried: Carried) -> None:
    """Keep activities that are none, and remove their file: a conversation without any has the empty list."""
    assert row.place is not None and row.reference is not None
    user = row.reference.user
    if len(edits):
        note = _note(setup, carried, edits, fd, os.fstat(fd).st_size)
        taken = revision.taken_out(fd, edits)
        quarantine.put_edits(
            setup.layout, user, carried.id, revision.note(note, edits), taken, fsync=setup.fsync()
        )
    dir_fd = directories.open_at(row.place.base, row.place.parts)
    try:
        files.unlink(dir_fd, row.place.name, fsync=setup.fsync())
    finally:
        os.close(dir_fd)
    setup.event(
        user,
        "memory.repaired",
        conversation=row.reference.conversation,
        quarantine=carried.id or None,
        quarantined_bytes=edits.removed_bytes,
        codes=["bad-activities"],
    )


def take_from_others(path: str) -> None:
    """Take away what others may do with a file or a directory of the store; no link is followed."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        files.take_from_others(fd)
    finally:
        os.close(fd)


def drop_caches(source: Source) -> None:
    """Remove the caches of a log that was replaced; readers make new ones."""
    for kind in KINDS:
        path = source.cache_path(kind)
        if path is not None:
            caches.drop(path)


def rebuild_cache(source: Source) -> None:
    """Make the index of a log anew, without what was counted by the old one."""
    drop_caches(source)
    with_index(source, None, lambda index: None)
