"""Examine a file on disk: its lines, its summaries, and what later summaries have to say after a repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core import covers, splice
from memctl.core.edits import Edit
from memctl.core.problems import TABLE, Problem
from memctl.store.repaired import Repaired, Stored
from memctl.store.scanning import scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.core.edits import Edits
    from memctl.core.line_examination import LineExamination, Summary

_PROGRESS_LINES = 2048


class Examined:
    """A file `fd` up to the offset `end`, examined. `edits` are those of the repair, in the file's order.

    `rewritten` is how many later summaries say anew what they cover.
    """

    def __init__(
        self,
        fd: int,
        end: int,
        examination: LineExamination,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.fd = fd
        self.end = end
        self.examination = examination
        self.rewritten = 0
        feed = self.examination.feed
        for number, line in enumerate(scan(fd, 0, end, join_blank=True)):
            feed(*line)
            if progress is not None and not number % _PROGRESS_LINES:
                progress(line.offset, end)
        self._old = Stored(fd, self.examination)
        boundaries = self._boundaries()
        self.examination.finish()
        self.edits: Edits = self.examination.plan.edits.sealed()
        found_again = self._rewrite_summaries(boundaries) if len(self.edits) and boundaries else set()
        diagnosis = self.examination.diagnosis
        for summary, _, is_found in boundaries:
            if not is_found:
                place = summary.line, summary.offset, summary.size
                problem = Problem("bad-summary", TABLE["bad-summary"].severity, *place, "")
                diagnosis.add(problem, mends=summary.place in found_again)
        diagnosis.sort()

    def _boundaries(self) -> list[tuple[Summary, int, bool]]:
        """Each summary, how many messages it covers, and whether that was found."""
        found: list[tuple[Summary, int, bool]] = []
        previous = 0
        for summary in self.examination.summaries:
            boundary = covers.located(
                summary.value, summary.place, previous, self._old.lines, self._old.places
            )
            previous = previous if boundary is None else boundary
            found.append((summary, previous, boundary is not None))
        return found

    def _rewrite_summaries(self, boundaries: list[tuple[Summary, int, bool]]) -> set[int]:
        """Let each summary that stays hide after the repair what it hid before, less what is gone.

        The answer is which messages are summaries whose place was not found, and is again once the rest is
        repaired.
        """
        first = self.edits[0].offset
        new = Repaired(self._old, self.examination.plan)
        previous = 0
        stretches: list[Edit] = []
        again: set[int] = set()
        for summary, boundary, found in boundaries:
            wanted = new.boundary_of(boundary)
            spot = summary.spot
            if summary.offset >= first and spot is not None and covers.readable(summary.value):
                own = new.place_of(summary.place)
                # One whose place was not found hides what the one before it hides; it may stay as it is.
                if (
                    not found
                    and covers.located(summary.value, own, previous, new.lines, new.places) is not None
                ):
                    found = True
                    again.add(summary.place)
                if found and spot.start >= 0:
                    line = new.text(own)
                    text = splice.with_covers(line, covers.stating(own, wanted, new.lines))
                    if text != line:
                        new.put(own, text)
                        text += b"\n" if spot.ended else b""
                        size = spot.end - spot.start
                        stretches.append(Edit(spot.start, size, text, summary.line, "covers"))
            previous = wanted
        if stretches:
            self.edits = self.edits.with_stretches(stretches)
            self.rewritten = len(stretches)
        return again
