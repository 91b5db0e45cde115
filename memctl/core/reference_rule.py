"""The Go backend's window rule on a list of messages, to the letter (eino-ext `components/memory`).

It is what `window --plain` follows on a stored log, for programs that hold their messages in a list and bring
a counter of their own. It knows no calls, results or system messages: a window for sending is
`Conversation.window`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from memctl.core import counting
from memctl.core.marker import is_summary, last_summary_index

if TYPE_CHECKING:
    from collections.abc import Sequence


class TokenCounter(Protocol):
    """Tokens of a list of messages, counted as a whole; more messages never count less."""

    def __call__(self, messages: Sequence[dict[str, Any]], /) -> int: ...


def bytes4(messages: Sequence[dict[str, Any]]) -> int:
    """The reference's counter: a quarter of the bytes of contents and arguments; 1 if that is 0 for text."""
    return counting.tokens(sum(map(counting.reference_bytes, messages)), "bytes4")


def select_window(
    messages: Sequence[dict[str, Any]],
    budget: int = 0,
    *,
    counter: TokenCounter = bytes4,
    max_window_tokens: int = 0,
) -> list[dict[str, Any]]:
    """The last summary, if any, and the longest run of newest messages behind it that fits in `budget`.

    A budget of 0 or less stands for `max_window_tokens`, and that for no limit. The last message is kept
    whatever it counts, and so is the summary. The result is a new list of the same messages.
    """
    if budget <= 0:
        budget = max_window_tokens
    window = list(messages[max(last_summary_index(messages), 0) :])
    if budget <= 0 or not window or counter(window) <= budget or len(window) == 1:
        return window
    front = window[:1] if is_summary(window[0]) else []
    rest = window[len(front) :]
    if len(rest) == 1 or counter([*front, rest[-1]]) > budget:
        return [*front, rest[-1]]
    low, high = 0, len(rest) - 1
    while low < high:
        middle = (low + high) // 2
        if counter([*front, *rest[middle:]]) <= budget:
            high = middle
        else:
            low = middle + 1
    return [*front, *rest[low:]]
