"""Edits: what a command takes out of a file and puts in, as places in the bytes of the old one.

They are compact, so that a file with millions of them fits in memory, and they can be turned round: from
what was taken out and where, the old file comes back.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Edit(NamedTuple):
    """`size` bytes at `offset` go, `text` comes in their place; `line` and `code` say why (-1, "": none)."""

    offset: int
    size: int
    text: bytes
    line: int
    code: str


class Edits:
    """Edits of one file. Added in any order; `sealed` puts them in the order of the file.

    At one place, what is put in stands in front of what replaces bytes, in the order in which it was added.
    """

    def __init__(self) -> None:
        self._offsets = array("Q")
        self._sizes = array("Q")
        self._lines = array("Q")
        self._codes = array("H")
        self._names: list[str] = []
        self._texts: dict[int, bytes] = {}
        self.newlines = 0

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[Edit]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> Edit:
        return Edit(
            self._offsets[number],
            self._sizes[number],
            self._texts.get(number, b""),
            self._lines[number],
            self._names[self._codes[number]],
        )

    def add(self, offset: int, size: int, text: bytes, line: int, code: str) -> None:
        """One edit more. Bytes taken out next to others join them; a single LF counts as a newline added."""
        if code not in self._names:
            self._names.append(code)
        name = self._names.index(code)
        last = len(self) - 1
        if (
            last >= 0
            and size
            and not text
            and last not in self._texts
            and self._codes[last] == name
            and self._offsets[last] + self._sizes[last] == offset
        ):
            self._sizes[last] += size
            return
        if text:
            self._texts[len(self)] = text
            self.newlines += text == b"\n" and not size
        self._offsets.append(offset)
        self._sizes.append(size)
        self._lines.append(line)
        self._codes.append(name)

    @property
    def removed_bytes(self) -> int:
        """Bytes of the old file that leave it."""
        return sum(self._sizes)

    @property
    def added_bytes(self) -> int:
        """Bytes of the new file that were not in the old one, newlines included."""
        return sum(map(len, self._texts.values()))

    def codes(self) -> list[str]:
        """Why, each code once."""
        return sorted(self._names)

    def sealed(self) -> Edits:
        """The same edits in the order of the file."""
        keys = self._offsets
        sizes = self._sizes
        size = len(self)
        if all(keys[n] + sizes[n] <= keys[n + 1] for n in range(size - 1)):
            return self
        order = sorted(range(size), key=lambda n: (keys[n], sizes[n] > 0, n))
        new = Edits()
        for number in order:
            new.add(*self[number])
        return new

    def with_stretches(self, stretches: list[Edit]) -> Edits:
        """The edits, with what takes bytes out of these stretches given up for what writes them anew.

        The stretches are in order and do not meet. What is put in around them stays.
        """
        starts = [stretch.offset for stretch in stretches]
        new = Edits()
        for edit in self:
            near = bisect_right(starts, edit.offset) - 1
            if edit.size and near >= 0 and edit.offset < starts[near] + stretches[near].size:
                continue
            if edit.size and near + 1 < len(starts) and edit.offset + edit.size > starts[near + 1]:
                edit = edit._replace(size=starts[near + 1] - edit.offset)
            new.add(*edit)
        for stretch in stretches:
            new.add(*stretch)
        return new.sealed()


def inverse(pieces: list[dict[str, Any]], removed: Callable[[int, int], bytes]) -> Edits:
    """The edits that undo others, in the bytes of the new file.

    `pieces` are their `offset`, `length` and `inserted` in the old one, in order; `removed(a, b)` gives what
    was taken out, of all of it one behind the other. Their numbers are sound (`core.restoring.undo`).
    """
    back = Edits()
    at = taken = 0
    for piece in pieces:
        offset, length, inserted = piece["offset"], piece["length"], piece["inserted"]
        text = removed(taken, taken + length)
        back.add(offset + at, inserted, text, piece.get("line", 0), "restored")
        taken += length
        at += inserted - length
    return back


def pieces(edits: Edits) -> Iterator[dict[str, Any]]:
    """The edits for a note: where, why, how many bytes went and came."""
    for edit in edits:
        yield {
            "line": edit.line,
            "offset": edit.offset,
            "length": edit.size,
            "code": edit.code,
            "inserted": len(edit.text),
        }
