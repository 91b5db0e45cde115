"""The messages of an examined log by number: as they are stored, and as they will be after its repair."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING

from memctl.core import covers
from memctl.core.faults import look
from memctl.core.lines import read_line
from memctl.core.mending import mend
from memctl.store import log

if TYPE_CHECKING:
    from memctl.core.line_examination import LineExamination
    from memctl.core.planning import Plan

_GUESS_BYTES = 4096


class Stored:
    """The messages of the log `fd`, read where they are asked for."""

    def __init__(self, fd: int, examination: LineExamination) -> None:
        self._fd = fd
        self._starts = examination.starts
        self._pieces = examination.piece_of
        self._places: covers.Places | None = None

    def __len__(self) -> int:
        return len(self._starts)

    def raw(self, message: int) -> bytes:
        """The whole line that a message stands in, without LF."""
        start = self._starts[message]
        parts: list[bytes] = []
        while block := os.pread(self._fd, log.BLOCK_BYTES if parts else _GUESS_BYTES, start):
            end = block.find(b"\n")
            parts.append(block if end < 0 else block[:end])
            if end >= 0:
                break
            start += len(block)
        return b"".join(parts)

    def piece(self, message: int) -> int:
        """Which of the pieces of its line a message is."""
        return self._pieces.get(message, 0)

    def line(self, message: int) -> bytes:
        """The stored bytes of a message."""
        return read_line(self.raw(message))[self.piece(message)].stored

    def lines(self, first: int, end: int) -> list[bytes]:
        """The stored bytes of the messages `first` to `end`, `end` excluded."""
        return [self.line(message) for message in range(first, end)]

    def places(self) -> covers.Places:
        """All fingerprints, made once."""
        if self._places is None:
            self._places = covers.all_places(map(self.line, range(len(self))))
        return self._places


class Repaired:
    """The messages of the log once the plan is carried out, numbered anew."""

    def __init__(self, old: Stored, plan: Plan) -> None:
        self._old = old
        self._wanted = plan.wanted
        self._gone = plan.gone
        # How many messages stay before each that is gone.
        self._stay = array("Q", (message - number for number, message in enumerate(plan.gone)))
        added = sorted(plan.added, key=lambda item: item.behind)
        self._behind = array("Q", (item.behind for item in added))
        self._texts = [item.text for item in added]
        self._added = array(
            "Q",
            (item.behind + 1 - self._gone_before(item.behind + 1) + n for n, item in enumerate(added)),
        )
        self._put: dict[int, bytes] = {}
        self._places: covers.Places | None = None

    def __len__(self) -> int:
        return len(self._old) - len(self._gone) + len(self._texts)

    def _gone_before(self, message: int) -> int:
        return bisect_left(self._gone, message)

    def place_of(self, message: int) -> int:
        """The new number of a message that stays."""
        return message - self._gone_before(message) + bisect_left(self._behind, message)

    #: How many messages are in front of a boundary now; what is added to a covered group is covered.
    boundary_of = place_of

    def put(self, place: int, text: bytes) -> None:
        """Let a message be written otherwise than the plan says."""
        near = range(place + 1, min(len(self), place + covers.FINGERPRINT_LINES) + 1)
        if self._places is not None:
            for at in near:
                self._places[self._fingerprint(at)].remove(at)
        self._put[place] = read_line(text)[0].stored
        if self._places is not None:
            for at in near:
                insort(self._places.setdefault(self._fingerprint(at), []), at)

    def _fingerprint(self, place: int) -> str:
        return covers.fingerprint(self.lines(max(0, place - covers.FINGERPRINT_LINES), place))

    def line(self, place: int) -> bytes:
        """The bytes that a message will have stored, by its new number."""
        if place in self._put:
            return self._put[place]
        number = bisect_left(self._added, place)
        if number < len(self._added) and self._added[number] == place:
            return self._texts[number]
        text, piece = self._mended(self._number_of(place))
        pieces = read_line(text)
        return pieces[piece if len(pieces) > 1 else 0].stored

    def text(self, place: int) -> bytes:
        """What will stand where a message stands that was there before, a CR at its end and all."""
        return self._mended(self._number_of(place))[0]

    def _number_of(self, place: int) -> int:
        rank = place - bisect_left(self._added, place)
        return rank + bisect_right(self._stay, rank)

    def lines(self, first: int, end: int) -> list[bytes]:
        """The bytes of the messages `first` to `end`, `end` excluded."""
        return [self.line(place) for place in range(first, end)]

    def places(self) -> covers.Places:
        """All fingerprints, made once."""
        if self._places is None:
            self._places = covers.all_places(map(self.line, range(len(self))))
        return self._places

    def _mended(self, message: int) -> tuple[bytes, int]:
        """What will stand in a message's place, and which of its pieces the message is, if it has several."""
        raw = self._old.raw(message)
        looked = look(raw)
        piece = self._old.piece(message)
        if not looked.faults:
            return raw, piece
        first = message - sum(before.message is not None for before in looked.pieces[:piece])
        kept = []
        for part in looked.pieces:
            kept.append(part.message is None or not self._is_gone(first))
            first += part.message is not None
        tile = mend(raw, looked, self._wanted, kept).tiles[piece]
        assert tile is not None
        return raw[tile.start : tile.end] if tile.text is None else tile.text, piece

    def _is_gone(self, message: int) -> bool:
        at = bisect_left(self._gone, message)
        return at < len(self._gone) and self._gone[at] == message
