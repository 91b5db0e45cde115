"""Weighing: what messages weigh for a counter, as `store.totals` wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core import counting
from memctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def weigher(counter: str, cache_dir: str | None) -> Callable[[Sequence[dict[str, Any]]], list[int]]:
    """The weights of messages: tokens, or bytes for `bytes4` (see `core.counting`).

    The tokenizer is loaded when the first message is weighed. Raises UsageError for an unknown counter.
    """
    if counter not in counting.COUNTERS:
        raise UsageError(f"unknown counter {counter}; there are {', '.join(counting.COUNTERS)}")
    if counter == "bytes4":
        return lambda values: [counting.reference_bytes(value) for value in values]
    return _Tokens(counter, cache_dir).weigh


class _Tokens:
    def __init__(self, counter: str, cache_dir: str | None) -> None:
        self._counter = counter
        self._cache_dir = cache_dir
        self._tokenizer: Any = None

    def weigh(self, values: Sequence[dict[str, Any]]) -> list[int]:
        if not values:
            return []
        if self._tokenizer is None:
            from memctl.store.tokens import Tokenizer

            self._tokenizer = Tokenizer(self._counter, self._cache_dir)
        weighed = [counting.parts(value) for value in values]
        lengths = iter(self._tokenizer.lengths([text for _, texts in weighed for text in texts]))
        return [fixed + sum(next(lengths) for _ in texts) for fixed, texts in weighed]
