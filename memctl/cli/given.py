"""What the caller hands over to be read whole: a file, or standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memctl.errors import BadInput

if TYPE_CHECKING:
    from memctl.cli.output import Output


def read_whole(path: str | None, out: Output, what: str) -> bytes:
    """The bytes of the file at `path`; of standard input for `-` or None.

    `what` names what is expected, for someone who sits in front of a terminal that waits. Raises BadInput.
    """
    if path is not None and path != "-":
        try:
            with open(path, "rb") as file:
                return file.read()
        except IsADirectoryError:
            raise BadInput(f"{path} is a directory, a file is expected") from None
    if sys.stdin is None:
        raise BadInput("there is no standard input")
    if sys.stdin.isatty():
        out.talk(f"reading {what} from the terminal; Ctrl-D ends it")
    return sys.stdin.buffer.read()
