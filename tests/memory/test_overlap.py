"""The reference's score: its worked examples, its tokens, and what a recall with it prints."""

from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import overlap
from memctl.core.budget import DEFAULT_WEIGHTS

#: id -> text, age in hours, importance.
RECORDS = {
    "a": ("hello world", 0, 0),
    "b": ("hello world", 0, 0),
    "c": ("Hello, world! dark mode", 168, 1),
    "d": ("猫 猫が好き", -48, -1),
    "e": ("billing issue about a late invoice that the customer disputes", 336, 0.7),
}
WORKED = [
    ("hello", "a 0.65, b 0.65, d 0.4, c 0.310364, e 0.180601"),
    ("hello world", "a 0.9, b 0.9, d 0.4, c 0.310364, e 0.180601"),
    ("Hello, world", "a 0.65, b 0.65, c 0.435364, d 0.4, e 0.180601"),
    ("a", "a 0.4, b 0.4, d 0.4, c 0.310364, e 0.180601"),
    ("dark mode mode", "c 0.560364, a 0.4, b 0.4, d 0.4, e 0.180601"),
    ("", "a 0.4, b 0.4, d 0.4, c 0.310364, e 0.180601"),
    ("猫", "d 0.65, a 0.4, b 0.4, c 0.310364, e 0.180601"),
    ("billing issue", "a 0.4, b 0.4, d 0.4, c 0.310364, e 0.291712"),
]


@pytest.mark.parametrize(("query", "expected"), WORKED, ids=[query or "empty" for query, _ in WORKED])
def test_worked_scores(query: str, expected: str) -> None:
    """The scores and the order of reference-tier 3.3 with the default weights."""
    wanted = overlap.tokens(query)
    scores = {
        id: overlap.score(overlap.parts(wanted, *record), DEFAULT_WEIGHTS) for id, record in RECORDS.items()
    }
    ranked = sorted(scores.items(), key=lambda row: (-row[1], row[0]))
    assert expected == ", ".join(f"{id} {round(score, 6):g}" for id, score in ranked)


@pytest.mark.parametrize(
    ("hours", "expected"),
    [(0, 1.0), (-5, 1.0), (24, 0.866878), (48, 0.751477), (168, 0.367879), (336, 0.135335), (720, 0.013764)],
)
def test_recency(hours: float, expected: float) -> None:
    """Recency falls to 1/e in a week; the future counts as now."""
    assert expected == round(overlap.recency(hours), 6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        (" \t\n", set()),
        ("a b1 b1", {"b1"}),
        ("Mode, mode", {"mode,", "mode"}),
        ("猫", {"猫"}),
        ("é e", {"é"}),
        ("ΑΣ", {"ασ"}),
        ("İI", {"ii"}),
        ("one\x1ctwo", {"one\x1ctwo"}),
        ("one\x1f two\x85three\xa0four\u3000five", {"one\x1f", "two", "three", "four", "five"}),
        ("x\u200by", {"x\u200by"}),
    ],
)
def test_tokens(text: str, expected: set[str]) -> None:
    """Tokens part at Go's white space, are in Go's small letters, and have two bytes or more."""
    assert expected == overlap.tokens(text)


def test_white_space_is_that_of_go() -> None:
    """Of all characters those with the property White_Space part tokens, and no others."""
    go = {"\t", "\n", "\v", "\f", "\r", " ", "\x85", "\xa0"}
    go |= {chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Zs", "Zl", "Zp")}
    parting = {char for char in map(chr, range(0xD800)) if 1 < len(overlap.words(f"xx{char}yy"))}
    assert go == parting


@given(st.text(), st.text())
def test_overlap_is_a_share_of_the_larger_set(one: str, other: str) -> None:
    """The overlap is the same both ways, between 0 and 1, and 1 for equal sets alone."""
    first, second = overlap.tokens(one), overlap.tokens(other)
    share = overlap.overlap(first, second)
    assert share == overlap.overlap(second, first)
    assert 0 <= share <= 1
    assert (first == second and bool(first)) == (share == 1)


def test_a_long_text_dilutes_a_full_match() -> None:
    """Two words found in a text of ten give 0.2: the reference divides by the longer side."""
    text = "aa bb cc dd ee ff gg hh ii jj"
    assert math.isclose(0.2, overlap.overlap(overlap.tokens("aa bb"), overlap.tokens(text)))
