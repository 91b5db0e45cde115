"""What a row of the table of damages names."""

from __future__ import annotations

from typing import NamedTuple


class Named(NamedTuple):
    """A problem of some lines: line and offset count from their start. `action` "" is for what is left."""

    code: str
    line: int
    offset: int
    length: int
    action: str = ""
    severity: str = ""
