"""The parts of the ranking: windows, BM25, dates, folding, and the final score, each against its rule."""

from __future__ import annotations

import math
from array import array
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core.relevance import bm25, merit, moments
from memctl.core.relevance.asking import NAME_WEIGHT, read
from memctl.core.relevance.corpus import Corpus
from memctl.core.relevance.english import forms
from memctl.core.relevance.folding import fold, fold_run, sameness
from memctl.core.relevance.lanes import GAP, lay_out, windows
from memctl.core.relevance.ranking import Ranked
from memctl.core.relevance.words import Sought, asks, indexed, sought

TEXTS = st.text(st.characters() | st.sampled_from("ABßÉé\u0301ｶﾞΣς’ﬁ㌔İ"), max_size=20)


# -- text ---------------------------------------------------------------------------------------------------


@given(TEXTS)
def test_folding_run_by_run_is_folding_the_whole(text: str) -> None:
    """What is folded once stays, and runs of characters beyond ASCII need not know what is around them."""
    assert fold_run(text) == fold(text)
    assert fold(text) == fold(fold(text))


@given(TEXTS, st.sampled_from([" ", "\n ", "\t"]))
def test_sameness_looks_through_case_width_and_blanks(text: str, blank: str) -> None:
    """A text in other case, with other white space around it, is the same."""
    assert sameness(text) == sameness(f"{blank}{text}{blank}")
    assert sameness("ＡＢ  c") == sameness("ab\nC")


@pytest.mark.parametrize(
    ("word", "other"),
    [("went", "go"), ("going", "gone"), ("running", "ran"), ("making", "made"), ("goes", "went")],
)
def test_irregular_forms_stand_for_each_other(word: str, other: str) -> None:
    """A form that no stem reaches is looked for too."""
    assert other in forms(word)


@pytest.mark.parametrize("word", ["table", "bing", "king", "is", "s", "ing", ""])
def test_other_words_stand_for_themselves(word: str) -> None:
    """A regular word has one form."""
    assert (word,) == forms(word)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the plan?", [Sought(("plan",))]),
        ("who is it", [Sought(("who",)), Sought(("is",)), Sought(("it",))]),
        ("don't panic, o'brien", [Sought(("panic",)), Sought(("o",)), Sought(("brien",))]),
        ("猫", [Sought(("猫",))]),
        ("黒猫", [Sought(("黒猫",)), Sought(("黒",), 0.3), Sought(("猫",), 0.3)]),
        ("집에서", [Sought(("집에",)), Sought(("에서",)), Sought(("집",), 0.3)]),
        ("!?", []),
    ],
)
def test_what_a_query_looks_for(text: str, expected: list[Sought]) -> None:
    """Words that say nothing are left out where there are others; runs without blanks are cut into pairs."""
    assert expected == sought(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("really?", 1), ("really? yes", 0), ("yes\nreally? \nno", 1), ("本当？", 1), ("حقا؟", 1), ("no", 0)],
)
def test_what_is_a_question(text: str, expected: int) -> None:
    """A text asks if one of its lines ends with a question mark."""
    assert expected == asks(indexed(text))


# -- time ---------------------------------------------------------------------------------------------------


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
def test_the_words_of_a_date(moment: datetime) -> None:
    """A day is named as the calendar names it."""
    day = (moment - datetime(1970, 1, 1)) // timedelta(days=1)
    weekday, month = moments.DAYS[moment.weekday()], moments.MONTHS[moment.month - 1]
    assert (weekday, f"#{moment.day}", month, str(moment.year)) == moments.label(day)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what happened on 8 may 2023", {"#8", "may", "2023"}),
        ("in march", {"march"}),
        ("may i march", set()),
        ("2023-05-08", {"2023", "may", "#8"}),
        ("sept 3rd", {"september", "#3"}),
        ("last monday", {"monday"}),
        ("2023年5月8日", {"2023", "may", "#8"}),
        ("call 1234", set()),
        ("2023-19-44", {"2023"}),
        ("99月", set()),
    ],
)
def test_what_a_query_says_about_a_date(query: str, expected: set[str]) -> None:
    """Months, days, weekdays and years, in words and in numbers; verbs that look like months are none."""
    assert expected == moments.date_words(query)


@pytest.mark.parametrize(
    ("query", "when", "many"),
    [
        ("when did it rain?", True, False),
        ("what day is it", True, False),
        ("how long did it take", True, True),
        ("how many cats", False, True),
        ("いつ来ますか", True, False),
        ("いくつ", False, True),
        ("whenever", False, False),
    ],
)
def test_what_kind_of_answer_is_asked_for(query: str, when: bool, many: bool) -> None:
    """A query may ask for a time or a number."""
    assert (when, many) == (moments.asks_when(query), moments.asks_how_many(query))


def test_days_that_fit(memory: Any) -> None:
    """A date finds what was said on that day, though no word of it is there."""
    for day in (7, 8, 9):
        at = datetime(2023, 5, day, 12, tzinfo=UTC).isoformat()
        memory.add(f"d{day}", "nothing much", conversation="c", created_at=at)
    assert "d8" == memory.found("8 May 2023")[0]
    assert {"d7", "d8", "d9"} == set(memory.found("May 2023"))
    assert [] == memory.found("June 2021")


# -- speakers -----------------------------------------------------------------------------------------------


def test_one_named_speaker() -> None:
    """A query that names one speaker is about what that one said; the name is no topic."""
    query = read("What did Anna's cat eat?", ["", "Anna Bell", "Bo"])
    assert 1 == query.speaker
    assert NAME_WEIGHT == {one.words[0]: one.weight for one in query.sought}["anna"]
    assert 0 == read("Did Anna and Bo meet?", ["", "Anna Bell", "Bo"]).speaker
    assert 0 == read("Did it rain?", ["", "Anna Bell", "Bo"]).speaker


# -- lanes --------------------------------------------------------------------------------------------------


def corpus_of(sizes: list[int], facts: int) -> Corpus:
    """Conversations of some sizes, one after the other, and facts."""
    corpus = Corpus()
    for talk, size in enumerate(sizes, 1):
        corpus.conversation.extend([talk] * size)
    corpus.order = array("I", range(sum(sizes)))
    corpus.at = array("I", range(sum(sizes) + facts))
    corpus.conversation.extend([0] * facts)
    return corpus


@given(st.data(), st.lists(st.integers(1, 30), max_size=5), st.integers(0, 5))
def test_every_window_of_a_seed_is_whole(data: st.DataObject, sizes: list[int], facts: int) -> None:
    """Each seed and what is near it stands once in the line, with just its own neighbours around."""
    corpus = corpus_of(sizes, facts)
    size = len(corpus.conversation)
    seeds = data.draw(st.sets(st.integers(0, size - 1))) if size else set()
    nearby, reach = 2, 3
    line = lay_out(corpus, seeds, nearby, reach)
    docs = [doc for doc in line.docs if doc != GAP]
    assert len(set(docs)) == len(docs)
    assert seeds <= set(docs)
    talks = corpus.conversation
    sums = windows([1 if doc != GAP else 0 for doc in line.docs[: line.turns]], reach)
    for seed in seeds:
        for doc in range(max(seed - nearby, 0), min(seed + nearby + 1, size)):
            if talks[seed] and talks[doc] == talks[seed]:
                slot = line.docs.index(doc)
                around = [n for n in range(doc - reach, doc + reach + 1) if 0 <= n < size]
                expected = [n for n in around if talks[n] == talks[doc]]
                window = line.docs[max(slot - reach, 0) : slot + reach + 1]
                assert expected == [n for n in window if n != GAP]
                assert len(expected) == sums[slot]
    assert [doc for doc in docs if not talks[doc]] == line.docs[line.turns :]


# -- BM25 ---------------------------------------------------------------------------------------------------


@given(
    st.lists(st.sets(st.integers(0, 40)), min_size=1, max_size=5),
    st.lists(st.integers(1, 30), min_size=41, max_size=41),
    st.integers(1, 12),
)
def test_the_best_are_the_best(lists: list[set[int]], lengths: list[int], limit: int) -> None:
    """The documents with the highest sums, and all that have as much as the last of them."""
    found = bm25.in_order(
        bm25.Found((f"w{n}",), 1.0, bm25.idf(41, len(docs)), sorted(docs))
        for n, docs in enumerate(lists)
        if docs
    )
    scores: dict[int, float] = {}
    for one in found:
        for doc in one.docs:
            scores[doc] = scores.get(doc, 0.0) + one.idf * bm25.gain(1, lengths[doc], 10.0)
    ranked = sorted(scores, key=lambda doc: (-scores[doc], doc))
    least = scores[ranked[limit - 1]] if len(ranked) > limit else 0.0
    docs, better = bm25.best(found, lengths, 10.0, limit)
    assert [doc for doc in ranked if scores[doc] >= least] == docs
    assert sum(scores[doc] > least for doc in ranked) == better


def test_common_words_add_only_to_what_can_win() -> None:
    """With a word that is everywhere, what rare words found stays the best, with its full score."""
    everywhere = list(range(5000))
    rare = list(range(0, 5000, 50))
    lengths = [10] * 5000
    found = bm25.in_order(
        [
            bm25.Found(("a",), 1.0, bm25.idf(5000, 5000), everywhere),
            bm25.Found(("b",), 1.0, bm25.idf(5000, 100), rare),
        ]
    )
    docs, better = bm25.best(found, lengths, 10.0, 50)
    assert (rare, 0) == (docs, better)


def test_what_is_everywhere_still_says_something() -> None:
    """No word counts against a document."""
    assert 0 < bm25.idf(10, 10) < bm25.idf(10, 1)
    assert 0 == bm25.idf(3, 9)


# -- the score ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age_hours", "expected"), [(0, 1.0), (168, math.exp(-1)), (-5, 1.0)])
def test_recency(age_hours: float, expected: float) -> None:
    """What is new has 1, after a week it is 1/e; the future counts as now."""
    assert expected == pytest.approx(merit.recency(1e9, 1e9 + age_hours * 3600))


def test_scores_are_scaled_to_the_best(memory: Any) -> None:
    """The most relevant has relevance 1, and a score is the weighted sum of its parts."""
    memory.add("a", "tea")
    memory.add("b", "tea and cake for all of us on a long day")
    with memory.open() as index:
        hits = merit.hits(index.corpus, index.rank("tea"), merit.Weights(0.5, 0.3, 0.2), 0.0)
        assert [1.0] == [hit.scores["semantic"] for hit in hits][:1]
        for hit in hits:
            parts = hit.scores
            total = 0.5 * parts["semantic"] + 0.3 * parts["recency"] + 0.2 * parts["importance"]
            assert total == pytest.approx(hit.score)


def test_nothing_found_is_no_hit() -> None:
    """Without candidates there are no hits."""
    assert [] == merit.hits(Corpus(), Ranked([], [], [], {}), merit.Weights(), 0.0)


def test_signals_are_told(memory: Any) -> None:
    """Each candidate tells its signals, scaled to the best of each."""
    memory.add("a", "Where is the tea?", conversation="c", created_at=1e9, metadata={"name": "Anna"})
    memory.add("b", "In the kitchen, three boxes", conversation="c", created_at=1e9 + 60)
    with memory.open() as index:
        ranked = index.rank("how much tea has Anna")
        told = {index.ids([doc])[doc]: ranked.explain(at) for at, doc in enumerate(ranked.docs)}
    assert (1.0, 0.0) == (told["a"]["own"], told["b"]["own"])
    assert (0.0, 1.0) == (told["a"]["answer"], told["b"]["answer"])
    assert (0.0, 1.0) == (told["a"]["many"], told["b"]["many"])
    assert (1.0, 0.0) == (told["a"]["speaker"], told["b"]["speaker"])
    assert (0.0, 1.0) == (told["a"]["statement"], told["b"]["statement"])
