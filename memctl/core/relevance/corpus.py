"""What the ranking knows of the documents: columns of facts, and the way to the postings of a word.

Documents are numbered from 0. `order` has those of conversations, each conversation in one stretch, its
turns as they followed one another. What is removed is not in it, nor are facts, which stand alone.
"""

from __future__ import annotations

from array import array
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NOBODY = 0  # the number of "no conversation", "no session", "no speaker"
LENGTH_MAX = 1023  # longer texts count as this long
PAUSE_S = 3600.0  # turns without such a pause between them are one session

#: Bits of `flags`.
QUESTION, TIME, NUMBER, GONE = 1, 2, 4, 128


class Totals(NamedTuple):
    """Averages that BM25 scales by; each at least 1, so that nothing divides by zero."""

    average: float = 1.0  # length of a document
    turn_average: float = 1.0  # of a document in a conversation
    sessions: int = 0
    session_average: float = 1.0


class Corpus:
    """Columns of facts by document number."""

    def __init__(self) -> None:
        self.lengths = array("H")
        self.conversation = array("I")
        self.session = array("I")
        self.speaker = array("H")
        self.flags = array("B")
        self.created = array("d")  # seconds since 1970; 0: unknown
        self.days = array("i")  # the same in days
        self.importance = array("d")
        self.order = array("I")
        self.at = array("I")  # by document: where it stands in `order`
        self.session_lengths = array("I", [0])  # by session; 0 is none
        self.gone = 0  # documents that were removed; the flags say which
        self.speakers = [""]  # names by number
        self.totals = Totals()
        self.postings: Callable[[Sequence[str]], list[int]] = lambda _words: []
        #: What orders documents that are equal in all else.
        self.names: Callable[[Sequence[int]], Mapping[int, tuple[str, ...]]] = lambda _docs: {}

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def live(self) -> int:
        """How many documents there are."""
        return len(self.lengths) - self.gone

    @cached_property
    def by_day(self) -> Counter[int]:
        """How many documents there are of each day, removed ones included."""
        return Counter(self.days)

    def summed(self) -> Totals:
        """The averages, counted anew."""
        length = sum(self.lengths)
        if self.gone:
            length -= sum(n for n, flag in zip(self.lengths, self.flags, strict=True) if flag & GONE)
        turns = sum(self.session_lengths)
        sessions = len(self.session_lengths) - self.session_lengths.count(0)
        average = max(length / max(self.live, 1), 1.0)
        return Totals(
            average=average,
            # Where there are no turns, a window is that of a fact: as long as others would be.
            turn_average=max(turns / len(self.order), 1.0) if self.order else average,
            sessions=sessions,
            session_average=max(turns / max(sessions, 1), 1.0),
        )

    def follows(self, position: int) -> bool:
        """Whether the turn at a position of `order` belongs to the conversation of the one before it."""
        order, talk = self.order, self.conversation
        return 0 < position < len(order) and talk[order[position - 1]] == talk[order[position]]
