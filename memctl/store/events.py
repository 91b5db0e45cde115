"""Events: what happened to a user's memory, one JSON object a line in `.memctl/events`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.core import jsonl
from memctl.errors import MemctlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memctl.store.layout import Layout


def record(layout: Layout, user: str | None, type: str, time: str, run_id: str | None, **facts: Any) -> None:
    """Append an event of a type. It is history, not content: one that cannot be written is let go.

    `user` is None for a name that cannot be one.
    """
    record_many(layout, user, [(type, facts)], time, run_id)


def record_many(
    layout: Layout,
    user: str | None,
    events: Iterable[tuple[str, Mapping[str, Any]]],
    time: str,
    run_id: str | None,
) -> None:
    """Append events of one moment, each a type and its facts, by one write; as `record`."""
    # Every command may have something to note; few have.
    from memctl.store import line_files

    run = {"run_id": run_id} if run_id else {}
    lines = [
        jsonl.dumps({"time": time, "type": type, "user": user, **run, **facts}) for type, facts in events
    ]
    try:
        line_files.append(layout.events(user), lines, fsync=False)
    except (OSError, MemctlError):
        return
