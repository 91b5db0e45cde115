"""Recalled: a record in an answer, with its score, and how it is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import record as records
from memctl.core.filtering import created_us

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memctl.core.record import Record

#: The metadata under which a short form of a large text is kept.
SUMMARY = "summary"


class Recalled(NamedTuple):
    """A record with its score and what that is made of: `semantic`, `recency`, `importance`, and more."""

    record: Record
    score: float
    scores: dict[str, Any]

    def text(self, *, brief: bool = False) -> str:
        """What it says; with `brief` its summary, where it has one."""
        return (brief and self.record.metadata.get(SUMMARY)) or self.record.content

    def line(self, *, scores: bool = False, brief: bool = False) -> bytes:
        """The record's bytes with `score` at the end, and with `scores` what it is made of.

        With `brief` the summary stands in the place of the content where there is one, and `brief` is true.
        """
        added: dict[str, Any] = {"score": self.score}
        if scores:
            added["scores"] = self.scores
        if brief and self.record.metadata.get(SUMMARY):
            added = {"content": self.text(brief=True), **added, "brief": True}
        return records.with_values(self.record.raw, added)


def in_time(found: Iterable[Recalled]) -> list[Recalled]:
    """Oldest first, of one time by id; those of an unknown time come first."""

    def key(one: Recalled) -> tuple[int, str]:
        created = created_us(one.record)
        return (-(1 << 62) if created is None else created), one.record.id

    return sorted(found, key=key)
