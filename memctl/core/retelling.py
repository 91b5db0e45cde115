"""Retelling: after a change in front of them, summaries say anew what they cover, and hide what they hid.

For changes that are not planned message by message (`store.repaired` has those): both logs are given whole.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from memctl.core import covers, marker
from memctl.core.edits import Edit
from memctl.core.faults import sound
from memctl.core.lines import Piece, read_line
from memctl.core.splice import with_covers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memctl.core.edits import Edits


class Messages:
    """The messages of a log. `starts` has where the line of each begins, `summaries` their numbers."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.starts = array("Q")
        self.summaries: list[int] = []
        self._piece_of: dict[int, int] = {}
        self._put: dict[int, bytes] = {}
        self._places: covers.Places | None = None
        self._read: tuple[int, list[Piece]] = (-1, [])
        at = 0
        while at < len(data):
            line, following = self._line(at)
            value = sound(line)
            if value is not None:
                self._add(at, 0, value)
            else:
                for number, piece in enumerate(read_line(line, terminated=following <= len(data))):
                    if piece.message is not None:
                        self._add(at, number, piece.message)
            at = following

    def _add(self, start: int, piece: int, value: dict[str, Any]) -> None:
        if piece:
            self._piece_of[len(self.starts)] = piece
        if marker.is_summary(value) and not marker.is_ephemeral(value):
            self.summaries.append(len(self.starts))
        self.starts.append(start)

    def _line(self, start: int) -> tuple[bytes, int]:
        """The line that begins there, and where the next one does: behind the end if its LF is missing."""
        end = self._data.find(b"\n", start)
        end = len(self._data) if end < 0 else end
        return self._data[start:end], end + 1

    def _pieces(self, start: int) -> list[Piece]:
        if self._read[0] != start:
            line, following = self._line(start)
            self._read = start, read_line(line, terminated=following <= len(self._data))
        return self._read[1]

    def piece(self, number: int) -> Piece:
        """A message as it is stored."""
        return self._pieces(self.starts[number])[self._piece_of.get(number, 0)]

    def value(self, number: int) -> dict[str, Any]:
        """A message."""
        return self.piece(number).message or {}

    def lines(self, first: int, end: int) -> list[bytes]:
        """The stored bytes of the messages `first` to `end`, `end` excluded."""
        return [self._put.get(number) or self.piece(number).stored for number in range(first, end)]

    def put(self, number: int, line: bytes) -> None:
        """Let a message have other bytes."""
        self._put[number] = line
        self._places = None

    def places(self) -> covers.Places:
        """All fingerprints."""
        if self._places is None:
            self._places = covers.all_places(self.lines(number, number + 1)[0] for number in self._numbers())
        return self._places

    def _numbers(self) -> Iterable[int]:
        return range(len(self.starts))

    def span(self, number: int) -> tuple[int, int] | None:
        """Where the stored bytes of a message stand in the log; None where they are not as they stand."""
        start = self.starts[number]
        line, _ = self._line(start)
        at = end = 0
        for piece in self._pieces(start)[: self._piece_of.get(number, 0) + 1]:
            at = line.find(piece.stored, end)
            if at < 0:
                return None
            end = at + len(piece.stored)
        return start + at, start + end


def speaking(data: bytes) -> bool:
    """Whether among these lines is a summary that says what it covers."""
    messages = Messages(data)
    return any(covers.readable(messages.value(number)) for number in messages.summaries)


def retold(before: bytes, edits: Edits, since: int) -> Iterator[Edit]:
    """Edits of `before`, beside `edits`, for the summaries whose lines begin at `since` or behind it.

    With all of them made, each of these summaries hides what it hid in `before`, and nothing that the edits
    put in, unless that stands in front of something hidden. There is no edit behind `since` but at it.
    """
    after = _made(before, edits)
    old, new = Messages(before), Messages(after)
    carried = _Carried(old, new, edits, after)
    previous = wanted_before = 0
    for number in old.summaries:
        value = old.value(number)
        boundary = covers.located(value, number, previous, old.lines, old.places)
        previous = previous if boundary is None else boundary
        wanted = carried.boundary(previous)
        if old.starts[number] >= since and covers.readable(value):
            own = carried.boundary(number + 1) - 1
            # One whose place was not found hides what the one before it hides; it may stay as it is.
            is_lost = boundary is None and (
                covers.located(value, own, wanted_before, new.lines, new.places) is None
            )
            edit = None if is_lost else _restated(old, number, covers.stating(own, wanted, new.lines))
            if edit is not None:
                stored = old.piece(number).stored
                new.put(own, stored[: len(stored) - edit.size] + edit.text)
                yield edit
        wanted_before = wanted


def restated(stored: bytes, offset: int, stated: dict[str, Any]) -> Edit | None:
    """The edit by which a summary, whose stored bytes stand at an offset, says that.

    None if it says that already, or if it is too damaged for it.
    """
    try:
        text = with_covers(stored, stated)
    except (ValueError, IndexError):
        return None
    return None if text == stored else Edit(offset, len(stored), text, 0, "covers")


def _restated(log: Messages, number: int, stated: dict[str, Any]) -> Edit | None:
    span = log.span(number)
    return None if span is None else restated(log.piece(number).stored, span[0], stated)


def _made(before: bytes, edits: Edits) -> bytes:
    parts, at = [], 0
    for edit in edits:
        parts += [before[at : edit.offset], edit.text]
        at = edit.offset + edit.size
    return b"".join([*parts, before[at:]])


class _Carried:
    """Numbers of messages in front of a place, carried over from one log to the one that edits make of it."""

    def __init__(self, old: Messages, new: Messages, edits: Edits, after: bytes) -> None:
        self._old, self._new, self._after = old, new, after
        self._offsets = array("Q", (edit.offset for edit in edits))
        self._sizes = array("Q", (edit.size for edit in edits))
        #: By how much what is behind the first n edits has moved.
        self._moved = array("q", [0])
        for edit in edits:
            self._moved.append(self._moved[-1] + len(edit.text) - edit.size)

    def _place(self, offset: int) -> int:
        """Where the line that began at `offset` is now, behind what was put in in front of it."""
        number = bisect_left(self._offsets, offset)
        while number < len(self._offsets) and self._offsets[number] == offset and not self._sizes[number]:
            number += 1
        if number and self._offsets[number - 1] + self._sizes[number - 1] > offset:
            return self._offsets[number - 1] + self._moved[number - 1]
        return offset + self._moved[number]

    def boundary(self, boundary: int) -> int:
        """How many messages of the new log reach as far as the first `boundary` ones of the old.

        Lines are found by their place. Of the messages of one new line, those are counted that the old log
        has too, up to the last of them.
        """
        if not boundary:
            return 0
        old, new = self._old, self._new
        line = self._after.rfind(b"\n", 0, self._place(old.starts[boundary - 1])) + 1
        at, end = bisect_left(new.starts, line), bisect_right(new.starts, line)
        first = boundary - 1
        while first and self._place(old.starts[first - 1]) >= line:
            first -= 1
        for number in range(first, boundary):
            piece = old.piece(number)
            same = (other for other in range(at, end) if new.piece(other).printed == piece.printed)
            found = next(same, None)
            if found is not None:
                at = found + 1
            elif not marker.own(piece.message or {}).get("repair"):
                # It was mended, and is the next one as it was.
                at = min(at + 1, end)
        return at
