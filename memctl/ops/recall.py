"""recall: the records of a user that answer a question, best first, and that they were accessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core import record as records
from memctl.core.recall_answer import Taken
from memctl.core.tier import TIERS
from memctl.errors import MemctlError
from memctl.ops.recalled import LEXICAL, OVERLAP, SEMANTIC, Outcome, Recall, weights
from memctl.ops.setup import rfc3339
from memctl.store import journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.core.recall_answer import Recalled
    from memctl.ops.recalled import Asked
    from memctl.ops.setup import Setup


def recall(
    setup: Setup, user: str, asked: Asked, progress: Callable[[int, int], None] | None = None
) -> Recall:
    """Answer a question. Nothing is changed but the caches and, with `touch`, the journal of accesses.

    Raises BadConfig for semantic retrieval without an embedder, Unavailable if that fails, Changing.
    """
    setup.check_layout()
    settings = setup.settings
    ranker = str(settings["recall.ranker"])
    shares = weights(settings, ranker)
    mode = LEXICAL if ranker == OVERLAP else str(settings["retrieval.mode"])
    if mode != LEXICAL:
        from memctl.ops.retrieval import embedder

        # A query is refused for want of an embedder even where it would not come to be embedded.
        embedder(settings)
    outcome = _outcome(setup, user, asked, mode, shares, progress)
    found, touched = _touched(setup, user, outcome.taken.found, touch=asked.touch)
    taken = outcome.taken
    return Recall(
        user=user,
        query=asked.query,
        ranker=ranker,
        retrieval=mode,
        weights=shares,
        found=found,
        records=outcome.records,
        candidates=outcome.candidates,
        passed=taken.passed,
        left_out=taken.counts | {"limit": outcome.candidates - taken.looked},
        vectors=outcome.vectors,
        damaged=outcome.damaged,
        touched=touched,
    )


def _outcome(
    setup: Setup,
    user: str,
    asked: Asked,
    mode: str,
    shares: tuple[float, float, float],
    progress: Callable[[int, int], None] | None,
) -> Outcome:
    # A tier of which nothing may come is filtered out: its records need not be looked at.
    open_tiers = tuple(tier for tier in asked.filters.tiers or TIERS if asked.caps.get(tier, 1) > 0)
    if not open_tiers:
        return Outcome(Taken([], [], {"equal_text": 0, "tier_full": 0}, 0), 0, 0, None, {})
    if open_tiers != TIERS:
        asked = asked._replace(filters=asked.filters._replace(tiers=open_tiers))
    blank = not asked.query.strip()
    if setup.settings["recall.ranker"] == OVERLAP or (
        asked.filters.read_the_record if blank else mode == SEMANTIC
    ):
        from memctl.ops import recall_scan

        return recall_scan.recall(setup, user, asked, shares, progress)
    from memctl.ops import recall_index

    return recall_index.recall(setup, user, asked, shares, progress)


def _touched(
    setup: Setup, user: str, found: list[Recalled], *, touch: bool
) -> tuple[list[Recalled], bool | None]:
    """Note the accesses, and show the records with all accesses that the journal has."""
    noted = _noted(setup, user, [one.record.id for one in found]) if touch else None
    revs = {one.record.id: one.record.rev for one in found}
    waiting = journal.accesses(setup.layout, user, revs) if revs else {}
    return [
        one._replace(record=records.with_accesses(one.record, *waiting[one.record.id]))
        if one.record.id in waiting
        else one
        for one in found
    ], noted


def _noted(setup: Setup, user: str, ids: list[str]) -> bool:
    if not ids:
        return True
    try:
        setup.ensure_store()
    except (OSError, MemctlError):
        # A store that cannot be written to is still one that can be read.
        return False
    timeout_s = float(setup.settings["lock.timeout_s"])
    return journal.note(setup.layout, user, ids, rfc3339(setup.time_us()), timeout_s)
