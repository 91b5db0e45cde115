"""Choose a window on one state of a log: build what the rule needs to know, apply it, read the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.core import counting, turns
from memctl.core import window as rules
from memctl.core.finding import CODES, Finding
from memctl.core.message import compose
from memctl.core.window import Request, Window
from memctl.ops.log_view import LogView
from memctl.ops.shortening import shortened
from memctl.store.totals import Totals
from memctl.store.weighing import weigher

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.ops.source import Source
    from memctl.store.sidecar import Index


class Choice:
    """A request on the index of a source. `counted` False spares all counting; there is no limit then."""

    def __init__(
        self,
        source: Source,
        index: Index,
        request: Request,
        *,
        counted: bool,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.name = source.name
        self.index = index
        self.size = len(index)
        self.request = request
        self.log = LogView(index, clean=request.no_incomplete)
        self.weigh = weigher(request.counter, source.user_cache)
        self.room = request.budget - request.reserve
        self.limit: int | None = None
        if request.budget:
            # With nothing left after the reserve not even a weight of zero fits.
            self.limit = counting.limit(self.room, request.counter) if self.room > 0 else -1
        self.counted = counted or self.limit is not None
        self._progress = progress
        self._cache = source.cache_path(request.counter)
        self._totals: Totals | None = None
        self.pending = None if request.pending is None else compose("user", request.pending)

    def window(self) -> Window:
        """The window that the request asks for."""
        try:
            return self._plain() if self.request.plain else self._largest()
        finally:
            if self._totals is not None:
                self._totals.close()

    @property
    def totals(self) -> Totals:
        """The running totals; made on first use, for making them counts what is new in the log."""
        if self._totals is None:
            counter = self.request.counter
            self._totals = Totals(self.index, self._cache, counter, self.weigh, self._progress)
        return self._totals

    def _largest(self) -> Window:
        log, index = self.log, self.index
        last = index.last()
        frontier, summary = last.frontier, last.summary - 1
        head = log.head()
        first = log.next_start(frontier)
        tail = log.open_tail(first)
        open_tail = tail if self.request.keep_open and self.pending is None else []
        kept_tail = [] if self._is_spoilt(open_tail) else open_tail
        view = self._view(head, summary, first, kept_tail)
        chosen = rules.select(view, self.limit, pending=self.pending is not None)
        entries = turns.sent_entries(
            index.flags, chosen.start, self.size, clean=log.clean, keep_open=bool(kept_tail)
        )
        anchor = [chosen.anchor] if chosen.anchor >= 0 else []
        given = self._summary(summary, chosen)
        weight = chosen.weight if not chosen.gives_way else chosen.weight - view.summary + self._heft(given)
        left_out, mended = log.findings(frontier, [] if open_tail else tail)
        sendable = last.sent - index.before(first).sent + len(open_tail)
        hidden = index.before(frontier).messages - sum(number < frontier for number in head)
        return self._answer(
            [*log.lines(head), *given, *log.lines(anchor), *log.lines(entries)],
            weight,
            first=entries[0] if entries else -1,
            anchor=chosen.anchor,
            summary=summary if given else -1,
            covered=hidden + log.earlier_summaries(frontier),
            cut=sendable - len(entries) - len(anchor),
            left_out=left_out,
            mended=mended,
            shortened=chosen.gives_way and summary >= 0,
        )

    def _is_spoilt(self, group: list[int]) -> bool:
        """Whether a group goes because of an incomplete answer in it."""
        return self.log.clean and any(self.index.flags(number) & turns.INCOMPLETE for number in group)

    def _view(self, head: list[int], summary: int, first: int, tail: list[int]) -> rules.View:
        log = self.log
        newest = tail[0] if tail else log.newest(first)
        user = log.last_user(first)
        view = rules.View(
            first, self.size, user, 0, newest, lambda number: 0, log.next_start, log.next_user, 0, 0
        )
        if not self.counted:
            return view
        totals = self.totals
        fixed = sum(totals.single(number) for number in head) + self._pending_weight()
        summary_weight = totals.single(summary) if summary >= 0 else 0
        tail_weight = sum(totals.single(number) for number in tail)
        if newest >= 0:
            totals.reach(newest)
        room = None if self.limit is None else self.limit - fixed - summary_weight - tail_weight
        while totals.base > first and (
            room is None or self._sent(self.size) - self._sent(totals.base) <= room
        ):
            totals.step(first)
        return view._replace(
            first=min(max(first, totals.base), self.size),
            user_weight=totals.single(user) if user >= 0 else 0,
            before=self._sent,
            fixed=fixed,
            summary=summary_weight,
            tail=tail_weight,
        )

    def _sent(self, number: int) -> int:
        total = self.totals.upto(number)
        return total.clean if self.log.clean else total.sent

    def _pending_weight(self) -> int:
        return self.weigh([self.pending.value])[0] if self.pending is not None else 0

    def _heft(self, lines: list[bytes]) -> int:
        from memctl.core import jsonl

        return sum(self.weigh([jsonl.exact(line.decode()) for line in lines]))

    def _summary(self, summary: int, chosen: rules.Selection) -> list[bytes]:
        """The summary's line: whole, shortened in the copy, or left out."""
        if summary < 0:
            return []
        line = self.log.lines([summary])[0]
        short = shortened(line, chosen.room, self.weigh) if chosen.gives_way else line
        return [] if short is None else [short]

    def _plain(self) -> Window:
        """The reference's rule: messages one by one from the last summary on, whatever they are."""
        log, index = self.log, self.index
        last = index.last()
        summary = last.summary - 1
        first = max(summary, 0)
        count = last.messages - index.before(first).messages
        pending = self._pending_weight() if self.counted else 0
        limit = None if self.limit is None else self.limit - pending
        if self.counted:
            while self.totals.base > first and (limit is None or self._all_from(self.totals.base) <= limit):
                self.totals.step(first)
        low = max(first, self.totals.base) if self.counted else first
        view = rules.PlainView(
            first=first,
            low=max(low, summary + 1),
            last=index.entry_of(last.messages - 1) if count else first,
            size=self.size,
            messages=count,
            whole=self._all_from(first) if self.counted and low == first else None,
            summary=self.totals.single(summary) if self.counted and summary >= 0 else None,
            before=lambda number: self.totals.upto(number).all,
        )
        kept, start = rules.plain(view, limit)
        if self.counted:
            self.totals.reach(start)
        entries = [n for n in range(start, self.size) if index.flags(n) & turns.MESSAGE]
        rest = [number for number in entries if number != summary]
        printed = [summary, *rest] if kept else entries
        weight = pending + (self._all_from(start) if self.counted and entries else 0)
        if self.counted and kept:
            weight += self.totals.single(summary)
        left_out = [
            (entry.line, CODES[entry.code]) for _, entry in log.marked(first) if turns.is_damage(entry.flags)
        ]
        mended = [
            Finding(entry.line, CODES[entry.code])
            for _, entry in log.marked(first)
            if entry.flags & turns.MENDED
        ]
        return self._answer(
            log.lines(printed),
            weight,
            first=rest[0] if rest else -1,
            anchor=-1,
            summary=summary if summary in printed else -1,
            covered=index.before(first).messages,
            cut=count - len(printed),
            left_out=[Finding(*finding) for finding in left_out],
            mended=mended,
            shortened=False,
        )

    def _all_from(self, number: int) -> int:
        return self.totals.upto(self.size).all - self.totals.upto(number).all

    def _answer(
        self,
        lines: list[bytes],
        weight: int,
        *,
        first: int,
        anchor: int,
        summary: int,
        shortened: bool,
        **rest: Any,
    ) -> Window:
        if self.pending is not None:
            lines.append(self.pending.line)
        tokens = counting.tokens(weight, self.request.counter)

        def message(number: int) -> int | None:
            return self.log.message(number) if number >= 0 else None

        return Window(
            conversation=self.name,
            lines=lines,
            tokens=tokens if self.counted else None,
            budget=self.request.budget,
            reserve=self.request.reserve,
            over_budget=self.limit is not None and tokens > self.room,
            first=message(first),
            anchor=message(anchor),
            summary=message(summary),
            summary_shortened=shortened,
            counter=self.request.counter,
            plain=self.request.plain,
            **rest,
        )
