"""Observing: programs that want to know of every move of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memctl.core.migration import Move


class MigrationObserver(Protocol):
    """What is told of moves, after they are durable, in the order of ids."""

    def promoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        """A record went to a hotter tier."""

    def demoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
        """A record went to a colder tier."""

    def evicted(self, user: str, id: str, from_tier: str) -> None:
        """A record left the tiers."""


class Unheard(NamedTuple):
    """An observer that raised: which one, counted from 0, and what it raised first; how often in all."""

    observer: int
    error: Exception
    times: int


def tell(observers: Sequence[MigrationObserver | None], user: str, moves: Iterable[Move]) -> list[Unheard]:
    """Tell each observer of each move; None is no observer. One that raises keeps nothing from the others."""
    first: dict[int, Exception] = {}
    often: dict[int, int] = {}
    for move in moves:
        for number, observer in enumerate(observers):
            if observer is None:
                continue
            try:
                if move.target is None:
                    observer.evicted(user, move.id, move.source)
                elif move.kind == "promoted":
                    observer.promoted(user, move.id, move.source, move.target)
                else:
                    observer.demoted(user, move.id, move.source, move.target)
            except Exception as error:
                first.setdefault(number, error)
                often[number] = often.get(number, 0) + 1
    return [Unheard(number, error, often[number]) for number, error in first.items()]
