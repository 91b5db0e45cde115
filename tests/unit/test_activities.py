"""activities: a JSON array that is replaced whole, and not looked into."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl import Conversation, Store
from memctl.errors import AccessDenied, BadInput, NotFound


@pytest.fixture
def chat(tmp_path: Path) -> Conversation:
    conversation = Store(tmp_path, settings={"durability": "none"}).conversation("a", "b")
    conversation.append("one")
    return conversation


def file_of(root: Path) -> Path:
    return root / "conversations" / "a" / "b.jsonl.activities"


@pytest.mark.parametrize(
    "data", [b"[]", b'[{"n":123456789012345678901234567890,"s":"\\ud800"}]', b"[1, 2,\n 3]", b"\n [null] \n"]
)
def test_bytes_are_kept(data: bytes, chat: Conversation, tmp_path: Path) -> None:
    """An array is stored as it was given, apart from white space around it."""
    chat.set_activities(data)
    assert data.strip() == chat.activities() == file_of(tmp_path).read_bytes()


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"null", b'"text"', b"[1", b"[1] 2", b"[NaN]", b"\xff", b"[" * 600 + b"]" * 600]
)
def test_what_is_no_array_is_refused(data: bytes, chat: Conversation) -> None:
    """What is not one JSON array is refused, and the old array stays."""
    chat.set_activities(b"[1]")
    with pytest.raises(BadInput):
        chat.set_activities(data)
    assert b"[1]" == chat.activities()


@pytest.mark.parametrize(("data", "expected"), [(None, b"[]"), (b"null", b"[]"), (b"null\n", b"[]")])
def test_none(data: bytes | None, expected: bytes, chat: Conversation, tmp_path: Path) -> None:
    """No file and the Go program's null are an empty array."""
    if data is not None:
        file_of(tmp_path).write_bytes(data)
    assert expected == chat.activities()


def test_damaged(chat: Conversation, tmp_path: Path) -> None:
    """Stored activities that are no array are an error that can be mended by setting new ones."""
    file_of(tmp_path).write_bytes(b'[{"a":')
    with pytest.raises(BadInput, match="damaged"):
        chat.activities()
    chat.set_activities(b"[2]")
    assert b"[2]" == chat.activities()


def test_without_conversation(tmp_path: Path) -> None:
    """There are no activities of a conversation that is not there, and none can be set."""
    chat = Store(tmp_path).conversation("a", "b")
    with pytest.raises(NotFound):
        chat.activities()
    with pytest.raises(NotFound):
        chat.set_activities(b"[]")
    assert not (tmp_path / "conversations").exists()


def test_deleted_while_waiting_for_the_lock(
    chat: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversation that goes to the trash meanwhile does not leave activities of its own behind."""
    from memctl.store.locks import Lock

    enter = Lock.__enter__

    def late(self: Lock) -> Lock:
        monkeypatch.setattr(Lock, "__enter__", enter)
        chat.delete()
        return enter(self)

    monkeypatch.setattr(Lock, "__enter__", late)
    with pytest.raises(NotFound):
        chat.set_activities(b"[1]")
    assert not file_of(tmp_path).exists()


def test_link(chat: Conversation, tmp_path: Path) -> None:
    """A link in the place of activities is refused for reading, and replaced, not followed, by setting."""
    (tmp_path / "secret").write_bytes(b"[3]")
    file_of(tmp_path).symlink_to(tmp_path / "secret")
    with pytest.raises(AccessDenied):
        chat.activities()
    chat.set_activities(b"[4]")
    assert (b"[4]", b"[3]") == (chat.activities(), (tmp_path / "secret").read_bytes())
