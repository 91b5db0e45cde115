"""pin: records that stay in their tier, or no longer do; all that are named, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.core import record as records
from memctl.core.tier import TIERS
from memctl.ops.records import missing
from memctl.store import line_files, lookup, unfinished

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.ops.setup import Setup


class Pinned(NamedTuple):
    """Which records are `pinned` now, or no longer, and which were so before; the ids as they were given."""

    user: str
    pinned: bool
    changed: list[str]
    unchanged: list[str]


def pin(setup: Setup, user: str, ids: Sequence[str], *, pinned: bool) -> Pinned:
    """Pin records, or let them go; durable on return. Raises NotFound, with nothing changed."""
    wanted = list(dict.fromkeys(ids))
    # An unknown record makes no store.
    if absent := set(wanted) - lookup.find(setup.layout, user, wanted).keys():
        raise missing(setup, user, absent)
    setup.ensure_store()
    with setup.records_lock(user, "pin" if pinned else "unpin"):
        timeout_s = float(setup.settings["lock.timeout_s"])
        unfinished.clear_up(setup.layout, user, timeout_s, fsync=setup.fsync())
        found = lookup.find(setup.layout, user, wanted)
        if absent := set(wanted) - found.keys():
            raise missing(setup, user, absent)
        changed = [id for id in wanted if found[id].pinned != pinned]
        for tier in TIERS:
            lines = [
                records.with_values(found[id].raw, {"pinned": pinned, "rev": found[id].rev + 1})
                for id in changed
                if found[id].tier == tier
            ]
            line_files.append(setup.layout.tier(tier, user), lines, fsync=setup.fsync())
    return Pinned(user, pinned, changed, [id for id in wanted if id not in set(changed)])
