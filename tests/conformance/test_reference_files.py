"""The reference's cases for files: what the Go program loads, what memctl serves, and why they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memctl import NotFound, Store
from memctl.core import marker

from . import go_reader
from .differences import check, listed

U = b'{"role":"user","content":"hi"}'

#: id, the line between two good ones (or the whole file as a pair)
ROWS: dict[str, bytes] = {
    "F10-two-lines": U + b"\n" + U + b"\n",
    "F10-no-newline": U + b"\n" + U,
    "F10-crlf": U + b"\r\n" + U + b"\r\n",
    "F10-blank": U + b"\n \t\n" + U + b"\n",
    "F10-blank-end": U + b"\n" + U + b"\n\n",
    "F10-torn": U + b"\n" + U[:12],
    "F10-torn-glued": U + b"\n" + U[:12] + U + b"\n" + U + b"\n",
    "F10-garbage": U + b"\ngarbage\n" + U + b"\n",
    "F10-null": U + b"\nnull\n" + U + b"\n",
    "F10-empty-object": U + b"\n{}\n" + U + b"\n",
    "F10-array": U + b"\n[" + U + b"]\n" + U + b"\n",
    "F10-number": U + b"\n42\n" + U + b"\n",
    "F10-string": U + b'\n"hi"\n' + U + b"\n",
    "F10-two-objects": U + b"\n" + U + U + b"\n" + U + b"\n",
    "F10-trailing": U + b"\n" + U + b"x\n" + U + b"\n",
    "F10-bom": b"\xef\xbb\xbf" + U + b"\n" + U + b"\n",
    "F10-nul": U + b"\n" + b"\0" * 64 + U + b"\n" + U + b"\n",
    "F10-key-case": b'{"ROLE":"user","Content":"hi"}\n' + U + b"\n",
    "F10-duplicate-key": b'{"role":"tool","content":"hi","role":"user"}\n' + U + b"\n",
    "F10-unknown-key": b'{"role":"user","content":"hi","later":[{"x":1}]}\n' + U + b"\n",
    "F10-unknown-role": b'{"role":"robot","content":"hi"}\n' + U + b"\n",
    "F10-role-number": b'{"role":1,"content":"hi"}\n' + U + b"\n",
    "F10-list-content": b'{"role":"user","content":[{"type":"text","text":"hi"}]}\n' + U + b"\n",
    "F10-null-content": b'{"role":"user","content":null}\n' + U + b"\n",
    "F10-raw-tab": b'{"role":"user","content":"a\tb"}\n' + U + b"\n",
    "F10-bad-utf8": b'{"role":"user","content":"a\xffb"}\n' + U + b"\n",
    "F10-lone-half": rb'{"role":"user","content":"\ud800!"}' + b"\n" + U + b"\n",
    "F10-big-integer": b'{"role":"user","content":"hi","extra":{"n":9007199254740993}}\n' + U + b"\n",
    "F11": b'{"role":"user","content":"%s"}\n' % (b"x" * (65_536 - 28)) + U + b"\n",
    "F11-shorter": b'{"role":"user","content":"%s"}\n' % (b"x" * (65_535 - 28)) + U + b"\n",
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def put(store: Store, data: bytes, name: str = "c") -> Any:
    path = Path(store.root) / "conversations" / "u" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return store.conversation("u", name)


def seen(value: dict[str, Any]) -> tuple[Any, ...]:
    """What of a message both programs know, numbers told apart by their digits."""
    return value["role"], value.get("content") or "", repr(value.get("extra"))


@pytest.mark.parametrize("id", ROWS)
def test_f10_each_row_is_equal_or_listed(store: Store, id: str) -> None:
    """What the Go program loads before it stops is what memctl serves, or the difference is on the list."""
    reference = go_reader.read(ROWS[id])
    log = put(store, ROWS[id]).read()
    stops = "" if reference.stopped_at_line is None else f"silent from line {reference.stopped_at_line}"
    names = ", ".join(f"names line {line}" for line, _ in log.findings)
    theirs = [seen(message) for message in reference.messages]
    ours = [seen(message.value) for message in log.messages]
    check(id, (theirs, stops), (ours, names))
    assert len(ours) >= len([message for message in theirs if message[0]]) or id in (
        "F10-key-case",
        "F10-raw-tab",
    )


def test_every_listed_difference_has_its_case() -> None:
    """No line that a file can hold is on the list without being among these rows."""
    assert {id for id in listed() if id.startswith(("F10", "F11"))} <= ROWS.keys()


@pytest.mark.parametrize(
    ("codes", "line"),
    [
        (["bad-json"], b'{"role":"user","content":"a\tb"}'),
        (["not-a-message"], b"null"),
        (["not-a-message"], b"{}"),
        (["not-a-message"], b'{"ROLE":"user","Content":"hi"}'),
        (["not-a-message"], b'{"role":1,"content":"hi"}'),
        (["bad-json"], b"garbage"),
        (["glued-lines"], U[:12] + U),
    ],
)
def test_what_is_left_out_is_named(store: Store, codes: list[str], line: bytes) -> None:
    """Each line without a message is named with its code."""
    log = put(store, U + b"\n" + line + b"\n" + U + b"\n").read()
    assert [(2, code) for code in codes] == [tuple(finding) for finding in log.findings]


def test_f01_f02_f03_summaries_come_back(store: Store) -> None:
    """A summary and what follows it are there, marked, when the file is read anew."""
    store.conversation("u", "c").append("so far", role="assistant", summary=True)
    store.conversation("u", "c").append("hello")
    messages = Store(store.root).conversation("u", "c", create=False).messages()
    found = [(message.content, marker.is_summary(message.value)) for message in messages]
    check("F02", [("so far", True), ("hello", False)], found)


def test_f04_a_deleted_log_is_gone(store: Store) -> None:
    """The file leaves the user's directory."""
    store.conversation("u", "c").append("x")
    store.conversation("u", "c").delete()
    check("F04", False, (Path(store.root) / "conversations" / "u" / "c.jsonl").exists())


def test_f05_the_time_is_the_files(store: Store) -> None:
    """`updated_at` is the file's time in whole seconds, UTC."""
    import re

    store.conversation("u", "c").append("x")
    (row,) = store.conversations("u").conversations
    check("F05", True, bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", row.updated_at)))


def test_f06_a_missing_conversation_is_an_error(store: Store) -> None:
    """It is NotFound, exit 66, and nothing comes into being."""
    with pytest.raises(NotFound) as error:
        store.conversation("u", "none", create=False)
    assert 66 == error.value.exit_code
    assert not Path(store.root).exists()
    check("F06", [], "not found")


def test_f07_deleting_and_listing_what_is_not_there(store: Store) -> None:
    """Deleting it is an error; an unknown user has no conversations."""
    with pytest.raises(NotFound):
        store.conversation("u", "none").delete()
    check("F07", ("error", "error"), ("error", store.conversations("nobody").conversations))


def test_f08_activities_are_not_listed(store: Store) -> None:
    """A conversation with activities is one conversation."""
    store.conversation("u", "c").append("x")
    store.conversation("u", "c").set_activities(b'[{"a": 1}]')
    names = [row.conversation for row in store.conversations("u").conversations]
    check("F08", ["c", "c.jsonl.activities"], names)
    assert ["c"] == names


def test_f11_the_limit_of_the_other_reader_is_named(store: Store) -> None:
    """What we append is stored at any length; from 65,536 bytes on it is named."""
    talk = store.conversation("u", "c")
    empty = talk.append("")
    room = 65_536 - (empty.bytes - 1)
    assert [] == talk.append("x" * (room - 1)).go_unreadable
    (named,) = talk.append("x" * room).go_unreadable
    assert ("line-too-long", 65_536) == (named["code"], named["bytes"])
    data = (Path(store.root) / "conversations" / "u" / "c.jsonl").read_bytes()
    assert 3 == go_reader.read(data).stopped_at_line
    assert 3 == len(talk.messages())


def test_f13_texts_are_stored_with_the_go_escapes(store: Store) -> None:
    """The line of a text is what the Go encoder writes, and reads back equal."""
    text = 'a<b>&c\u2028\u2029\t\n\r"\\\b\f\x01/\x7fé日🙂'
    for given in (text, {"role": "user", "content": text}):
        store.conversation("u", "c").append(given)
    for message in store.conversation("u", "c").messages():
        assert text == message.content
        assert message.raw.startswith(go_reader.encode({"role": "user", "content": text})[:-1])
