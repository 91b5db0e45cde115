"""Aside: where the bytes that a repair takes out of a file go, and what is noted of them.

All of it follows from the file and the edits, so that a plan names what its deed will use.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core.names import QUARANTINE_SUFFIX
from memctl.store import beside, revision

if TYPE_CHECKING:
    from memctl.core.edits import Edits
    from memctl.ops.source import Source
    from memctl.store.census import Listed
    from memctl.store.examined import Examined


class Aside(NamedTuple):
    """Where what is taken out goes, and the note's facts; all of it follows from the file and the edits.

    `quarantine` is an item's id, or a path; `backup` a path.
    """

    id: str
    facts: dict[str, Any]
    quarantine: str | None
    backup: str | None


def of_log(row: Listed, source: Source, examined: Examined, end: int, output: str | None) -> Aside:
    """Where the bytes that leave a log go."""
    edits = examined.edits
    facts = _facts(row, edits)
    if not len(edits):
        before = (
            None if output is None else beside.backup_of_other(output, revision.edited(source.fd, edits, end))
        )
        return Aside("", facts, None, before)
    id = revision.item_id(facts, edits, source.fd, end)
    if output is None and row.reference is not None:
        return Aside(id, facts, id, None)
    named = output if output is not None else row.path
    if named == "-":
        return Aside(id, facts, None, None)
    # A link is followed to the file, and what is kept lies beside that.
    named = os.path.realpath(named) if os.path.islink(named) else named
    kept_in = f"{named}{QUARANTINE_SUFFIX}" if edits.removed_bytes else None
    if kept_in is not None:
        # A plan is refused for what its deed is refused for.
        beside.check(named)
    if output is None:
        return Aside(id, facts, kept_in, beside.backup_of(named, source.fd, end))
    return Aside(id, facts, kept_in, beside.backup_of_other(named, revision.edited(source.fd, edits, end)))


def of_activities(row: Listed, fd: int, edits: Edits) -> Aside:
    """Where activities go that are none."""
    facts = {**_facts(row, edits), "activities": True}
    if not len(edits):
        return Aside("", facts, None, None)
    id = revision.item_id(facts, edits, fd, os.fstat(fd).st_size)
    return Aside(id, facts, id, None)


def _facts(row: Listed, edits: Edits) -> dict[str, Any]:
    first = edits[0] if len(edits) else None
    path = row.path if row.path == "-" else os.path.realpath(row.path)
    named: dict[str, Any] = {"file": os.path.basename(path)}
    if row.folder:
        named = {"records": row.folder, "file": f"{row.folder}/{os.path.basename(path)}"}
    elif row.reference is not None:
        named = {"conversation": row.reference.written()}
    return {
        **named,
        "reason": "repaired",
        "codes": edits.codes(),
        "line": first.line if first else None,
        "offset": first.offset if first else None,
    }
