"""Dropping: which messages leave a log together, and what later summaries have to say afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import covers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Summary(NamedTuple):
    """A summary that stays: its place in messages, and the boundary it has."""

    place: int
    boundary: int


def remaining_place(place: int, dropped: Sequence[int]) -> int:
    """A place in messages once the messages `dropped` (ascending) are gone."""
    from bisect import bisect_left

    return place - bisect_left(dropped, place)


def covers_after(
    summary: Summary, dropped: Sequence[int], lines: Callable[[int, int], Sequence[bytes]]
) -> dict[str, Any]:
    """The `covers` of a summary in the log without the dropped messages.

    `lines(a, b)` gives the lines of the remaining messages a to b, earlier summaries rewritten already.
    """
    own = remaining_place(summary.place, dropped)
    boundary = remaining_place(summary.boundary, dropped)
    size = covers.FINGERPRINT_LINES
    return {
        "kept": own - boundary,
        "last": covers.fingerprint(lines(max(0, boundary - size), boundary)),
        "next": covers.fingerprint(lines(boundary, min(own, boundary + size))),
    }
