"""forget, the sources: which conversations and trash of a user hold forgotten texts, and their removal."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import names
from memctl.core.names import Reference
from memctl.errors import BadInput, NotFound
from memctl.ops import carrying, drop
from memctl.ops.source import Source, open_source, with_index
from memctl.store import census, directories, files, log, trash
from memctl.store.layout import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memctl.core.lines import Piece
    from memctl.core.traces import Traces
    from memctl.ops.setup import Setup
    from memctl.store.sidecar import Index


class Sought(NamedTuple):
    """What is looked for: texts, and by conversation the ids of messages whatever their text."""

    traces: Traces
    messages: Mapping[str, frozenset[str]]

    def ids(self) -> frozenset[str]:
        """The ids of messages of all conversations."""
        return frozenset().union(*self.messages.values())


class Holding(NamedTuple):
    """A conversation, or with `entry` one in the trash, that holds what is sought.

    `messages` hold it; `removed` leave, or would, a call with its results. `damaged_lines` hold it and are no
    messages; `removed_lines` of them leave. `activities` hold it: they are removed with no message.
    """

    conversation: str
    entry: str | None
    messages: list[str]
    removed: list[str]
    damaged_lines: int
    removed_lines: int
    activities: bool

    def as_row(self) -> dict[str, Any]:
        """The keys of a report."""
        value = self._asdict()
        if self.entry is None:
            del value["entry"]
        return value

    @property
    def stays(self) -> bool:
        """Whether something stays that holds it."""
        left = set(self.messages) - set(self.removed)
        return bool(left or self.damaged_lines > self.removed_lines or self.activities)


class Looked(NamedTuple):
    """What holds it; `copies` are ids that records of other copies of the messages would have."""

    holdings: list[Holding]
    copies: list[str]


class _Log(NamedTuple):
    """A log of the user: what it is called, and where it is."""

    name: str
    reference: Reference | None
    place: Place
    entry: str | None


class _Seen(NamedTuple):
    """What an index shows, by entry: ids of messages; those that hold it; lines that are none and hold it."""

    known: dict[int, str]
    held: list[int]
    chosen: list[int]
    damaged: list[int]
    copies: list[str]

    def planned(self, index: Index) -> drop.Plan:
        """What it takes to remove messages and lines. Raises BadInput for a line that holds others too."""
        alone = [number for number in self.damaged if _is_alone(index, number)]
        return drop.planned(index, [*self.chosen, *alone], self.known)


def look(setup: Setup, user: str, sought: Sought, *, remove: bool) -> Looked:
    """Look through all conversations and the trash of a user; nothing is changed.

    With `remove`, `removed` names the messages that `erase` takes out. Raises BadInput for a conversation
    that has to be repaired before.
    """
    holdings: list[Holding] = []
    copies: dict[str, None] = {}
    for row in _logs(setup, user):
        try:
            source = _open(setup, row)
        except NotFound:
            # It was removed meanwhile.
            continue
        try:
            holding, found = with_index(source, None, partial(_look, row, sought, remove))
        finally:
            os.close(source.fd)
        if row.entry is None:
            copies.update(dict.fromkeys(found))
        holding = holding._replace(activities=_in_activities(row, sought))
        if holding.messages or holding.removed or holding.stays:
            holdings.append(holding)
    return Looked(holdings, list(copies))


def texts_of(setup: Setup, user: str, messages: Mapping[str, frozenset[str]]) -> set[str]:
    """The texts of the messages with these ids, by conversation, in conversations and trash."""
    texts: set[str] = set()
    for row in _logs(setup, user):
        conversation = None if row.reference is None else row.reference.conversation
        wanted = messages.get(conversation or "", frozenset())
        if not wanted:
            continue
        try:
            source = _open(setup, row)
        except NotFound:
            continue
        try:
            texts |= with_index(source, None, partial(_texts_of, wanted))
        finally:
            os.close(source.fd)
    return texts


def _texts_of(wanted: frozenset[str], index: Index) -> set[str]:
    contents = [value.get("content") for _, id, value in drop.identified(index) if id in wanted]
    return {content for content in contents if type(content) is str}


def erase(setup: Setup, user: str, sought: Sought, holdings: list[Holding]) -> list[Holding]:
    """Take the messages out of the logs that hold them, kept nowhere, durable on return; what then holds.

    Every summary behind one says anew what it covers.
    """
    done = {(holding.conversation, holding.entry): holding for holding in holdings}
    for row in _logs(setup, user):
        holding = done.get((row.name, row.entry))
        if holding is not None and row.reference is not None and (holding.removed or holding.removed_lines):
            with setup.lock(row.reference, "forget"):
                done[row.name, row.entry] = _gone(holding, _erase(setup, row, sought))
    return list(done.values())


def _gone(holding: Holding, removals: list[drop.Removal]) -> Holding:
    """What is said of a log that these leave."""
    ids = [gone.id for gone in removals if gone.id]
    return holding._replace(removed=ids, removed_lines=len(removals) - len(ids))


def _logs(setup: Setup, user: str) -> Iterator[_Log]:
    """The conversations of a user, then those in the trash, the oldest first."""
    try:
        rows = census.user(setup.layout, user)
    except (FileNotFoundError, NotADirectoryError):
        rows = []
    for row in rows:
        if row.kind == census.LOG and row.place is not None:
            yield _Log(row.name, row.reference, row.place, None)
    for item in reversed(trash.items(setup.layout)):
        if item.user == user:
            reference = Reference(user, item.conversation)
            parts = (*setup.layout.trash(user), item.entry)
            name = names.encode(item.conversation) + names.SUFFIX
            yield _Log(reference.written(), reference, Place(setup.layout.root, parts, name), item.entry)


def _open(setup: Setup, row: _Log) -> Source:
    if row.entry is not None:
        return Source(row.name, log.open_log(row.place, f"no {row.place.path}"), None, None)
    return open_source(setup, row.place.path if row.reference is None else row.reference)


def _look(row: _Log, sought: Sought, remove: bool, index: Index) -> tuple[Holding, list[str]]:
    seen = _see(index, row, sought)
    held = [seen.known[number] for number in seen.held]
    holding = Holding(row.name, row.entry, held, [], len(seen.damaged), 0, False)
    if remove and row.reference is not None:
        try:
            return _gone(holding, seen.planned(index).removals), seen.copies
        except BadInput as error:
            if row.entry is None:
                raise BadInput(
                    f"{row.name}: {error}; nothing was forgotten", hint=f"memctl repair {row.name} --apply"
                ) from None
    return holding, seen.copies


def _see(index: Index, row: _Log, sought: Sought) -> _Seen:
    conversation = None if row.reference is None else row.reference.conversation
    own = sought.messages.get(conversation or "", frozenset())
    everywhere = sought.ids()
    traces = sought.traces
    seen = _Seen({}, [], [], [], [])

    def look_at(number: int, piece: Piece) -> None:
        if traces.in_damaged(piece.stored):
            seen.damaged.append(number)

    for number, id, value in drop.identified(index, look_at):
        seen.known[number] = id
        by_id = id in own
        content = value.get("content")
        is_text = type(content) is str and content in traces.texts
        is_text = is_text or (type(content) is list and traces.is_one_of({"content": content}))
        if by_id or is_text:
            seen.chosen.append(number)
        if by_id or traces.in_value(value):
            seen.held.append(number)
        if is_text and id in everywhere and conversation is not None:
            seen.copies.append(f"{conversation}#{id}")
    return seen


def _is_alone(index: Index, number: int) -> bool:
    """Whether an entry has its line for itself."""
    line = index[number].line
    return not any(0 <= n < len(index) and index[n].line == line for n in (number - 1, number + 1))


def _in_activities(row: _Log, sought: Sought) -> bool:
    """Whether the activities beside a log hold one of the texts."""
    name = row.place.name.removesuffix(names.SUFFIX) + names.ACTIVITIES_SUFFIX
    try:
        dir_fd = directories.open_at(row.place.base, row.place.parts)
    except FileNotFoundError:
        return False
    try:
        with open(files.open_file(dir_fd, name, name), "rb") as file:
            return sought.traces.in_json(file.read())
    except FileNotFoundError:
        return False
    finally:
        os.close(dir_fd)


def _erase(setup: Setup, row: _Log, sought: Sought) -> list[drop.Removal]:
    """Replace a log, under its lock; what left it."""
    try:
        source = _open(setup, row)
    except NotFound:
        return []
    try:
        # Another program may be in the middle of a line, which has no entry as a message yet.
        log.settled_tail(source.fd, setup.settle_s())
        found = with_index(source, None, lambda index: _see(index, row, sought).planned(index))
        if len(found.edits):
            carrying.for_good(setup, row.place, source, found.edits, found.end)
        return found.removals
    finally:
        os.close(source.fd)
