"""recall through the library: what is found, in which order, with which score, and what it leaves behind."""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memctl import BadConfig, BadInput, Store
from memctl.store.search.records import RecordFiles

from .stored import NOW, NOW_US, line, put

Ask = Callable[..., list[str]]


@pytest.fixture
def store(root: Path) -> Store:
    """A store whose clock stands still."""
    return Store(root, now_us=NOW_US)


@pytest.fixture
def ask(store: Store) -> Ask:
    """The ids of a recall for alice, best first, nothing touched."""

    def run(query: str = "", **more: Any) -> list[str]:
        found = store.memory("alice").recall(query, **{"touch": False} | more).found
        return [one.record.id for one in found]

    return run


# -- what is found ----------------------------------------------------------------------------------------


def test_the_exact_words_are_found_each_time(root: Path, store: Store) -> None:
    """Of 100 records on one matter, the one with the exact words is the first, 20 of 20 times."""
    texts = [
        f"The {colour} bicycle number {number} stands in the cellar of house {number % 7}."
        for number, colour in enumerate(["red", "green", "blue", "black"] * 25)
    ]
    put(root, *(line(f"r{number:03}", text) for number, text in enumerate(texts)))
    memory = store.memory("alice")
    wanted = range(0, 100, 5)
    first = [memory.recall(texts[number], limit=1, touch=False).found[0].record.id for number in wanted]
    assert [f"r{number:03}" for number in wanted] == first


@pytest.mark.parametrize(
    "query",
    [
        *("c++", "what's up?", "NX-1a2b", "user:name", "(", ")", '"', "'", "a AND", "NEAR(", "*", "-x", "\0"),
        *("OR", "x" * 5000, "\ud800", "😀", "a\nb", "%", "_", "{}", "content:x", "^"),
    ],
)
def test_no_query_is_an_error(root: Path, ask: Ask, query: str) -> None:
    """Whatever stands in a query, it is text to look for and no syntax."""
    put(root, line("r1", "one record about c++ and NX-1a2b"))
    assert ask(query) in ([], ["r1"])


@pytest.mark.parametrize("query", ["???", "。", "…!?", "zebra", "()"])
def test_a_query_without_a_match_finds_nothing(root: Path, ask: Ask, query: str) -> None:
    """With anything in the query only what a signal of it finds is in the answer."""
    put(root, line("r1", "the spare key"), line("r2", "???"))
    assert [] == ask(query)


@pytest.mark.parametrize("query", ["", " ", "\t\n", "\u3000"])
def test_a_blank_query_ranks_by_recency_and_importance(root: Path, store: Store, query: str) -> None:
    """A blank query has all records: 0.1 for recency and 0.1 for importance, each from 0 to 1."""
    put(root, line("old", "x", created_at="2026-02-22T00:00:00Z"), line("new", "y"))
    put(root, line("weighty", "z", importance=1, created_at="2026-02-01T00:00:00Z"), tier="cold")
    found = store.memory("alice").recall(query, touch=False).found
    expected = {
        "new": 0.1 + 0.05,
        "weighty": 0.1 * math.exp(-4) + 0.1,
        "old": 0.1 * math.exp(-1) + 0.05,
    }
    assert list(expected) == [one.record.id for one in found]
    assert pytest.approx(list(expected.values()), abs=1e-9) == [one.score for one in found]


def test_equal_scores_of_a_blank_query_go_by_id(root: Path, store: Store) -> None:
    """What differs in nothing comes in the order of the ids, also where not all are in the answer."""
    ids = [f"r{number * 7 % 50:02}" for number in range(50)]
    put(root, *(line(id, f"text {id}") for id in ids))
    found = store.memory("alice").recall("  ", touch=False, limit=20).found
    assert sorted(ids)[:20] == [one.record.id for one in found]


def test_an_unknown_user_has_no_records(store: Store) -> None:
    """Nobody's records are none, and nothing is made on disk."""
    assert [] == store.memory("nobody").recall("anything").found
    assert not os.path.exists(store.root)


def test_the_newest_line_of_an_id_is_the_record(root: Path, ask: Ask) -> None:
    """Of several lines with one id the highest rev is found, the older texts are not."""
    put(root, line("r1", "apples", rev=1), tier="warm")
    put(root, line("r1", "pears", rev=3), tier="cold")
    put(root, line("r1", "plums", rev=2))
    assert [["r1"], [], []] == [ask("pears"), ask("apples"), ask("plums")]


def test_both_a_text_and_its_summary_are_found(root: Path, ask: Ask) -> None:
    """A record is found by its content and by its summary, and by its searchable text instead of content."""
    put(root, line("r1", "a long story about otters", metadata={"summary": "river animals"}), tier="cold")
    put(root, line("r2", '{"role":"user","content":"hm"}', metadata={"searchable": "billing issue"}))
    assert [["r1"], ["r1"], ["r2"]] == [ask("otters"), ask("river"), ask("billing")]


# -- scores, weights, rankers -----------------------------------------------------------------------------


def test_the_score_is_the_weighted_sum_of_its_parts(root: Path, store: Store) -> None:
    """Score = w_s · relevance + w_r · recency + w_i · importance, and the best relevance is 1."""
    put(
        root,
        line("r1", "the key is under the mat", importance=0.9, created_at="2026-02-22T00:00:00Z"),
        line("r2", "a key"),
        line("r3", "nothing of it"),
    )
    recall = store.memory("alice").recall("key mat", touch=False)
    assert (0.8, 0.1, 0.1) == recall.weights
    for one in recall.found:
        parts = [one.scores[name] for name in ("semantic", "recency", "importance")]
        total = sum(weight * part for weight, part in zip(recall.weights, parts, strict=True))
        assert pytest.approx(total, abs=1e-9) == one.score
    assert 1.0 == max(one.scores["semantic"] for one in recall.found)
    assert pytest.approx(math.exp(-1)) == recall.found[0].scores["recency"]


def test_a_weight_is_meant_as_it_is_given(root: Path, ask: Ask) -> None:
    """A weight of 0 switches its part off, with every ranker."""
    put(
        root,
        line("match", "the key is under the mat", importance=0.1, created_at="2020-01-01T00:00:00Z"),
        line("heavy", "a key", importance=1, created_at="2021-01-01T00:00:00Z"),
        line("new", "key of something else", importance=0.2),
    )
    nothing = {"weight_semantic": 0, "weight_recency": 0, "weight_importance": 0}
    for ranker in ("fused", "overlap"):
        assert "match" == ask("key under the mat", ranker=ranker, **nothing | {"weight_semantic": 1})[0]
        assert "heavy" == ask("key under the mat", ranker=ranker, **nothing | {"weight_importance": 1})[0]
        assert "new" == ask("key under the mat", ranker=ranker, **nothing | {"weight_recency": 1})[0]
        assert ["heavy", "match", "new"] == ask("key under the mat", ranker=ranker, **nothing)


def test_overlap_scores_every_record_by_the_reference_formula(root: Path, store: Store) -> None:
    """Rows 49 and 50 of reference-tier 10: the formula and its weights, also of what does not match."""
    put(
        root,
        line("a", "hello world", importance=0.9, created_at="2026-02-28T00:00:00Z"),
        line("b", "other topic", importance=0.2, created_at="2026-02-27T00:00:00Z"),
    )
    recall = store.memory("alice").recall("hello", ranker="overlap", touch=False)
    assert [("a", 0.690063), ("b", 0.265443)] == [
        (one.record.id, round(one.score, 6)) for one in recall.found
    ]
    assert (0.5, 0.3, 0.2) == recall.weights


def test_the_weights_of_overlap_can_be_set(root: Path) -> None:
    """What is set in the settings counts for overlap too, what is not set is the reference's."""
    put(root, line("a", "hello world"))
    store = Store(root, now_us=NOW_US, settings={"recall.weight_recency": 0, "recall.ranker": "overlap"})
    recall = store.memory("alice").recall("hello world", touch=False)
    assert (0.5, 0.0, 0.2) == recall.weights
    assert [0.6] == [one.score for one in recall.found]


def test_recent_has_the_newest(root: Path, store: Store) -> None:
    """`recent` takes the newest records, with a query the newest that it finds; of one time those by id."""
    for number, tier in enumerate(("hot", "warm", "cold", "hot", "cold", "warm")):
        put(
            root,
            line(f"r{number}", f"note {number % 2 or 'zero'}", created_at=f"2026-02-0{number + 1}T00:00:00Z"),
            tier=tier,
        )
    put(
        root, line("twin", "a note", created_at="2026-02-06T00:00:00Z"), line("none", "note", created_at=None)
    )
    recall = store.memory("alice").recall("", limit=3, ranker="recent", touch=False)
    assert ["r5", "twin", "r4"] == [one.record.id for one in recall.found]
    assert ["r4", "r5", "twin"] == [one.record.id for one in recall.in_time()]
    recall = store.memory("alice").recall("zero", limit=2, ranker="recent", touch=False)
    assert ["r4"] == [one.record.id for one in recall.found]


def test_equal_scores_are_ordered_by_id(root: Path, ask: Ask) -> None:
    """Records that nothing tells apart come in the order of their ids, wherever they stand."""
    texts = {"d": "dog", "b": "cat", "c": "cow", "a": "pig"}
    for tier, ids in (("cold", "db"), ("hot", "c"), ("warm", "a")):
        put(root, *(line(id, f"the {texts[id]} key") for id in ids), tier=tier)
    for ranker in ("fused", "overlap", "recent"):
        assert ["a", "b", "c", "d"] == ask("", ranker=ranker)
    assert ["a", "b", "c", "d"] == ask("key")
    assert ["a", "b"] == ask("key", limit=2)


@pytest.mark.parametrize("value", [-0.1, "x", True])
def test_a_weight_has_to_be_a_number_from_0(root: Path, ask: Ask, value: object) -> None:
    """A weight below 0, or no number, is refused before anything is read."""
    with pytest.raises(BadConfig, match=r"recall\.weight_recency"):
        ask("x", weight_recency=value)


# -- what may be in the answer ----------------------------------------------------------------------------


@pytest.fixture
def three_tiers(root: Path) -> Path:
    """Five records in each tier, h0 to c4, all about keys, the hot ones the newest."""
    for tier, day in (("hot", 20), ("warm", 10), ("cold", 1)):
        put(
            root,
            *(
                line(
                    f"{tier[0]}{n}",
                    f"key {tier} {n} {'abcde'[n] * 3}",
                    created_at=f"2026-02-{day + n:02}T00:00:00Z",
                )
                for n in range(5)
            ),
            tier=tier,
        )
    return root


@pytest.mark.parametrize("query", ["", "key"])
@pytest.mark.parametrize(
    ("caps", "expected"),
    [
        ({}, {"h": 5, "w": 5, "c": 5}),
        ({"max_hot": 2}, {"h": 2, "w": 5, "c": 5}),
        ({"max_hot": 0}, {"w": 5, "c": 5}),
        ({"max_hot": 1, "max_warm": 2, "max_cold": 3}, {"h": 1, "w": 2, "c": 3}),
        ({"max_hot": 0, "max_warm": 0, "max_cold": 0}, {}),
        ({"max_cold": 99}, {"h": 5, "w": 5, "c": 5}),
        ({"limit": 7, "max_hot": 3}, {"h": 3, "w": 4}),
        ({"limit": 0}, {}),
        ({"limit": 1}, {"h": 1}),
        ({"tier": "cold", "max_cold": 2}, {"c": 2}),
        ({"tier": ("warm", "cold"), "max_warm": 0}, {"c": 5}),
        ({"tier": "cold", "max_cold": 0}, {}),
    ],
)
@pytest.mark.parametrize("ranker", ["fused", "overlap", "recent"])
def test_caps_and_the_limit(
    three_tiers: Path, ask: Ask, ranker: str, caps: dict[str, Any], expected: dict[str, int], query: str
) -> None:
    """A cap limits a tier's share of the answer: absent no cap, 0 none; the others fill the places."""
    weights = {"weight_semantic": 0, "weight_recency": 1, "weight_importance": 0}
    found = "".join(id[0] for id in ask(query, ranker=ranker, **weights | caps))
    assert expected == {tier: found.count(tier) for tier in "hwc" if tier in found}


def test_a_cap_takes_the_best_of_its_tier(three_tiers: Path, ask: Ask) -> None:
    """What a cap leaves of a tier are its best records."""
    assert ["h4", "w4", "c4"] == ask("", max_hot=1, max_warm=1, max_cold=1)


DAY_0, DAY_S = NOW_US // 1_000_000, 86_400
FILTERED = [
    ({"categories": "work"}, {"r1", "r2"}),
    ({"categories": ["work", "home"]}, {"r2"}),
    ({"categories": "wor"}, set()),
    ({"scope": "s1"}, {"r1", "r3"}),
    ({"scope": ""}, {"r2", "r4"}),
    ({"metadata": {"k": "v"}}, {"r1", "r4"}),
    ({"metadata": {"k": "v", "n": "1"}}, {"r4"}),
    ({"metadata": {"k": ""}}, set()),
    ({"conversation": "trip"}, {"r3", "r4"}),
    ({"conversation": ""}, set()),
    ({"tier": "cold"}, {"r4"}),
    ({"tier": ["hot", "cold"]}, {"r1", "r2", "r3", "r4"}),
    ({"since": DAY_0 - 10 * DAY_S}, {"r3"}),
    ({"until": DAY_0 - 10 * DAY_S}, {"r1", "r2"}),
    ({"since": DAY_0 - 30 * DAY_S, "until": DAY_0 - 20 * DAY_S}, {"r2"}),
    ({"categories": "work", "scope": "s1", "tier": "hot", "until": NOW}, {"r1"}),
]


@pytest.mark.parametrize("ranker", ["fused", "overlap", "recent"])
@pytest.mark.parametrize("query", ["", "key"])
@pytest.mark.parametrize(("filters", "expected"), FILTERED)
def test_filters(
    root: Path, ask: Ask, filters: dict[str, Any], expected: set[str], query: str, ranker: str
) -> None:
    """Only what passes every filter is in the answer; a time of creation that is unknown passes none."""
    put(
        root,
        line(
            "r1",
            "red key",
            categories=["work"],
            scope="s1",
            metadata={"k": "v"},
            created_at="2026-01-01T00:00:00Z",
        ),
        line("r2", "blue key", categories=["work", "home"], created_at="2026-02-01T00:00:00.000001Z"),
        line("r3", "old key", scope="s1", conversation="trip", created_at="2026-02-19T00:00:00Z"),
    )
    put(
        root,
        line("r4", "new key", metadata={"k": "v", "n": "1"}, conversation="trip", created_at="never"),
        tier="cold",
    )
    assert expected == set(ask(query, ranker=ranker, **filters))


@pytest.mark.parametrize("wrong", [{"tier": "lukewarm"}, {"max_hot": -1}, {"tier": ["hot", "HOT"]}])
def test_wrong_filters(ask: Ask, wrong: dict[str, Any]) -> None:
    """A tier that there is not, or a negative cap, is refused."""
    with pytest.raises(BadInput):
        ask("x", **wrong)


def test_equal_texts_appear_once(root: Path, store: Store) -> None:
    """Texts that are equal after NFKC, case folding and white space take one place; the others are named."""
    put(
        root,
        line("r1", "The spare KEY is at No. 5"),
        line("r2", " the  spare\tkey is at no. ５ "),
        line("r3", "The spare key is at No. 6", created_at="2025-01-01T00:00:00Z"),
    )
    recall = store.memory("alice").recall("spare key", limit=2, touch=False)
    assert ["r1", "r3"] == [one.record.id for one in recall.found]
    assert [{"id": "r2", "reason": "equal_text", "same_as": "r1"}] == recall.passed
    assert 1 == recall.left_out["equal_text"]


def test_many_copies_do_not_hide_the_rest(root: Path, ask: Ask) -> None:
    """Behind 500 copies of the best text the next ones are found, with a query and without."""
    put(root, *(line(f"copy{number:03}", "the spare key") for number in range(500)))
    put(
        root,
        *(
            line(
                f"other{number}",
                f"one more word and the spare key {number}",
                created_at="2025-01-01T00:00:00Z",
            )
            for number in range(3)
        ),
    )
    expected = ["copy000", "other0", "other1", "other2"]
    assert expected == sorted(ask("spare key", limit=4))
    assert expected == ask("", limit=4)


# -- what it leaves behind --------------------------------------------------------------------------------


def test_an_access_is_noted_and_shown(root: Path, store: Store) -> None:
    """Recall counts an access of each record in its answer, in a journal: the tier files stay as they are."""
    path = put(root, line("r1", "spare key", access_count=4), line("r2", "other"))
    before = path.read_bytes(), path.stat().st_mtime_ns
    for count in (5, 6):
        recall = store.memory("alice").recall("key")
        assert recall.touched is True
        assert [count] == [one.record.access_count for one in recall.found]
        assert NOW_US // 1000 == _milliseconds(recall.found[0].record.value["last_access_at"])
    assert before == (path.read_bytes(), path.stat().st_mtime_ns)
    recall = store.memory("alice").recall("", touch=False)
    assert recall.touched is None
    assert {"r1": 6, "r2": 0} == {one.record.id: one.record.access_count for one in recall.found}


def _milliseconds(text: str) -> int:
    from memctl.core import times

    return (times.microseconds(text) or 0) // 1000


def test_what_cannot_be_noted_is_said(root: Path, store: Store) -> None:
    """A journal that cannot be written costs no answer; the recall says so."""
    put(root, line("r1", "spare key"))
    assert store.memory("alice").recall("key").touched is True
    (lock,) = (root / ".memctl" / "locks" / "access").iterdir()
    with open(lock, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        recall = Store(root, now_us=NOW_US, settings={"lock.timeout_s": 0}).memory("alice").recall("key")
    assert recall.touched is False
    assert [1] == [one.record.access_count for one in recall.found]


def test_the_line_is_the_stored_one(root: Path, store: Store) -> None:
    """A record is printed byte for byte as it is stored, with its score at the end."""
    stored = (
        b'{"id" : "r1","x":[1.10,1E5, 123456789012345678901234567890],'
        b'"content":"key \\u00e9\\/ \\ud800","importance":0.50}\n'
    )
    put(root, stored, line("r2", "key", score=7, other=1))
    one, two = store.memory("alice").recall("key", touch=False).in_time()
    assert stored[:-2] + b',"score":%s}' % json.dumps(one.score).encode() == one.line()
    value = json.loads(two.line(scores=True))
    assert two.score == value["score"]
    assert ["score", "other", "scores"] == list(value)[-3:]


def test_brief_prints_summaries(root: Path, store: Store) -> None:
    """With `brief` a summary takes the content's place, and the line says that it does."""
    put(root, line("r1", "a long story", metadata={"summary": "short"}), line("r2", "a short story"))
    found = store.memory("alice").recall("story", touch=False).found
    values = {one.record.id: json.loads(one.line(brief=True)) for one in found}
    assert ("short", True) == (values["r1"]["content"], values["r1"]["brief"])
    assert "a short story" == values["r2"]["content"]
    assert "brief" not in values["r2"]


def test_twenty_times_the_same(three_tiers: Path) -> None:
    """The same question at the same time has the same answer, byte for byte, 20 times, in new stores too."""
    answers = set()
    for _ in range(20):
        recall = Store(three_tiers, now_us=NOW_US).memory("alice").recall("hot key", touch=False)
        answers.add(b"\n".join(one.line(scores=True) for one in recall.found))
    assert 1 == len(answers)
    assert 15 == answers.pop().count(b'"id"')


# -- index and truth --------------------------------------------------------------------------------------


def test_a_changed_file_is_seen(root: Path, ask: Ask) -> None:
    """What is appended, replaced or removed is in the next answer."""
    path = put(root, line("r1", "spare key"))
    assert ["r1"] == ask("key")
    put(root, line("r2", "second key"))
    assert {"r1", "r2"} == set(ask("key"))
    path.write_bytes(line("r2", "second key", rev=2))
    assert ["r2"] == ask("key")
    path.unlink()
    assert [] == ask("key")


def test_the_index_is_not_believed_over_the_file(root: Path, ask: Ask) -> None:
    """A file that was rewritten behind the index's back, with its size and times, is still read as it is."""
    path = put(root, line("r1", "spare key"), line("r2", "other word"))
    assert ["r1"] == ask("key")
    status = path.stat()
    with open(path, "r+b") as file:
        file.write(line("r2", "other word") + line("r1", "spare key"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert ["r1"] == ask("key")


@pytest.mark.parametrize("damage", [b"", b"no database", b"\0" * 4096])
def test_a_damaged_index_is_made_anew(root: Path, ask: Ask, damage: bytes) -> None:
    """An index file with anything in it costs no answer."""
    put(root, line("r1", "spare key"))
    assert ["r1"] == ask("key")
    (index,) = (root / ".memctl" / "cache" / "search").glob("*.db")
    index.write_bytes(damage)
    assert ["r1"] == ask("key")


def test_half_an_index_is_made_anew(root: Path, ask: Ask) -> None:
    """An index whose pages are partly overwritten costs no answer."""
    put(root, *(line(f"r{number}", f"spare key {number}") for number in range(300)))
    expected = ask("spare key", limit=300)
    (index,) = (root / ".memctl" / "cache" / "search").glob("*.db")
    data = index.read_bytes()
    for start in range(4096, len(data), 8192):
        index.write_bytes(data[:start] + b"\xa5" * 4096 + data[start + 4096 :])
        assert expected == ask("spare key", limit=300)


def test_without_a_writable_cache(root: Path, ask: Ask) -> None:
    """Where no cache can be made, the answer is the same."""
    put(root, line("r1", "spare key"), line("r2", "other"))
    (root / ".memctl" / "cache").write_bytes(b"")
    assert ["r1"] == ask("key")
    assert ["r1", "r2"] == ask("")


def test_a_store_that_memctl_never_wrote_to(root: Path, ask: Ask) -> None:
    """Tier files that were put somewhere are recalled from, and without touch left as they are."""
    put(root, line("r1", "spare key"))
    (root / ".memctl").rmdir()
    before = sorted(root.rglob("*"))
    assert ["r1"] == ask("key")
    assert before == sorted(root.rglob("*"))


def test_a_promotion_while_it_is_read(root: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that moves from warm to hot after hot was read is in the answer."""
    put(root, line("r0", "other"))
    warm = put(root, line("r1", "spare key"), tier="warm")
    read = RecordFiles.read
    moved = []

    def reading(files: RecordFiles, source: str, start: int) -> Any:
        if source == "warm" and not moved:
            moved.append(True)
            put(root, line("r1", "spare key", rev=2))
            warm.with_suffix(".new").write_bytes(b"")
            warm.with_suffix(".new").replace(warm)
        return read(files, source, start)

    monkeypatch.setattr(RecordFiles, "read", reading)
    assert ["r1"] == ask("key")
    assert moved


def test_lines_that_are_no_records(root: Path, store: Store) -> None:
    """A damaged line costs no other record; how many there are is told, whatever was asked."""
    put(root, line("r1", "spare key"), b"{torn\n", b"[]\n", line("r2", "another key"))
    memory = store.memory("alice")
    assert ["r1", "r2"] == sorted(one.record.id for one in memory.recall("key", touch=False).found)
    put(root, b'{"id":"r3","conte', tier="cold")
    for more in ({}, {}, {"scope": ""}, {"ranker": "overlap"}):
        assert {"hot": 2, "cold": 1} == memory.recall("key", touch=False, **more).damaged
    put(root, b'nt":"a third key"}\n', b"\n", b"{again\n", tier="cold")
    for more in ({}, {"ranker": "overlap"}):
        assert {"hot": 2, "cold": 1} == memory.recall("key", touch=False, **more).damaged
    assert 3 == len(memory.recall("key", touch=False).found)


WORDS = st.sampled_from(["key", "mat", "otter", "猫", "naïve", "a", "the"])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.lists(WORDS, max_size=4).map(" ".join),
            st.sampled_from(["hot", "warm", "cold"]),
            st.integers(0, 3),
            st.sampled_from([0.1, 0.5, 1]),
        ),
        max_size=12,
    ),
    st.lists(WORDS, max_size=3).map(" ".join),
    st.sampled_from(["fused", "overlap", "recent"]),
    st.integers(0, 5),
)
def test_by_index_and_by_reading(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, int, float]],
    query: str,
    ranker: str,
    limit: int,
) -> None:
    """An answer found through the index is that of reading every record, and obeys the rules of answers."""
    root = tmp_path_factory.mktemp("generated")
    for number, (text, tier, day, importance) in enumerate(rows):
        put(
            root,
            line(
                f"r{number:02}",
                text,
                importance=importance,
                scope="s",
                created_at=f"2026-02-1{day}T00:00:00Z",
            ),
            tier=tier,
        )
    memory = Store(root, now_us=NOW_US).memory("alice")
    recall = memory.recall(query, ranker=ranker, limit=limit, touch=False)
    same = memory.recall(query, ranker=ranker, limit=limit, scope="s", touch=False)
    assert [(one.record.id, one.score) for one in recall.found] == [
        (one.record.id, one.score) for one in same.found
    ]
    texts = [" ".join(one.record.content.split()) for one in recall.found]
    assert len(texts) == len(set(texts)) <= limit
    if ranker != "recent":
        scores = [(-one.score, one.record.id) for one in recall.found]
        assert sorted(scores) == scores
