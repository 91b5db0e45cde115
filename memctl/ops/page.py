"""page: write an HTML page for people to a file of theirs."""

from __future__ import annotations

import os

from memctl.ops.output_file import check_output
from memctl.store import files

_START = b"<!doctype html>"


def check_page(path: str) -> None:
    """Raise UsageError, NotFound or AlreadyExists for what is no place for a page."""
    # A conversation that is named by mistake must not become a page.
    check_output(path, "a page is", "--html page.html", _is_page, "is no HTML page")


def _is_page(start: bytes) -> bool:
    return start[: len(_START)].lower() == _START


def write_page(path: str, text: str) -> None:
    """Write a page whole, durable on return; an older page is replaced. Raises as `check_page`."""
    check_page(path)
    files.replace(os.path.realpath(path), [text.encode("utf-8", "backslashreplace")], fsync=True)
