"""Whatever is appended, the Go reader reads, or the append refused or named it."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl import BadInput, Store
from memctl.core.message import ROLES

from . import go_reader


class Members(list[Any]):
    """Members of an object in order, a key perhaps twice."""


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
HALVES = st.text(max_size=10)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**400), 10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    HALVES,
)
ANY = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HALVES, inner, max_size=3),
    max_leaves=6,
)
#: Keys that the Go reader knows, some in another case, and some that it does not know.
KEYS = st.sampled_from(
    [
        *("role", "content", "name", "tool_calls", "tool_call_id", "tool_name", "response_meta", "extra"),
        *("reasoning_content", "multi_content", "user_input_multi_content", "assistant_output_multi_content"),
        *("Role", "CONTENT", "Tool_Calls", "Extra", "type", "text", "url", "index", "id", "ID", "function"),
        *("arguments", "usage", "prompt_tokens", "logprobs", "bytes", "image", "audio", "reasoning", "later"),
    ]
)
NESTED = st.recursive(
    SCALARS | st.sampled_from(["text", "image_url", 0, 1, 5, 1.5, 2**63, []]),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(KEYS, inner), max_size=4).map(Members),
    max_leaves=12,
)


def written(value: Any) -> str:
    """JSON of a value in which `Members` stand for objects."""
    if isinstance(value, Members):
        return f"{{{','.join(f'{json.dumps(key)}:{written(item)}' for key, item in value)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(key)}:{written(item)}' for key, item in value.items())}}}"
    return json.dumps(value)


def check_log(store: Store, appends: int, named: set[int]) -> None:
    """The Go reader reads every line but the named ones (by number), each of them alone."""
    data = (Path(store.root) / "conversations" / "u" / "c.jsonl").read_bytes()
    lines = data.split(b"\n")[:-1]
    assert appends == len(lines)
    for number, line in enumerate(lines):
        loaded = go_reader.read(line + b"\n")
        assert (number in named) == (loaded.stopped_at_line is not None), line


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"content": TEXT, "role": st.sampled_from(ROLES)},
            optional={
                "id": TEXT.filter(str.strip),
                "name": TEXT,
                "tool_call_id": TEXT,
                "tool_name": TEXT,
                "summary": st.booleans(),
                "incomplete": st.booleans(),
            },
        ),
        min_size=1,
        max_size=5,
        unique_by=lambda message: message.get("id", object()),
    )
)
def test_texts_with_all_options(messages: list[dict[str, Any]]) -> None:
    """A message from text is read with the same role, content, name and ids, and marked as it was."""
    for message in messages:
        # Only an answer is a summary or incomplete, only a tool answers a call.
        if message.get("summary") or message.get("incomplete"):
            message["role"] = "assistant"
        if message["role"] != "tool":
            message.pop("tool_call_id", None)
    with TemporaryDirectory() as directory:
        store = Store(directory)
        for message in messages:
            done = store.conversation("u", "c").append(**message, fsync=False)
            assert [] == done.go_unreadable
        check_log(store, len(messages), set())
        data = (Path(directory) / "conversations" / "u" / "c.jsonl").read_bytes()
        for message, line, loaded in zip(
            messages, data.split(b"\n"), go_reader.read(data).messages, strict=False
        ):
            for key in ("role", "content", "name", "tool_call_id", "tool_name"):
                assert message.get(key, "") == loaded.get(key, "")
            for mark in ("summary", "incomplete"):
                assert message.get(mark, False) is loaded["extra"].get(f"__eino_ext_memory_{mark}", False)
            # Our form up to `extra` is the form that the Go program writes.
            without_extra = {key: item for key, item in loaded.items() if key != "extra"}
            assert line.startswith(go_reader.encode(without_extra)[:-1] + b',"extra":{')


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from(ROLES), TEXT | st.none() | st.lists(ANY, max_size=2), ANY), max_size=4)
)
def test_mappings_of_a_program(messages: list[tuple[str, Any, Any]]) -> None:
    """What a program gives is refused, or named, or read."""
    with TemporaryDirectory() as directory:
        store = Store(directory)
        count, named = 0, set()
        for role, content, extra in messages:
            value = {"role": role, "content": content, "extra": extra}
            try:
                done = store.conversation("u", "c").append(value, fsync=False)
            except BadInput:
                assert extra is not None or isinstance(content, list)
                continue
            if done.appended:
                if done.go_unreadable:
                    named.add(count)
                count += 1
        if count:
            check_log(store, count, named)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(ROLES), st.lists(st.tuples(KEYS, NESTED), max_size=4), st.booleans())
def test_odd_objects(role: str, members: list[tuple[str, Any]], front: bool) -> None:
    """Odd members, repeated ones and other cases of keys: accepted lines are named or can be read."""
    base = [("role", role), ("content", "x")]
    line = written(Members([*members, *base] if front else [*base, *members])).encode()
    with TemporaryDirectory() as directory:
        store = Store(directory)
        try:
            done = store.conversation("u", "c").append_jsonl(line + b"\n", fsync=False)
        except BadInput:
            return
        if done.appended:
            check_log(store, 1, {0} if done.go_unreadable else set())


CALL = '{"role":"assistant","content":"","tool_calls":[%s]}'
STOPPING = [
    '{"role":1,"role":"user","content":"x"}',
    '{"content":["a"],"role":"user","content":"x"}',
    '{"role":"user","content":"x","name":5}',
    '{"role":"user","content":"x","name":5,"name":"n"}',
    '{"role":"user","content":"x","extra":[]}',
    '{"role":"user","content":"x","extra":"x","extra":{}}',
    '{"role":"user","content":"x","extra":{"n":1e400}}',
    '{"role":"user","content":"x","extra":{"n":[{"m":-1e999}]}}',
    '{"role":"user","content":"x","extra":{"n":%s}}' % ("9" * 400),
    '{"role":"user","content":"x","response_meta":[]}',
    '{"role":"user","content":"x","response_meta":{"usage":{"prompt_tokens":1.5}}}',
    '{"role":"user","content":"x","response_meta":{"usage":{"prompt_tokens":9223372036854775808}}}',
    '{"role":"user","content":"x","response_meta":{"logprobs":{"content":[{"bytes":["a"]}]}}}',
    '{"role":"user","content":"x","response_meta":{"logprobs":{"content":[{"logprob":1e999}]}}}',
    '{"role":"user","content":"x","multi_content":"x"}',
    '{"role":"user","content":"x","multi_content":[1]}',
    '{"role":"user","content":"x","multi_content":[{"image_url":"u"}]}',
    '{"role":"user","content":"x","user_input_multi_content":[{"image":{"url":1}}]}',
    '{"role":"user","content":"x","assistant_output_multi_content":[{"reasoning":"r"}]}',
    CALL % '{"id":5}',
    CALL % '{"ID":5}',
    CALL % '{"index":"0"}',
    CALL % '{"index":1.0}',
    CALL % '{"function":{"arguments":{"a":1}}}',
    CALL % '{"function":[]}',
    CALL % '{"extra":1}',
    CALL % '{"extra":{"n":1e400}}',
    CALL % "5",
    '{"role":"user","content":[{"type":"text","text":"x"}]}',
    '{"role":"user","content":"%s"}' % ("x" * 65_600),
]


@pytest.mark.parametrize("line", STOPPING, ids=[line[:70] for line in STOPPING])
def test_nothing_that_stops_the_go_reader_goes_in_unnamed(tmp_path: Path, line: str) -> None:
    """Each of these stops the Go reader; it is refused with 65, or stored and named."""
    assert 1 == go_reader.read(line.encode()).stopped_at_line
    talk = Store(tmp_path / "store").conversation("u", "c")
    try:
        done = talk.append_jsonl(line.encode())
    except BadInput as error:
        assert 65 == error.exit_code
        assert not (tmp_path / "store" / "conversations").exists()
    else:
        assert (1, 1) == (done.appended, len(done.go_unreadable))


@pytest.mark.parametrize("line", STOPPING, ids=lambda line: line[:70])
def test_with_compat_go_all_of_them_are_refused(tmp_path: Path, line: str) -> None:
    """With `compat = "go"` what stops the Go reader is not stored."""
    talk = Store(tmp_path / "store", settings={"compat": "go"}).conversation("u", "c")
    with pytest.raises(BadInput):
        talk.append_jsonl(line.encode())
    assert not (tmp_path / "store" / "conversations").exists()


@pytest.mark.parametrize(
    "line",
    [
        '{"role":"user","content":"x","extra":null,"name":null,"tool_calls":null,"response_meta":null}',
        '{"role":"assistant","content":null,"tool_calls":[{"index":null,"id":"a","function":null}]}',
        '{"role":"user","content":"x","later":{"n":1e400,"role":1},"extra":{"n":1.7976931348623157e308}}',
        '{"role":"user","content":"\\ud800","extra":{"memctl":5,"k":[null,{"a":1,"a":"b"}]}}',
        '{"role":"user","content":"x","function_call":{"name":5}}',
    ],
)
def test_what_the_go_reader_takes_is_taken(tmp_path: Path, line: str) -> None:
    """Nulls, unknown keys and free maps are nobody's business."""
    done = Store(tmp_path / "store").conversation("u", "c").append_jsonl(line.encode())
    assert (1, []) == (done.appended, done.go_unreadable)


@pytest.mark.parametrize("key", ["Role", "CONTENT", "Name", "Tool_Calls", "EXTRA", "Response_Meta"])
def test_known_keys_in_another_case_are_refused(tmp_path: Path, key: str) -> None:
    """The Go reader would take it for the key; every other reader would not see it."""
    talk = Store(tmp_path / "store").conversation("u", "c")
    with pytest.raises(BadInput, match=f"{key} must be written {key.lower()}"):
        talk.append_jsonl(b'{"role":"user","content":"x","%s":null}' % key.encode())
