"""Traces: words of a query in a text, forgotten texts in values and bytes, pieces of them in damage."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core.traces import Traces, has_words, unescaped, words_of

TEXT = "The boat is called Xyzzyplugh"


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("Green tea, please", "tea", True),
        ("Green tea, please", "PLEASE tea", True),
        ("Green tea, please", "tea coffee", False),
        ("start", "art", False),
        ("art", "start", False),
        ("an art, a start", "art", True),
        ("restart art", "art", True),
        ("Straße", "strasse", True),
        ("STRASSE", "Straße", True),
        ("cafe\u0301", "caf\u00e9", True),
        ("cafe\u0301", "cafe", False),
        ("I write c++ and c", "c++", True),
        ("I write c++", "c", True),
        ("what's up?", "what's up?", True),
        ("NX-1a2b", "nx-1a2b", True),
        ("NX-1a2b", "nx-1a2", False),
        ("東京タワーへ", "タワー", True),
        ("ห้องสมุด", "สมุด", True),
        ("서울역에서", "서울역", True),
        ("日本語abc", "abc", True),
        ("under_score", "score", True),
        ("x1", "x", False),
    ],
)
def test_words(text: str, query: str, found: bool) -> None:
    """A word is found letter for letter but for case, and not within another one."""
    assert found is has_words(text, words_of(query))


def test_words_of_a_query() -> None:
    """Words come once, folded; a blank query has none."""
    assert ("tea", "c++") == words_of(" Tea\tc++\nTEA ")
    assert () == words_of(" \n\u3000")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"content": TEXT}, True),
        ({"content": f"I said: {TEXT}."}, True),
        ({"content": f"{TEXT}s"}, False),
        ({"content": TEXT.lower()}, False),
        ({"content": [{"type": "text", "text": "The boat is "}, {"text": "called Xyzzyplugh"}]}, True),
        ({"content": [{"text": "The boat is"}, {"text": "called Xyzzyplugh"}]}, False),
        ({"tool_calls": [{"function": {"arguments": json.dumps({"q": f'"{TEXT}"'})}}]}, True),
        ({"role": TEXT, "name": TEXT, "id": TEXT}, False),
        ({TEXT: "x"}, False),
        ([None, 1, True, {"a": [[TEXT]]}], True),
    ],
    ids=str,
)
def test_values(value: Any, found: bool) -> None:
    """A text is found in any string of a value, in JSON within it too, but not in keys, roles and ids."""
    assert found is Traces([TEXT]).in_value(value)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (json.dumps({"role": "user", "content": TEXT}).encode(), True),
        (b'{"role":"user","content":"The boat is cal', True),
        (b'is called Xyzzyplugh","n":1}', True),
        (b"boat is called", True),
        (b'{"role":"user","content":"The bo\0at is called Xyzzyplugh"', True),
        (b'{"role":"user","content":"The ship is cal', False),
        (b'{"role":"us', False),
        (b"", False),
        (b'{"id":"gone","content":"changed"}', True),
        (b'{"id":"go\\u006ee","content":"changed"}', True),
        (b'{"id": "gone", "cont', True),
        (b'{"id":"gone"}', False),
        (b'{"id":["gone"],"content":"x"}', False),
        (b'{"id":"other","content":"changed"}', False),
    ],
)
def test_lines(line: bytes, found: bool) -> None:
    """A line holds a text, a piece of it that was cut off, or is that of a record with one of the ids."""
    assert found is Traces([TEXT], ["gone"]).in_line(line)


def test_bytes_that_are_not_utf8() -> None:
    """A text that was read with U+FFFD is found in the bytes that it was read from."""
    assert Traces(["a \ufffd boat"]).in_damaged(b'{"content":"a \xff boat"')


@given(st.text())
def test_escapes(text: str) -> None:
    """However a string is escaped, and with its end cut off, it says the same to a reader."""
    for ascii in (True, False):
        written = json.dumps(text, ensure_ascii=ascii).encode("utf-8", "surrogatepass")[1:-1]
        if "\0" not in text:
            assert text == unescaped(written)


@given(st.lists(st.text("ab cé漢", min_size=1, max_size=12), max_size=40), st.text("ab cé漢", max_size=40))
def test_many_texts_are_as_one_by_one(texts: list[str], text: str) -> None:
    """Many texts are looked for in another way than few; the answer is the same."""
    assert any(Traces([one]).in_text(text) for one in texts) is Traces(texts).in_text(text)


@given(
    st.lists(st.text("abc ", min_size=8, max_size=10), min_size=20, max_size=40), st.text("xyz", max_size=5)
)
def test_each_of_many_texts_is_found(texts: list[str], around: str) -> None:
    """Each of many texts is found where it stands between other words."""
    traces = Traces(texts)
    for one in texts:
        if one.strip():
            assert traces.in_text(f"{around} {one} {around}")


def test_blank_texts_leave_no_trace() -> None:
    """An empty or blank text is not looked for."""
    assert not Traces(["", " \n"]).in_value({"content": "  \n "})
