"""Planning: what repair takes out of a log and puts in, and where its messages stand then."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from memctl.core.edits import Edits
from memctl.core.faults import look, sound
from memctl.core.lines import MESSAGE, Kind
from memctl.core.mending import mend

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memctl.core.faults import Looked
    from memctl.core.mending import Mended


class Spot(NamedTuple):
    """Where a message stands: its bytes `start` to `end` in the old file, and where one behind it comes.

    `text` is how it is written anew, None where its stored bytes stay; `ended`: the text has its LF with it.
    `start` is -1 where its bytes cannot be told from those around it, `behind` where nothing can come.
    """

    start: int
    end: int
    behind: int
    text: bytes | None
    ended: bool


class Added(NamedTuple):
    """A message that is put in behind another one (its number)."""

    behind: int
    text: bytes


class Planned(NamedTuple):
    """What becomes of a line: which faults it has then, by code and severity, where its messages stand.

    Of `spots` one is None for a message that leaves. `leaves`: the whole line does, with its messages.
    """

    standing: set[tuple[str, str]]
    spots: list[Spot | None]
    leaves: bool


class Plan:
    """The edits of a log, in the making. `gone` are the numbers of the messages that leave, in order."""

    def __init__(self, wanted: Collection[str], kind: Kind = MESSAGE) -> None:
        self.wanted = wanted
        self.kind = kind
        self.edits = Edits()
        self.gone = array("Q")
        self.added: list[Added] = []

    def line(
        self, line: int, offset: int, size_bytes: int, data: bytes, looked: Looked, leaving: Sequence[str]
    ) -> Planned:
        """Plan a line with faults, or of which a message leaves.

        `leaving` has for each piece the code for which it leaves, "" for what stays or is no message.
        """
        mended = mend(data, looked, self.wanted, [not code for code in leaving])
        whys = [code for code in leaving if code] if mended.gone else []
        whys += [fault.code for fault in looked.faults if fault.code in mended.codes]
        why = whys[0] if whys else ""
        if mended.gone:
            self.edits.add(offset, size_bytes, b"", line, why)
        for start, size, text in mended.changes if not mended.gone else ():
            self.edits.add(offset + start, size, text, line, why)
        if "no-final-newline" in mended.codes and not mended.gone:
            self.edits.add(offset + size_bytes, 0, b"\n", line, "no-final-newline")
        stand = [tile for tile in mended.tiles if tile is not None]
        is_glued = len(looked.pieces) > 1 and "glued-lines" not in mended.codes
        spots: list[Spot | None] = []
        for piece, tile in zip(looked.pieces, mended.tiles, strict=True):
            if piece.message is None:
                continue
            if tile is None:
                spots.append(None)
                continue
            is_last = tile is stand[-1]
            behind = offset + size_bytes if is_last else offset + tile.end
            if is_glued and not is_last:
                behind = -1
            start = -1 if is_glued and tile.end - tile.start == len(data) else offset + tile.start
            ended = tile.text is not None and not is_last
            spots.append(Spot(start, offset + tile.end, behind, tile.text, ended))
        return Planned(_standing(data, looked, mended, self.kind), spots, mended.gone and bool(spots))

    def add_message(self, behind: int, spot_behind: int, line: int, text: bytes) -> None:
        """A message more, behind the message `behind`, at an offset of the old file."""
        self.edits.add(spot_behind, 0, text + b"\n", line, "open-call")
        self.added.append(Added(behind, text))


def _standing(line: bytes, looked: Looked, mended: Mended, kind: Kind) -> set[tuple[str, str]]:
    """Code and severity of the faults that are left once a line is mended."""
    if mended.gone:
        return set()
    if "glued-lines" not in mended.codes:
        return {
            (code, severity) for code, severity, *_ in looked.faults if not _is_mended(code, severity, mended)
        }
    standing: set[tuple[str, str]] = set()
    for tile in mended.tiles:
        if tile is not None:
            text = line[tile.start : tile.end] if tile.text is None else tile.text
            if sound(text, kind) is None:
                standing |= {(fault.code, fault.severity) for fault in look(text, kind=kind).faults}
    if "no-final-newline" not in mended.codes:
        standing |= {("no-final-newline", "warning")}
    return standing


def _is_mended(code: str, severity: str, mended: Mended) -> bool:
    """Whether a fault is among those that are mended; a number beyond a double never is."""
    return code in mended.codes and (code != "bad-number" or severity == "error")


def plain_spot(offset: int, size_bytes: int, size: int) -> Spot:
    """Where the only message of a line without faults stands."""
    return Spot(offset, offset + size, offset + size_bytes, None, False)
