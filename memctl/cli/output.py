"""The only module that prints, and the only door to rich.

Standard output is data, standard error is talk. Bytes are written, not text, so the encoding is UTF-8
whatever the locale says. Reports wait in memory until the exit code is known: after a failure standard
output is empty, and a quiet success prints none.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from memctl.cli.encoding import dumps, utf8
from memctl.cli.progress import Progress
from memctl.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal, TextIO

    Bytes = bytes


#: Cells of at most this many characters are not folded where others can give way.
_SHORT_CELL = 20


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
        data = utf8(dumps(value)) + b"\n"
        if self.is_terminal:
            data = _json_visible(data)
        (self._reports if report else self._data).append(data)

    def report(self, text: str, *, styled: bool = False) -> None:
        """Lines for people about what was done; printed when the command ends, dropped by a quiet success.

        Each line is made visible for a terminal, unless `styled`: then it is already.
        """
        self._reports.append(_lines_of(text, visibly=self.is_terminal and not styled))

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
            self.raw(utf8(_drawn(columns, cells, right, self.columns, self.colour)))
            return
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        for row in [columns, *cells]:
            padded = (
                cell.rjust(width) if index in right else cell.ljust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            self.raw(utf8("  ".join(padded).rstrip() + "\n"))

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
        data = utf8(dumps(value)) + b"\n"
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
        return Progress(label, None if self.quiet or not _is_terminal(sys.stderr) else _to_stderr)

    def _say(self, text: str) -> None:
        from memctl.core.visible import visible

        _to_stderr(utf8(f"memctl: {visible(text)}\n"))

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


def counted(number: int, thing: str) -> str:
    """`1 message`, `2,000 messages`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


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


def _lines_of(text: str, *, visibly: bool) -> bytes:
    """The text with a final newline; `visibly`: what could move the cursor or reorder text is escaped."""
    if visibly:
        from memctl.core.visible import visible

        text = visible(text, keep_newlines=True)
    return utf8(text if text.endswith("\n") or not text else text + "\n")


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
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
        header_style="bold" if colour else "",
    )
    for index, name in enumerate(columns):
        # Only long columns are folded: numbers and times stay in one piece.
        short = max(map(len, (name, *(row[index] for row in cells)))) <= _SHORT_CELL
        justify: Literal["right", "left"] = "right" if index in right else "left"
        table.add_column(Text(name), overflow="fold", justify=justify, no_wrap=short)
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
