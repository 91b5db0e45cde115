"""Files of records: how they are told by their shape, wherever they lie."""

from __future__ import annotations

from memctl.core.lines import is_message, read_line
from memctl.core.record_lines import RECORD, is_whole


def is_records(head: bytes) -> bool:
    """Whether a file that begins so has records: more objects with id and content than others, no message."""
    whole = others = 0
    for line in head.split(b"\n"):
        for piece in read_line(line, kind=RECORD):
            if piece.message is None:
                others += piece.code == "not-a-record"
            elif is_message(piece.message):
                return False
            elif is_whole(piece.message):
                whole += 1
            else:
                others += 1
    return whole > others
