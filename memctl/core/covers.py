"""Covers: which messages a summary stands for, even after lines were removed or inserted behind our back.

A summary carries `extra.memctl.covers` = {"kept": K, "last": F, "next": G}: it stands for all messages
before itself except the K directly before it; F and G are fingerprints of the last three covered and the
first three kept lines. Places are counted in messages from the start of the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.core import marker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    given = marker.own(summary)
    if "covers" not in given:
        return own
    if not readable(summary):
        return previous
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
    return _search(own, previous, ends, begins)


def _search(own: int, previous: int, ends: Callable[[int], bool], begins: Callable[[int], bool]) -> int:
    """The earliest place from `previous` on where both fingerprints meet, else where either does.

    A fingerprint of what follows says something only if it was made of three lines: at the very end fewer
    lines would meet by chance and hide what came in between.
    """
    either = -1
    for place in range(previous, own + 1):
        end, begin = ends(place), begins(place)
        if end and begin:
            return place
        if either < 0 and (end or (begin and own - place >= FINGERPRINT_LINES)):
            either = place
    return either if either >= 0 else previous
