"""Bytes and JSON: what each reader takes, how strings and reports are written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import jsonl
from memctl.errors import BadInput

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_exact_keeps_every_digit_and_half(value: Any) -> None:
    """Integers of any size and lone surrogates come back as they were."""
    assert value == jsonl.exact(json.dumps(value))
    assert value == jsonl.exact(json.dumps(value, ensure_ascii=False))


@given(VALUES)
def test_the_fast_reader_agrees_or_refuses(value: Any) -> None:
    """What orjson takes it reads as the standard library does, integers beyond 64 bits apart."""
    data = json.dumps(value).encode()
    try:
        found = jsonl.loads(data)
    except ValueError:
        return
    assert json.loads(json.dumps(value), parse_int=float) == json.loads(json.dumps(found), parse_int=float)


@pytest.mark.parametrize("text", ["[" * 500 + "]" * 500, "9" * 4300, '"%s"' % ("[" * 2000), '{"a":"\\\\"}'])
def test_up_to_the_limits(text: str) -> None:
    """Nesting of 500, integers of 4,300 digits; brackets in strings do not count."""
    assert json.loads(text) == jsonl.exact(text)


@pytest.mark.parametrize(
    "text", ["[" * 501 + "]" * 501, "9" * 4301, "[%s]" % ("9" * 9999), '{"a":' * 501 + "1" + "}" * 501]
)
def test_beyond_the_limits(text: str) -> None:
    """Beyond them JSON is Unreadable, for both readers."""
    with pytest.raises(jsonl.Unreadable):
        jsonl.exact(text)
    with pytest.raises(ValueError):
        jsonl.loads(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "[" * 501,
        "[" * 501 + "]" * 500 + "}",
        "9" * 4301 + "x",
        "[" + "9" * 4301,
        '"' + "[" * 501,
        '{"a":' * 900,
    ],
)
def test_what_is_no_json_is_not_deep_json(text: str) -> None:
    """A text that is cut off or wrong is that, however deep or long it is."""
    with pytest.raises(ValueError) as error:
        jsonl.exact(text)
    assert not isinstance(error.value, jsonl.Unreadable)


def test_constants_are_noted() -> None:
    """NaN and the infinities are null, and who asks is told of them."""
    constants = jsonl.Constants()
    assert [None, None, None, "NaN"] == jsonl.exact('[NaN,Infinity,-Infinity,"NaN"]', constants)
    assert ["NaN", "Infinity", "-Infinity"] == constants
    text = '{"NaN":[NaN,-Infinity , Infinity],"a\\"NaN":"-Infinity"}'
    assert '{"NaN":[null,null , null],"a\\"NaN":"-Infinity"}' == jsonl.null_for_constants(text)


@given(st.text())
def test_null_for_constants_touches_nothing_else(text: str) -> None:
    """A text without constants outside of strings stays as it is."""
    line = json.dumps([text, {text: -1.5}], ensure_ascii=False)
    assert line == jsonl.null_for_constants(line)


@given(st.text())
def test_quoted_texts_come_back(text: str) -> None:
    """A quoted text is JSON on one line and reads back equal."""
    quoted = jsonl.quote(text)
    assert text == json.loads(quoted)
    assert not set(quoted) & set("\n\r\t<>&\u2028\u2029\0")


@given(VALUES)
def test_reports_are_utf8(value: Any) -> None:
    """A report is valid UTF-8 whatever text is in it."""
    data = jsonl.dumps(value)
    json.loads(data.decode("utf-8"))
    assert b"\n" not in data


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("a", "a"),
        ("\ufffd", "\ud800"),
        ("\ufffd\ufffd", "\udc00\ud800"),
        ("\U0001f642", "\ud83d\ude42"),
        ("é\ufffd", "é\udfff"),
    ],
)
def test_halves(expected: str, text: str) -> None:
    """A lone half is U+FFFD, two that meet are their character."""
    assert expected == jsonl.whole(text)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (rb"\u0008\u000c", "\b\f"),
        (rb"\\b\u0008", "\\b\b"),
        (rb"\\\\f", "\\\\f"),
        (rb"\n\r\t\"\u0001", '\n\r\t"\x01'),
        (rb"\u003c\u003e\u0026\u2028\u2029", "<>&\u2028\u2029"),
        (rb"\ud800", "\ud800"),
        ("é/\x7f🙂".encode(), "é/\x7f🙂"),
    ],
)
def test_messages_of_a_program_are_escaped_as_go_does(expected: bytes, text: str) -> None:
    """The escapes are those of the Go encoder, in keys too; a lone half stays an escape."""
    assert b'{"k":"%s"}' % expected == jsonl.message_bytes({"k": text})
    assert b'{"%s":1}' % expected == jsonl.message_bytes({text: 1})


@pytest.mark.parametrize(
    "value", [{"a": float("nan")}, {"a": {1, 2}}, {"a": b"x"}, {("a",): 1}, {"a": object()}]
)
def test_what_is_no_json_is_bad_input(value: dict[str, Any]) -> None:
    """A program's value that JSON cannot hold is refused."""
    with pytest.raises(BadInput):
        jsonl.message_bytes(value)


def test_a_value_that_holds_itself_is_bad_input() -> None:
    """It ends in an error, not in a stack overflow."""
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(BadInput):
        jsonl.message_bytes(value)
