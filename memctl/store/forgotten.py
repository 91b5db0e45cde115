"""The forgotten list: ids of records that must not come back, never their text; one JSON object a line.

All that writes it holds the lock of the user's records. What a crash left of a line is passed over: an id
counts from the moment when its line is whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core import jsonl
from memctl.store import line_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from memctl.store.layout import Layout


def ids(layout: Layout, user: str) -> set[str]:
    """The ids on the list of a user; none without a list."""
    return {id for id, _ in _entries(layout, user) if id is not None}


def add(layout: Layout, user: str, ids: Iterable[str], time: str, fsync: bool) -> None:
    """Put ids on the list, each once, with the time (RFC 3339); durable on return with `fsync`."""
    known = {id for id, _ in _entries(layout, user) if id is not None}
    new = dict.fromkeys(id for id in ids if id not in known)
    lines = [jsonl.message_bytes({"id": id, "time": time}) for id in new]
    line_files.append(layout.forgotten(user), lines, fsync=fsync)


def remove(layout: Layout, user: str, ids: Collection[str], fsync: bool) -> None:
    """Take ids off the list: they may come back. All other lines stay as they are."""
    gone = set(ids)
    kept: list[bytes] = []
    found = False
    for id, line in _entries(layout, user):
        if id in gone:
            found = True
        else:
            kept.append(line + b"\n")
    if not found:
        return
    line_files.replace_or_remove(layout, layout.forgotten(user), kept, fsync=fsync)


def _entries(layout: Layout, user: str) -> Iterator[tuple[str | None, bytes]]:
    """Each line with its id, None for one that is no entry."""
    for line in line_files.lines(layout.forgotten(user)):
        try:
            value = jsonl.loads(line.data)
        except ValueError:
            value = _exact(line.data)
        id = value.get("id") if type(value) is dict else None
        yield (id if type(id) is str and id else None), line.data


def _exact(data: bytes) -> object:
    """The value of a line that the fast way refused, as one with a lone surrogate; None for no JSON."""
    try:
        return jsonl.exact(data.decode("utf-8"))
    except ValueError:
        return None
