"""append: checked whole, stored once, never where it must not come into being."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memctl import Store
from memctl.errors import AccessDenied, BadInput, IdConflict, LockTimeout, NotFound, StorageError


def store(root: Path, **settings: object) -> Store:
    return Store(root, settings={"durability": "none", "heal.settle_ms": 0} | settings)


def log_of(root: Path) -> Path:
    return root / "conversations" / "a" / "b.jsonl"


def message(content: str, id: str | None = None, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content} | ({"extra": {"memctl": {"id": id}}} if id else {})


def stored(root: Path) -> list[str]:
    return [json.loads(line)["content"] for line in log_of(root).read_bytes().splitlines()]


def test_report(tmp_path: Path) -> None:
    """The report says where the first line stands, how many bytes came, and the id of each message."""
    chat = store(tmp_path).conversation("a", "b")
    first = chat.append("one")
    done = chat.append([message("two", "x"), message("three"), message("two", "x")])
    size = log_of(tmp_path).stat().st_size
    assert (2, 1, first.bytes, size - first.bytes) == (
        done.appended,
        done.duplicates,
        done.offset,
        done.bytes,
    )
    lines = [json.loads(line) for line in log_of(tmp_path).read_bytes().splitlines()]
    assert [line["extra"]["memctl"]["id"] for line in lines[1:]] == done.ids
    assert "x" == done.ids[0]


def test_same_id_same_content_is_stored_once(tmp_path: Path) -> None:
    """A message with an id is stored once, also when its copy comes in one input or with other fields."""
    chat = store(tmp_path).conversation("a", "b")
    assert 1 == chat.append([message("one", "x"), message("one", "x")]).appended
    again = message("one", "x") | {"name": "n"}
    assert (0, 1) == (chat.append(again).appended, chat.append(again).duplicates)
    assert ["one"] == stored(tmp_path)


@pytest.mark.parametrize(
    "other", [message("two", "x"), message("one", "x", role="assistant")], ids=["content", "role"]
)
def test_id_conflict_stores_nothing(other: dict[str, Any], tmp_path: Path) -> None:
    """One id for two contents or roles is refused whole; the log stays as it is."""
    chat = store(tmp_path).conversation("a", "b")
    chat.append(message("one", "x"))
    before = log_of(tmp_path).read_bytes()
    with pytest.raises(IdConflict):
        chat.append([message("new", "y"), other])
    assert before == log_of(tmp_path).read_bytes()


def test_id_conflict_within_an_input_makes_nothing(tmp_path: Path) -> None:
    """One id for two contents in one input is refused before anything is made."""
    with pytest.raises(IdConflict):
        store(tmp_path / "new").conversation("a", "b").append([message("one", "x"), message("two", "x")])
    assert not (tmp_path / "new").exists()


def test_id_of_an_unterminated_line_is_known(tmp_path: Path) -> None:
    """A stored message that lacks its LF counts: a retry ends its line and stores nothing."""
    chat = store(tmp_path).conversation("a", "b")
    chat.append(message("one", "x"))
    os.truncate(log_of(tmp_path), log_of(tmp_path).stat().st_size - 1)
    done = chat.append(message("one", "x"))
    assert (0, 1, ["no-final-newline"]) == (done.appended, done.duplicates, [h["code"] for h in done.healed])
    assert ["one"] == stored(tmp_path)
    assert log_of(tmp_path).read_bytes().endswith(b"\n")


def test_a_bad_message_makes_nothing(tmp_path: Path) -> None:
    """Input with one bad line is refused before anything is made."""
    with pytest.raises(BadInput, match="line 2"):
        store(tmp_path / "new").conversation("a", "b").append_jsonl(b'{"role":"user","content":"x"}\n{"ro\n')
    assert not (tmp_path / "new").exists()


def test_without_create_nothing_comes_into_being(tmp_path: Path) -> None:
    """With `create` False a conversation that was deleted meanwhile is not found, and does not come back."""
    chat = store(tmp_path).conversation("a", "b")
    chat.append("one")
    held = store(tmp_path).conversation("a", "b", create=False)
    held.append("two")
    chat.delete()
    with pytest.raises(NotFound):
        held.append("three")
    assert not log_of(tmp_path).exists()
    with pytest.raises(NotFound):
        store(tmp_path).conversation("a", "b", create=False)


def test_a_busy_conversation(tmp_path: Path) -> None:
    """While another process holds the lock, append gives up in time and names the holder."""
    from memctl.core.names import Reference

    chat = store(tmp_path, **{"lock.timeout_s": 0.2}).conversation("a", "b")
    chat.append("one")
    with store(tmp_path).setup.lock(Reference("a", "b"), "test"):
        with pytest.raises(LockTimeout, match=rf"process {os.getpid()} \(test\)"):
            chat.append("two")
        store(tmp_path).conversation("a", "c").append("another conversation is free")
    chat.append("three")
    assert ["one", "three"] == stored(tmp_path)


def test_the_lock_is_let_go_on_every_path(tmp_path: Path) -> None:
    """After each refusal the conversation can be written at once."""
    chat = store(tmp_path, **{"lock.timeout_s": 0.5}).conversation("a", "b")
    chat.append(message("one", "x"))
    for _ in range(3):
        with pytest.raises(IdConflict):
            chat.append(message("other", "x"))
        with pytest.raises(NotFound):
            chat.drop(["nothing"])
        with pytest.raises(BadInput):
            chat.set_activities(b"{}")
    log_of(tmp_path).rename(tmp_path / "kept")
    log_of(tmp_path).mkdir()
    with pytest.raises(AccessDenied):
        chat.append("two")
    log_of(tmp_path).rmdir()
    (tmp_path / "kept").rename(log_of(tmp_path))
    chat.append("three")
    assert ["one", "three"] == stored(tmp_path)


def test_an_interrupt_lets_the_lock_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the holder's note is written leaves no lock behind."""
    from memctl.store import disk

    chat = store(tmp_path, **{"lock.timeout_s": 0.2}).conversation("a", "b")

    def note(fd: int, data: bytes) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(disk, "note", note)
        with pytest.raises(KeyboardInterrupt):
            chat.append("one")
    chat.append("two")
    assert ["two"] == stored(tmp_path)


def test_compat_go_counts_the_line_as_it_is_stored(tmp_path: Path) -> None:
    """With `compat = "go"` a text that only its id and time make too long is refused, and nothing is made."""
    there = Store(tmp_path, settings={"compat": "go"}).conversation("a", "b")
    with pytest.raises(BadInput, match="line-too-long"):
        there.append("x" * 65_480)
    assert not (tmp_path / "conversations").exists()


def test_a_first_message_that_cannot_be_written_leaves_no_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing was stored there is nothing: the empty log is taken back."""
    from memctl.store import disk

    real = disk.write

    def write(fd: int, data: bytes) -> int:
        if b"hello" in data:
            raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(disk, "write", write)
    with pytest.raises(StorageError, match="a/b"):
        Store(tmp_path).conversation("a", "b").append("hello")
    assert [] == list((tmp_path / "conversations" / "a").iterdir())


def test_ephemeral_messages_come_back_as_they_were_given(tmp_path: Path) -> None:
    """Their bytes are echoed untouched, and the report's values keep every digit."""
    line = b'{"role":"user","content":"x","extra":{"n":123456789012345678901234567890,"f":1E5,"%s":true}}'
    line %= b"__eino_ext_memory_ephemeral"
    done = Store(tmp_path).conversation("a", "b").append_jsonl(line + b"\n")
    assert ([line], 0) == (done.echoed, done.appended)
    assert 123456789012345678901234567890 == done.report()["ephemeral"][0]["extra"]["n"]
