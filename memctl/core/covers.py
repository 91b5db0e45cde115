"""Covers: which messages a summary stands for, even after lines were removed or inserted behind our back.

A summary carries `extra.memctl.covers` = {"kept": K, "last": F, "next": G}: it stands for all messages
before itself except the K directly before it; F and G are fingerprints of the last three covered and the
first three kept lines. Places are counted in messages from the start of the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.core import marker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: How many lines a fingerprint is made of, where there are so many.
FINGERPRINT_LINES = 3


def fingerprint(lines: Sequence[bytes]) -> str:
    """The first 16 hex digits of the SHA-256 of lines without their ends, joined by LF."""
    from hashlib import sha256

    return sha256(b"\n".join(lines)).hexdigest()[:16]


def readable(summary: dict[str, Any]) -> bool:
    """Whether the summary says what it covers in a form that can be read."""
    covers = marker.own(summary).get("covers")
    if type(covers) is not dict:
        return False
    kept = covers.get("kept")
    return type(kept) is int and kept >= 0 and all(type(covers.get(key)) is str for key in ("last", "next"))


def boundary(
    summary: dict[str, Any], own: int, previous: int, lines: Callable[[int, int], Sequence[bytes]]
) -> int:
    """How many messages at the start of the log the summary at place `own` stands for.

    `previous` is the boundary of the summary before it, 0 without one; `lines(a, b)` gives the stored lines
    of the messages a to b (b excluded). Where the fingerprints no longer agree with any place, the previous
    boundary holds: more is shown, nothing is hidden. A summary without `covers` stands for all before it.
    """
    found = located(summary, own, previous, lines)
    return previous if found is None else found


def located(
    summary: dict[str, Any],
    own: int,
    previous: int,
    lines: Callable[[int, int], Sequence[bytes]],
    places: Callable[[], Places] | None = None,
) -> int | None:
    """As `boundary`, but None where it is not found.

    `places` gives all fingerprints of the log, for a caller that would rather make them once than search.
    """
    given = marker.own(summary)
    if "covers" not in given:
        return own
    if not readable(summary):
        return None
    kept, last, after = (
        int(given["covers"]["kept"]),
        str(given["covers"]["last"]),
        str(given["covers"]["next"]),
    )

    def ends(place: int) -> bool:
        return fingerprint(lines(max(0, place - FINGERPRINT_LINES), place)) == last

    def begins(place: int) -> bool:
        return fingerprint(lines(place, min(own, place + FINGERPRINT_LINES))) == after

    expected = own - kept
    if expected >= 0 and ends(expected) and begins(expected):
        return expected
    if places is None:
        return _search(own, previous, ends, begins)
    return _look_up(own, previous, places(), last, after, begins)


def stating(own: int, boundary: int, lines: Callable[[int, int], Sequence[bytes]]) -> dict[str, Any]:
    """The `covers` of a summary at place `own` that stands for the first `boundary` messages."""
    return {
        "kept": own - boundary,
        "last": fingerprint(lines(max(0, boundary - FINGERPRINT_LINES), boundary)),
        "next": fingerprint(lines(boundary, min(own, boundary + FINGERPRINT_LINES))),
    }


#: Fingerprint -> after how many messages it is that of the last three lines, ascending.
Places = dict[str, list[int]]


def all_places(lines: Iterable[bytes]) -> Places:
    """The fingerprints of a log, given the stored lines of all its messages."""
    recent: list[bytes] = []
    places: Places = {fingerprint(recent): [0]}
    for place, line in enumerate(lines, 1):
        recent = [*recent[1 - FINGERPRINT_LINES :], line]
        places.setdefault(fingerprint(recent), []).append(place)
    return places


def _search(
    own: int, previous: int, ends: Callable[[int], bool], begins: Callable[[int], bool]
) -> int | None:
    """The earliest place from `previous` on where both fingerprints meet, else where either does.

    A fingerprint of what follows says something only if it was made of three lines: at the very end fewer
    lines would meet by chance and hide what came in between.
    """
    either: int | None = None
    for place in range(previous, own + 1):
        end, begin = ends(place), begins(place)
        if end and begin:
            return place
        if either is None and (end or (begin and own - place >= FINGERPRINT_LINES)):
            either = place
    return either


def _look_up(
    own: int, previous: int, places: Places, last: str, after: str, begins: Callable[[int], bool]
) -> int | None:
    """What `_search` finds, from the fingerprints of all places."""
    ended = [place for place in places.get(last, ()) if previous <= place <= own]
    for place in ended:
        if begins(place):
            return place
    size = FINGERPRINT_LINES
    begun = [p - size for p in places.get(after, ()) if previous + size <= p <= own]
    return min([*ended[:1], *begun[:1]], default=None)
