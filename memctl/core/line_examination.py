"""Line by line: the part of an examination that is the same for all files whose lines are JSON objects.

Inspect and repair are the same pass, so that a plan and its deed cannot differ.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from memctl.core.diagnosis import Diagnosis
from memctl.core.faults import look, sound
from memctl.core.lines import MESSAGE, Kind, Piece
from memctl.core.others import Others
from memctl.core.planning import Plan, plain_spot
from memctl.core.problems import REPAIRED, Problem

if TYPE_CHECKING:
    from collections.abc import Collection

    from memctl.core.planning import Spot

#: What repair does of its own accord; the rest is asked for.
DEFAULT = frozenset(REPAIRED) - {"bad-text"}


class Unsettled(Protocol):
    """What of a line waits to be told where it stands after repair; `last` is the number of its message."""

    @property
    def last(self) -> int: ...

    def settle(self, spot: Spot | None) -> None: ...


class Summary:
    """A summary of the log: its message, its line, where it stands after repair (None: it leaves).

    Of its own object only `covers` is kept, in `value`.
    """

    def __init__(self, place: int, line: int, offset: int, size: int, value: dict[str, Any]) -> None:
        self.place, self.line, self.offset, self.size = place, line, offset, size
        self.value = value
        self.spot: Spot | None = None

    @property
    def last(self) -> int:
        """The message whose place is asked for."""
        return self.place

    def settle(self, spot: Spot | None) -> None:
        """Take in where it stands."""
        self.spot = spot


class LineExamination:
    """What a file holds and what is wrong with it. `feed` takes its lines in order, `finish` comes last.

    `wanted` are the codes that are repaired; what is found does not depend on it. What the lines are to hold
    is the `kind`, and `_object` takes in what is one; `messages` or `records` counts them.
    """

    kind: ClassVar[Kind] = MESSAGE

    def __init__(self, wanted: Collection[str] = DEFAULT) -> None:
        self.wanted = frozenset(wanted)
        self.plan = Plan(self.wanted, self.kind)
        self.lines = 0
        self.messages = 0
        self.records = 0
        #: Lines with a record that an earlier line of the file has, too.
        self.older_versions = 0
        self.roles: dict[str, int] = {}
        self.markers = {"summary": 0, "incomplete": 0, "ephemeral": 0}
        self.last_summary: int | None = None
        self.open_calls = 0
        self.others = Others(self.kind.key)
        self.diagnosis = Diagnosis()
        #: Where the line of each message begins, and which of several pieces it is, if not the first.
        self.starts = array("Q")
        self.piece_of: dict[int, int] = {}
        self.summaries: list[Summary] = []
        self._fresh: list[Unsettled] = []

    def feed(self, offset: int, size_bytes: int, data: bytes, terminated: bool) -> None:
        """The next line: where it begins, its size with LF, its bytes without, whether it has one.

        Blank lines that follow one another may come as one, with the LF between them.
        """
        self.lines += 1
        size = size_bytes - terminated
        first = self.messages
        value = sound(data, self.kind) if terminated else None
        if value is not None:
            if leaves := self._object(Piece(data, "", value, None), 0, offset, size):
                looked = look(data, kind=self.kind)
                self.plan.line(self.lines, offset, size_bytes, data, looked, [leaves])
            elif self._fresh:
                self._settle(first, [plain_spot(offset, size_bytes, size)])
            return
        if b"\n" in data:
            self._blank_lines(offset, size_bytes, data)
            return
        looked = look(data, terminated=terminated, size_bytes=size, kind=self.kind)
        leaving = [
            "" if piece.message is None else self._object(piece, number, offset, size)
            for number, piece in enumerate(looked.pieces)
        ]
        if looked.faults or any(leaving):
            planned = self.plan.line(self.lines, offset, size_bytes, data, looked, leaving)
            mends = False
            shown = ""
            for code, severity, start, length, detail in looked.faults:
                problem = Problem(code, severity, self.lines, offset + start, length, detail)
                if code == shown == "bad-number":
                    # One problem a line and code; the milder one is left when the graver one is mended.
                    if mends and (code, severity) in planned.standing:
                        self.diagnosis.add_remaining(problem)
                    continue
                shown = code
                mends = (code, severity) not in planned.standing
                self.diagnosis.add(problem, mends=mends, leaves=planned.leaves)
            if len(looked.pieces) == 1 and looked.pieces[0].message is None:
                self.others.add(looked.pieces[0].code, data)
            if self._fresh:
                self._settle(first, planned.spots)
        elif self._fresh:
            self._settle(first, [plain_spot(offset, size_bytes, size)])

    def finish(self) -> None:
        """The file has ended."""

    @property
    def holds_any(self) -> bool:
        """Whether any of its lines is what they are to be."""
        return bool(self.messages or self.records)

    def _object(self, piece: Piece, number: int, offset: int, size: int) -> str:
        """Take in one message or record of the present line; the code for which it leaves that, or ""."""
        raise NotImplementedError

    def _blank_lines(self, offset: int, size_bytes: int, data: bytes) -> None:
        mends = "blank-line" in self.wanted
        self.diagnosis.add_blank_lines(self.lines, offset, data, mends=mends)
        if mends:
            self.plan.edits.add(offset, size_bytes, b"", self.lines, "blank-line")
        self.lines += data.count(b"\n")

    def _settle(self, first: int, spots: list[Spot | None]) -> None:
        """Tell the groups and summaries of this line where their messages stand."""
        for fresh in self._fresh:
            fresh.settle(spots[fresh.last - first])
        self._fresh.clear()

    def _note(
        self, code: str, severity: str, line: int, offset: int, length: int, detail: str, mends: bool
    ) -> None:
        self.diagnosis.add(Problem(code, severity, line, offset, length, detail), mends=mends)
