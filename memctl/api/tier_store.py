"""TierStore: the interface of the reference's stores of records, one in process memory, and three as one.

`Store.memory` keeps records in files and needs none of them. They are for programs that are written against
that interface: to hold records of a run that end with it, and to put stores of their own behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memctl.core import times
from memctl.core.tier import RANK, TIERS
from memctl.errors import BadInput, MemctlError, NotFound

if TYPE_CHECKING:
    from memctl.core.record import Record


class TierStore(Protocol):
    """What keeps the records of one namespace; an id is in it once."""

    def put(self, record: Record, /) -> None:
        """Keep a record, in place of the one with its id."""

    def get(self, id: str, /) -> Record:
        """The record with this id. Raises NotFound."""

    def list(self, level: str, limit: int = 0, /) -> list[Record]:
        """The records of a tier, newest last access first; `limit` 0 or less is all."""

    def delete(self, id: str, /) -> None:
        """Remove a record. Raises NotFound."""

    def count(self, level: str, /) -> int:
        """How many records a tier holds."""


class InMemoryStore:
    """A TierStore for every tier that lives as long as the program.

    Its listings are the same each time: of equal last access the newest first, then by id.
    """

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}

    def put(self, record: Record, /) -> None:
        """Keep a record, in place of the one with its id. Raises BadInput without an id or a known tier."""
        if not record.id:
            raise BadInput("the id of a record cannot be empty")
        if record.tier not in RANK:
            raise BadInput(f"no tier {record.tier}; there are {', '.join(TIERS)}")
        self._records[record.id] = record

    def get(self, id: str, /) -> Record:
        """The record with this id. Raises NotFound."""
        try:
            return self._records[id]
        except KeyError:
            raise _missing(id) from None

    def list(self, level: str, limit: int = 0, /) -> list[Record]:
        """The records of a tier, newest last access first; `limit` 0 or less is all."""
        found = sorted((record for record in self._records.values() if record.tier == level), key=_order)
        return found[:limit] if limit > 0 else found

    def delete(self, id: str, /) -> None:
        """Remove a record. Raises NotFound."""
        if self._records.pop(id, None) is None:
            raise _missing(id)

    def count(self, level: str, /) -> int:
        """How many records a tier holds."""
        return sum(record.tier == level for record in self._records.values())


class CompositeStore:
    """A TierStore that keeps each tier in a store of its own; a tier without one holds nothing."""

    def __init__(
        self, hot: TierStore | None = None, warm: TierStore | None = None, cold: TierStore | None = None
    ) -> None:
        given = zip(TIERS, (hot, warm, cold), strict=True)
        self._stores: dict[str, TierStore] = {tier: store for tier, store in given if store is not None}

    def put(self, record: Record, /) -> None:
        """Keep a record in the store of its tier, then take its id out of the others.

        Raises NotFound for a tier without a store. Where the first store fails, the others keep what they
        have; where one of the others fails, the record is there twice until it is put again.
        """
        if record.tier not in self._stores:
            raise NotFound(f"no store for the tier {record.tier!r} of the record {record.id}")
        self._stores[record.tier].put(record)
        failed: Exception | None = None
        for tier, store in self._stores.items():
            if tier != record.tier:
                try:
                    store.delete(record.id)
                except NotFound:
                    pass
                except Exception as error:
                    failed = error
        if failed is not None:
            raise failed

    def get(self, id: str, /) -> Record:
        """The record with this id, from the hottest tier that has it. Raises NotFound."""
        for store in self._stores.values():
            try:
                return store.get(id)
            except NotFound:
                continue
        raise _missing(id)

    def list(self, level: str, limit: int = 0, /) -> list[Record]:
        """The records of a tier, newest last access first; `limit` 0 or less is all."""
        store = self._stores.get(level)
        return [] if store is None else store.list(level, limit)

    def delete(self, id: str, /) -> None:
        """Remove a record from every tier. Raises NotFound if none had it; an error once all were tried."""
        failed: Exception | None = None
        found = False
        for store in self._stores.values():
            try:
                store.delete(id)
                found = True
            except NotFound:
                pass
            except Exception as error:
                failed = error
        if failed is not None:
            raise failed
        if not found:
            raise _missing(id)

    def count(self, level: str, /) -> int:
        """How many records a tier holds."""
        store = self._stores.get(level)
        return 0 if store is None else store.count(level)


def _missing(id: str) -> MemctlError:
    return NotFound(f"no record {id}")


def _order(record: Record) -> tuple[float, float, str]:
    return _age(record, "last_access_at"), _age(record, "created_at"), record.id


def _age(record: Record, key: str) -> float:
    """Sorts the newest first; a time that cannot be read is the oldest."""
    moment = times.stored(record.value.get(key))
    return float("inf") if moment is None else -moment.timestamp()
