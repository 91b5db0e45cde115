"""File format: in which format a file is examined, and whether it is another program's after all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.formats import files as formats
from memctl.store import log
from memctl.store.census import RECORDS

if TYPE_CHECKING:
    from memctl.core.line_examination import LineExamination
    from memctl.formats.files import FileFormat
    from memctl.store.census import Listed

#: A first line that is longer than the head is read up to here.
_LINE_BYTES = 1 << 20


def form_of(row: Listed, fd: int, asked: FileFormat | None) -> FileFormat:
    """The format of a file: in a store that of its place, else the one asked for, else the one it looks like.

    What looks like none is taken for a conversation.
    """
    if row.kind == RECORDS:
        return formats.OF_FOLDER.get(row.folder, formats.RECORDS)
    if row.place is not None:
        return formats.CONVERSATION
    if asked is not None:
        return asked
    head = log.read_span(fd, 0, formats.HEAD_BYTES)
    if len(head) == formats.HEAD_BYTES and b"\n" not in head:
        head = log.read_span(fd, 0, _LINE_BYTES).partition(b"\n")[0]
    return formats.recognised(head) or formats.CONVERSATION


def is_foreign(row: Listed, found: LineExamination, asked: FileFormat | None) -> bool:
    """Whether a file is none of ours, as far as its lines tell; none is if a format was asked for."""
    return asked is None and not found.holds_any and found.others.rule_out(in_store=row.place is not None)
