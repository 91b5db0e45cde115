"""Output file: where a page or metrics may be written, outside of stores and over nothing of other kinds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.errors import AlreadyExists, NotFound, UsageError
from memctl.store import census

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOKED_AT_BYTES = 256


def check_output(path: str, what: str, example: str, is_ours: Callable[[bytes], bool], other: str) -> None:
    """Raise UsageError, NotFound or AlreadyExists for what is no place for a file that is written for others.

    A file that is there is replaced only if `is_ours` takes its first bytes; `other` says what it is else.
    """
    if path in ("-", "") or os.path.isdir(path):
        raise UsageError(f"{what} written to a file, not to {path or 'nothing'}", hint=example)
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise NotFound(f"no directory {os.path.dirname(path)}")
    if census.store_of(path) is not None:
        raise UsageError(f"{path} lies in a store, where only its own commands write")
    if not os.path.lexists(path):
        return
    start = None
    if os.path.isfile(path):
        with open(path, "rb") as file:
            start = file.read(_LOOKED_AT_BYTES)
    if start is None or not is_ours(start):
        raise AlreadyExists(f"{path} exists already and {other}", hint="give another name")
