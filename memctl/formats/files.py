"""The formats of files that inspect and repair know: each recognises, examines and plans.

A format is a row of the table: how its first lines look, and the examination that is fed its lines, which
finds what is wrong and plans the edits that repair it. What reads and writes files knows no format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.core import jsonl
from memctl.core.examination import Examination
from memctl.core.lines import is_message, read_line
from memctl.core.record_examination import ArchiveExamination, ForgottenExamination, RecordExamination
from memctl.errors import UsageError
from memctl.formats.records import is_records

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.core.line_examination import LineExamination

#: So much of a file is looked at to tell its format.
HEAD_BYTES = 65_536


class FileFormat(NamedTuple):
    """A kind of file. `recognises` tells it by the file's first lines; `holds` names one of what it holds."""

    name: str
    recognises: Callable[[bytes], bool]
    examination: type[LineExamination]
    holds: str


def _is_memctl(head: bytes) -> bool:
    """A line that is a message tells it; so does the lack of anything that another program would write."""
    foreign = False
    for line in head.split(b"\n"):
        pieces = read_line(line)
        if any(piece.message is not None for piece in pieces):
            return True
        foreign = foreign or is_foreign(line)
    return not foreign


def is_foreign(line: bytes) -> bool:
    """Whether another program would write such a line: an object with keys but no role, a list, its start."""
    bare = line.strip(b" \t\r\0").removeprefix(b"\xef\xbb\xbf")
    if bare in (b"[", b"{") or bare.startswith((b'[{"', b'{"')):
        try:
            value = jsonl.loads(bare)
        except ValueError:
            return bare in (b"[", b"{")
        return not is_message(value)
    return False


#: The formats in the order in which they are tried.
CONVERSATION = FileFormat("memctl", _is_memctl, Examination, "message of a conversation")
RECORDS = FileFormat("records", is_records, RecordExamination, "record")
FORMATS = (CONVERSATION, RECORDS)
#: The folders of a store that are no tiers -> the format of their files, which their place tells.
OF_FOLDER = {
    "archive": FileFormat("records", is_records, ArchiveExamination, "record"),
    "forgotten": FileFormat("forgotten", is_records, ForgottenExamination, "forgotten id"),
}


def named(name: str) -> FileFormat:
    """The format of a name. Raises UsageError."""
    for row in FORMATS:
        if row.name == name:
            return row
    raise UsageError(f"no format {name}; there are {', '.join(row.name for row in FORMATS)}")


def recognised(head: bytes) -> FileFormat | None:
    """The format of a file that begins with `head`; None if it is none of those that are known."""
    return next((row for row in FORMATS if row.recognises(head)), None)
