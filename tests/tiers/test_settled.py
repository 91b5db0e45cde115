"""Generated stores and policies, on disk: settled after one pass, nothing lost, nothing counted twice."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memctl.core.tier import TIERS
from memctl.store import journal

from .stored import UNSET, ago, file, id_of, line, places, put, store, tree, value

IDS = [f"r{number}" for number in range(9)]
AGES = st.sampled_from([-5, 0, 1, 5, 10, 11, 60, 100])
LINE = st.builds(
    lambda id, tier, age, rev, accesses, pinned, entered, importance: value(
        id,
        tier,
        age,
        rev=rev,
        access_count=accesses,
        tier_access_count=accesses,
        pinned=pinned,
        promoted_at=entered,
        importance=importance,
    ),
    st.sampled_from(IDS),
    st.sampled_from(TIERS),
    AGES,
    st.integers(0, 3),
    st.integers(0, 7),
    st.sampled_from([False, False, False, True]),
    st.one_of(st.just(UNSET), AGES.map(ago)),
    st.sampled_from([0.1, 0.5, 0.9]),
)
BAD = st.sampled_from([b"no json\n", b'{"content":"no id"}\n', b"\n", b'{"id":7}\n'])
LINES = st.lists(st.one_of(LINE, LINE, LINE, st.tuples(st.sampled_from(TIERS), BAD)), max_size=14)
RECALLS = st.lists(st.tuples(st.lists(st.sampled_from([*IDS, "gone"]), max_size=3), AGES), max_size=5)
POLICY = st.fixed_dictionaries(
    {f"policy__{tier}_capacity": st.integers(0, 3) for tier in TIERS}
    | {f"policy__{name}": st.sampled_from([0, 1, 10]) for name in ("hot_ttl", "warm_ttl", "cold_ttl")}
    | {"policy__demote_idle": st.sampled_from([0, 5]), "policy__promote_access": st.integers(0, 3)}
    | {"cold_summary__enabled": st.booleans(), "cold_summary__min_bytes": st.just(1)}
)


def written(root: Path, lines: list[Any], recalls: list[tuple[list[str], float]]) -> None:
    for given_line in lines:
        if isinstance(given_line, dict):
            put(root, given_line)
        else:
            put(root, given_line[1], tier=given_line[0])
    for ids, age in recalls:
        assert journal.note(store(root).setup.layout, "alice", ids, ago(age), 1.0)


def shown(root: Path) -> dict[str, tuple[str, int]]:
    """Of each record its text and how often it was recalled, as readers see it; archived ones too."""
    memory = store(root).memory("alice")
    rows = [*memory.records(archived=True).records, *memory.list_all()]
    return {record.id: (record.content, record.access_count) for record in rows}


@settings(max_examples=60, deadline=None)
@given(LINES, RECALLS, POLICY)
def test_one_pass_settles(
    lines: list[Any], recalls: list[tuple[list[str], float]], policy: dict[str, Any]
) -> None:
    """One pass does what its dry run says, keeps every record and access, and leaves nothing for a second."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "store")
        written(root, lines, recalls)
        before, bad = shown(root), Counter(_bad_lines(root))
        memory = store(root, **policy).memory("alice")
        planned = memory.reconcile(dry_run=True).report(explain=True)
        done = memory.reconcile()
        assert planned == done.report(explain=True)
        assert (before, bad) == (shown(root), Counter(_bad_lines(root)))
        where = places(root)
        assert sorted(before) == sorted(id for ids in where.values() for id in ids)
        _check_capacities(root, where, policy)
        settled = tree(root)
        again = memory.reconcile()
        assert ([], 0) == (again.moves, again.passed[0].accesses)
        assert settled == tree(root)


def _bad_lines(root: Path) -> list[tuple[str, bytes]]:
    return [
        (tier, data)
        for tier in TIERS
        for data in file(root, tier).splitlines(keepends=True)
        if not id_of(data)
    ]


def _check_capacities(root: Path, where: dict[str, list[str]], policy: dict[str, Any]) -> None:
    for tier in TIERS:
        capacity = policy[f"policy__{tier}_capacity"]
        pinned = sum(b'"pinned":true' in data for data in file(root, tier).splitlines())
        assert not capacity or len(where.get(tier, [])) <= max(capacity, pinned)


@settings(max_examples=20, deadline=None)
@given(st.lists(LINE, max_size=10), POLICY)
def test_the_same_files_give_the_same(lines: list[dict[str, Any]], policy: dict[str, Any]) -> None:
    """The same store, passed over at the same time, has the same bytes afterwards."""
    found = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory, "store")
            put(root, *lines)
            store(root, **policy).memory("alice").reconcile()
            paths = [*(f"tiers/{tier}/alice.jsonl" for tier in TIERS), "archive/alice.jsonl"]
            found.append([data for path, (_, _, data) in sorted(tree(root).items()) if path in paths])
    assert found[0] == found[1]


def test_the_check_sees_a_difference(tmp_path: Path) -> None:
    """What compares trees sees one byte, and one file that was written again with the same bytes."""
    put(tmp_path, value("a"))
    path = tmp_path / "tiers" / "hot" / "alice.jsonl"
    before = tree(tmp_path)
    path.write_bytes(line(value("a")))
    assert before != tree(tmp_path)
