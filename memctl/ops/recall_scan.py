"""Recall by reading every record: for what only the records themselves can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.core import overlap
from memctl.core.filtering import created_us
from memctl.core.recall_answer import Candidate, take
from memctl.core.relevance import merit
from memctl.core.tier import TIERS
from memctl.ops import retrieval
from memctl.ops.recalled import OVERLAP, PARTS, RECENT, Outcome
from memctl.store import tiers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memctl.core.record import Record
    from memctl.ops.recalled import Asked
    from memctl.ops.setup import Setup

_HOUR_US = 3_600_000_000
#: The age of what has no time: nothing is as old.
_LONG_AGO_US = -(1 << 62)


def recall(
    setup: Setup,
    user: str,
    asked: Asked,
    weights: tuple[float, float, float],
    progress: Callable[[int, int], None] | None,
) -> Outcome:
    """Rank all records that pass the filters: by overlap, by vectors, or with a blank query by the rest."""
    held = tiers.read(setup.layout, user)
    passing = [record for record in held.records.values() if asked.filters.pass_record(record)]
    settings = setup.settings
    ranker = str(settings["recall.ranker"])
    near = None
    if ranker == OVERLAP:
        ranked = list(_by_overlap(setup, asked.query, passing, weights))
    elif asked.query.strip():
        near = retrieval.near(
            setup, user, asked.query, {n: one.searchable for n, one in enumerate(passing)}, progress
        )
        top = max(near.cosines.values(), default=0.0)
        found = [
            (passing[n], max(cosine, 0.0) / top if top > 0 else 0.0, cosine)
            for n, cosine in near.cosines.items()
        ]
        ranked = list(_scored(setup, found, weights))
    else:
        ranked = list(_scored(setup, [(record, 0.0, None) for record in passing], weights))
    if ranker == RECENT:
        ranked.sort(key=lambda row: (-_created(row[0]), row[0].id))
        ranked = [(record, parts["recency"], parts) for record, _, parts in ranked]
    else:
        ranked.sort(key=lambda row: (-row[1], row[0].id))
    pool = (
        Candidate(score, parts, record.tier, lambda record=record: record)  # type: ignore[misc]
        for record, score, parts in ranked
    )
    taken = take(pool, int(settings["recall.limit"]), asked.caps)
    explained = None if near is None else near.explain()
    return Outcome(taken, len(held.records), len(ranked), explained, _damaged(held))


def _damaged(held: tiers.Held) -> dict[str, int]:
    found = {tier: sum(bad.tier == tier for bad in held.bad) for tier in TIERS}
    return {tier: lines for tier, lines in found.items() if lines}


def _created(record: Record) -> int:
    created = created_us(record)
    return _LONG_AGO_US if created is None else created


def _by_overlap(
    setup: Setup, query: str, records: Iterable[Record], weights: tuple[float, float, float]
) -> Iterable[tuple[Record, float, dict[str, Any]]]:
    wanted, now_us = overlap.tokens(query), setup.time_us()
    for record in records:
        age_hours = (now_us - _created(record)) / _HOUR_US
        parts = overlap.parts(wanted, record.searchable, age_hours, record.importance)
        score = round(overlap.score(parts, weights), merit.PLACES)
        yield record, score, dict(zip(PARTS, parts, strict=True))


def _scored(
    setup: Setup,
    found: Iterable[tuple[Record, float, float | None]],
    weights: tuple[float, float, float],
) -> Iterable[tuple[Record, float, dict[str, Any]]]:
    now_us = setup.time_us()
    semantic, recency, importance = weights
    for record, relevance, cosine in found:
        new = overlap.recency((now_us - _created(record)) / _HOUR_US)
        important = min(record.importance, 1.0)
        score = round(semantic * relevance + recency * new + importance * important, merit.PLACES)
        parts: dict[str, Any] = dict(zip(PARTS, (relevance, new, important), strict=True))
        yield record, score, parts if cosine is None else parts | {"cosine": cosine}
