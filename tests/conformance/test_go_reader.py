"""The model of the Go reader against the observed behaviour of the Go program: cases F10 to F13."""

from __future__ import annotations

from typing import Any

import pytest

from .go_reader import Loaded, encode, read

U = b'{"role":"user","content":"hi"}'
USER = {"role": "user", "content": "hi"}
EMPTY = {"role": "", "content": ""}
BEFORE_AND_AFTER = U + b"\n%s\n" + U + b"\n"

# The examples of each kind of message, with their lengths.
EXAMPLES = [
    (38, rb'{"role":"system","content":"be brief"}'),
    (30, rb'{"role":"user","content":"hi"}'),
    (
        146,
        rb'{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"call_1","type":"function",'
        rb'"function":{"name":"get","arguments":"{\"q\":\"x\"}"}}]}',
    ),
    (83, rb'{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"","function":{}}]}'),
    (73, rb'{"role":"tool","content":"18C","tool_call_id":"call_1","tool_name":"get"}'),
    (
        258,
        rb'{"role":"user","content":"","user_input_multi_content":[{"type":"text","text":"what?"},'
        rb'{"type":"image_url","image":{"url":"https://e.test/a.png","detail":"high"}},'
        rb'{"type":"file_url","file":{"base64data":"QUJD","mime_type":"application/pdf","name":"a.pdf"}}]}',
    ),
    (
        235,
        rb'{"role":"assistant","content":"","assistant_output_multi_content":[{"type":"text","text":"here"},'
        rb'{"type":"image_url","image":{"base64data":"QUJD","mime_type":"image/png"}},'
        rb'{"type":"reasoning","reasoning":{"text":"t","signature":"s"}}]}',
    ),
    (
        133,
        rb'{"role":"user","content":"","multi_content":[{"type":"text","text":"x"},'
        rb'{"type":"image_url","image_url":{"url":"u","detail":"low"}}]}',
    ),
    (
        337,
        rb'{"role":"assistant","content":"42","response_meta":{"finish_reason":"stop","usage":{"prompt_tokens":10,'
        rb'"prompt_token_details":{"cached_tokens":0},"completion_tokens":2,"total_tokens":12,'
        rb'"completion_token_details":{}},"logprobs":{"content":[{"token":"42","logprob":-0.5,"bytes":[52,50],'
        rb'"top_logprobs":null}]}},"reasoning_content":"think"}',
    ),
    (88, rb'{"role":"assistant","content":"summary text","extra":{"__eino_ext_memory_summary":true}}'),
    (86, rb'{"role":"assistant","content":"partial","extra":{"__eino_ext_memory_incomplete":true}}'),
    (95, rb'{"role":"assistant","content":"an error occurred","extra":{"__eino_ext_memory_ephemeral":true}}'),
]


@pytest.mark.parametrize(
    ("messages", "stopped_at_line", "data"),
    [
        pytest.param(0, None, b"", id="empty file"),
        pytest.param(2, None, U + b"\n" + U + b"\n", id="two lines"),
        pytest.param(2, None, U + b"\n" + U, id="last line without LF"),
        pytest.param(2, None, U + b"\r\n" + U + b"\r\n", id="CRLF"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b"", id="blank line"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b" \t ", id="white space"),
        pytest.param(2, 3, U + b"\n" + U + b"\n\n", id="blank line at the end"),
        pytest.param(1, 2, U + b"\n" + U[:12], id="torn last line"),
        pytest.param(1, 2, BEFORE_AND_AFTER % (U[:12] + U), id="append glued onto a torn line"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b"garbage", id="garbage"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b"[]", id="array"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b"42", id="number"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'"hi"', id="string"),
        pytest.param(1, 2, BEFORE_AND_AFTER % (U + U), id="two objects on one line"),
        pytest.param(1, 2, BEFORE_AND_AFTER % (U + b"x"), id="trailing garbage"),
        pytest.param(0, 1, b"\xef\xbb\xbf" + U + b"\n", id="BOM"),
        pytest.param(1, 2, BEFORE_AND_AFTER % (b"\0" * 64), id="run of NUL bytes"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"role":"user","content":NaN}', id="NaN"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"role":1,"content":"hi"}', id="role is a number"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"role":"user","content":[]}', id="content is a list"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"role":"user","content":{}}', id="content is an object"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"role":"user","content":true}', id="content is a boolean"),
        pytest.param(
            1, 2, BEFORE_AND_AFTER % b'{"role":"assistant","tool_calls":{}}', id="calls are no list"
        ),
        pytest.param(
            1, 2, BEFORE_AND_AFTER % b'{"role":"assistant","tool_calls":[1]}', id="a call is a number"
        ),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"tool_calls":[{"index":1.5}]}', id="index is no integer"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"tool_calls":[{"index":"1"}]}', id="index is a text"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"role":"user","extra":[]}', id="extra is a list"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"role":"user","extra":{"n":1e999}}', id="beyond a double"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"role":"user","multi_content":"x"}', id="parts are a text"),
        pytest.param(1, 2, BEFORE_AND_AFTER % b'{"role":"user","content":"a\0b"}', id="NUL in a text"),
    ],
)
def test_reads_up_to_the_first_problem(messages: int, stopped_at_line: int | None, data: bytes) -> None:
    """F10: what is before the first problem is loaded, what is after it is not."""
    assert Loaded([USER] * messages, stopped_at_line) == read(data)


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        pytest.param(EMPTY, b"null", id="null"),
        pytest.param(EMPTY, b"{}", id="empty object"),
        pytest.param(USER, b'{"ROLE":"user","Content":"hi"}', id="key case"),
        pytest.param(USER, b'{"role":"tool","content":"hi","role":"user"}', id="duplicate key"),
        pytest.param(USER, b'{"role":"tool","Role":"user","content":"hi"}', id="duplicate key, other case"),
        pytest.param(USER, b'{"role":"user","content":"hi","later":[{"x":1}]}', id="unknown key"),
        pytest.param(
            {"role": "robot", "content": "hi"}, b'{"role":"robot","content":"hi"}', id="unknown role"
        ),
        pytest.param({"role": "user", "content": ""}, b'{"role":"user","content":null}', id="null content"),
        pytest.param({"role": "user", "content": "a\tb"}, b'{"role":"user","content":"a\tb"}', id="raw TAB"),
        pytest.param(
            {"role": "user", "content": "a\udcffb"}, b'{"role":"user","content":"a\xffb"}', id="not UTF-8"
        ),
        pytest.param(
            {"role": "user", "content": "\ufffd!"}, rb'{"role":"user","content":"\ud800!"}', id="high half"
        ),
        pytest.param(
            {"role": "user", "content": "\ufffd"}, rb'{"role":"user","content":"\udc80"}', id="low half"
        ),
        pytest.param(
            {"role": "user", "content": "\U0001f642"}, rb'{"role":"user","content":"\ud83d\ude42"}', id="pair"
        ),
        pytest.param(
            {"role": "user", "content": "\\ud800"}, rb'{"role":"user","content":"\\ud800"}', id="no escape"
        ),
        pytest.param(
            {"role": "user", "content": "", "extra": {"n": 9007199254740992.0}},
            b'{"role":"user","extra":{"n":9007199254740993}}',
            id="integer beyond 2^53",
        ),
        pytest.param(USER, b' { "content" : "hi" , "role" : "user" } ', id="spaces and order"),
        pytest.param(
            USER, b'{"role":"user","content":"hi","name":"","tool_calls":[],"extra":{}}', id="empty ones"
        ),
    ],
)
def test_accepts_more_than_strict_json(expected: dict[str, Any], line: bytes) -> None:
    """F10: what the Go program lets pass, and what it makes of it."""
    assert Loaded([expected, USER], None) == read(line + b"\n" + U + b"\n")


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"], ids=["no end", "LF", "CRLF"])
@pytest.mark.parametrize(("loads", "size_bytes"), [(True, 65_535), (False, 65_536)])
def test_line_limit(loads: bool, size_bytes: int, end: bytes) -> None:
    """F11: a line of 65,535 bytes loads, one of 65,536 stops the reader, with or without its end."""
    line = b'{"role":"user","content":"%s"}' % (b"x" * (size_bytes - 28 - end.count(b"\r")))
    assert size_bytes == len(line + end.removesuffix(b"\n"))
    assert (2 if loads else 1, None if loads else 2) == (
        len(read(U + b"\n" + line + end).messages),
        read(U + b"\n" + line + end).stopped_at_line,
    )


@pytest.mark.parametrize(("size_bytes", "line"), EXAMPLES, ids=[str(size) for size, _ in EXAMPLES])
def test_examples_come_back_to_the_byte(size_bytes: int, line: bytes) -> None:
    """F12: each example decodes, and encodes to the same bytes."""
    assert size_bytes == len(line)
    (message,), stopped_at_line = read(line + b"\n")
    assert stopped_at_line is None
    assert line == encode(message)


@pytest.mark.parametrize(
    ("stored", "content"),
    [
        pytest.param(rb"a\u003cb\u003e\u0026c", "a<b>&c", id="F13"),
        pytest.param(rb"\u2028\u2029", "\u2028\u2029", id="separators"),
        pytest.param(rb"\t\n\r\"\\", '\t\n\r"\\', id="short escapes"),
        pytest.param(rb"\u0008\u000c\u0001", "\b\f\x01", id="control characters"),
        pytest.param("/\x7fé日🙂".encode(), "/\x7fé日🙂", id="raw"),
    ],
)
def test_escapes_like_the_go_encoder(stored: bytes, content: str) -> None:
    """F13: a text is stored with the Go encoder's escapes and reads back equal."""
    line = encode({"role": "user", "content": content})
    assert b'{"role":"user","content":"%s"}' % stored == line
    assert Loaded([{"role": "user", "content": content}], None) == read(line)


def test_bytes_that_are_not_utf8_are_replaced_when_written() -> None:
    """Each byte that is not UTF-8 is written as one U+FFFD."""
    expected = rb'{"role":"user","content":"a\ufffd\ufffdb"}'
    assert expected == encode(read(b'{"role":"user","content":"a\xff\xfeb"}').messages[0])


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (b"100", 100.0),
        (b"1", 1),
        (b"0.5", 0.5),
        (b"-0.25", -0.25),
        (b"0.000001", 1e-6),
        (b"1e-07", 1e-7),
        (b"100000000000000000000", 1e20),
        (b"1e+21", 1e21),
        (b"1.5e+300", 1.5e300),
        (b"9007199254740992", 9007199254740992.0),
        (b"0", 0.0),
    ],
)
def test_numbers_like_the_go_encoder(written: bytes, number: float) -> None:
    """Numbers in `extra` are written in the shortest form, with an exponent only far from 1."""
    assert b'{"role":"user","content":"","extra":{"n":%s}}' % written == encode(
        {"role": "user", "content": "", "extra": {"n": number}}
    )


def test_writes_known_keys_in_their_order_and_extra_sorted() -> None:
    """Keys come in the order of the wire format, unknown ones are lost, and `extra` is sorted by bytes."""
    message = {
        "extra": {"é": 1, "z": [{"b": None, "a": {}}], "k<": True, "B": "x"},
        "later": 1,
        "tool_call_id": "c1",
        "content": "ok",
        "role": "tool",
    }
    assert (
        '{"role":"tool","content":"ok","tool_call_id":"c1",'
        '"extra":{"B":"x","k\\u003c":true,"z":[{"a":{},"b":null}],"é":1}}'
    ).encode() == encode(message)


@pytest.mark.parametrize(
    "line",
    [
        b'{"role":"assistant","content":"","response_meta":{}}',
        b'{"role":"user","content":"","user_input_multi_content":[{"type":"tool_search_result",'
        b'"tool_search_result":{"Tools":null}}]}',
        b'{"role":"assistant","content":"","response_meta":{"usage":{"prompt_tokens":0,"prompt_token_details":'
        b'{"cached_tokens":0},"completion_tokens":0,"total_tokens":0,"completion_token_details":{}}}}',
        b'{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"","type":"","function":{}}]}',
    ],
    ids=["empty meta", "no tools", "zero usage", "index 0"],
)
def test_empty_ones_that_are_written(line: bytes) -> None:
    """What is behind a pointer is written even when it is empty, and zeros of usage are always written."""
    assert line == encode(read(line).messages[0])
