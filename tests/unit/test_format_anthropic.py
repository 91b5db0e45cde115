"""The Messages form: system apart, roles in turn, every result with its call."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.formats.anthropic import to_anthropic
from memctl.formats.encoding import encode


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def answer(content: Any, *calls: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    stored = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    return {"role": "assistant", "content": content, **({"tool_calls": stored} if stored else {}), **more}


def result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def test_whole_conversation() -> None:
    """System and summary go apart, calls and results become blocks, results stand before what follows."""
    values = [
        {"role": "system", "content": "be brief"},
        answer("so far", extra={"__eino_ext_memory_summary": True}),
        user("2+3?"),
        answer("I add.", ("c1", "add", '{"a":2,"b":3}'), ("c2", "now", ""), reasoning_content="easy"),
        result("c2", "noon", tool_name="now"),
        result("c1", "5"),
        {"role": "developer", "content": "in English"},
        user("and?"),
        answer("Five. "),
    ]
    expected = {
        "system": "be brief\n\nso far\n\nin English",
        "messages": [
            {"role": "user", "content": [text("2+3?")]},
            {
                "role": "assistant",
                "content": [
                    text("I add."),
                    {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 2, "b": 3}},
                    {"type": "tool_use", "id": "c2", "name": "now", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "5"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "noon"},
                    text("and?"),
                ],
            },
            {"role": "assistant", "content": [text("Five.")]},
        ],
    }
    assert expected == to_anthropic(values)


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        ([], []),
        ([], [{"role": "system", "content": "s"}]),
        ([], [user(" \n"), answer(None)]),
        ([("user", ["a", "b"])], [user("a"), user("b")]),
        ([("user", ["anna: hi"])], [user("hi", name="anna")]),
        ([("user", ["(the conversation goes on)"]), ("assistant", ["a"])], [answer("a")]),
        ([("user", ["result of f: 5"])], [{"role": "function", "name": "f", "content": "5"}]),
        ([("user", ["result of c9: lost"])], [result("c9", "lost")]),
        (
            [("user", ["a"]), ("assistant", ["[call without a result: f({})]"]), ("user", ["b"])],
            [user("a"), answer("", ("c1", "f", "{}")), user("b")],
        ),
        (
            [
                ("user", ["a"]),
                ("assistant", ["[call without a result: f({})]"]),
                ("user", ["result of c9: 1"]),
            ],
            [user("a"), answer("", ("c1", "f", "{}")), result("c9", "1")],
        ),
        (
            [("user", ["a"]), ("assistant", ["[call: f({})]"]), ("user", ["result of f: 1"])],
            [
                user("a"),
                {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "1"},
            ],
        ),
    ],
)
def test_texts(expected: list[tuple[str, list[str]]], values: list[dict[str, Any]]) -> None:
    """Neighbours are merged, empty texts left out, and what has no form of its own becomes text."""
    messages = to_anthropic(values)["messages"]
    assert expected == [(m["role"], [block["text"] for block in m["content"]]) for m in messages]


def test_newest_calls_may_be_open() -> None:
    """The calls of the last group stay calls: the caller has yet to answer them."""
    messages = to_anthropic([user("a"), answer("", ("c1", "f", "{}"), ("c2", "g", "{}")), result("c2", "2")])
    ids = [
        [block.get("id") or block.get("tool_use_id") for block in m["content"]] for m in messages["messages"]
    ]
    expected = [[None], ["c1", "c2"], ["c2"]]
    assert expected == ids


@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        ({}, ""),
        ({"a": 123456789012345678901}, '{"a":123456789012345678901}'),
        ({"arguments": "[1]"}, "[1]"),
        ({"arguments": "{broken"}, "{broken"),
        ({"arguments": '{"a":NaN}'}, '{"a":NaN}'),
        ({"arguments": '{"a":1e400}'}, '{"a":1e400}'),
        ({"arguments": "[" * 5000}, "[" * 5000),
    ],
)
def test_input(expected: dict[str, Any], arguments: str) -> None:
    """Arguments are the object that they spell; any other text stays whole under one key."""
    messages = to_anthropic([user("a"), answer("", ("c1", "f", arguments)), result("c1", "x")])["messages"]
    assert expected == messages[1]["content"][0]["input"]


def test_ids_are_made_safe_and_unique() -> None:
    """Ids that the API refuses are replaced, repeated ones numbered, in call and result alike."""
    turn = [answer("", ("a:b", "x.y", "{}"), ("c", "f", "{}")), result("c", "1"), result("a:b", "2")]
    messages = to_anthropic([user("q"), *turn, *turn])["messages"]
    uses = [block["id"] for m in messages for block in m["content"] if block["type"] == "tool_use"]
    results = [
        block["tool_use_id"] for m in messages for block in m["content"] if block["type"] == "tool_result"
    ]
    # The SHA-256 of the three bytes `a:b`.
    safe = "call_6783a31eabf68ccc0660f935"
    safe_tool = "x_y"
    assert [safe, "c", f"{safe}-2", "c-2"] == uses
    assert uses == results
    assert safe_tool == messages[1]["content"][0]["name"]


def test_equal_ids_in_one_group() -> None:
    """Calls that share an id get their results in order; a result too many becomes text."""
    values = [user("q"), answer("", ("", "f", "{}"), ("", "g", "{}")), *[result("", n) for n in "123"]]
    content = to_anthropic(values)["messages"][2]["content"]
    expected = ["1", "2", "result of tool: 3"]
    assert expected == [block.get("content") or block.get("text") for block in content]


@pytest.mark.parametrize(
    ("expected", "part"),
    [
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoA"},
            },
            {"type": "image_url", "image": {"base64data": "iVBORw0KGgoA"}},
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0"}},
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0"}},
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://e.test/a"}},
            {"type": "image_url", "image_url": "https://e.test/a"},
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "QQ"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "QQ"}},
        ),
        (
            text("[image: image/svg+xml, 4 base64 characters]"),
            {"type": "image", "image": {"base64data": "QUJD", "mime_type": "image/svg+xml"}},
        ),
        (text("[image: file:///a.png]"), {"type": "image_url", "image": {"url": "file:///a.png"}}),
        (
            {
                "type": "document",
                "title": "a.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"},
            },
            {
                "type": "file_url",
                "file": {"base64data": "QUJD", "mime_type": "application/pdf", "name": "a.pdf"},
            },
        ),
        (
            {"type": "document", "source": {"type": "url", "url": "https://e.test/a.pdf"}},
            {"type": "file_url", "file": {"url": "https://e.test/a.pdf"}},
        ),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "ABC"}},
            {"type": "file_url", "file": {"base64data": "QUJD", "mime_type": "text/csv"}},
        ),
        (
            text("[audio: https://e.test/a.mp3]"),
            {"type": "audio_url", "audio": {"url": "https://e.test/a.mp3"}},
        ),
    ],
)
def test_media(expected: dict[str, Any], part: Any) -> None:
    """Media that the API takes become blocks, others are named."""
    assert [{"role": "user", "content": [expected]}] == to_anthropic([user([part])])["messages"]


def test_media_around_results_and_answers() -> None:
    """A picture in a result stays a block, one in an answer is named, and a speaker is named beside one."""
    image = {"type": "image_url", "image_url": {"url": "https://e.test/a"}}
    block = {"type": "image", "source": {"type": "url", "url": "https://e.test/a"}}
    values = [
        user([image], name="anna"),
        answer([image], ("c", "f", "{}")),
        result("c", [text("x"), image], extra={"is_error": True}),
    ]
    first, second, third = [message["content"] for message in to_anthropic(values)["messages"]]
    assert [text("anna:"), block] == first
    assert text("[image: https://e.test/a]") == second[0]
    assert [
        {"type": "tool_result", "tool_use_id": "c", "content": [text("x"), block], "is_error": True}
    ] == third


IDS = st.sampled_from(["c1", "c2", "a:b", "", "call_é", "\ud800"])
TEXTS = st.one_of(st.sampled_from(["", " ", "\n", "hi", "half \ud83d"]), st.text(max_size=5))


@st.composite
def groups(draw: st.DrawFn) -> list[dict[str, Any]]:
    """One group as the window rules allow it: a single message, or calls and all their results."""
    role = draw(st.sampled_from(["user", "assistant", "calls", "calls", "system", "function", "summary"]))
    if role == "summary":
        return [answer(draw(TEXTS), extra={"__eino_ext_memory_summary": True})]
    if role != "calls":
        return [{"role": role, "content": draw(TEXTS), "name": draw(st.sampled_from(["", "anna"]))}]
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    arguments = draw(st.sampled_from(["", "{}", '{"a":1}', "[", "nonsense"]))
    results = [result(call_id, draw(TEXTS)) for call_id in draw(st.permutations(ids))]
    return [answer(draw(TEXTS), *[(call_id, "f", arguments) for call_id in ids]), *results]


def check_acceptable(form: dict[str, Any]) -> None:
    """What the API demands of every request."""
    messages = form["messages"]
    roles = [message["role"] for message in messages]
    assert ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2) == roles
    used: set[str] = set()
    due: list[str] = []
    for message in messages:
        blocks = message["content"]
        assert blocks
        types = [block["type"] for block in blocks]
        assert sorted(types, key=lambda kind: kind != "tool_result") == types
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(due) == sorted(answered)
        due = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert all(re.fullmatch("[a-zA-Z0-9_-]+", call_id) for call_id in due)
        assert len(due) == len(set(due) - used)
        used |= set(due)
    json.loads(encode(form).decode("utf-8"))


@given(st.lists(groups(), max_size=8))
def test_valid_conversations_are_acceptable(conversation: list[list[dict[str, Any]]]) -> None:
    """Roles alternate from user on, results answer exactly the calls before them, ids are unique."""
    values = [value for group in conversation for value in group]
    form = to_anthropic(values)
    check_acceptable(form)
    assert (
        not any(block["type"] == "tool_use" for block in form["messages"][-1]["content"])
        if form["messages"]
        else True
    )
    calls = sum(len(value.get("tool_calls", [])) for value in values)
    blocks = [block for message in form["messages"] for block in message["content"]]
    assert calls == sum(block["type"] == "tool_use" for block in blocks)


@given(st.lists(groups(), max_size=6), st.data())
def test_torn_conversations_are_acceptable(
    conversation: list[list[dict[str, Any]]], data: st.DataObject
) -> None:
    """Where messages are missing, calls and results without their other half become text."""
    values = [value for group in conversation for value in group]
    kept = [value for value in values if data.draw(st.booleans())]
    check_acceptable(to_anthropic([*kept, user("end")]))
