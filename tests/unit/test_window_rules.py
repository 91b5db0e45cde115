"""The rules of the window on small logs written out: weights and kinds, no files."""

from __future__ import annotations

import pytest

from memctl.core.covers import boundary, fingerprint
from memctl.core.window import PlainView, Selection, View, plain, select, shortest_cut

#: A log as groups in order: `u` a user message, `a` another group, each with its weight; `-` lines that are
#: never sent. Entry n is the n-th item.
Log = tuple[tuple[str, int], ...]
TURNS: Log = (("u", 10), ("a", 20), ("u", 1), ("a", 5), ("-", 0), ("a", 7), ("u", 2), ("a", 3), ("a", 4))


def view(log: Log, *, first: int = 0, fixed: int = 0, summary: int = 0, tail: int = 0) -> View:
    """What a selection needs to know of the log, worked out entry by entry."""
    size = len(log)
    starts = [n for n in range(first, size) if log[n][0] != "-"]
    users = [n for n in starts if log[n][0] == "u"]
    user = users[-1] if users else -1
    return View(
        first=next(iter(starts), size),
        size=size,
        user=user,
        user_weight=log[user][1] if users else 0,
        newest=starts[-1] if starts else -1,
        before=lambda end: sum(weight for _, weight in log[:end]),
        next_start=lambda n: next((s for s in starts if s >= n), size),
        next_user=lambda n: next((u for u in users if u >= n), size),
        fixed=fixed,
        summary=summary,
        tail=tail,
    )


@pytest.mark.parametrize(
    ("limit", "start", "anchor", "weight"),
    [
        (None, 0, -1, 52),
        (52, 0, -1, 52),
        (51, 2, -1, 22),
        (22, 2, -1, 22),
        (21, 6, -1, 9),
        (9, 6, -1, 9),
        (8, 8, 6, 6),
        (6, 8, 6, 6),
    ],
)
def test_a_cut_falls_on_a_user_message_or_behind_the_anchor(
    limit: int | None, start: int, anchor: int, weight: int
) -> None:
    """Older turns go whole; inside the newest turn its user message stays in front."""
    assert Selection(start, anchor, weight, False, 0) == select(view(TURNS), limit)


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_anchor_and_newest_group_stay_whatever_they_weigh(limit: int) -> None:
    """Below what must stay the window is over the budget, by no more than that."""
    assert Selection(8, 6, 6, True, limit - 6) == select(view(TURNS), limit)


def test_the_newest_user_message_is_not_its_own_anchor() -> None:
    """A log that ends with a user message keeps it once."""
    log: Log = (("u", 5), ("a", 5), ("u", 9))
    assert Selection(2, -1, 9, False, 0) == select(view(log), 9)
    assert Selection(2, -1, 9, True, -1) == select(view(log), 8)


def test_without_a_user_message_cuts_fall_between_groups() -> None:
    """Where no user message is, there is no anchor, and the newest groups stay."""
    log: Log = (("a", 5), ("a", 6), ("-", 0), ("a", 7))
    assert Selection(1, -1, 13, False, 0) == select(view(log), 17)
    assert Selection(3, -1, 7, False, 0) == select(view(log), 12)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (100, Selection(0, -1, 92, False, 0)),
        (62, Selection(2, -1, 62, False, 0)),
        (46, Selection(8, 6, 46, False, 0)),
        (45, Selection(8, 6, 46, True, 29)),
        (16, Selection(8, 6, 46, True, 0)),
        (15, Selection(8, 6, 46, True, -1)),
    ],
)
def test_older_groups_give_way_before_the_summary(limit: int, expected: Selection) -> None:
    """With a head of 10 and a summary of 30: first older groups go, then the summary gets what is left."""
    assert expected == select(view(TURNS, fixed=10, summary=30), limit)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (60, Selection(0, -1, 60, False, 0)),
        (30, Selection(2, -1, 30, False, 0)),
        (17, Selection(6, -1, 17, False, 0)),
        (16, Selection(9, -1, 8, False, 8)),
        (7, Selection(9, -1, 8, True, -1)),
    ],
)
def test_a_pending_message_is_the_newest_turn(limit: int, expected: Selection) -> None:
    """With a pending message of 8 there is no anchor: older turns go whole, up to the last."""
    assert expected == select(view(TURNS, fixed=8), limit, pending=True)


def test_an_open_group_at_the_end_counts() -> None:
    """`tail` is the weight of an open group that is kept: it takes room from the others."""
    assert Selection(2, -1, 27, False, 0) == select(view(TURNS, tail=5), 27)
    assert Selection(6, -1, 14, False, 0) == select(view(TURNS, tail=5), 26)


@pytest.mark.parametrize(("limit", "expected"), [(None, False), (40, False), (39, True), (9, True)], ids=str)
def test_with_nothing_to_send_only_head_and_summary_are_left(limit: int | None, expected: bool) -> None:
    """Where all is covered, the window is head and summary, and the summary gives way."""
    found = select(view((("-", 0),), fixed=10, summary=30), limit)
    assert (1, -1, 40, expected) == (found.start, found.anchor, found.weight, found.gives_way)
    if limit is not None and expected:
        assert limit - 10 == found.room


def test_a_cut_is_the_shortest_that_fits() -> None:
    """As few characters go as need to; at least one, and one stays."""
    assert 7 == shortest_cut(10, lambda cut: cut >= 7)
    assert 1 == shortest_cut(10, lambda cut: True)
    assert shortest_cut(10, lambda cut: cut >= 10) is None
    assert shortest_cut(1, lambda cut: True) is None


def plain_view(weights: list[int], *, first: int = 0, summary: bool = False, low: int = 0) -> PlainView:
    size = len(weights)
    return PlainView(
        first=first,
        low=max(low, first + summary),
        last=size - 1,
        size=size,
        messages=size - first,
        whole=sum(weights[first:]),
        summary=weights[first] if summary else None,
        before=lambda end: sum(weights[:end]),
    )


@pytest.mark.parametrize(
    ("limit", "kept", "start"),
    [(None, False, 0), (15, False, 0), (14, False, 1), (12, False, 2), (5, False, 4), (0, False, 4)],
)
def test_the_plain_rule_keeps_the_longest_end(limit: int | None, kept: bool, start: int) -> None:
    """Messages one by one from the end, the last one whatever it weighs."""
    assert (kept, start) == plain(plain_view([1, 2, 3, 4, 5]), limit)


@pytest.mark.parametrize(
    ("limit", "kept", "start"),
    [(None, False, 1), (14, False, 1), (13, True, 3), (11, True, 3), (10, True, 4), (0, True, 4)],
)
def test_the_plain_rule_keeps_the_summary_in_front_of_the_gap(
    limit: int | None, kept: bool, start: int
) -> None:
    """A summary at 1 of weight 2 takes its room first, and stays whatever is cut behind it."""
    assert (kept, start) == plain(plain_view([1, 2, 3, 4, 5], first=1, summary=True), limit)


@pytest.mark.parametrize(
    ("weights", "summary"),
    [([9], False), ([9], True), ([9, 9], True)],
    ids=["one", "summary", "summary, one"],
)
def test_the_plain_rule_never_cuts_so_few(weights: list[int], summary: bool) -> None:
    """A single message stays whatever it weighs, and so do a summary and one message behind it."""
    assert (False, 0) == plain(plain_view(weights, summary=summary), 1)


# -- what a summary covers -----------------------------------------------------------------------------------


def covered(written: str, place: int, found: str, previous: int = 0) -> int:
    """The boundary in the log `found`, each letter a message, of a summary that was written behind `written`.

    It covers what lies in front of `place`.
    """
    lines = [letter.encode() for letter in written]
    covers = {
        "kept": len(lines) - place,
        "last": fingerprint(lines[max(0, place - 3) : place]),
        "next": fingerprint(lines[place : place + 3]),
    }
    summary = {"role": "assistant", "content": "", "extra": {"memctl": {"covers": covers}}}
    now = [letter.encode() for letter in found]
    return boundary(summary, len(now), previous, lambda first, end: now[first:end])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("abcdefgh", 4),
        ("Xabcdefgh", 5),
        ("bcdefgh", 3),
        ("abcdefXgh", 4),
        ("abcdeXfgh", 4),
        ("abcXdefgh", 5),
        ("abcdXefgh", 4),
        ("abcdh", 4),
        ("aXXXefgh", 4),
        ("XXXXXXXX", 0),
        ("abcdabcdefgh", 8),
    ],
)
def test_a_boundary_is_found_by_what_lies_around_it(found: str, expected: int) -> None:
    """A summary of abcd with efgh kept: where both meet, else where one does, else nothing is covered."""
    assert expected == covered("abcdefgh", 4, found)


def test_equal_lines_in_front_of_a_boundary_do_not_move_it() -> None:
    """Where a kept line is gone, the place that the number of kept lines names ends alike, and is not it."""
    assert 5 == covered("aaaaabcdef", 5, "aaaaabcdf")


def test_equal_lines_behind_a_boundary_do_not_move_it() -> None:
    """The same the other way round: it begins alike, and what lies in front of it is another."""
    assert 3 == covered("abcxxxxxx", 3, "abcxxxxx")


def test_where_nothing_meets_the_previous_boundary_holds() -> None:
    """More is shown, nothing is hidden."""
    assert 2 == covered("abcdefgh", 4, "XXXXXXXX", previous=2)
