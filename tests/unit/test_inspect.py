"""inspect through the library: tails of writers, caches, tokens, what is counted and what is incomplete."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl import Store, errors
from memctl.ops import targets
from memctl.ops.inspect import Inspection

MESSAGE = b'{"role":"user","content":"a"}\n'
ANSWER = b'{"role":"assistant","content":"b"}\n'


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with alice/x, which was counted, and bob/y, which was not."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Store(tmp_path / "store", settings={"durability": "none", "heal.settle_ms": 0})
    for reference in ("alice/x", "bob/y"):
        made.conversation(*reference.split("/")).append_jsonl(MESSAGE + ANSWER)
    made.conversation("alice", "x").count("bytes4")
    made.conversation("alice", "x").count()
    return made


def log_of(store: Store, reference: str) -> Path:
    return Path(store.root, "conversations", *reference.split("/")).with_suffix(".jsonl")


def cache(store: Store, reference: str, kind: str) -> Path:
    return Path(store.root, ".memctl", "cache", "conversations", f"{reference}.{kind}")


def codes(found: Inspection) -> dict[str, list[str]]:
    """Target -> the codes of its problems, of those that have any."""
    return {row.target: [problem.code for problem in row.problems] for row in found.targets if row.problems}


# -- tails -------------------------------------------------------------------------------------------------


def test_a_writer_between_its_two_writes_is_no_fault(store: Store) -> None:
    """A line whose newline comes a moment later is never called torn or unended, by inspect or by repair."""
    path = log_of(store, "alice/x")
    patient = Store(store.root)
    done = threading.Event()

    def write() -> None:
        with open(path, "ab", buffering=0) as file:
            for _ in range(40):
                file.write(ANSWER[:20])
                time.sleep(0.01)
                file.write(ANSWER[20:-1])
                time.sleep(0.02)
                file.write(b"\n")
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    looks = 0
    while not done.is_set():
        assert {} == codes(patient.inspect("alice/x"))
        assert 0 == patient.repair("alice/x", apply=False).fixed
        looks += 1
    writer.join()
    assert looks > 3
    assert 42 == patient.inspect("alice/x").targets[0].messages


def test_what_is_begun_while_the_tail_settles_is_not_looked_at(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next line of a writer that just ended the last one is not part of the log yet."""
    path = log_of(store, "alice/x")
    whole = path.stat().st_size

    def end_and_begin(_: float) -> None:
        with open(path, "ab") as file:
            file.write(b'"content":"a"}\n{"role":')

    with open(path, "ab") as file:
        file.write(b'{"role":"user",')
    monkeypatch.setattr("memctl.store.log.time.sleep", end_and_begin)
    (found,) = Store(store.root).inspect("alice/x").targets
    assert (3, whole + len(MESSAGE), []) == (found.messages, found.bytes, found.problems)


def test_a_tail_whose_lock_is_held_is_not_certain(store: Store) -> None:
    """While another command holds the lock the tail is named all the same, and `complete` is false."""
    with open(log_of(store, "alice/x"), "ab") as file:
        file.write(b'{"role":')
    impatient = Store(store.root, settings={"lock.timeout_s": 0.05, "heal.settle_ms": 0})
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with store.setup.lock(store.setup.reference("alice/x"), "holder"):
            held.set()
            release.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)
    try:
        found = impatient.inspect("alice/x")
    finally:
        release.set()
        holder.join()
    assert (False, {"alice/x": ["torn-tail"]}) == (found.complete, codes(found))
    found = impatient.inspect("alice/x")
    assert (True, {"alice/x": ["torn-tail"]}) == (found.complete, codes(found))


# -- caches ------------------------------------------------------------------------------------------------


def append(store: Store) -> None:
    store.conversation("alice", "x").append("more")


def append_by_hand(store: Store) -> None:
    with open(log_of(store, "alice/x"), "ab") as file:
        file.write(MESSAGE + ANSWER)


def drop(store: Store) -> None:
    talk = store.conversation("alice", "x")
    talk.drop([next(iter(talk.messages())).id])


def delete(store: Store) -> None:
    store.conversation("alice", "x").delete()


def delete_hard(store: Store) -> None:
    store.conversation("alice", "x").delete(hard=True)


def restore(store: Store) -> None:
    delete(store)
    store.restore("alice", "x")


def repair(store: Store) -> None:
    with open(log_of(store, "alice/x"), "ab") as file:
        file.write(b"\n{}\n")
    assert 2 == store.repair("alice/x").fixed


@pytest.mark.parametrize("change", [append, append_by_hand, drop, delete, delete_hard, restore, repair])
def test_no_command_leaves_a_stale_cache(store: Store, change: Callable[[Store], None]) -> None:
    """After what memctl does, and what a Go writer does, no cache is of another log; nor after a look."""
    change(store)
    assert "stale-cache" not in {code for row in codes(store.inspect()).values() for code in row}
    store.inspect(tokens=True)
    assert "stale-cache" not in {code for row in codes(store.inspect()).values() for code in row}


@pytest.mark.parametrize("what", ["other bytes", "shorter", "noise", "another log's"])
def test_a_cache_of_another_log_is_stale(store: Store, what: str) -> None:
    """Info, so exit 0; repair makes it anew, and a second inspect finds nothing."""
    path = log_of(store, "alice/x")
    data = path.read_bytes()
    if what == "other bytes":
        path.write_bytes(data.replace(b'"b"', b'"c"'))
    elif what == "shorter":
        path.write_bytes(data[: data.index(b"\n") + 1])
    elif what == "noise":
        cache(store, "alice/x", "index").write_bytes(b"noise")
    else:
        store.conversation("bob", "y").append("more", id="of-bob")
        store.conversation("bob", "y").count("bytes4")
        cache(store, "alice/x", "index").write_bytes(cache(store, "bob/y", "index").read_bytes())
    found = store.inspect()
    assert {"alice/x": ["stale-cache"]} == codes(found)
    assert (0, 0, True) == (found.errors, found.warnings, found.complete)
    assert None is found.targets[0].tokens
    done = store.repair()
    assert [{"code": "stale-cache", "line": None, "action": "rebuilt"}] == done.targets[0].fixed
    assert {} == codes(store.inspect())
    assert 0 == store.repair().fixed


def test_caches_of_nothing_are_stale_and_go(store: Store) -> None:
    """In the whole store only; the plan names what the deed removes."""
    log_of(store, "alice/x").unlink()
    names = sorted(path.name for path in cache(store, "alice/x", "index").parent.iterdir())
    assert ["x.bytes4", "x.index", "x.o200k_base"] == names
    expected = {str(cache(store, "alice", "").parent / "alice" / name): ["stale-cache"] for name in names}
    assert expected == codes(store.inspect())
    assert {} == codes(store.inspect("bob"))
    assert 3 == store.repair(apply=False).fixed
    assert expected == codes(store.inspect())
    assert 3 == store.repair().fixed
    assert ({}, 0) == (codes(store.inspect()), store.repair().fixed)
    assert [] == list(cache(store, "alice/x", "index").parent.iterdir())


# -- tokens ------------------------------------------------------------------------------------------------


def test_tokens_are_those_that_are_known_or_asked_for(store: Store) -> None:
    """Null unless all of the log was counted; asked for they equal what `count` says."""
    counted = store.conversation("alice", "x").count().tokens
    assert [counted, None] == [row.tokens for row in store.inspect().targets]
    append_by_hand(store)
    assert [None, None] == [row.tokens for row in store.inspect().targets]
    found = store.inspect(tokens=True)
    assert [store.conversation(*name).count().tokens for name in (("alice", "x"), ("bob", "y"))] == [
        row.tokens for row in found.targets
    ]
    assert None not in [row.tokens for row in store.inspect().targets]


@pytest.mark.parametrize("tail", [b"", b"no json\n", b"\0" * 50, MESSAGE[:-1], b"\n\n", ANSWER * 2 + b"{"])
def test_tokens_of_damaged_files_are_those_of_count(store: Store, tmp_path: Path, tail: bytes) -> None:
    """A file outside the store, damaged or not, has the tokens that `count` gives."""
    path = tmp_path / "f.jsonl"
    path.write_bytes(MESSAGE + tail + ANSWER + tail)
    (found,) = store.inspect(str(path), tokens=True).targets
    counted = store.at(str(path)).count()
    assert (counted.tokens, counted.messages) == (found.tokens, found.messages)


# -- counting and failing ----------------------------------------------------------------------------------


def test_errors_and_warnings_are_all_that_are_found(store: Store, tmp_path: Path) -> None:
    """Problems of files, lines and activities count by their severity; infos do not count."""
    path = log_of(store, "alice/x")
    path.write_bytes(MESSAGE + MESSAGE + b"no json\n" + b'{"role":"assistant","content":["x"]}\n')
    path.chmod(0o604)
    Path(f"{path}.activities").write_bytes(b"{}")
    Path(f"{path}.activities").chmod(0o600)
    found = store.inspect()
    assert {
        "alice/x": ["stale-cache", "mode", "dangling-user", "bad-json", "list-content"],
        f"{path}.activities": ["bad-activities"],
    } == {target: sorted(rows, key=_order) for target, rows in codes(found).items()}
    assert (2, 2) == (found.errors, found.warnings)
    assert {"error": 1, "warning": 2, "info": 2} == found.targets[0].counts


def _order(code: str) -> int:
    return ["stale-cache", "mode", "dangling-user", "bad-json", "list-content", "bad-activities"].index(code)


def test_problems_beyond_those_listed_count(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of very many problems of a code some are listed, all are counted, and `unlisted` says how many more."""
    monkeypatch.setattr("memctl.core.diagnosis.LISTED_MAX", 3)
    path = tmp_path / "f.jsonl"
    path.write_bytes(MESSAGE + b"no json\n" * 5 + b"\n" * 4)
    found = store.inspect(str(path))
    assert (5, 4) == (found.errors, found.warnings)
    assert {"bad-json": 2, "blank-line": 1} == found.targets[0].unlisted
    assert 6 == len(found.targets[0].problems)


def test_a_file_that_vanishes_keeps_no_other_from_being_looked_at(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a store was deleted: no fault. One that was named outside: it has failed. Alone: NotFound."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(MESSAGE)
    listed = targets.listed

    def then_unlink(*args: object) -> list[object]:
        rows = listed(*args)  # type: ignore[arg-type]
        (tmp_path / "a.jsonl").unlink()
        log_of(store, "bob/y").unlink(missing_ok=True)
        return list(rows)

    monkeypatch.setattr("memctl.ops.inspect.listed", then_unlink)
    found = store.inspect(str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"), "alice", "bob")
    assert [f"{tmp_path}/b.jsonl", "alice/x"] == [row.target for row in found.targets]
    assert (False, [(f"{tmp_path}/a.jsonl", "not-found")]) == (
        found.complete,
        [row[:2] for row in found.failed],
    )
    (tmp_path / "a.jsonl").write_bytes(MESSAGE)
    with pytest.raises(errors.NotFound):
        store.inspect(str(tmp_path / "a.jsonl"))


def test_each_file_is_looked_at_once(store: Store) -> None:
    """A conversation that is named by reference, by user and by path is one target."""
    path = str(log_of(store, "alice/x"))
    found = store.inspect("alice/x", "alice", path, os.path.dirname(path), f"{store.root}/conversations")
    assert ["alice/x", "bob/y"] == [row.target for row in found.targets]


def test_activities_by_their_path_are_those_of_the_conversation(store: Store) -> None:
    """In the store they are repaired under the conversation's lock, whatever they are named by."""
    path = Path(f"{log_of(store, 'alice/x')}.activities")
    path.write_bytes(b"no list")
    path.chmod(0o600)
    assert {str(path): ["bad-activities"]} == codes(store.inspect("alice", str(path)))
    done = store.repair(str(path))
    assert (1, 0, False) == (done.fixed, done.left, path.exists())
    assert [b"no list"] == [store.quarantined(item["id"]) for item in store.quarantine()]


# -- probe -------------------------------------------------------------------------------------------------


def test_a_probe_leaves_nothing(store: Store, tmp_path: Path) -> None:
    """The store is as before; where there is none, none comes into being."""

    def tree() -> list[tuple[str, bytes]]:
        return [(str(path), path.read_bytes()) for path in Path(store.root).rglob("*") if path.is_file()]

    before = tree()
    store.probe()
    assert before == tree()
    with pytest.raises(errors.NotFound):
        Store(tmp_path / "none").probe()
    assert not (tmp_path / "none").exists()
    go = tmp_path / "go"
    (go / "conversations" / "u").mkdir(parents=True)
    Store(go).probe()
    assert ["conversations"] == os.listdir(go)


def test_the_cache_of_a_file_outside_is_no_concern(store: Store, tmp_path: Path) -> None:
    """A file that was counted and then changed by hand is fine; its count is the new one."""
    path = tmp_path / "f.jsonl"
    path.write_bytes(MESSAGE + ANSWER)
    store.at(str(path)).count()
    path.write_bytes(MESSAGE.replace(b"a", b"another text") + ANSWER)
    found = store.inspect(str(path))
    assert ({}, None) == (codes(found), found.targets[0].tokens)
    assert 0 == store.repair(str(path)).fixed
    assert store.at(str(path)).count().tokens == store.inspect(str(path)).targets[0].tokens
