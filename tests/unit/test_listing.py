"""list: what is said of each conversation, and of files that are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.api import Store
from memctl.errors import AccessDenied
from memctl.ops.listing import Listed, conversations

USER = b'{"role":"user","content":"hi"}\n'
ANSWER = b'{"role":"assistant","content":"hello"}\n'
SUMMARY = b'{"role":"assistant","content":"so far","extra":{"__eino_ext_memory_summary":true}}\n'
CALL = b'{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f"}}]}\n'


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "store" / "conversations").mkdir(parents=True)
    (tmp_path / "store" / ".memctl").mkdir()
    return Store(tmp_path / "store")


def put(store: Store, user: str, name: str, data: bytes, mtime: int = 1_772_614_800) -> Path:
    path = Path(store.root, "conversations", user, name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (mtime, mtime))
    return path


def rows(store: Store, user: str | None = None) -> list[Listed]:
    return store.conversations(user).conversations


def test_what_is_said_of_a_conversation(store: Store) -> None:
    """Messages, bytes, time of the file, role of the last message, summaries, problems."""
    data = USER + ANSWER + SUMMARY + b"not json\n" + SUMMARY + USER
    path = put(store, "alice", "chat.jsonl", data)
    expected = Listed(
        user="alice",
        conversation="chat",
        messages=5,
        bytes=len(data),
        updated_at="2026-03-04T09:00:00Z",
        last_role="user",
        summaries=2,
        problems=1,
        addressable=True,
        path=str(path),
        mtime_ns=1_772_614_800_000_000_000,
    )
    assert [expected] == rows(store)


def test_the_newest_comes_first(store: Store) -> None:
    """By modification time, then by name."""
    for mtime, user, name in ((10, "b", "old"), (30, "a", "new"), (20, "b", "twin"), (20, "a", "twin")):
        put(store, user, f"{name}.jsonl", USER, mtime)
    assert [("a", "new"), ("a", "twin"), ("b", "twin"), ("b", "old")] == [
        (row.user, row.conversation) for row in rows(store)
    ]
    assert ["new", "twin"] == [row.conversation for row in rows(store, "a")]


@pytest.mark.parametrize("name", ["nobody", "a/b", "%", "…"])
def test_an_unknown_user_has_none(store: Store, name: str) -> None:
    """An empty list, and no error."""
    put(store, "alice", "chat.jsonl", USER)
    assert ([], []) == tuple(store.conversations(name))


@pytest.mark.parametrize("made", [False, True])
def test_a_store_without_conversations_lists_none(tmp_path: Path, made: bool) -> None:
    """Whether its directory is there or not; none is made."""
    if made:
        (tmp_path / "s").mkdir()
    assert ([], []) == tuple(Store(tmp_path / "s").conversations())
    assert made == (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("data", "messages", "role", "problems"),
    [
        (b"", 0, None, 0),
        (b"\0\0\0\0", 0, None, 1),
        (b"\xff\xfe\n" + USER, 1, "user", 1),
        (USER + b'{"role":"us', 1, "user", 1),
        (USER + CALL, 2, "assistant", 1),
        (b"\n\n", 0, None, 0),
        (b'{"role":"critic","content":"x"}\n', 1, "critic", 1),
        (USER.strip() + USER, 2, "user", 2),
    ],
    ids=["empty", "nul", "not utf-8", "torn", "open call", "blank", "unknown role", "glued"],
)
def test_a_damaged_file_is_listed(
    store: Store, data: bytes, messages: int, role: str | None, problems: int
) -> None:
    """With the messages that can be read, and the number of what is wrong."""
    put(store, "alice", "chat.jsonl", data)
    (row,) = rows(store)
    assert (messages, role, problems) == (row.messages, row.last_role, row.problems)


def test_links_are_noted_and_not_followed(store: Store, tmp_path: Path) -> None:
    """A linked user and a linked conversation: one phrase each, nothing of what they point at."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "secret.jsonl").write_bytes(USER)
    put(store, "alice", "chat.jsonl", USER)
    base = Path(store.root, "conversations")
    (base / "eve").symlink_to(other)
    (base / "alice" / "link.jsonl").symlink_to(other / "secret.jsonl")
    found = store.conversations()
    assert ["chat"] == [row.conversation for row in found.conversations]
    assert sorted([f"{base}/eve", f"{base}/alice/link.jsonl"]) == sorted(
        note.partition(" is a symbolic link")[0].removesuffix(f": {base}/alice/link.jsonl")
        for note in found.notes
    )
    with pytest.raises(AccessDenied):
        store.conversations("eve")


def test_what_is_no_conversation_is_no_row(store: Store) -> None:
    """Other files, hidden directories, directories with the ending, pipes."""
    put(store, "alice", "chat.jsonl", USER)
    put(store, "alice", "chat.jsonl.activities", b"[]")
    put(store, "alice", "notes.txt", b"x")
    put(store, ".hidden", "chat.jsonl", USER)
    Path(store.root, "conversations", "alice", "dir.jsonl").mkdir()
    Path(store.root, "conversations", "file").write_bytes(b"")
    os.mkfifo(Path(store.root, "conversations", "alice", "pipe.jsonl"))
    found = store.conversations()
    assert ["chat"] == [row.conversation for row in found.conversations]
    assert 2 == len(found.notes), "the directory and the pipe are noted"


@pytest.mark.parametrize("name", ["50%.jsonl", "a%2fb.jsonl", "chat.jsonl.jsonl", "%41.jsonl", " .jsonl"])
def test_files_under_names_that_no_reference_reaches(store: Store, name: str) -> None:
    """They are listed under the file's own name, as not addressable, with their path."""
    path = put(store, "alice", name, USER + ANSWER)
    (row,) = rows(store)
    assert (False, name.removesuffix(".jsonl"), str(path)) == (row.addressable, row.conversation, row.path)
    assert (2, "assistant") == (row.messages, row.last_role)
    assert [] == conversations(store.setup)
    assert 2 == len(store.at(row.path).messages())


@pytest.mark.parametrize("name", ["a/b", "100%", ".hidden", "tab\t", "日本語", "with space"])
def test_names_come_back_as_they_were_given(store: Store, name: str) -> None:
    """User and conversation are decoded, whatever they are encoded as on disk."""
    store.conversation(name, name).append("hi")
    (row,) = rows(store)
    assert (name, name, True) == (row.user, row.conversation, row.addressable)


def test_listing_leaves_a_foreign_directory_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a store that memctl never wrote to, nothing comes into being: its caches lie with the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = tmp_path / "go" / "conversations" / "alice"
    directory.mkdir(parents=True)
    (directory / "chat.jsonl").write_bytes(USER)
    assert 1 == len(rows(Store(tmp_path / "go")))
    assert ["conversations"] == os.listdir(tmp_path / "go")
    assert 1 == len(list((tmp_path / "cache").rglob("*.index")))


@pytest.mark.parametrize("moment", [-3_600 * 10**9, 2**62])
def test_times_beyond_the_usual(tmp_path: Path, moment: int) -> None:
    """A file older than 1970, or from a far future, is read and listed like any other."""
    store = Store(tmp_path)
    store.conversation("a", "b").append("hi")
    os.utime(tmp_path / "conversations" / "a" / "b.jsonl", ns=(moment, moment))
    assert 1 == len(store.conversation("a", "b").window(10).lines)
    assert ["b"] == [row.conversation for row in store.conversations().conversations]
