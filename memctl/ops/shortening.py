"""Shorten a summary in the printed copy: its oldest part, the front of its text, gives way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core import jsonl
from memctl.core.splice import with_content
from memctl.core.window import shortest_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

#: Stands in the copy where text was cut.
MARK = "[…] "
_WORD_REACH = 80


def shortened(line: bytes, room: int, weigh: Callable[[Sequence[dict[str, Any]]], list[int]]) -> bytes | None:
    """The summary's line with as much of the end of its text as weighs at most `room`; None if none does."""
    value = jsonl.exact(line.decode("utf-8"))
    text = value.get("content")
    if type(text) is not str or room <= 0:
        return None

    def fits(cut: int) -> bool:
        return weigh([{**value, "content": MARK + text[cut:]}])[0] <= room

    cut = shortest_cut(len(text), fits)
    if cut is None:
        return None
    for at in range(cut, min(cut + _WORD_REACH, len(text) - 1)):
        if text[at].isspace() and fits(at + 1):
            cut = at + 1
            break
    return with_content(line, MARK + text[cut:])
