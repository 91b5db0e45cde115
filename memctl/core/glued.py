"""Whole messages on a line that is no JSON: lines glued together, or a torn piece and messages behind it.

Behind a torn piece a message counts only if nothing but whole messages follows up to the end of the line:
what a torn piece holds may look like a message, but its own rest comes behind that. An object without a role
(in a file of records: without an id) is never taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl

if TYPE_CHECKING:
    from memctl.core.lines import Kind

#: Places behind a torn piece where a message may begin that are tried, from the left.
CANDIDATES_MAX = 5_000
#: What may be read in vain on the way: so many times the line, or this many characters of a short one.
READ_TIMES_MAX = 16
READ_MAX_CHARS = 4_000_000

_CANDIDATE = r'\{[ \t\n\r]*+"'


class Stretch(NamedTuple):
    """A part of a text: one message, or (`message` is None) what lies before, between and behind messages."""

    start: int
    end: int
    message: dict[str, Any] | None


def split(text: str, kind: Kind) -> list[Stretch]:
    """The messages of a line and the stretches between them, in order; empty if there is no message.

    A message is what the file is to hold: in a file of records, a record.
    """
    return _Splitter(text, kind).split() if f'"{kind.key}"' in text else []


class _Splitter:
    def __init__(self, text: str, kind: Kind) -> None:
        from json import JSONDecoder

        self.text = text
        self.is_message = kind.stands_alone
        self.key = f'"{kind.key}"'
        self.decode = JSONDecoder(parse_constant=lambda name: None).raw_decode
        self.allowance = max(READ_TIMES_MAX * len(text), READ_MAX_CHARS)

    def split(self) -> list[Stretch]:
        found: list[Stretch] = []
        position = begin = self._skip(0)
        while position < len(self.text):
            stretch = self._object(position)
            rest = [stretch] if stretch else self._whole_rest(position + 1)
            if not rest:
                break
            position = self._skip(rest[-1].end)
            if rest[0].message is not None:
                if begin < rest[0].start:
                    found.append(Stretch(begin, rest[0].start, None))
                found += rest
                begin = position
        if found and begin < len(self.text):
            found.append(Stretch(begin, len(self.text), None))
        return found

    def _object(self, position: int) -> Stretch | None:
        """The whole object that begins at `position`; its message is None if it is none."""
        text = self.text
        if text[position] != "{":
            return None
        try:
            value, end = self.decode(text, position)
        except (ValueError, RecursionError) as error:
            self.allowance -= getattr(error, "pos", len(text)) - position
            return None
        if self.is_message(value) and not jsonl.is_too_deep(text[position:end]):
            return Stretch(position, end, value)
        return Stretch(position, end, None)

    def _whole_rest(self, position: int) -> list[Stretch]:
        """The messages from the leftmost place on from which whole messages reach to the end of the line."""
        import re

        search = re.compile(_CANDIDATE).search
        last = self.text.rfind(self.key) + 1
        dead: set[int] = set()
        for _ in range(CANDIDATES_MAX):
            candidate = search(self.text, position, last)
            if candidate is None or self.allowance < 0:
                break
            first = self._object(candidate.start())
            if first is None:
                position = candidate.start() + 1
                continue
            chain = self._chain(first, dead)
            if chain:
                return chain
            # What lies inside a whole object is followed by the object's own rest.
            position = first.end
        return []

    def _chain(self, first: Stretch, dead: set[int]) -> list[Stretch]:
        """`first` and all behind it, if they are messages up to the end; at `dead` places they are not."""
        chain: list[Stretch] = []
        stretch: Stretch | None = first
        while stretch is not None and stretch.message is not None and stretch.start not in dead:
            chain.append(stretch)
            position = self._skip(stretch.end)
            if position >= len(self.text):
                return chain
            stretch = None if position in dead else self._object(position)
            if stretch is None:
                dead.add(position)
        dead.update(link.start for link in chain)
        return []

    def _skip(self, position: int) -> int:
        while position < len(self.text) and self.text[position] in " \t\r":
            position += 1
        return position
