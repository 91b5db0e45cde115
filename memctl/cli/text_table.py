"""Tables of texts that were found: facts in short columns, then what is said, cut where it is long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.cli.cells import width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memctl.cli.output import Output

#: Lines that a text may take in its column of a terminal.
LINES_MAX = 3
#: Columns that a text has at least.
_TEXT_MIN = 24
#: From so many columns on there is room for times.
_WIDE = 100
#: Elsewhere than on a terminal a text is cut to so many columns.
_PIPED_WIDTH = 240


def print_texts(
    out: Output,
    columns: Sequence[str],
    rows: Iterable[tuple[Sequence[str], str]],
    *,
    right: Sequence[int] = (),
) -> None:
    """Print rows of facts, each with its text in the last column; `right` are columns of numbers.

    A text is put on one line, and cut to what `LINES_MAX` lines hold; how much is hidden stands at its end.
    """
    from memctl.core.visible import visible

    found = [([visible(fact) for fact in facts], text) for facts, text in rows]
    room = _PIPED_WIDTH
    if out.is_terminal:
        taken = [
            max(map(width, column))
            for column in zip(columns[:-1], *(facts for facts, _ in found), strict=True)
        ]
        room = LINES_MAX * max(_TEXT_MIN, out.columns - sum(taken) - 2 * len(taken))
    out.table(columns, [(*facts, cut(text, room)) for facts, text in found], right=right)


def cut(text: str, room: int) -> str:
    """The text on one line, made visible, in at most about `room` columns, and how much of it is hidden."""
    from memctl.core.visible import visible

    line = visible(" ".join(text[: 8 * room].split()))
    hidden = len(text) - 8 * room
    if hidden <= 0 and width(line) <= room:
        return line
    kept, used = [], 0
    for char in line:
        used += width(char)
        if used > room - len("… +1,000 characters"):
            break
        kept.append(char)
    rest = max(hidden, 0) + len(line) - len(kept)
    return f"{''.join(kept).rstrip()}… +{rest:,} characters"


def day(created_at: Any) -> str:
    """A stored time to the minute in UTC, `-` where it is unknown."""
    from memctl.formats.text import short_time

    return short_time(created_at)[: len("2026-03-01 09:00")]


def made(out: Output, created_at: Any) -> str:
    """The same; only the day where a terminal is narrow."""
    return day(created_at)[: len("2026-03-01") if out.is_terminal and out.columns < _WIDE else None]
