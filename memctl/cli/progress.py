"""Progress of long work: one line on a terminal that is drawn again and cleared at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.cli.encoding import utf8

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

#: Seconds before the line appears, and between two updates: what is done sooner needs no line.
_DELAY_S, _INTERVAL_S = 0.5, 0.1


class Progress:
    """A context manager; `advance` redraws the line at most ten times a second.

    `write` takes the bytes for the terminal; with None nothing is shown.
    """

    def __init__(self, label: str, write: Callable[[bytes], None] | None) -> None:
        self._label = label
        self._write = write
        self._next_s = 0.0
        self._drawn = False

    def __enter__(self) -> Progress:
        if self._write is not None:
            import time

            self._next_s = time.monotonic() + _DELAY_S
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._write is not None and self._drawn:
            self._write(b"\r\x1b[K")

    def advance(self, done: int, total: int | None = None) -> None:
        """Show that `done` of `total` are done; the numbers are absolute."""
        if self._write is None:
            return
        import time

        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + _INTERVAL_S
        self._drawn = True
        share = f"{done}/{total} ({done * 100 // total} %)" if total else str(done)
        from memctl.core.visible import visible

        # The line is cleared to its end, so that a shorter one leaves nothing of a longer one.
        self._write(utf8(f"\r{visible(self._label)} {share}\x1b[K"))
