"""rebuild-index: caches from the files, and what differs from them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.api import Store
from memctl.errors import AccessDenied, NotFound, UsageError
from memctl.ops.rebuild import Rebuilt


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Two users with three conversations, all of them indexed and counted."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Store(tmp_path / "store", settings={"durability": "none"})
    for user, name in (("alice", "one"), ("alice", "two"), ("bob", "one")):
        conversation = made.conversation(user, name)
        conversation.append(f"hello from {user}")
        conversation.append("an answer", "assistant")
        conversation.window(100, counter="bytes4")
    return made


def cache(store: Store, user: str, name: str) -> Path:
    return Path(store.root, ".memctl", "cache", "conversations", user, name)


def test_right_caches_stay_as_they_are(store: Store) -> None:
    """Nothing differs, nothing is written, and totals need no new count."""
    before = {path: path.read_bytes() for path in Path(store.root, ".memctl", "cache").rglob("*.*")}
    assert Rebuilt(2, 3, 6, 0, 0, 0) == store.rebuild_index(check=True)
    assert Rebuilt(2, 3, 6, 0, 0, 0) == store.rebuild_index()
    assert before == {path: path.read_bytes() for path in Path(store.root, ".memctl", "cache").rglob("*.*")}


@pytest.mark.parametrize("what", ["cut", "noise", "header", "of another", "a byte more"])
def test_a_wrong_index_is_found_and_made_anew(store: Store, what: str) -> None:
    """`check` only counts it; without, it is replaced, and then nothing differs any more."""
    path = cache(store, "alice", "one.index")
    data = path.read_bytes()
    path.unlink()
    wrong = {
        "cut": data[:-1],
        "noise": data[:-20] + bytes(20),
        "header": b"X" + data[1:],
        "of another": cache(store, "bob", "one.index").read_bytes(),
        "a byte more": data + b"x",
    }
    if what in wrong:
        path.write_bytes(wrong[what])
    assert Rebuilt(2, 3, 6, 0, 0, 1) == store.rebuild_index(check=True)
    assert wrong.get(what) == (path.read_bytes() if path.exists() else None)
    assert Rebuilt(2, 3, 6, 1, 0, 1) == store.rebuild_index()
    assert Rebuilt(2, 3, 6, 0, 0, 0) == store.rebuild_index(check=True)
    assert store.conversation("alice", "one").window(100, counter="bytes4").tokens == 6


def test_a_log_that_nobody_looked_at_is_no_difference(store: Store) -> None:
    """An index that lacks what was appended is right as far as it goes; a missing one is made."""
    store.conversation("alice", "two").append("more")
    store.conversation("carol", "new").append("hello")
    assert Rebuilt(3, 4, 8, 0, 0, 0) == store.rebuild_index(check=True)
    assert Rebuilt(3, 4, 8, 1, 0, 0) == store.rebuild_index()


def test_only_what_is_named_is_looked_at(store: Store) -> None:
    """A user's conversations, or one."""
    for path in Path(store.root, ".memctl", "cache").rglob("*.index"):
        path.unlink()
    assert Rebuilt(1, 1, 2, 1, 0, 0) == store.rebuild_index("alice/two")
    assert Rebuilt(1, 2, 4, 1, 0, 0) == store.rebuild_index("alice")
    assert Rebuilt(2, 3, 6, 1, 0, 0) == store.rebuild_index()
    with pytest.raises(NotFound, match="nobody"):
        store.rebuild_index("nobody")
    with pytest.raises(NotFound, match="alice/three"):
        store.rebuild_index("alice/three")


def test_caches_of_nothing_are_removed(store: Store) -> None:
    """Those of conversations that are gone, and what a killed process left."""
    os.unlink(Path(store.root, "conversations", "bob", "one.jsonl"))
    left = cache(store, "alice", ".123-new")
    left.write_bytes(b"half an index")
    Path(store.root, ".memctl", "cache", "conversations", "a file").write_bytes(b"")
    assert Rebuilt(1, 2, 4, 0, 0, 3) == store.rebuild_index(check=True)
    assert left.exists()
    assert Rebuilt(1, 2, 4, 0, 3, 3) == store.rebuild_index()
    assert not left.exists()
    assert [] == list(cache(store, "bob", "one").parent.iterdir())
    assert ["one.bytes4", "one.index", "two.bytes4", "two.index"] == sorted(
        path.name for path in left.parent.iterdir()
    )


def test_a_link_among_the_conversations_is_passed_over(store: Store, tmp_path: Path) -> None:
    """It keeps no other conversation from being looked at; asked for alone it is refused."""
    (tmp_path / "elsewhere.jsonl").write_bytes(b"")
    Path(store.root, "conversations", "alice", "link.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    done = store.rebuild_index(check=True)
    assert Rebuilt(2, 4, 6, 0, 0, 0) == done._replace(failed=())
    assert [("alice/link", "permission")] == [row[:2] for row in done.failed]
    assert done == store.rebuild_index("alice", "bob", check=True)
    with pytest.raises(AccessDenied, match="link"):
        store.rebuild_index("alice/link")


def test_several_are_named_each_once(store: Store) -> None:
    """Users and conversations together; one that is named twice is looked at once, a path is refused."""
    assert Rebuilt(2, 2, 4, 0, 0, 0) == store.rebuild_index("alice/two", "bob", "bob/one")
    assert Rebuilt(2, 3, 6, 0, 0, 0) == store.rebuild_index("bob", "alice")
    os.unlink(Path(store.root, "conversations", "bob", "one.jsonl"))
    assert Rebuilt(1, 1, 2, 0, 0, 0) == store.rebuild_index("alice/one", check=True)
    assert Rebuilt(1, 2, 4, 0, 0, 2) == store.rebuild_index(check=True)
    with pytest.raises(NotFound, match="bob/one"):
        store.rebuild_index("alice/one", "bob/one")
    with pytest.raises(UsageError, match="path"):
        store.rebuild_index("./one.jsonl")


def test_a_store_without_conversations(tmp_path: Path) -> None:
    """There is nothing to do, and nothing comes into being."""
    assert Rebuilt(0, 0, 0, 0, 0, 0) == Store(tmp_path / "none").rebuild_index()
    assert not (tmp_path / "none").exists()
    with pytest.raises(NotFound):
        Store(tmp_path / "none").conversation("a", "b", create=False)


def test_progress_is_told(store: Store) -> None:
    """After each conversation: how many are done, of how many."""
    told: list[tuple[int, int]] = []
    store.rebuild_index(progress=lambda done, total: told.append((done, total)))
    assert [(1, 3), (2, 3), (3, 3)] == told
