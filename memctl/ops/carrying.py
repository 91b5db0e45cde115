"""Carrying a repair out: first what leaves is kept, then the file is replaced, then the caches go."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from memctl.core.counting import COUNTERS
from memctl.core.edits import Edits
from memctl.errors import Changing, MemctlError, Overtaken
from memctl.ops.setup import rfc3339
from memctl.ops.source import with_index
from memctl.store import beside, caches, directories, files, quarantine, revision
from memctl.store.layout import Place
from memctl.store.rewrite import overtaken, replace_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memctl.core.names import Reference
    from memctl.ops.aside import Aside
    from memctl.ops.setup import Setup
    from memctl.ops.source import Source
    from memctl.store.census import Listed
    from memctl.store.examined import Examined

#: The caches that lie beside each other for a log.
KINDS = ("index", "ids", *COUNTERS)


def _note(setup: Setup, carried: Aside, edits: Edits, fd: int, end: int) -> dict[str, Any]:
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
        "sha256_before": revision.digest_upto(fd, end),
        "size_after": new_bytes,
        "sha256_after": new,
    }


def carry_out(
    setup: Setup,
    row: Listed,
    source: Source,
    examined: Examined,
    end: int,
    carried: Aside,
    output: str | None,
) -> int:
    """Keep what leaves, then write the repaired file; how many bytes arrived meanwhile and were kept.

    Durable on return. The log's lock is held where there is one. What fails leaves the file as it was, and
    nothing beside it that was not there. Raises Overtaken if the file was changed meanwhile.
    """
    edits, fd = examined.edits, source.fd
    if not len(edits) and output is None:
        return 0
    if output is None and row.reference is not None and row.place is not None:
        late = in_store(setup, row.reference, row.place, source, edits, end, carried)
        where = {"records": row.folder} if row.folder else {"conversation": row.reference.conversation}
        setup.event(
            row.reference.user,
            "memory.repaired",
            **where,
            quarantine=carried.id,
            quarantined_bytes=edits.removed_bytes,
            codes=edits.codes(),
        )
        return late
    streams = _streams(setup, carried, edits, fd, end, row.path)
    return _outside(setup, row, source, edits, end, carried, output, streams)


def _streams(
    setup: Setup, carried: Aside, edits: Edits, fd: int, end: int, path: str
) -> tuple[Iterator[bytes], Iterator[bytes], Iterator[bytes]]:
    """The note, what is taken out, the new file."""
    note = _note(setup, carried, edits, fd, end)
    return (
        revision.note(note, edits),
        _as_noted(revision.taken_out(fd, edits), note["length"], note["sha256"], path),
        _as_noted(revision.edited(fd, edits, end), note["size_after"], note["sha256_after"], path),
    )


def _as_noted(chunks: Iterable[bytes], size_bytes: int, sha256: str, path: str) -> Iterator[bytes]:
    """The chunks; raises Overtaken at their end if they are not the bytes that the note speaks of."""
    import hashlib

    seen = 0
    hashed = hashlib.sha256()
    for chunk in chunks:
        seen += len(chunk)
        hashed.update(chunk)
        yield chunk
    if (seen, hashed.hexdigest()) != (size_bytes, sha256):
        raise overtaken(path)


@contextmanager
def _undone_unless_replaced(path: str) -> Iterator[list[Callable[[], object]]]:
    """Calls the steps in the list, last first, if what is inside fails before the file at `path` is ours.

    Once the file is replaced, what was set aside is the only copy.
    """
    before = _identity(path)
    steps: list[Callable[[], object]] = []
    try:
        yield steps
    except BaseException as error:
        # A file that was overtaken is another one, too, but not by us.
        if isinstance(error, Overtaken) or _identity(path) == before:
            for step in reversed(steps):
                with suppress(OSError, MemctlError):
                    step()
        raise


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _outside(
    setup: Setup,
    row: Listed,
    source: Source,
    edits: Edits,
    end: int,
    carried: Aside,
    output: str | None,
    streams: tuple[Iterator[bytes], Iterator[bytes], Iterator[bytes]],
) -> int:
    text, taken, new = streams
    fsync = setup.fsync()
    path = os.path.realpath(row.path if output is None else output)
    with _undone_unless_replaced(path) as steps:
        if edits.removed_bytes:
            size_bytes = beside.add_section(path, carried.id, text, taken, fsync=fsync)
            if size_bytes is not None:
                steps.append(lambda: beside.take_section_back(path, size_bytes))
        directory, name = os.path.split(path)
        if output is not None:
            if carried.backup is not None:
                before = os.path.join(directory, os.path.basename(carried.backup))
                if beside.keep_other(before, path, fsync=fsync):
                    steps.append(lambda: beside.remove_backup(before))
            beside.write(path, new, fsync=fsync)
            return 0
        if carried.backup is not None:
            backup = os.path.join(directory, os.path.basename(carried.backup))
            if beside.keep_backup(backup, source.fd, end, fsync=fsync):
                steps.append(lambda: beside.remove_backup(backup))
        late = replace_log(
            (directory, ()),
            Place(directory, (), name),
            source.fd,
            new,
            end,
            fsync=fsync,
            settle_s=setup.settle_s(),
        )
    drop_caches(source)
    return late


def in_store(
    setup: Setup, reference: Reference, place: Place, source: Source, edits: Edits, end: int, carried: Aside
) -> int:
    """Keep what edits take out of a log as the item `carried.id`, then replace it; how many bytes came late.

    Durable on return. The log's lock is held. What fails leaves the log as it was, and no item.
    """
    text, taken, new = _streams(setup, carried, edits, source.fd, end, place.path)
    user = reference.user
    with _undone_unless_replaced(place.path) as steps:
        # The same item may be there from before: of a process that was killed, or of the same repair.
        if not quarantine.is_kept(setup.layout, user, carried.id):
            steps.append(lambda: quarantine.take_back(setup.layout, user, carried.id))
        quarantine.put_edits(setup.layout, user, carried.id, text, taken, fsync=setup.fsync())
        late = _replace(setup, place, source.fd, new, end)
    drop_caches(source)
    return late


def for_good(setup: Setup, place: Place, source: Source, edits: Edits, end: int) -> int:
    """Replace a log by what edits make of it; what they take out is kept nowhere; how many bytes came late.

    Durable on return. The log's lock is held. What fails leaves the log as it was.
    """
    size_bytes, sha256 = revision.digest(revision.edited(source.fd, edits, end))
    new = _as_noted(revision.edited(source.fd, edits, end), size_bytes, sha256, place.path)
    late = _replace(setup, place, source.fd, new, end)
    drop_caches(source)
    return late


def _replace(setup: Setup, place: Place, fd: int, new: Iterator[bytes], end: int) -> int:
    return replace_log(
        setup.layout.tmp(place), place, fd, new, end, fsync=setup.fsync(), settle_s=setup.settle_s()
    )


def set_activities_aside(setup: Setup, row: Listed, fd: int, edits: Edits, carried: Aside) -> None:
    """Keep activities that are none, and remove their file: a conversation without any has the empty list.

    Raises Overtaken if they were replaced meanwhile.
    """
    assert row.place is not None and row.reference is not None
    user, place = row.reference.user, row.place
    with _undone_unless_replaced(place.path) as steps:
        if len(edits):
            note = _note(setup, carried, edits, fd, os.fstat(fd).st_size)
            taken = _as_noted(revision.taken_out(fd, edits), note["length"], note["sha256"], row.path)
            text = revision.note(note, edits)
            if not quarantine.is_kept(setup.layout, user, carried.id):
                steps.append(lambda: quarantine.take_back(setup.layout, user, carried.id))
            quarantine.put_edits(setup.layout, user, carried.id, text, taken, fsync=setup.fsync())
        dir_fd = directories.open_at(place.base, place.parts)
        try:
            status = os.fstat(fd)
            if _identity(place.path) != (status.st_dev, status.st_ino):
                raise overtaken(place.path)
            files.unlink(dir_fd, place.name, fsync=setup.fsync())
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
    # Of a log that changes all the time readers make a new one.
    with suppress(Changing):
        with_index(source, None, lambda index: None)
