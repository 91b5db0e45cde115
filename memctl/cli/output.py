"""The only module that prints, and the only door to rich.

Standard output is data, standard error is talk. Bytes are written, not text, so the encoding is UTF-8
whatever the locale says. Reports wait in memory until the exit code is known: after a failure standard
output is empty, and a quiet success prints none.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from memctl.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType
    from typing import TextIO

    Bytes = bytes

_REPLACEMENT = "\ufffd"
#: Seconds between two updates of a progress line.
_PROGRESS_INTERVAL_S = 0.1
#: What JSON wants escaped in a string (RFC 8259, section 7).
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)} | {
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\b"): "\\b",
    ord("\f"): "\\f",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}


class OutputClosed(Exception):
    """The reader of standard output went away; the command ends quietly."""


class Output:
    """Where a command's answer and its talk go.

    `quiet` leaves only errors on standard error and drops reports of a success; `verbose` adds details.
    Writing raises OutputClosed when the reader went away and StorageError when the disk is full; talk never
    raises.
    """

    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self._reports: list[Bytes] = []
        self._data: list[Bytes] = []

    # -- what it is written to ---------------------------------------------------------------------------

    @property
    def is_terminal(self) -> bool:
        """Whether standard output is a terminal."""
        return _is_terminal(sys.stdout)

    @property
    def colour(self) -> bool:
        """Whether standard output may be coloured: a terminal, no `NO_COLOR`, not `TERM=dumb`."""
        return self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    @property
    def columns(self) -> int:
        """The width of the terminal in columns, 80 if it is unknown."""
        import shutil

        return shutil.get_terminal_size().columns

    # -- data --------------------------------------------------------------------------------------------

    def json(self, value: object, *, report: bool = True) -> None:
        """One JSON value, compact, in UTF-8, with a newline; printed when the command ends well.

        Lone surrogates become U+FFFD. A report is dropped by `-q` when the exit code is 0; data is not.
        """
        data = _utf8(_dumps(value)) + b"\n"
        if self.is_terminal:
            data = _json_visible(data)
        (self._reports if report else self._data).append(data)

    def report(self, text: str) -> None:
        """Lines for people about what was done; printed when the command ends, dropped by a quiet success.

        Each line is made visible for a terminal.
        """
        self._reports.append(_lines_of(text, visibly=self.is_terminal))

    def text(self, text: str, *, styled: bool = False) -> None:
        """Lines of data, at once. On a terminal each is made visible, unless `styled`: then it is already."""
        self.raw(_lines_of(text, visibly=self.is_terminal and not styled))

    def bytes(self, data: Bytes) -> None:
        """Lines of JSON, at once: as they are; on a terminal with `\\u` escapes for what is unseen."""
        self.raw(_json_visible(data) if self.is_terminal else data)

    def lines(self, lines: Iterable[Bytes]) -> None:
        """As `bytes`, for lines that come one by one."""
        write = self.bytes if self.is_terminal else self.raw
        for line in lines:
            write(line)

    def raw(self, data: Bytes) -> None:
        """Bytes to standard output, untouched even on a terminal."""
        if sys.stdout is None:
            raise StorageError("standard output is closed")
        stream = sys.stdout.buffer
        try:
            # With PYTHONUNBUFFERED this is the bare file, which may take a part only.
            written = stream.write(data)
            while written < len(data):
                data = data[written:]
                written = stream.write(data)
        except BrokenPipeError:
            raise OutputClosed from None
        except OSError as error:
            raise _failed(error) from error

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()
    ) -> None:
        """A table: drawn with rich on a terminal, columns set apart by two spaces elsewhere.

        Cells are plain text and are made visible; nothing in them is markup. A cell that is too wide is
        folded, never cut. `right` are the indices of the columns of numbers.
        """
        from memctl.core.visible import visible

        cells = [[visible(cell) for cell in row] for row in rows]
        if self.is_terminal:
            self.raw(_utf8(_drawn(columns, cells, right, self.columns, self.colour)))
            return
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        for row in [columns, *cells]:
            padded = (
                cell.rjust(width) if index in right else cell.ljust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            self.raw(_utf8("  ".join(padded).rstrip() + "\n"))

    # -- talk --------------------------------------------------------------------------------------------

    def talk(self, text: str) -> None:
        """One line on standard error, unless quiet."""
        if not self.quiet:
            self._say(text)

    def detail(self, text: str) -> None:
        """One line on standard error, with `-v` only."""
        if self.verbose and not self.quiet:
            self._say(text)

    def object_on_stderr(self, value: object) -> None:
        """One JSON object on standard error, without prefix: the one line there that begins with `{`."""
        data = _utf8(_dumps(value)) + b"\n"
        _to_stderr(_json_visible(data) if _is_terminal(sys.stderr) else data)

    def error(
        self, message: str, *, code: str, exit_code: int, hint: str = "", as_object: bool = False
    ) -> None:
        """An error: a line and a hint, or with `as_object` one JSON object; also when quiet."""
        if as_object:
            self.object_on_stderr(
                {"error": {"code": code, "exit": exit_code, "message": message, "hint": hint}}
            )
        else:
            self._say(message)
            if hint:
                self._say(f"hint: {hint}")

    def traceback(self, text: str) -> None:
        """The traceback of a bug, made visible line by line."""
        _to_stderr(_lines_of(text, visibly=True))

    def progress(self, label: str) -> Progress:
        """A line on standard error that shows how far long work is; nothing there unless it is a terminal."""
        return Progress(label, shown=not self.quiet and _is_terminal(sys.stderr))

    def _say(self, text: str) -> None:
        from memctl.core.visible import visible

        _to_stderr(_utf8(f"memctl: {visible(text)}\n"))

    # -- the end -----------------------------------------------------------------------------------------

    def finish(self, exit_code: int) -> None:
        """Print what waited for the exit code, and flush."""
        for data in self._data:
            self.raw(data)
        if exit_code != 0 or not self.quiet:
            for data in self._reports:
                self.raw(data)
        self._data, self._reports = [], []
        self.flush()

    def flush(self) -> None:
        """Hand everything to the operating system; raises OutputClosed or StorageError."""
        if sys.stdout is None:
            return
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            raise OutputClosed from None
        except OSError as error:
            raise _failed(error) from error

    def abandon(self, *, flush: bool) -> None:
        """After a failure: forget what waits for success; what was printed before goes out if it can."""
        self._data, self._reports = [], []
        try:
            if flush:
                self.flush()
        except (OutputClosed, StorageError):
            self.detach()

    def detach(self) -> None:
        """Point standard output at nothing, so that no later flush of what it could not take fails."""
        self._data, self._reports = [], []
        _point_at_nothing(sys.stdout)


class Progress:
    """A context manager; `advance` redraws the line at most ten times a second."""

    def __init__(self, label: str, *, shown: bool) -> None:
        self._label = label
        self._shown = shown
        self._drawn_at_s = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn_at_s:
            _to_stderr(b"\r\x1b[K")

    def advance(self, done: int, total: int | None = None) -> None:
        """Show that `done` of `total` are done; the numbers are absolute."""
        if not self._shown:
            return
        import time

        now_s = time.monotonic()
        if now_s - self._drawn_at_s < _PROGRESS_INTERVAL_S:
            return
        self._drawn_at_s = now_s
        share = f"{done}/{total} ({done * 100 // total} %)" if total else str(done)
        from memctl.core.visible import visible

        # The line is cleared to its end, so that a shorter one leaves nothing of a longer one.
        _to_stderr(_utf8(f"\r{visible(self._label)} {share}\x1b[K"))


def use_utf8() -> None:
    """Text that a library prints (the help) is UTF-8 too, whatever the locale or PYTHONIOENCODING say."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _failed(error: OSError) -> StorageError:
    return StorageError(f"standard output: {error.strerror or error}")


def _to_stderr(data: bytes) -> None:
    """Talk is not worth failing for: a closed or full standard error is ignored."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.flush()
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
    except (OSError, ValueError):
        _point_at_nothing(sys.stderr)


def _point_at_nothing(stream: TextIO | None) -> None:
    """Let the stream's descriptor be /dev/null, so that what it holds can be flushed and forgotten."""
    if stream is None:
        return
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
        stream.flush()
    except (OSError, ValueError):
        pass


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _dumps(value: object) -> str:
    """Compact JSON, not ASCII only; written here because importing json costs more than any report."""
    if isinstance(value, str):
        return f'"{value.translate(_JSON_ESCAPES)}"'
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        # JSON has no word for what is not finite.
        return float.__repr__(value) if value - value == 0 else "null"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_dumps(str(key))}:{_dumps(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_dumps, value)) + "]"
    raise TypeError(f"no JSON for {type(value).__name__}")


def _utf8(text: str) -> bytes:
    """UTF-8; a lone surrogate, which UTF-8 cannot hold, is U+FFFD."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join(_REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in text).encode(
            "utf-8"
        )


def _lines_of(text: str, *, visibly: bool) -> bytes:
    """The text with a final newline; `visibly`: what could move the cursor or reorder text is escaped."""
    if visibly:
        from memctl.core.visible import visible

        text = visible(text, keep_newlines=True)
    return _utf8(text if text.endswith("\n") or not text else text + "\n")


def _json_visible(data: bytes) -> bytes:
    """JSON lines with `\\u` escapes for what a terminal would obey or hide."""
    from memctl.core.visible import visible_json

    return b"\n".join(map(visible_json, data.split(b"\n")))


def _drawn(
    columns: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[int], width: int, colour: bool
) -> str:
    from io import StringIO

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Text objects are never searched for markup, emoji codes or links.
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold" if colour else "")
    for index, name in enumerate(columns):
        table.add_column(Text(name), overflow="fold", justify="right" if index in right else "left")
    for row in cells:
        table.add_row(*map(Text, row))
    file = StringIO()
    Console(
        file=file,
        width=width,
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    ).print(table)
    return file.getvalue()


__all__ = ["Output", "OutputClosed", "Progress", "use_utf8"]
