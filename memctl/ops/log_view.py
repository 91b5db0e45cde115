"""What a window asks of an index: its head, groups and turns, the lines to name, the bytes to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core import turns
from memctl.core.finding import CODES, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.entries import Entry
    from memctl.store.sidecar import Index


class LogView:
    """Questions to the index of a log, answered by binary search over its running counts.

    `clean` takes groups with an incomplete answer for not there.
    """

    def __init__(self, index: Index, *, clean: bool = False) -> None:
        self.index = index
        self.size = len(index)
        self.clean = clean

    def head(self) -> list[int]:
        """The system and developer messages at the start."""
        found = []
        for number in range(self.size):
            flags = self.index.flags(number)
            if flags & turns.HEAD:
                found.append(number)
            if not flags & turns.LEADING:
                break
        return found

    def next_start(self, number: int) -> int:
        """The first start of a group at or behind `number`; `size` if there is none."""
        return self.index.first_where(number, lambda entry: entry.start > number)

    def next_user(self, number: int) -> int:
        """The first user message at or behind `number`; `size` if there is none."""
        found = self.index.first_where(number, lambda entry: entry.user > number)
        while found < self.size and self._is_spoilt(found):
            found = self._user_behind(found + 1)
        return found

    def _user_behind(self, number: int) -> int:
        return self.index.first_where(number, lambda entry: entry.user > number)

    def last_user(self, first: int) -> int:
        """The last user message from `first` on, or -1."""
        user = self.index.last().user - 1
        while user >= first and self._is_spoilt(user):
            user = self.index.before(user).user - 1
        return user if user >= first else -1

    def _is_spoilt(self, number: int) -> bool:
        return self.clean and bool(self.index.flags(number) & turns.INCOMPLETE)

    def sent(self, entry: Entry) -> int:
        """How many messages can be sent up to an entry."""
        return entry.clean if self.clean else entry.sent

    def newest(self, first: int) -> int:
        """Where the newest complete group begins, -1 if there is none from `first` on."""
        total = self.sent(self.index.last())
        if first >= self.size or total == self.sent(self.index.before(first)):
            return -1
        return self.index[self.index.first_where(first, lambda entry: self.sent(entry) >= total)].start - 1

    def open_tail(self, first: int) -> list[int]:
        """The lines of a group at the end of the log that misses a result."""
        index = self.index
        start = index.last().start - 1
        if start < first or not index.flags(start) & turns.CALL or index.last().sent != index[start].sent:
            return []
        return self._members(start, self.size)

    def _members(self, start: int, end: int) -> list[int]:
        return [n for n in range(start, end) if self.index.flags(n) & (turns.START | turns.RESULT)]

    def earlier_summaries(self, frontier: int) -> int:
        """How many summaries before the last one lie behind the frontier: they are covered too."""
        count = 0
        number = self.index.last().summary - 1
        while number >= 0:
            number = self.index.before(number).summary - 1
            if number < frontier:
                break
            count += 1
        return count

    # -- what is named ------------------------------------------------------------------------------------

    def marked(self, first: int) -> Iterator[tuple[int, Entry]]:
        """The entries from `first` on that are left out, mended, or show that a group broke."""
        number = first
        marks = self.index.before(first).marks
        end = self.index.last().marks
        while marks < end:
            number = self._behind_marks(number, marks)
            entry = self.index[number]
            marks = entry.marks
            yield number, entry
            number += 1

    def _behind_marks(self, number: int, marks: int) -> int:
        return self.index.first_where(number, lambda entry: entry.marks > marks)

    def findings(self, frontier: int, tail: list[int]) -> tuple[list[Finding], list[Finding]]:
        """What is left out and what is mended from the frontier on; `tail` is an open group left out too."""
        index = self.index
        left = [(number, "open-call") for number in tail if number >= frontier]
        mended: list[Finding] = []
        call = index.before(frontier).start - 1
        if frontier and call >= 0 and index.flags(call) & turns.CALL:
            # The call is covered: its results behind the frontier have nothing to answer any more.
            behind = range(frontier, self.next_start(frontier))
            left += [(n, "orphan-result") for n in behind if index.flags(n) & turns.RESULT]
        for number, entry in self.marked(frontier):
            if entry.flags & turns.LEFT:
                left.append((number, CODES[entry.code]))
            elif entry.flags & turns.MENDED:
                mended.append(Finding(entry.line, CODES[entry.code]))
            if entry.flags & turns.BROKE:
                start = index.before(number).start - 1
                if start >= frontier:
                    left += [(member, "open-call") for member in self._members(start, number)]
        return [Finding(index[number].line, code) for number, code in sorted(left)], mended

    # -- lines --------------------------------------------------------------------------------------------

    def message(self, number: int) -> int:
        """The number of an entry's message, counted from 0."""
        return self.index[number].messages - 1

    def lines(self, entries: list[int]) -> list[bytes]:
        """The printed bytes of entries in ascending order, read in one pass and checked."""
        if not entries:
            return []
        wanted = set(entries)
        pieces = self.index.pieces(entries[0], entries[-1] + 1)
        return [piece.printed for number, piece in enumerate(pieces, entries[0]) if number in wanted]
