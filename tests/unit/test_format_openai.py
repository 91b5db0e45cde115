"""The chat-completions form, and the serializer that all forms go through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.formats.encoding import encode
from memctl.formats.openai import to_json, to_openai

CALL = {
    "index": 0,
    "id": "c1",
    "type": "",
    "function": {"name": "add", "arguments": '{"a":2}'},
    "extra": {"x": 1},
}


def user_parts(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": "", "user_input_multi_content": list(parts)}


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (
            {"role": "system", "content": "be brief"},
            {"role": "system", "content": "be brief", "extra": {"a": 1}},
        ),
        (
            {"role": "user", "content": "hi", "name": "anna"},
            {"role": "user", "content": "hi", "name": "anna"},
        ),
        (
            {"role": "user", "content": "hi", "name": "A_B_"},
            {"role": "user", "content": "hi", "name": "A B>"},
        ),
        ({"role": "user", "content": ""}, {"role": "user", "content": None}),
        ({"role": "user", "content": '{"a":1}'}, {"role": "user", "content": {"a": 1}}),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":2}'}}
                ],
            },
            {"role": "assistant", "content": "", "tool_calls": [CALL], "reasoning_content": "hm"},
        ),
        (
            {
                "role": "assistant",
                "content": "wait",
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "a_b", "arguments": "{}"}}
                ],
            },
            {
                "role": "assistant",
                "content": "wait",
                "tool_calls": [{"id": "1", "function": {"name": "a.b"}}],
            },
        ),
        (
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
        ),
        (
            {"role": "tool", "content": "5", "name": "add", "tool_call_id": "c1"},
            {"role": "tool", "content": "5", "tool_call_id": "c1", "tool_name": "add"},
        ),
        (
            {"role": "function", "content": "5", "name": "add"},
            {"role": "function", "name": "add", "content": "5"},
        ),
        ({"role": "assistant", "content": ""}, {"role": "assistant", "content": None}),
        (
            {"role": "assistant", "content": "sum"},
            {"role": "assistant", "content": "sum", "extra": {"__eino_ext_memory_summary": True}},
        ),
    ],
)
def test_message(expected: dict[str, Any], value: dict[str, Any]) -> None:
    """Only the keys of the API are written, in the form it accepts."""
    assert [expected] == to_openai([value])


@pytest.mark.parametrize(
    ("expected", "part"),
    [
        ({"type": "text", "text": "x"}, {"type": "text", "text": "x"}),
        (
            {"type": "image_url", "image_url": {"url": "https://e.test/a.png", "detail": "high"}},
            {"type": "image_url", "image": {"url": "https://e.test/a.png", "detail": "high"}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/AAA"}},
            {"type": "image_url", "image": {"base64data": "/9j/AAA"}},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
            {"type": "audio_url", "audio": {"base64data": "QUJD", "mime_type": "audio/mpeg"}},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
        ),
        (
            {"type": "text", "text": "[audio: https://e.test/a.mp3]"},
            {"type": "audio_url", "audio": {"url": "https://e.test/a.mp3"}},
        ),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}},
            {
                "type": "file_url",
                "file": {"base64data": "QUJD", "mime_type": "application/pdf", "name": "a.pdf"},
            },
        ),
        ({"type": "file", "file": {"file_id": "f-1"}}, {"type": "file", "file": {"file_id": "f-1"}}),
        (
            {"type": "text", "text": "[file: a.pdf, https://e.test/a.pdf]"},
            {"type": "file_url", "file": {"url": "https://e.test/a.pdf", "name": "a.pdf"}},
        ),
        (
            {"type": "text", "text": "[video: https://e.test/v.mp4]"},
            {"type": "video_url", "video": {"url": "https://e.test/v.mp4"}},
        ),
        (
            {"type": "text", "text": "[video: video/mp4, 4 base64 characters]"},
            {"type": "video_url", "video": {"base64data": "QUJD", "mime_type": "video/mp4"}},
        ),
        (
            {"type": "text", "text": "[tool_search_result: a, b]"},
            {"type": "tool_search_result", "tool_search_result": {"Tools": [{"name": "a"}, {"name": "b"}]}},
        ),
        ({"type": "text", "text": "[reasoning]"}, {"type": "reasoning", "reasoning": {"text": "t"}}),
        ({"type": "text", "text": "[hologram]"}, {"type": "hologram"}),
        ({"type": "text", "text": "[part]"}, 17),
    ],
)
def test_part(expected: dict[str, Any], part: Any) -> None:
    """Each kind of part is written as the form holds it, or named in brackets."""
    first = {"type": "text", "text": "see"}
    assert [first, expected] == to_openai([user_parts(first, part)])[0]["content"]


def test_media_of_others_than_users_are_named() -> None:
    """The form holds media only in user messages: elsewhere they are named."""
    answer = {
        "role": "assistant",
        "content": "",
        "assistant_output_multi_content": [
            {"type": "text", "text": "here"},
            {"type": "image_url", "image": {"base64data": "QUJD", "mime_type": "image/png"}},
        ],
    }
    expected = [
        {"type": "text", "text": "here"},
        {"type": "text", "text": "[image: image/png, 4 base64 characters]"},
    ]
    assert expected == to_openai([answer])[0]["content"]


def test_older_parts_and_content_beside_them() -> None:
    """`multi_content` is read; a `content` that it does not repeat comes first."""
    parts = [{"type": "text", "text": "x"}, {"image_url": {"uri": "https://e.test/a", "detail": "low"}}]
    image = {"type": "image_url", "image_url": {"url": "https://e.test/a", "detail": "low"}}
    text = {"type": "text", "text": "x"}
    assert [text, image] == to_openai([{"role": "user", "content": "x", "multi_content": parts}])[0][
        "content"
    ]
    both = {"role": "user", "content": "", "user_input_multi_content": parts, "multi_content": parts}
    assert [text, image] == to_openai([both])[0]["content"]
    expected = [{"type": "text", "text": "and"}, text, image]
    assert expected == to_openai([{"role": "user", "content": "and", "multi_content": parts}])[0]["content"]


def test_to_json_keeps_the_other_keys_and_integers() -> None:
    """`-f json` is the same form with everything else that is stored, integers digit for digit."""
    line = (
        '{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"c","type":"","function":{"name":"f"}}],'
        '"reasoning_content":"r","extra":{"id":2512292042121000001,"h":123456789012345678901234567890}}'
    )
    expected = (
        '[{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c","type":"function",'
        '"function":{"name":"f","arguments":"{}"}}],'
        '"reasoning_content":"r","extra":{"id":2512292042121000001,"h":123456789012345678901234567890}}]'
    )
    assert expected == encode(to_json([json.loads(line)])).decode()


def test_to_json_keeps_parts_as_stored() -> None:
    """A list in chat-completions form is not touched, nor is a name that the API would refuse."""
    value = {"role": "user", "content": [{"type": "text", "text": "a", "cache": 1}], "name": "A B"}
    assert [value] == to_json([value])


def test_input_is_not_changed() -> None:
    """Converting changes nothing in the messages given."""
    value = {"role": "assistant", "content": "", "tool_calls": [CALL], "extra": {"a": [1]}}
    before = json.dumps(value)
    to_openai([value])
    to_json([value])
    assert before == json.dumps(value)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ('{"a":[1,"é"]}', {"a": [1, "é"]}),
        ('["done \ufffd… tail"]', ["done \ud83d… tail"]),
        ('{"\ufffd":"\ufffd\ufffd"}', {"\udc00": "\udc00\udc01"}),
        ('"👍"', "\ud83d\udc4d"),
        ("[null,null,null,1.5,100000.0]", [float("inf"), float("-inf"), float("nan"), 1.5, 1e5]),
        ('{"a":{"b":[null,"\ufffd"]}}', {"a": {"b": (float("nan"), "\ud800")}}),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ('"\u2028\x7f"', "\u2028\x7f"),
    ],
)
def test_encode(expected: str, value: Any) -> None:
    """Strict JSON in UTF-8: half pairs become U+FFFD, infinities null, integers stay."""
    assert expected == encode(value).decode("utf-8")


def test_encode_deep() -> None:
    """Nesting as deep as the reader accepts is written, also where something has to be replaced."""
    value: Any = float("nan")
    for _ in range(500):
        value = [value]
    expected = b"[" * 500 + b"null" + b"]" * 500
    assert expected == encode(value)


JSON_VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_encode_round_trip(value: Any) -> None:
    """What is encoded reads back as the same value."""
    assert value == json.loads(encode(value))


ODD_KEYS = st.sampled_from(
    [
        *("role", "content", "name", "tool_calls", "function_call", "function", "arguments", "type", "id"),
        *(
            "user_input_multi_content",
            "multi_content",
            "image",
            "image_url",
            "url",
            "text",
            "extra",
            "source",
        ),
    ]
)
ODD_VALUES = st.recursive(
    st.one_of(
        st.none(), st.integers(), st.text(max_size=3), st.sampled_from(["assistant", "tool", "image_url"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(ODD_KEYS, inner, max_size=5)),
    max_leaves=20,
)


@given(st.lists(st.dictionaries(ODD_KEYS, ODD_VALUES), max_size=3))
def test_odd_messages_never_raise(values: list[dict[str, Any]]) -> None:
    """Whatever a message holds, it is written and is one of the API's shapes."""
    for message in to_openai(values):
        assert set() == set(message) - {
            "role",
            "content",
            "name",
            "tool_calls",
            "function_call",
            "tool_call_id",
        }
        assert isinstance(message["content"], (str, list)) or message["role"] == "assistant"
    assert len(values) == len(json.loads(encode(to_json(values))))
