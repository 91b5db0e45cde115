"""rebuild-index: caches from the files, and what differs from them."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from memctl.api import Store
from memctl.errors import AccessDenied, NotFound, UsageError
from memctl.ops.rebuild import Rebuilt


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Two users with three conversations, all of them indexed, counted and searchable."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Store(tmp_path / "store", settings={"durability": "none"})
    for user, name in (("alice", "one"), ("alice", "two"), ("bob", "one")):
        conversation = made.conversation(user, name)
        conversation.append(f"hello from {user}")
        conversation.append("an answer", "assistant")
        conversation.window(100, counter="bytes4")
    made.rebuild_index()
    return made


def cache(store: Store, user: str, name: str) -> Path:
    return Path(store.root, ".memctl", "cache", "conversations", user, name)


def test_right_caches_stay_as_they_are(store: Store) -> None:
    """Nothing differs, nothing is written, and totals need no new count."""
    before = {path: path.read_bytes() for path in Path(store.root, ".memctl", "cache").rglob("*.*")}
    assert Rebuilt(2, 3, 6, 0, 0, 0, 0) == store.rebuild_index(check=True)
    assert Rebuilt(2, 3, 6, 0, 0, 0, 0) == store.rebuild_index()
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
    assert Rebuilt(2, 3, 6, 0, 0, 0, 1) == store.rebuild_index(check=True)
    assert wrong.get(what) == (path.read_bytes() if path.exists() else None)
    assert Rebuilt(2, 3, 6, 0, 1, 0, 1) == store.rebuild_index()
    assert Rebuilt(2, 3, 6, 0, 0, 0, 0) == store.rebuild_index(check=True)
    assert store.conversation("alice", "one").window(100, counter="bytes4").tokens == 6


@pytest.mark.parametrize("what", ["no database", "empty", "another format", "cut"])
def test_a_search_index_that_cannot_be_read_is_wrong(store: Store, what: str) -> None:
    """`check` counts one difference and leaves the file; without, it is made anew, and nothing differs."""
    path = Path(store.root, ".memctl", "cache", "search", "alice.messages.db")
    data = path.read_bytes()
    path.write_bytes({"no database": b"x" * 9_000, "empty": b"", "cut": data[:100]}.get(what, data))
    if what == "another format":
        with sqlite3.connect(path) as base:
            base.execute("UPDATE meta SET value = 'older' WHERE key = 'format'")
    wrong = path.read_bytes()
    assert Rebuilt(2, 3, 6, 0, 0, 0, 1) == store.rebuild_index(check=True)
    assert wrong == path.read_bytes()
    assert Rebuilt(2, 3, 6, 0, 1, 0, 1) == store.rebuild_index()
    assert Rebuilt(2, 3, 6, 0, 0, 0, 0) == store.rebuild_index(check=True)


def test_a_log_that_nobody_looked_at_is_no_difference(store: Store) -> None:
    """An index that lacks what was appended is right as far as it goes; a missing one is made."""
    store.conversation("alice", "two").append("more")
    store.conversation("carol", "new").append("hello")
    assert Rebuilt(3, 4, 8, 0, 0, 0, 0) == store.rebuild_index(check=True)
    # A search index of the user, too.
    assert Rebuilt(3, 4, 8, 0, 2, 0, 0) == store.rebuild_index()
    assert Rebuilt(3, 4, 8, 0, 0, 0, 0) == store.rebuild_index()


def test_only_what_is_named_is_looked_at(store: Store) -> None:
    """A user's conversations, or one."""
    for path in Path(store.root, ".memctl", "cache").rglob("*.index"):
        path.unlink()
    assert Rebuilt(1, 1, 2, 0, 1, 0, 0) == store.rebuild_index("alice/two")
    assert Rebuilt(1, 2, 4, 0, 1, 0, 0) == store.rebuild_index("alice")
    assert Rebuilt(2, 3, 6, 0, 1, 0, 0) == store.rebuild_index()
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
    assert Rebuilt(1, 2, 4, 0, 0, 0, 4) == store.rebuild_index(check=True)
    assert left.exists()
    assert Rebuilt(1, 2, 4, 0, 0, 4, 4) == store.rebuild_index()
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
    assert Rebuilt(2, 4, 6, 0, 0, 0, 0) == done._replace(failed=())
    assert [("alice/link", "permission")] == [row[:2] for row in done.failed]
    assert done == store.rebuild_index("alice", "bob", check=True)
    with pytest.raises(AccessDenied, match="link"):
        store.rebuild_index("alice/link")


def test_several_are_named_each_once(store: Store) -> None:
    """Users and conversations together; one that is named twice is looked at once, a path is refused."""
    assert Rebuilt(2, 2, 4, 0, 0, 0, 0) == store.rebuild_index("alice/two", "bob", "bob/one")
    assert Rebuilt(2, 3, 6, 0, 0, 0, 0) == store.rebuild_index("bob", "alice")
    os.unlink(Path(store.root, "conversations", "bob", "one.jsonl"))
    assert Rebuilt(1, 1, 2, 0, 0, 0, 0) == store.rebuild_index("alice/one", check=True)
    assert Rebuilt(1, 2, 4, 0, 0, 0, 3) == store.rebuild_index(check=True)
    with pytest.raises(NotFound, match="bob/one"):
        store.rebuild_index("alice/one", "bob/one")
    with pytest.raises(UsageError, match="path"):
        store.rebuild_index("./one.jsonl")


def test_a_store_without_conversations(tmp_path: Path) -> None:
    """There is nothing to do, and nothing comes into being."""
    assert Rebuilt(0, 0, 0, 0, 0, 0, 0) == Store(tmp_path / "none").rebuild_index()
    assert not (tmp_path / "none").exists()
    with pytest.raises(NotFound):
        Store(tmp_path / "none").conversation("a", "b", create=False)


def test_progress_is_told(store: Store) -> None:
    """After each conversation, and after the search of each user: how many are done, of how many."""
    told: list[tuple[int, int]] = []
    store.rebuild_index(progress=lambda done, total: told.append((done, total)))
    assert [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)] == told


# -- records and search ---------------------------------------------------------------------------------


def tier_file(store: Store, user: str, *ids: str, tier: str = "hot") -> Path:
    """Records of a user, added to a tier."""
    path = Path(store.root, "tiers", tier, f"{user}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        file.write("".join(f'{{"id":"{id}","content":"about {id}","rev":1}}\n' for id in ids))
    return path


def search_index(store: Store, user: str, kind: str) -> Path:
    return Path(store.root, ".memctl", "cache", "search", f"{user}.{kind}.db")


def test_records_are_counted_and_made_searchable(store: Store) -> None:
    """Those of users without a conversation too; in several tiers each once; a missing index is made."""
    tier_file(store, "alice", "a", "b")
    tier_file(store, "alice", "b", "c", tier="cold")
    tier_file(store, "dora", "d")
    assert Rebuilt(3, 3, 6, 4, 0, 0, 0) == store.rebuild_index(check=True)
    assert not search_index(store, "dora", "records").exists()
    assert Rebuilt(3, 3, 6, 4, 2, 0, 0) == store.rebuild_index()
    assert Rebuilt(3, 3, 6, 4, 0, 0, 0) == store.rebuild_index()
    assert Rebuilt(1, 0, 0, 1, 0, 0, 0) == store.rebuild_index("dora")
    assert Rebuilt(1, 1, 2, 0, 0, 0, 0) == store.rebuild_index("alice/two")


def test_a_search_index_that_is_behind_is_no_difference(store: Store) -> None:
    """It has caught up after a rebuild, which makes nothing anew for that."""
    tier_file(store, "alice", "a")
    store.rebuild_index()
    tier_file(store, "alice", "b")
    assert Rebuilt(2, 3, 6, 2, 0, 0, 0) == store.rebuild_index(check=True)
    assert Rebuilt(2, 3, 6, 2, 0, 0, 0) == store.rebuild_index()


@pytest.mark.parametrize("kind", ["records", "messages"])
def test_a_search_index_that_disagrees_is_found_and_made_anew(store: Store, kind: str) -> None:
    """One that has the state of the files and other documents is a difference until it is rebuilt."""
    tier_file(store, "alice", "a", "b")
    store.rebuild_index()
    path = search_index(store, "alice", kind)
    with sqlite3.connect(path) as base:
        base.execute("UPDATE piece SET data = zeroblob(length(data)) WHERE name = 'stamp'")
    base.close()
    assert Rebuilt(2, 3, 6, 2, 0, 0, 1) == store.rebuild_index(check=True)
    assert Rebuilt(2, 3, 6, 2, 1, 0, 1) == store.rebuild_index()
    assert Rebuilt(2, 3, 6, 2, 0, 0, 0) == store.rebuild_index(check=True)


def test_search_indexes_of_users_that_are_gone_are_removed(store: Store) -> None:
    """With what SQLite left beside them, vectors too; those of others stay."""
    path = tier_file(store, "dora", "d")
    store.rebuild_index()
    gone = search_index(store, "dora", "records")
    journal = Path(f"{gone}-journal")
    vectors = Path(store.root, ".memctl", "cache", "vectors")
    for kept in (journal, vectors / "dora" / "hash", vectors / "alice" / "hash"):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(b"")
    path.unlink()
    assert Rebuilt(2, 3, 6, 0, 0, 0, 3) == store.rebuild_index(check=True)
    assert Rebuilt(2, 3, 6, 0, 0, 3, 3) == store.rebuild_index()
    assert [False, False] == [gone.exists(), journal.exists()]
    assert ["alice/hash"] == [str(path.relative_to(vectors)) for path in vectors.rglob("*/*")]
    assert Rebuilt(2, 3, 6, 0, 0, 0, 0) == store.rebuild_index(check=True)


def test_records_that_cannot_be_read_stop_nobody(store: Store, tmp_path: Path) -> None:
    """Of a user whose tier file is a link nothing is counted; the others are looked at."""
    (tmp_path / "elsewhere.jsonl").write_bytes(b"")
    hot = tier_file(store, "alice", "a").parent
    (hot / "eve.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    done = store.rebuild_index()
    assert [("eve", "permission")] == [row[:2] for row in done.failed]
    assert (3, 1) == (done.users, done.records)
