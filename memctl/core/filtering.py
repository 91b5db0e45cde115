"""Filtering: which records may be in an answer, whatever is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.core import times

if TYPE_CHECKING:
    from memctl.core.record import Record

#: The first day of the year 1, which is how a time is written that was never set.
_UNSET_US = -62_135_510_400_000_000


class Filters(NamedTuple):
    """What a record has to have; what is empty or None asks for nothing.

    One of `tiers`, every one of `categories` and of `metadata` (key, text), that `scope` and that
    `conversation`; a `created_at` at or after `since_us` and before `until_us`, in microseconds since 1970.
    """

    tiers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    scope: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    conversation: str | None = None
    since_us: int | None = None
    until_us: int | None = None

    @property
    def read_the_record(self) -> bool:
        """Whether only the record itself can tell: the search index does not know of these."""
        return bool(self.categories or self.metadata) or self.scope is not None

    @property
    def are_none(self) -> bool:
        """Whether every record passes."""
        return self == Filters()

    def pass_created(self, created_us: int | None) -> bool:
        """Whether a time of creation passes; an unknown one only where no time is asked for."""
        if self.since_us is None and self.until_us is None:
            return True
        if created_us is None or (self.since_us is not None and created_us < self.since_us):
            return False
        return self.until_us is None or created_us < self.until_us

    def pass_record(self, record: Record) -> bool:
        """Whether a record passes all of them."""
        if self.tiers and record.tier not in self.tiers:
            return False
        if self.scope is not None and record.scope != self.scope:
            return False
        if self.conversation is not None and record.conversation != self.conversation:
            return False
        if self.categories and not set(self.categories) <= set(record.categories):
            return False
        if self.metadata:
            given = record.metadata
            if any(given.get(key) != text for key, text in self.metadata):
                return False
        if self.since_us is None and self.until_us is None:
            return True
        return self.pass_created(created_us(record))


def created_us(record: Record) -> int | None:
    """When a record was made, in microseconds since 1970; None where that is unknown or unset."""
    found = times.microseconds(record.value.get("created_at"))
    return None if found is None or found <= _UNSET_US else found
