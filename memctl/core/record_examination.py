"""Record examination: one pass over a file of records that finds what is wrong and plans its repair.

Several versions of a record, on lines of one file or in several files, are as it should be: the highest
`rev` is the record, of equal ones the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.core.calls import shown
from memctl.core.line_examination import DEFAULT, LineExamination
from memctl.core.problems import WARNING
from memctl.core.record import TIMES, rev_of
from memctl.core.record_lines import FORGOTTEN, RECORD
from memctl.core.seen import Seen
from memctl.core.times import stored

if TYPE_CHECKING:
    from collections.abc import Collection

    from memctl.core.lines import Piece


class RecordExamination(LineExamination):
    """What a file of records holds and what is wrong with it.

    `records` counts ids, each once; `older_versions` the lines beyond that. Of two lines of one id with the
    same `rev` and the same bytes one is enough; with other bytes both are left.
    """

    kind = RECORD

    def __init__(self, wanted: Collection[str] = DEFAULT) -> None:
        super().__init__(wanted)
        self._ids = Seen()
        #: Of each version the bytes that the last line had with it, by hashes.
        self._versions: dict[int, int] = {}

    def _object(self, piece: Piece, number: int, offset: int, size: int) -> str:
        value = piece.message or {}
        id: str = value["id"]
        if id in self._ids:
            self.older_versions += 1
        else:
            self.records += 1
            self._ids.add(id, b"")
        if self._is_again(id, value, piece.printed, offset, size):
            return "duplicate-message"
        bad = [key for key in TIMES if value.get(key) is not None and stored(value[key]) is None]
        if bad:
            detail = ", ".join(f"{key} {shown(str(value[key]))}" for key in bad)
            self._note("bad-time", WARNING, self.lines, offset, size, detail, False)
        return ""

    def _is_again(self, id: str, value: dict[str, Any], line: bytes, offset: int, size: int) -> bool:
        """Whether a line leaves, because the last one with this version of its record is the same."""
        version = hash((id, rev_of(value)))
        bytes_now, bytes_before = hash(line), self._versions.get(version)
        self._versions[version] = bytes_now
        if bytes_before is None:
            return False
        code = "duplicate-message" if bytes_before == bytes_now else "duplicate-id"
        mends = code == "duplicate-message" and code in self.wanted
        self._note(code, WARNING, self.lines, offset, size, f"record {shown(id)}", mends)
        return mends


class ArchiveExamination(RecordExamination):
    """The same of an archive, where a record comes again each time that it is evicted."""

    def _is_again(self, id: str, value: dict[str, Any], line: bytes, offset: int, size: int) -> bool:
        return False


class ForgottenExamination(ArchiveExamination):
    """The same of a list of ids that must not come back; what else is noted of them is not looked at."""

    kind = FORGOTTEN
