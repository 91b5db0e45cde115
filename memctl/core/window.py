"""Window: the largest list of messages that fits a budget and is valid to send, found over running totals.

Lines that are never sent weigh nothing in the totals, so a binary search over them answers for the list that
is printed. Cuts fall between groups: in older turns in front of a user message, inside the newest turn with
that turn's user message kept in front (the anchor).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.core.finding import Finding


class Request(NamedTuple):
    """What a window is asked for. `budget` and `reserve` are tokens, a budget of 0 is no limit."""

    budget: int = 0
    counter: str = "o200k_base"
    pending: str | None = None
    reserve: int = 0
    plain: bool = False
    keep_open: bool = False
    no_incomplete: bool = False
    strict: bool = False


class Window(NamedTuple):
    """Messages to send, as lines of JSON without line end, and how they were chosen.

    `tokens` is the count of what is in `lines`; None where nobody asked (no budget, `counted` False).
    `first`, `anchor` and `summary` are numbers of messages in the log or None; `covered` and `cut` are how
    many messages a summary stands for, and how many did not fit. `left_out` and `mended` name lines.
    """

    conversation: str
    lines: list[bytes]
    tokens: int | None
    budget: int
    reserve: int
    over_budget: bool
    first: int | None
    anchor: int | None
    summary: int | None
    covered: int
    cut: int
    left_out: list[Finding]
    mended: list[Finding]
    summary_shortened: bool
    counter: str
    plain: bool = False

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages as values; integers are exact."""
        return [jsonl.exact(line.decode("utf-8")) for line in self.lines]

    def explain(self) -> dict[str, Any]:
        """The report of `--explain`."""
        return {
            "conversation": self.conversation,
            "messages": len(self.lines),
            "tokens": self.tokens,
            "budget": self.budget,
            "reserve": self.reserve,
            "over_budget": self.over_budget,
            "first": self.first,
            "anchor": self.anchor,
            "summary": self.summary,
            "covered": self.covered,
            "cut": self.cut,
            "left_out": [finding._asdict() for finding in self.left_out],
            "summary_shortened": self.summary_shortened,
            "counter": self.counter,
        }


class View(NamedTuple):
    """What a selection needs to know of a log. Entries are counted from 0; -1 stands for none.

    `first`: where the part that no summary covers begins, the start of a group, or a later start if all from
    there on is above any limit; `size`: behind the last entry. `user`: the last user message of the part, of
    weight `user_weight`; `newest`: where the newest group begins. `before(i)`: the running total of sendable
    weight in front of entry i, for i from `first` on, whatever it starts from. `next_start(i)`,
    `next_user(i)`: the first start of a group, the first user message, at or behind i (`size` for none).
    `fixed`: the weight of what is always there (head, pending message); `summary`: of the last summary;
    `tail`: of an open group at the end that counts although results are missing.
    """

    first: int
    size: int
    user: int
    user_weight: int
    newest: int
    before: Callable[[int], int]
    next_start: Callable[[int], int]
    next_user: Callable[[int], int]
    fixed: int
    summary: int
    tail: int = 0


class Selection(NamedTuple):
    """What to send: head, summary, the anchor (-1 for none), the entries from `start` on.

    `weight` is that of all of it with the summary whole. `gives_way` tells that the summary has to be
    shortened or left out; `room` is then what is left for it, negative if the rest alone is over the budget.
    """

    start: int
    anchor: int
    weight: int
    gives_way: bool
    room: int


def select(view: View, limit: int | None, *, pending: bool = False) -> Selection:
    """The largest valid window whose weight is at most `limit` (None: no limit).

    With `pending` a user message that is not in the log ends the window: it is the newest turn and group.
    What does not fit gives way in this order: older groups, then the summary; head, anchor and newest group
    stay whatever they weigh.
    """

    def suffix(start: int) -> int:
        return view.before(view.size) - view.before(start) + view.tail

    fixed = view.fixed + view.summary
    total = suffix(view.first) if view.newest >= 0 else 0
    if limit is None or fixed + total <= limit:
        return Selection(view.first, -1, fixed + total, False, 0)
    if view.newest < 0:
        return _minimal(view, limit, view.size, -1, 0)
    last = view.user if not pending else view.size
    start = view.next_user(_smallest(view.first, view.size, lambda s: suffix(s) <= limit - fixed))
    if 0 <= start <= last and start < view.size:
        return Selection(start, -1, fixed + suffix(start), False, 0)
    if pending:
        return _minimal(view, limit, view.size, -1, 0)
    anchor = view.user
    weight = view.user_weight if anchor >= 0 else 0
    low = max(view.first, anchor + 1)
    start = view.next_start(_smallest(low, view.size, lambda s: weight + suffix(s) <= limit - fixed))
    if start <= view.newest:
        return Selection(start, anchor, fixed + weight + suffix(start), False, 0)
    if anchor == view.newest:
        anchor, weight = -1, 0
    return _minimal(view, limit, view.newest, anchor, weight + suffix(view.newest))


def _minimal(view: View, limit: int, start: int, anchor: int, weight: int) -> Selection:
    """The window when no older group fits beside the summary: then the summary gives way too."""
    whole = view.fixed + view.summary + weight
    room = limit - view.fixed - weight
    return Selection(start, anchor, whole, whole > limit, room)


def _smallest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """The smallest place from `low` on that fits; `high` if none does. What fits stays fitting behind it."""
    while low < high:
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle + 1
    return low


def shortest_cut(length: int, fits: Callable[[int], bool]) -> int | None:
    """How many characters a text has to lose at its front to fit; None if not even one may stay."""
    cut = _smallest(1, length, fits)
    return cut if cut < length else None


class PlainView(NamedTuple):
    """What the reference's rule needs to know. `first`: the last summary, or 0; `low`: the first place at
    which a cut may fit; `last`: the last message; `size`: behind the last entry; `messages`: how many from
    `first` on; `whole`: their weight, None if above any limit; `summary`: the weight of the summary, None
    without one; `before(i)`: the running weight of all messages in front of i, from `low` on.
    """

    first: int
    low: int
    last: int
    size: int
    messages: int
    whole: int | None
    summary: int | None
    before: Callable[[int], int]


def plain(view: PlainView, limit: int | None) -> tuple[bool, int]:
    """The Go backend's rule (eino-ext `components/memory`): whether the summary is kept in front of a gap,
    and from which entry on messages are kept.

    A single message is kept whatever it weighs, the last one too, and two of which the first is a summary.
    """
    if limit is None or view.messages <= 1 or (view.whole is not None and view.whole <= limit):
        return False, view.first
    if view.summary is not None and view.messages == 2:
        return False, view.first
    room = limit - (view.summary or 0)
    start = _smallest(view.low, view.last, lambda s: view.before(view.size) - view.before(s) <= room)
    return view.summary is not None, start
