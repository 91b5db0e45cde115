"""append: check all of the input, then look at the tail, heal it, write once, all under the log lock.

No token is counted and no index touched: an append can neither fail nor slow down because of a cache.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl, marker
from memctl.core.lines import read_line
from memctl.core.message import Incoming, accept, go_unreadable
from memctl.core.splice import with_identity
from memctl.errors import BadInput, IdConflict, StorageError
from memctl.ops.setup import Setup, rfc3339, stamp
from memctl.store import files, log, quarantine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memctl.core.names import Reference
    from memctl.store.layout import Place

_BOM = b"\xef\xbb\xbf"


#: `Appended` has a field of the type's name.
Line = bytes


class Appended(NamedTuple):
    """What an append did; the fields are the keys of its report.

    `offset` is the place of the first new line in the log, None if nothing was stored; `bytes` what was
    added for new lines. `ids` has one id for each stored message, in order, None for one whose own `extra`
    leaves no place for it. `echoed` are the ephemeral messages as they were given, and in no report.
    """

    conversation: str
    appended: int
    duplicates: int
    skipped_ephemeral: int
    skipped_invalid: list[dict[str, Any]]
    healed: list[dict[str, Any]]
    go_unreadable: list[dict[str, Any]]
    offset: int | None
    bytes: int
    ids: list[str | None]
    ephemeral: list[dict[str, Any]]
    echoed: list[Line]

    def report(self) -> dict[str, Any]:
        """The report of `--json`."""
        return {key: value for key, value in self._asdict().items() if key != "echoed"}


class Input(NamedTuple):
    """Messages read from JSONL, and the lines that were skipped."""

    messages: list[Incoming]
    skipped: list[dict[str, Any]]


def read_input(data: bytes, *, skip_invalid: bool = False) -> Input:
    """The messages of JSONL input; blank lines do not count. One bad line refuses all (BadInput)."""
    messages: list[Incoming] = []
    skipped: list[dict[str, Any]] = []
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            messages.append(accept(line))
        except BadInput as error:
            if not skip_invalid:
                hint = "nothing was stored; --skip-invalid stores the other lines"
                hint += f"; {error.hint}" if error.hint else ""
                raise BadInput(f"line {number} of the input: {error}", hint=hint) from None
            skipped.append({"line": number, "reason": str(error)})
    return Input(messages, skipped)


def append(
    setup: Setup,
    reference: Reference,
    messages: Sequence[Incoming],
    *,
    skipped: Sequence[dict[str, Any]] = (),
    create: bool = True,
    fsync: bool | None = None,
) -> Appended:
    """Store messages at the end of a conversation, durable on return unless `fsync` is False.

    Messages with an id that is stored already, with the same role and content, are not stored again; with
    other content IdConflict is raised and nothing is stored. Ephemeral messages are only reported back.
    """
    durable = setup.fsync() if fsync is None else fsync
    lasting = [message for message in messages if not marker.is_ephemeral(message.value)]
    echoed = [message.line for message in messages if marker.is_ephemeral(message.value)]
    report = Appended(
        conversation=reference.written(),
        appended=0,
        duplicates=0,
        skipped_ephemeral=len(messages) - len(lasting),
        skipped_invalid=list(skipped),
        healed=[],
        go_unreadable=[],
        offset=None,
        bytes=0,
        ids=[],
        ephemeral=[jsonl.exact(line.decode()) for line in echoed],
        echoed=echoed,
    )
    if setup.settings["compat"] == "go":
        _refuse_go_unreadable(setup, lasting)
    _refuse_conflicts_within(lasting)
    if not lasting:
        return report
    setup.ensure_store()
    place = setup.place(reference)
    with setup.lock(reference, "append"):
        fd, created = log.open_for_append(
            place, create=create, fsync=durable, missing=str(setup.missing(reference))
        )
        try:
            return _append(setup, reference, place, fd, lasting, report, durable)
        except BaseException:
            if created and not os.fstat(fd).st_size:
                log.remove(place)
            raise
        finally:
            os.close(fd)


def _append(
    setup: Setup,
    reference: Reference,
    place: Place,
    fd: int,
    messages: Sequence[Incoming],
    report: Appended,
    durable: bool,
) -> Appended:
    while True:
        tail = log.settled_tail(fd, setup.settle_s())
        new, duplicates = _without_stored(setup, reference, fd, tail, messages)
        # A program without a lock may have gone on with the tail meanwhile: then it is looked at anew.
        if (heal := _heal(setup, reference, fd, tail, durable)) is not None:
            break
    lead, healed = heal
    size_bytes = os.fstat(fd).st_size + len(lead)
    lines, ids, unreadable = _lines(setup, new, size_bytes)
    report = report._replace(duplicates=duplicates, healed=healed, go_unreadable=unreadable)
    if not lines:
        if lead:
            files.append(fd, [lead], fsync=durable)
        return report
    try:
        offset = log.append(fd, place, lines, lead=lead, fsync=durable, settle_s=setup.settle_s())
    except StorageError as error:
        if any(item["quarantine"] for item in healed):
            hint = "a torn tail was set aside before: memctl quarantine"
            raise StorageError(f"{reference.written()}: {error}", hint=hint) from error
        raise StorageError(f"{reference.written()}: {error}") from error
    return report._replace(
        appended=len(lines), offset=offset, bytes=sum(len(line) for line in lines), ids=ids
    )


def _refuse_go_unreadable(setup: Setup, messages: Iterable[Incoming]) -> None:
    created_at = rfc3339(setup.time_us())
    for number, message in enumerate(messages, 1):
        # An id to come is as long as this one.
        line = with_identity(message, message.id or "0" * 16, created_at)
        if code := go_unreadable(message, line):
            raise BadInput(
                f"message {number} is {code}, and the setting compat is go: the Go reader would stop there"
            )


def _same(stored: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return all(stored.get(key) == given.get(key) for key in ("role", "content"))


def _refuse_conflicts_within(messages: Iterable[Incoming]) -> None:
    """Before anything is made: one id for two contents cannot be stored, whatever the log holds."""
    first: dict[str, Incoming] = {}
    for message in messages:
        if message.id is not None and not _same(first.setdefault(message.id, message).value, message.value):
            raise IdConflict(f"the id {message.id} comes twice, with different content; nothing was stored")


def _without_stored(
    setup: Setup, reference: Reference, fd: int, tail: log.Tail | None, messages: Sequence[Incoming]
) -> tuple[list[Incoming], int]:
    """The messages that are not stored yet, and how many are. Only given ids are looked up."""
    given = {message.id for message in messages if message.id is not None}
    if not given:
        return list(messages), 0
    from memctl.store.ids import IdCache

    cache = IdCache(setup.layout.cache(reference.user, reference.conversation or "", "ids").path, fd)
    try:
        cache.catch_up(os.fstat(fd).st_size)
        known = cache.find(given)
    finally:
        cache.close()
    if tail is not None:
        for piece in read_line(tail.data[: tail.keep], terminated=False):
            if piece.message is not None and (id := marker.message_id(piece.message)) in given:
                known.setdefault(id or "", []).append(piece.message)
    new: list[Incoming] = []
    for message in messages:
        stored = known.get(message.id, []) if message.id is not None else []
        if not stored:
            new.append(message)
            if message.id is not None:
                known[message.id] = [message.value]
        elif not any(_same(value, message.value) for value in stored):
            raise IdConflict(
                f"the id {message.id} is stored already in {reference.written()}, with other content; "
                "nothing was stored",
                hint=f"memctl show {reference.written()}",
            )
    return new, len(messages) - len(new)


def _heal(
    setup: Setup, reference: Reference, fd: int, tail: log.Tail | None, durable: bool
) -> tuple[bytes, list[dict[str, Any]]] | None:
    """Set aside what a crash left behind the last whole message; what has to be written before new lines.

    None, with nothing done, if the log went on meanwhile.
    """
    if tail is None:
        return b"", []
    line = log.count_lines(fd, tail.offset) + 1
    healed: list[dict[str, Any]] = []
    torn = tail.data[tail.keep :]
    if torn:
        offset = tail.offset + tail.keep
        code = "torn-tail" if torn.strip(b"\0") else "nul-bytes"
        note = {
            "conversation": reference.written(),
            "reason": code,
            "line": line,
            "offset": offset,
            "time": rfc3339(setup.time_us()),
        }
        id = quarantine.put(
            setup.layout, reference.user, torn, note, stamp=stamp(setup.time_us()), fsync=durable
        )
        # Between this look and the cut only a few instructions lie, between tail and look a whole fsync.
        if not log.is_unchanged(fd, tail):
            quarantine.take_back(setup.layout, reference.user, id)
            return None
        files.truncate(fd, offset, fsync=durable)
        healed.append({"code": code, "line": line, "offset": offset, "length": len(torn), "quarantine": id})
    elif not log.is_unchanged(fd, tail):
        return None
    if tail.keep:
        healed.append(
            {
                "code": "no-final-newline",
                "line": line,
                "offset": tail.offset,
                "length": tail.keep,
                "quarantine": None,
            }
        )
    return (b"\n" if tail.keep else b""), healed


def _lines(
    setup: Setup, messages: Sequence[Incoming], offset: int
) -> tuple[list[bytes], list[str | None], list[dict[str, Any]]]:
    """The lines to write, their ids, and those that the Go reader stops at."""
    created_at = rfc3339(setup.time_us())
    lines: list[bytes] = []
    ids: list[str | None] = []
    unreadable: list[dict[str, Any]] = []
    for number, message in enumerate(messages, 1):
        id = message.id or _new_id(setup, message.line, offset)
        line = with_identity(message, id, created_at)
        if code := go_unreadable(message, line):
            unreadable.append({"message": number, "id": id, "code": code, "bytes": len(line)})
        lines.append(line + b"\n")
        ids.append(id if line is not message.line or message.id is not None else None)
        offset += len(line) + 1
    return lines, ids, unreadable


def _new_id(setup: Setup, line: bytes, offset: int) -> str:
    """16 hex digits: random, or from content and position where the clock is given."""
    if setup.now_us is None:
        return os.urandom(8).hex()
    from hashlib import sha256

    return sha256(b"%d %d " % (setup.now_us, offset) + line).hexdigest()[:16]
