"""page: write an HTML page for people to a file of theirs."""

from __future__ import annotations

import os

from memctl.errors import AlreadyExists, NotFound, UsageError
from memctl.store import census, files

_START = b"<!doctype html>"


def check_page(path: str) -> None:
    """Raise UsageError, NotFound or AlreadyExists for what is no place for a page."""
    if path in ("-", "") or os.path.isdir(path):
        raise UsageError(f"a page is written to a file, not to {path or 'nothing'}", hint="--html page.html")
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise NotFound(f"no directory {os.path.dirname(path)}")
    if census.store_of(path) is not None:
        raise UsageError(f"{path} lies in a store, where only its own commands write")
    if not os.path.lexists(path):
        return
    # A conversation that is named by mistake must not become a page.
    is_page = False
    if os.path.isfile(path):
        with open(path, "rb") as file:
            is_page = file.read(len(_START)).lower() == _START
    if not is_page:
        raise AlreadyExists(f"{path} exists already and is no HTML page", hint="give another name")


def write_page(path: str, text: str) -> None:
    """Write a page whole, durable on return; an older page is replaced. Raises as `check_page`."""
    check_page(path)
    files.replace(os.path.realpath(path), [text.encode("utf-8", "backslashreplace")], fsync=True)
