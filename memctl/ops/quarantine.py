"""quarantine: put back what was set aside; its item leaves quarantine once the bytes are in their place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import names, restoring
from memctl.core.edits import Edits
from memctl.core.names import QUARANTINE_SUFFIX, Reference
from memctl.core.restoring import Undo
from memctl.errors import AlreadyExists, BadInput, BadName, NotFound, UsageError
from memctl.ops import destination, undo
from memctl.ops.source import open_source
from memctl.ops.targets import source_of
from memctl.store import beside, census, directories, files, log, quarantine, record_files
from memctl.store.census import LOG, Listed
from memctl.store.layout import Place

if TYPE_CHECKING:
    from memctl.ops.setup import Setup
    from memctl.ops.source import Source
    from memctl.ops.undo import Undone
    from memctl.store.quarantine import Item


class Restored(NamedTuple):
    """What was put back; the fields are the keys of the report. `conversation` or `file` is None.

    Of records `file` is the path of their file.

    `restored` is False where a killed process had put it back already. `removed_bytes` were put in by what
    is undone, `appended_bytes` were appended since and stand behind, after a LF if `newline_added`; None
    where the note does not tell what was appended since.
    """

    id: str
    conversation: str | None
    file: str | None
    restored: bool
    restored_bytes: int
    removed_bytes: int
    appended_bytes: int | None
    newline_added: bool
    summaries_rewritten: int
    late_bytes: int


def listed(setup: Setup, path: str | None) -> list[dict[str, Any]]:
    """The notes in the store's quarantine, or in a file of quarantine, oldest first, without their pieces."""
    if path is None:
        return quarantine.items(setup.layout)
    notes = [section.note for section in beside.sections(file_of(path))]
    return [{key: note[key] for key in note if key != "pieces"} for note in notes]


def shown(setup: Setup, id: str | None, path: str | None) -> tuple[dict[str, Any], bytes]:
    """The whole note of an item, as far as it can be read, and its bytes; of the newest one in a file."""
    if path is not None:
        return beside.kept(file_of(path), id)
    return quarantine.note(setup.layout, id or ""), quarantine.read(setup.layout, id or "")


def restore(setup: Setup, id: str | None, path: str | None) -> Restored:
    """Put an item back where it was: the log is as before, with what was appended since behind; durable.

    With `path` a repair in that file of quarantine is undone, the newest if there is no `id`.
    Raises NotFound, BadInput if the place is not what it was or the note is damaged, AlreadyExists for
    activities in the place of others. Then nothing is changed.
    """
    return _restore(setup, id or "") if path is None else _restore_file(setup, path, id)


# -- in a store -------------------------------------------------------------------------------------------


def _restore(setup: Setup, id: str) -> Restored:
    item = quarantine.find(setup.layout, id)
    if "records" in item.note:
        return _restore_records(setup, item)
    reference = _reference(item)
    setup.ensure_store()
    with setup.lock(reference, "restore"):
        # Somebody else may have put it back while this process waited.
        item = quarantine.find(setup.layout, id)
        if item.note.get("activities") is True or item.note.get("reason") == "stray-activities":
            done = _put_activities_back(setup, reference, item)
        else:
            done = _put_lines_back(setup, reference, item)
        quarantine.take_back(setup.layout, item.user, id, fsync=setup.fsync())
        # A killed process that had put it back did not come to tell.
        facts = {"quarantine": id, "restored_bytes": len(item.data)}
        setup.event(reference.user, "memory.restored", conversation=reference.conversation, **facts)
    return Restored(id, reference.written(), None, done is not None, *(done or undo.NOTHING))


def _restore_records(setup: Setup, item: Item) -> Restored:
    """What left a file of records."""
    id, user, folder = item.note["id"], item.user, item.note["records"]
    hint = f"memctl quarantine show {id}"
    if folder not in record_files.FOLDERS:
        raise BadInput(f"the note of {id} is damaged: there are no records in {folder}", hint=hint)
    place = record_files.place(setup.layout, folder, user)
    setup.ensure_store()
    with setup.records_lock(user, "restore"):
        item = quarantine.find(setup.layout, id)
        row = Listed(census.RECORDS, place.path, place.path, Reference(user), place, [], folder)
        try:
            source = source_of(setup, row)
        except NotFound:
            raise NotFound(f"no file {place.path}; {id} stays in quarantine", hint=hint) from None
        try:
            done = _put_pieces_back(setup, item, source, place, log.settled_end(source.fd, setup.settle_s()))
        finally:
            os.close(source.fd)
        quarantine.take_back(setup.layout, user, id, fsync=setup.fsync())
        facts = {"quarantine": id, "restored_bytes": len(item.data)}
        setup.event(user, "memory.restored", records=folder, **facts)
    return Restored(id, None, place.path, done is not None, *(done or undo.NOTHING))


def _reference(item: Item) -> Reference:
    written = item.note.get("conversation")
    try:
        if type(written) is not str:
            raise BadName("it names no conversation")
        reference = names.parse_reference(written)
        if reference.user != item.user:
            raise BadName(f"it names {written}, and lies in the quarantine of {item.user}")
    except (BadName, UsageError) as error:
        id = item.note["id"]
        raise BadInput(
            f"the note of {id} is damaged ({error}); its bytes are still there",
            hint=f"memctl quarantine show {id}",
        ) from None
    return reference


def _put_activities_back(setup: Setup, reference: Reference, item: Item) -> Undone | None:
    """The whole file; None if it is there."""
    place = setup.layout.activities(reference.user, reference.conversation or "")
    base, tmp = setup.layout.tmp(place)
    dir_fd = directories.open_at(place.base, place.parts, create=True, fsync=setup.fsync())
    try:
        if place.name in os.listdir(dir_fd):
            with open(files.open_file(dir_fd, place.name, place.path), "rb") as file:
                if file.read() == item.data:
                    return None
            raise AlreadyExists(
                f"{reference.written()} has other activities now; nothing was restored",
                hint=f"memctl quarantine show {item.note['id']}",
            )
        tmp_fd = directories.open_at(base, tmp, create=True, fsync=setup.fsync())
        try:
            files.replace_at(dir_fd, place.name, tmp_fd, [item.data], fsync=setup.fsync())
        finally:
            os.close(tmp_fd)
    finally:
        os.close(dir_fd)
    return undo.NOTHING._replace(restored_bytes=len(item.data))


def _put_lines_back(setup: Setup, reference: Reference, item: Item) -> Undone | None:
    """What left a log; None if it is in the log again."""
    id = item.note["id"]
    try:
        source = open_source(setup, reference)
    except NotFound:
        hint = f"memctl trash list; memctl quarantine show {id}"
        raise NotFound(
            f"no conversation {reference.written()}; {id} stays in quarantine", hint=hint
        ) from None
    try:
        end = log.settled_end(source.fd, setup.settle_s())
        place = setup.place(reference)
        if "pieces" in item.note:
            return _put_pieces_back(setup, item, source, place, end)
        plan = _as_line(source.fd, item, end)
        done = undo.put_back(setup, source, place, setup.layout.tmp(place), plan, end)
        # Without the sizes of before nobody knows since when the bytes behind it stand there.
        return done._replace(appended_bytes=None)
    finally:
        os.close(source.fd)


def _put_pieces_back(setup: Setup, item: Item, source: Source, place: Place, end: int) -> Undone | None:
    """What edits took out of a file; None if it is in the file again."""
    plan = restoring.undo(item.note, item.data)
    if undo.applies(source.fd, plan, end):
        return undo.put_back(setup, source, place, setup.layout.tmp(place), plan, end)
    if undo.is_done(source.fd, plan, end):
        return None
    raise _changed(setup, source.name, item)


def _changed(setup: Setup, name: str, item: Item) -> BadInput:
    id = item.note["id"]
    others = [
        note
        for note in quarantine.items(setup.layout)
        if note["user"] == item.user
        and all(note.get(key) == item.note.get(key) for key in ("conversation", "records"))
        and note["id"] != id
        and str(note.get("time", "")) >= str(item.note.get("time", ""))
    ]
    why = (
        f"a later repair or drop has to be restored first; the newest is {others[-1]['id']}"
        if others
        else "and no later item of it is in quarantine"
    )
    return BadInput(
        f"{name} was changed since {id} was set aside: {why}",
        hint=f"memctl quarantine show {id}",
    )


def _as_line(fd: int, item: Item, end: int) -> Undo:
    """A single stretch of bytes, put in as a line of its own where it was.

    The end of a line counts as the place behind it: a healed line was ended there.
    """
    note, data = item.note, item.data
    id, offset = note["id"], restoring.place(note)
    # Where the log has no such byte, nothing is read.
    around = log.read_span(fd, max(0, offset - 1), min(end, offset) + 1)
    if offset and around[:1] != b"\n" and around[1:] == b"\n":
        offset += 1
    elif offset > end or (offset and around[:1] != b"\n"):
        raise BadInput(
            f"{note['conversation']} was changed since {id} was set aside: "
            f"no line begins at its byte {offset}",
            hint=f"memctl quarantine show {id}",
        )
    line = data if data.endswith(b"\n") else data + b"\n"
    if log.read_span(fd, offset, offset + len(line)) == line:
        raise BadInput(
            f"the bytes of {id} stand at byte {offset} of {note['conversation']} already",
            hint=f"memctl show {note['conversation']}",
        )
    edits = Edits()
    edits.add(offset, 0, line, 0, "restored")
    return Undo(edits, offset + len(line), "", offset, "")


# -- outside of a store -----------------------------------------------------------------------------------


def file_of(path: str) -> str:
    """The file of quarantine that a path names; of a link to a file, the one beside that file.

    Raises UsageError for another name, NotFound if there is none.
    """
    if not path.endswith(QUARANTINE_SUFFIX):
        raise UsageError(f"{path} is no file of quarantine", hint=f"its name ends in {QUARANTINE_SUFFIX}")
    given = os.path.expanduser(path) if path.startswith("~") else path
    repaired = given.removesuffix(QUARANTINE_SUFFIX)
    real = os.path.realpath(repaired) + QUARANTINE_SUFFIX
    for name in (given, real):
        if os.path.isfile(name):
            return os.path.realpath(name)
    backup = f"{repaired}.bak"
    hint = f"the file as it was before is {backup}" if os.path.isfile(backup) else ""
    raise NotFound(f"no file {path}", hint=hint)


def _restore_file(setup: Setup, path: str, id: str | None) -> Restored:
    aside = file_of(path)
    target = aside.removesuffix(QUARANTINE_SUFFIX)
    shown = path.removesuffix(QUARANTINE_SUFFIX)
    note, data = beside.kept(aside, id)
    plan = restoring.undo(note, data)
    _check_target(shown, target)
    source = open_source(setup, target)
    source = source._replace(name=shown)
    done = None
    try:
        destination.hold(setup, Listed(LOG, shown, target, None, None, []), source.fd)
        end = log.settled_end(source.fd, setup.settle_s())
        if undo.applies(source.fd, plan, end):
            directory, name = os.path.split(target)
            done = undo.put_back(setup, source, Place(directory, (), name), (directory, ()), plan, end)
        elif not undo.is_done(source.fd, plan, end):
            raise _file_changed(shown, path, aside, note)
    finally:
        os.close(source.fd)
    beside.remove_section(aside, note["id"], fsync=setup.fsync())
    return Restored(note["id"], None, shown, done is not None, *(done or undo.NOTHING))


def _check_target(shown: str, target: str) -> None:
    if not os.path.isfile(target):
        raise NotFound(f"no file {shown}, in which anything could be put back")
    if os.stat(target).st_nlink > 1:
        raise UsageError(f"{shown} has several hard links; a restore in place would part them")
    root = census.store_of(target)
    if root is not None:
        raise UsageError(f"{shown} lies in the store {root}", hint=f"memctl --root {root} quarantine list")


def _file_changed(shown: str, path: str, aside: str, note: dict[str, Any]) -> BadInput:
    import shlex

    newest = beside.sections(aside)[-1].note["id"]
    why = (
        f"a later repair has to be undone first; the newest is {newest}"
        if newest != note["id"]
        else "and no later repair is in its quarantine"
    )
    return BadInput(
        f"{shown} was changed since the repair {note['id']}: {why}",
        hint=f"memctl quarantine show {shlex.quote(path)} {note['id']}",
    )
