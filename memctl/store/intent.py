"""Intent: what a pass over a user's records is about to change, durable before the first change.

Accesses leave the journal after the records have them, and evicted records leave their tier after the archive
has them. A process killed in between leaves its intent: it tells of each record, by its `rev`, on which side
of the change it is. `store.unfinished` clears up behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from memctl.core import jsonl
from memctl.store import line_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memctl.store.layout import Layout

_KIND = "fold"


class Intent(NamedTuple):
    """The journal that is folded in, by its mark, up to `end`; the `rev` that each of its records will have.

    `archive` is the size of the archive before the pass added to it, None where it adds nothing.
    """

    mark: str | None
    end: int
    revs: Mapping[str, int]
    archive: int | None


def read(layout: Layout, user: str) -> Intent | None:
    """The intent that a killed pass left, or one at work has; None without one."""
    data = line_files.read(layout.state(_KIND, user))
    if data is None:
        return None
    try:
        value = jsonl.exact(data.decode("utf-8"))
    except ValueError:
        return None
    if type(value) is not dict:
        return None
    mark, end, revs, archive = (value.get(key) for key in ("journal", "bytes", "revs", "archive"))
    if not (_is_place(end) and type(revs) is dict) or not (archive is None or _is_place(archive)):
        # Scribbled: it tells of no place in a file.
        return None
    return Intent(
        mark if type(mark) is str else None,
        end,
        {id: rev for id, rev in revs.items() if type(rev) is int},
        archive,
    )


def _is_place(value: object) -> TypeGuard[int]:
    """Whether a value can be a number of bytes in a file."""
    return type(value) is int and 0 <= value < 1 << 63


def write(layout: Layout, user: str, intent: Intent, *, fsync: bool) -> None:
    """Write the intent, in the place of an older one; durable with `fsync`."""
    value = {
        "journal": intent.mark,
        "bytes": intent.end,
        "revs": dict(intent.revs),
        "archive": intent.archive,
    }
    place = layout.state(_KIND, user)
    line_files.replace(layout, place, [jsonl.message_bytes(value) + b"\n"], fsync=fsync)


def remove(layout: Layout, user: str) -> None:
    """Take the intent away: all of it is done. One that comes back after a power cut is seen to be old."""
    line_files.remove(layout.state(_KIND, user), fsync=False)
