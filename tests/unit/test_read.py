"""read: messages with their ids and places; what show prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memctl.api import Conversation, Store

LINES = [
    b'{"role":"user","content":"0"}',
    b'{"role":"user","content":"same"}',
    b"not json",
    b'{"role":"user","content":"same"}',
    b'{"role":"assistant","content":"4","extra":{"memctl":{"id":"own","created_at":"2026-03-04T09:00:00Z"}}}',
    b"",
    b'{"role":"user","content":"same"}',
    b'{"role":"critic","content":"6"}',
]
TEXTS = ["0", "same", "same", "4", "same", "6"]


class Chat:
    """A conversation whose file is written directly."""

    def __init__(self, root: Path) -> None:
        (root / ".memctl").mkdir(parents=True)
        self.path = root / "conversations" / "u" / "c.jsonl"
        self.path.parent.mkdir(parents=True)
        self.conversation: Conversation = Store(root).conversation("u", "c")

    def write(self, lines: list[bytes]) -> None:
        self.path.write_bytes(b"".join(line + b"\n" for line in lines))

    def texts(self, **options: Any) -> list[Any]:
        return [message.content for message in self.conversation.read(**options).messages]

    def ids(self, **options: Any) -> list[str]:
        return [message.id for message in self.conversation.read(**options).messages]


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    made = Chat(tmp_path / "store")
    made.write(LINES)
    return made


def test_messages_have_places_and_bytes(chat: Chat) -> None:
    """Position counts messages, line counts lines; the bytes are the stored ones."""
    log = chat.conversation.read()
    assert [(0, 1), (1, 2), (2, 4), (3, 5), (4, 7), (5, 8)] == [(m.position, m.line) for m in log.messages]
    assert [line for line in LINES if line.startswith(b"{")] == [m.raw for m in log.messages]
    assert (6, "u/c") == (log.total, log.name)
    assert [(3, "bad-json")] == [tuple(finding) for finding in log.findings]
    assert ["", "", "", "", "", "unknown-role"] == [m.problem for m in log.messages]
    assert "2026-03-04T09:00:00Z" == log.messages[3].created_at
    assert log.messages[0].created_at is None


def test_ids_of_lines_without_one(chat: Chat) -> None:
    """Derived from bytes and occurrence: 16 hex digits, each its own, the same for equal files."""
    ids = chat.ids()
    assert "own" == ids[3]
    assert 6 == len(set(ids))
    assert all(len(id) == 16 and set(id) <= set("0123456789abcdef") for id in ids if id != "own")
    assert ids == chat.ids()


def test_derived_ids_do_not_depend_on_other_lines(chat: Chat) -> None:
    """Lines put in, or taken from elsewhere, leave them; only equal lines in front of one count."""
    ids = chat.ids()
    chat.write([b'{"role":"user","content":"new"}', *LINES, b'{"role":"user","content":"same"}'])
    assert ids == chat.ids()[1:-1]
    assert chat.ids()[-1] not in ids
    chat.write(LINES[3:])
    assert [ids[1], ids[3], ids[2], ids[5]] == chat.ids()


@pytest.mark.parametrize("last", range(8))
def test_the_last_messages(chat: Chat, last: int) -> None:
    """As many as there are, with the ids that they have in the whole."""
    assert TEXTS[max(0, 6 - last) :] == chat.texts(last=last)
    assert chat.ids()[max(0, 6 - last) :] == chat.ids(last=last)
    assert 6 == chat.conversation.read(last=last).total


@pytest.mark.parametrize("start", [None, 0, 2, 5, 6, 9, -1, -3, -9])
@pytest.mark.parametrize("end", [None, 0, 3, 6, 9, -1, -9])
def test_spans_are_slices(chat: Chat, start: int | None, end: int | None) -> None:
    """A span takes what a slice of the list of all would take."""
    assert TEXTS[start:end] == chat.texts(span=(start, end))
    assert chat.ids()[start:end] == chat.ids(span=(start, end))


def test_a_line_of_several_messages(chat: Chat) -> None:
    """Each is a message of its own, served as repair would write it; they can be cut apart."""
    chat.write([LINES[0] + LINES[1] + LINES[1], LINES[0]])
    log = chat.conversation.read()
    assert ["0", "same", "same", "0"] == [message.content for message in log.messages]
    assert [1, 1, 1, 2] == [message.line for message in log.messages]
    assert 4 == len(set(chat.ids()))
    assert ["same", "same"] == chat.texts(span=(1, 3))
    assert [] == log.findings


def test_an_empty_log(chat: Chat) -> None:
    """No messages, whatever is asked."""
    chat.write([])
    assert ([], [], []) == (chat.texts(), chat.texts(last=3), chat.texts(span=(1, None)))


def test_following_gives_what_is_written(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """New messages come as they are written; a log that became shorter comes again from its start."""
    following = chat.conversation.follow(5)
    waits = iter(
        [
            lambda: chat.write([*LINES, b'{"role":"user","content":"7"}']),
            lambda: None,
            lambda: chat.write([b'{"role":"user","content":"again"}']),
        ]
    )
    monkeypatch.setattr("memctl.ops.read.time.sleep", lambda seconds: next(waits)())
    assert [["6"], ["7"], ["again"]] == [
        [message.content for message in next(following).messages] for _ in range(3)
    ]


def test_only_lines_of_the_range_are_named(chat: Chat) -> None:
    """What is mended or lost outside the messages that were asked for is not named."""
    chat.write([b'{"role":"user","content":"%d"}\r' % number for number in range(4)])
    assert [2, 3] == [finding.line for finding in chat.conversation.read(span=(1, 3)).mended]
    assert [4] == [finding.line for finding in chat.conversation.read(last=1).mended]
