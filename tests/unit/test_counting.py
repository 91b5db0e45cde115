"""What of a message costs tokens: fixed ones, and the texts that a tokenizer is given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import counting

MEDIA = counting.MEDIA_TOKENS
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000}}


@pytest.mark.parametrize(
    ("fixed", "texts", "value"),
    [
        pytest.param(3, ["user", "hi"], {"content": "hi"}, id="text"),
        pytest.param(3, ["user"], {}, id="no content"),
        pytest.param(3, ["user"], {"content": None}, id="null"),
        pytest.param(3, ["user", ""], {"content": ""}, id="empty"),
        pytest.param(4, ["user", "hi", "Al"], {"content": "hi", "name": "Al"}, id="name"),
        pytest.param(3, ["user", "hi"], {"content": "hi", "name": ""}, id="empty name"),
        pytest.param(3, ["user", "hi", "why"], {"content": "hi", "reasoning_content": "why"}, id="reasoning"),
        pytest.param(3, ["user", "a", "b"], {"content": ["a", {"type": "text", "text": "b"}]}, id="parts"),
        pytest.param(3, ["user", "a"], {"content": [{"type": "input_text", "text": "a"}]}, id="input text"),
        pytest.param(3, ["user", "a"], {"content": [{"text": "a"}]}, id="text without a type"),
        pytest.param(
            3 + MEDIA, ["user", "a"], {"content": [{"type": "text", "text": "a"}, PICTURE]}, id="picture"
        ),
        pytest.param(
            3 + MEDIA, ["user"], {"content": [{"type": "input_audio", "input_audio": {}}]}, id="audio"
        ),
        pytest.param(3 + MEDIA, ["user"], {"content": [{"type": "later", "x": 1}]}, id="unknown part"),
        pytest.param(3, ["user", ""], {"content": [5]}, id="no part at all"),
        pytest.param(3, ["user", "", ""], {"content": [{"type": "text"}, {}]}, id="parts without text"),
        pytest.param(
            3 + 2 * MEDIA,
            ["user", "", "what?"],
            {
                "content": "",
                "user_input_multi_content": [
                    {"type": "text", "text": "what?"},
                    {"type": "image_url", "image": {"url": "u", "detail": "high"}},
                    {"type": "file_url", "file": {"base64data": "QUJD"}},
                ],
            },
            id="input list",
        ),
        pytest.param(
            3 + MEDIA,
            ["user", "", "here", "t", ""],
            {
                "content": "",
                "assistant_output_multi_content": [
                    {"type": "text", "text": "here"},
                    {"type": "image_url", "image": {"base64data": "QUJD"}},
                    {"type": "reasoning", "reasoning": {"text": "t", "signature": "s"}},
                    {"type": "reasoning"},
                ],
            },
            id="output list",
        ),
        pytest.param(
            3 + 2 * MEDIA,
            ["user", "", "x"],
            {
                "content": "",
                "multi_content": [
                    {"type": "text", "text": "x"},
                    {"type": "image_url", "image_url": {"url": "u"}},
                    {"image_url": {"url": "u"}},
                ],
            },
            id="older list, a type missing",
        ),
        pytest.param(
            3,
            ["user", "f", '{"a":1}', "g"],
            {
                "content": None,
                "tool_calls": [
                    {"id": "1", "function": {"name": "f", "arguments": '{"a":1}'}},
                    {"function": {"name": "g", "arguments": {"no": "text"}}},
                    {"id": "3", "function": None},
                    "no call",
                ],
            },
            id="calls",
        ),
        pytest.param(3, ["user", "r"], {"content": "r", "tool_call_id": "c1", "tool_name": "f"}, id="result"),
        pytest.param(
            3,
            ["user", "x"],
            {"content": "x", "extra": {"k": "v" * 99}, "response_meta": {"a": 1}},
            id="extra",
        ),
        pytest.param(
            3, ["user", "x"], {"content": "x", "tool_calls": {}, "multi_content": "m"}, id="odd types"
        ),
        pytest.param(
            3, ["user", "x"], {"content": "x", "name": 5, "reasoning_content": ["r"]}, id="odd texts"
        ),
    ],
)
def test_parts(fixed: int, texts: list[str], value: dict[str, Any]) -> None:
    """Three for the message, one for a name, 85 for a media part; all else by its text."""
    found_fixed, found = counting.parts({"role": "user", **value})
    assert (fixed, sorted(texts)) == (found_fixed, sorted(found))


@pytest.mark.parametrize(
    ("size_bytes", "value"),
    [
        (0, {}),
        (0, {"content": None}),
        (2, {"content": "hi"}),
        (2, {"content": "é"}),
        (6, {"content": "日本"}),
        (4, {"content": "🙂"}),
        (3, {"content": "\ud800"}),
        (15, {"content": "", "tool_calls": [{"function": {"name": "name", "arguments": '{"key":"value"}'}}]}),
        (17, {"content": "ab", "tool_calls": [{"function": {"arguments": '{"key":"value"}'}}]}),
        (2, {"content": ["a", {"type": "text", "text": "b"}, PICTURE]}),
        (1, {"content": "x", "name": "n", "reasoning_content": "r", "multi_content": [{"text": "m"}]}),
    ],
)
def test_bytes_of_the_reference_counter(size_bytes: int, value: dict[str, Any]) -> None:
    """Bytes of content and arguments, nothing else."""
    assert size_bytes == counting.reference_bytes({"role": "user", **value})


@pytest.mark.parametrize(
    ("tokens", "weight", "counter"),
    [
        (0, 0, "bytes4"),
        (1, 1, "bytes4"),
        (1, 3, "bytes4"),
        (1, 7, "bytes4"),
        (2, 8, "bytes4"),
        (7, 7, "o200k_base"),
    ],
)
def test_tokens_of_a_weight(tokens: int, weight: int, counter: str) -> None:
    """One division for the whole list; a tokenizer's weight is its tokens."""
    assert tokens == counting.tokens(weight, counter)


@given(st.integers(0, 10_000), st.integers(1, 2_000), st.sampled_from(counting.COUNTERS))
def test_the_limit_is_where_tokens_meet_the_budget(weight: int, budget: int, counter: str) -> None:
    """A weight is within the limit exactly if its tokens are within the budget."""
    assert (weight <= counting.limit(budget, counter)) == (counting.tokens(weight, counter) <= budget)


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "reasoning", "function", "name", "arguments", "image_url"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "content",
                "name",
                "tool_calls",
                "reasoning_content",
                "multi_content",
                "user_input_multi_content",
            ]
        ),
        ODD,
    )
)
def test_no_message_is_too_odd(value: dict[str, Any]) -> None:
    """Any types under any known key give texts and a number."""
    fixed, texts = counting.parts({"role": "user", **value})
    assert fixed >= 3 and all(type(text) is str for text in texts)
    assert counting.reference_bytes({"role": "user", **value}) >= 0
