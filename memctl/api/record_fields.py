"""RecordFields: what `Memory.remember` takes by name, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from datetime import datetime


class RecordFields(TypedDict, total=False):
    """Fields of a record; what is left out is not given."""

    tier: str
    scope: str
    importance: float
    categories: list[str]
    metadata: dict[str, str]
    pinned: bool
    created_at: datetime | str | float
