"""CognitiveRecord: what a record says, without the tier in which it lies and how often it was recalled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import record_form
from memctl.core.record import UNSET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memctl.core.record import Record


class CognitiveRecord(NamedTuple):
    """The part of a record that agentflow-go's cognitive memory knows; `created_at` is as it is stored.

    An empty id, a time that is unset and an importance of 0 or less are not given.
    """

    id: str
    content: str
    scope: str = ""
    categories: Sequence[str] = ()
    importance: float = 0.0
    created_at: str = UNSET
    metadata: Mapping[str, str] = {}

    @classmethod
    def of(cls, record: Record) -> CognitiveRecord:
        """The record without the fields of its tier."""
        created_at = record.value.get("created_at")
        return cls(
            record.id,
            record.content,
            record.scope,
            tuple(record.categories),
            record.importance,
            UNSET if created_at is None else str(created_at),
            record.metadata,
        )

    def fields(self) -> dict[str, Any]:
        """What is given, by the keys of a record."""
        given = self._asdict() | {"categories": list(self.categories), "metadata": dict(self.metadata)}
        absent = [
            ("id", not self.id),
            ("created_at", self.created_at == UNSET),
            ("importance", self.importance <= 0),
        ]
        for key, is_absent in absent:
            if is_absent:
                del given[key]
        return given

    def to_json(self) -> bytes:
        """The reference's serialised form. Raises BadInput if `created_at` is no time."""
        return record_form.line({**self._asdict(), "categories": list(self.categories)})
