"""events: what happened in a store, oldest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.core.event_types import TYPES
from memctl.errors import UsageError
from memctl.store import history

if TYPE_CHECKING:
    from collections.abc import Collection

    from memctl.ops.setup import Setup
    from memctl.store.history import Event, Odd


class Events(NamedTuple):
    """Events in the order of time, and lines that are none. `undated` have no time to compare."""

    events: list[Event]
    odd: list[Odd]
    undated: int


def events(
    setup: Setup, user: str | None = None, *, types: Collection[str] = (), since_us: int | None = None
) -> Events:
    """The events of a user, or of all, of some types, or of all, from a moment on.

    Those of one time stay in the order of their files; one without a readable time comes first. Raises
    UsageError for an unknown type.
    """
    for type in types:
        if type not in TYPES:
            raise _unknown(type)
    setup.check_layout()
    odd: list[Odd] = []
    found: list[Event] = []
    undated = 0
    for _, place in history.places(setup.layout, user):
        for event in history.read(place, odd):
            if types and event.value["type"] not in types:
                continue
            if since_us is not None and event.time_us is None:
                undated += 1
            elif since_us is None or (event.time_us or 0) >= since_us:
                found.append(event)
    found.sort(key=lambda event: (event.time_us is not None, event.time_us or 0))
    return Events(found, odd, undated)


def _unknown(type: str) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(type.lower(), TYPES, n=1, cutoff=0.4)
    hint = f"the nearest is {near[0]}" if near else "memctl help events lists them"
    return UsageError(f"no type of event {type!r}", hint=hint)
