"""What is accepted as a message, what is refused with which words, and how a text becomes one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import jsonl, marker, wire
from memctl.core.message import ROLES, Incoming, accept, compose, go_unreadable
from memctl.errors import BadInput

CALL = '{"role":"assistant","content":null,"tool_calls":[%s]}'


@pytest.mark.parametrize(
    ("line", "id"),
    [
        *((f'{{"role":"{role}","content":"x"}}', None) for role in ROLES),
        ('{"role":"user","content":null}', None),
        ('{"role":"user","content":[]}', None),
        ('{"role":"user","content":["a",{"type":"text","text":"b"},{"type":"later","k":1}]}', None),
        (CALL % '{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}', None),
        ('{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f"}}]}', None),
        ('{"role":"user","content":"x","extra":{"memctl":{"id":"mine"}}}', "mine"),
        ('{"role":"user","content":"x","extra":{"memctl":{"id":null}}}', None),
        ('{"role":"user","content":"x","extra":{"memctl":"taken"}}', None),
        ('{"role":"user","content":"x","extra":{"memctl":{"id":"a"},"memctl":{"id":"b"}}}', "b"),
        (r'{"role":"user","content":"\ud800 \u0000"}', None),
        ('{"role":"user","content":"x","extra":{"n":%s}}' % ("9" * 4300), None),
        (f'{{"role":"user","content":"x","n":{"[" * 498}0{"]" * 498}}}', None),
        ('{"content":"x","later":{"role":1},"role":"user"}', None),
        (' \t{"role" : "user",\r"content":"x"} \r', None),
    ],
)
def test_accepted(line: str, id: str | None) -> None:
    """It is taken with its bytes, white space around it left out, and with the id that it brings."""
    incoming = accept(line.encode())
    assert (line.strip().encode(), id) == (incoming.line, incoming.id)
    assert json.loads(line)["role"] == incoming.value["role"]


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("not JSON", b"hello"),
        ("not JSON", b'{"role":"user","content":"x"'),
        ("not JSON", b'{"role":"user","content":"x"}x'),
        ("not JSON", b'{"role":"user","content":"a\tb"}'),
        ("not JSON", b'{"role":"user","content":"x"}{"role":"user","content":"x"}'),
        ("not JSON", b"\xef\xbb\xbf{}"),
        ("not JSON", b"{" * 1000),
        ("NaN is not JSON", b'{"role":"user","content":"x","extra":{"n":NaN}}'),
        ("-Infinity is not JSON", b'{"role":"user","content":"x","n":-Infinity}'),
        ("not UTF-8", b'{"role":"user","content":"\xff"}'),
        ("byte 27 of the line", b'{"role":"user","content":"\xc3\x28"}'),
        ("cannot be read", b'{"role":"user","content":"x","n":%s%s}' % (b"[" * 501, b"]" * 501)),
        ("cannot be read", b'{"role":"user","content":"x","n":%s%s}' % (b"[" * 1500, b"]" * 1500)),
        ("cannot be read", b'{"role":"user","content":"x","n":%s}' % (b"9" * 4301)),
        ("not an object", b"[]"),
        ("not an object", b'"hi"'),
        ("not an object", b"null"),
        ("role must be one of", b"{}"),
        ("role must be one of", b'{"role":"User","content":"x"}'),
        ("role must be one of", b'{"role":"critic","content":"x"}'),
        ("role must be one of", b'{"role":null,"content":"x"}'),
        ("role must be one of", b'{"role":1,"content":"x"}'),
        ("role must be one of", b'{"role":["user"],"content":"x"}'),
        ("content is missing", b'{"role":"user"}'),
        ("content is missing", b'{"role":"assistant","tool_calls":[]}'),
        ("content must be", b'{"role":"user","content":1}'),
        ("content must be", b'{"role":"user","content":{}}'),
        ("parts of content", b'{"role":"user","content":[1]}'),
        ("role must be text", b'{"role":1,"role":"user","content":"x"}'),
        ("content must be text", b'{"content":1,"role":"user","content":"x"}'),
        ("name must be text", b'{"role":"user","content":"x","name":1}'),
        ("extra must be an object", b'{"role":"user","content":"x","extra":"e"}'),
        ("response_meta must be an object", b'{"role":"user","content":"x","response_meta":"e"}'),
        ("tool_calls must be a list", b'{"role":"user","content":"x","tool_calls":{}}'),
        ("tool_calls[0] must be an object", b'{"role":"user","content":"x","tool_calls":["c"]}'),
        ("JSON inside a text", (CALL % '{"function":{"arguments":{"a":1}}}').encode()),
        ("tool_calls[1].id must be text", (CALL % '{"id":"a"},{"id":1}').encode()),
        ("tool_calls[0].index must be an integer", (CALL % '{"index":"0"}').encode()),
        ("must be written role", b'{"role":"user","content":"x","ROLE":"tool"}'),
        ("must be written tool_calls", b'{"role":"user","content":"x","Tool_Calls":[]}'),
        ("extra.memctl.id must be text", b'{"role":"user","content":"x","extra":{"memctl":{"id":5}}}'),
        ("extra.memctl.id must be text", b'{"role":"user","content":"x","extra":{"memctl":{"id":" "}}}'),
    ],
)
def test_refused(reason: str, line: bytes) -> None:
    """It is refused with the reason in words."""
    with pytest.raises(BadInput) as error:
        accept(line)
    assert reason in str(error.value)
    assert 65 == error.value.exit_code


def test_the_longest_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be longer than a line that is read, with what is added to it, is refused."""
    monkeypatch.setattr(jsonl, "LINE_MAX_BYTES", 1000)
    assert accept(b'{"role":"user","content":"%s"}' % (b"x" * 700))
    for make in (
        lambda text: accept(b'{"role":"user","content":"%s"}' % text.encode()),
        lambda text: compose("user", text),
    ):
        with pytest.raises(BadInput, match="more than a line holds"):
            make("x" * 900)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("", b'{"role":"user","content":"x"}'),
        ("", b'{"role":"user","content":"x","extra":{"n":1e308}}'),
        ("list-content", b'{"role":"user","content":[]}'),
        ("list-content", b'{"role":"user","content":[],"content":"x"}'),
        ("bad-number", b'{"role":"user","content":"x","extra":{"n":1e400}}'),
        ("bad-number", b'{"role":"user","content":"x","extra":{"n":[{"m":%s}]}}' % (b"9" * 310)),
        ("", b'{"role":"user","content":"x","later":1e400}'),
        ("line-too-long", b'{"role":"user","content":"%s"}' % (b"x" * 65_508)),
        ("", b'{"role":"user","content":"%s"}' % (b"x" * 65_507)),
    ],
)
def test_what_stops_the_go_reader(code: str, line: bytes) -> None:
    """What that reader cannot read, although it is sound, has a code."""
    assert code == go_unreadable(accept(line), line)


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ('{"role":"user","content":"hi"}', {}),
        (
            '{"role":"tool","content":"18C","tool_call_id":"c1","tool_name":"get"}',
            {"tool_call_id": "c1", "tool_name": "get"},
        ),
        ('{"role":"user","content":"hi","name":"Al"}', {"name": "Al"}),
        ('{"role":"user","content":"hi","extra":{"memctl":{"id":"\\u003c1\\u003e"}}}', {"id": "<1>"}),
        (
            '{"role":"assistant","content":"s","extra":{"__eino_ext_memory_incomplete":true,'
            '"__eino_ext_memory_summary":true,"memctl":{"id":"i"}}}',
            {"markers": (marker.SUMMARY, marker.INCOMPLETE), "id": "i"},
        ),
    ],
)
def test_a_text_becomes_a_line(line: str, options: dict[str, Any]) -> None:
    """Keys stand in the order of the wire format, marks sorted."""
    value = json.loads(line)
    incoming = compose(value["role"], value["content"], **options)
    assert (line.encode(), value, options.get("id")) == incoming[:3]


@pytest.mark.parametrize(
    ("reason", "role", "content", "options"),
    [
        ("role must be", "critic", "x", {}),
        ("role must be", "", "x", {}),
        ("not valid UTF-8", "user", "\udcff", {}),
        ("not valid UTF-8", "user", "x", {"name": "\ud800"}),
        ("not valid UTF-8", "user", "x", {"id": "\udfff"}),
        ("cannot be blank", "user", "x", {"id": " "}),
    ],
)
def test_texts_that_are_refused(reason: str, role: str, content: str, options: dict[str, Any]) -> None:
    """An unknown role, half a character, a blank id."""
    with pytest.raises(BadInput, match=reason):
        compose(role, content, **options)


@given(st.sampled_from(ROLES), st.text(st.characters(exclude_categories=("Cs",))), st.text(max_size=5))
def test_composed_messages_are_accepted(role: str, content: str, name: str) -> None:
    """The line of a text is what the same line as input gives."""
    try:
        incoming = compose(role, content, name=name)
    except BadInput:
        assert any("\ud800" <= c <= "\udfff" for c in name)
        return
    assert incoming == accept(incoming.line)
    assert b"\n" not in incoming.line


@given(
    st.dictionaries(
        st.sampled_from(sorted(wire.PLAIN_KEYS)) | st.text(max_size=3),
        st.text(max_size=5) | st.none(),
        max_size=5,
    ),
    st.sampled_from([",", " , "]),
    st.lists(st.sampled_from(['"role":1', '"content":[]', '"a":"b"', '"name" :"n"']), max_size=1),
)
def test_the_quick_look_lets_nothing_pass(value: dict[str, Any], comma: str, more: list[str]) -> None:
    """What needs no closer look has no repeated key and nothing to find."""
    members = [f"{json.dumps(key)}:{json.dumps(item)}" for key, item in value.items()]
    line = f"{{{comma.join([*more, *members])}}}".encode()
    if wire.is_plain(line, json.loads(line)):
        pairs = json.loads(line, object_pairs_hook=list)
        assert len(dict(pairs)) == len(pairs)
        assert "" == wire.check(line)


def test_incoming_says_nothing_of_other_readers_by_default() -> None:
    """A message that was not looked at closely stops nobody."""
    assert "" == go_unreadable(Incoming(b"{}", {}, None), b"{}")
