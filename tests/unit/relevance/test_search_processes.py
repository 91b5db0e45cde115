"""The index with several processes, killed ones, and a cache that cannot be written or is damaged."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memctl.store import caches
from memctl.store.search import building, catching_up
from memctl.store.search.answering import answer
from memctl.store.search.catching_up import drop
from memctl.store.search.records import RecordFiles

from .conftest import answers

CHECKOUT = Path(__file__).resolve().parents[3]

_OPEN = """
import os, signal, sys
from memctl.store.layout import Layout
from memctl.store.search import building, catching_up, growing, schema
from memctl.store.search.catching_up import open_current
from memctl.store.search.records import RecordFiles

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

root, user, where = sys.argv[1:4]
if where == "words":
    growing.Growing.settle = die
elif where == "columns":
    write = schema.write_column
    def some(base, name, *more):
        write(base, name, *more)
        if name == "start":
            die()
    schema.write_column = some
elif where == "sources":
    schema.put_sources = die
elif where == "copying":
    building.sqlite3 = type("base", (), {"connect": die, "Error": Exception})
elif where == "placing":
    building.caches.place = die
layout = Layout.of(root)
index, report = open_current(layout.search_index(user, "records").path, RecordFiles(layout, user))
print(index.corpus.live, len(index.rank("tea").docs))
"""


def process(memory: Any, where: str = "") -> subprocess.Popen[bytes]:
    """Another process that opens the index of the records, and dies at a certain place."""
    arguments = [sys.executable, "-c", _OPEN, memory.layout.root, "ann", where]
    environment = {"PYTHONPATH": str(CHECKOUT), "PATH": os.defpath}
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, env=environment, cwd=CHECKOUT)


def tea(memory: Any, start: int, end: int) -> None:
    """Append records with the same word."""
    memory.append("hot", [{"id": f"r{n:04}", "content": f"tea number{n}"} for n in range(start, end)])


@pytest.mark.parametrize("where", ["words", "columns", "sources", "placing"])
def test_a_writer_killed_while_it_catches_up(memory: Any, where: str) -> None:
    """What a killed writer leaves is the index as it was, or one that is thrown away."""
    tea(memory, 0, 40)
    memory.open().close()
    tea(memory, 40, 60)
    child = process(memory, where)
    child.communicate(timeout=60)
    assert -signal.SIGKILL == child.returncode
    assert "r0055" == memory.found("number55")[0]
    assert 60 == len(memory.found("tea"))
    with memory.open() as index:
        assert "ok" == index.base.execute("PRAGMA integrity_check").fetchone()[0]


@pytest.mark.parametrize("where", ["copying", "placing"])
def test_a_builder_killed_before_the_index_is_in_place(memory: Any, where: str) -> None:
    """What was being made is no index, and `drop` takes it away."""
    tea(memory, 0, 40)
    child = process(memory, where)
    child.communicate(timeout=60)
    assert -signal.SIGKILL == child.returncode
    folder = Path(memory.index_path()).parent
    assert [memory.index_path()] != [str(path) for path in folder.iterdir()]
    assert 1 == len(list(folder.iterdir()))
    assert 40 == len(memory.found("tea"))
    drop(memory.index_path())
    assert [] == list(folder.iterdir())


@pytest.mark.parametrize("known", [0, 200])
def test_several_processes_at_once(memory: Any, known: int) -> None:
    """All see everything, whether the index has to be made or caught up, and one good index is left."""
    if known:
        tea(memory, 0, known)
        memory.open().close()
    tea(memory, known, 400)
    children = [process(memory) for _ in range(4)]
    said = [child.communicate(timeout=60)[0].split()[0] for child in children]
    assert [b"400"] * 4 == said
    with memory.open() as index:
        assert (400, False) == (index.corpus.live, memory.report.rebuilt)


def test_a_reader_keeps_what_it_reads(memory: Any) -> None:
    """A reader sees one state, whatever takes the place of the file or removes it meanwhile."""
    tea(memory, 0, 3)
    memory.open().close()
    with memory.open() as reader:
        tea(memory, 3, 5)
        assert 5 == len(memory.found("tea"))
        assert memory.report.saved
        drop(memory.index_path())
        assert 3 == len(reader.rank("tea").docs)


def test_a_copy_does_not_bring_back_what_was_dropped(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that began before an index was dropped answers, but puts nothing in its place."""
    tea(memory, 0, 3)
    memory.open().close()
    memory.replace("hot", memory.records("hot")[1:])
    catch_up = catching_up._catch_up

    def dropping(*given: Any) -> Any:
        drop(memory.index_path())
        return catch_up(*given)

    monkeypatch.setattr(catching_up, "_catch_up", dropping)
    assert ["r0001", "r0002"] == memory.found("tea")
    assert not memory.report.saved
    assert not Path(memory.index_path()).exists()


def test_a_cache_that_cannot_be_made(memory: Any) -> None:
    """Without a place for the cache the answer is the same, and the report says that nothing was kept."""
    Path(memory.layout.root, ".memctl").mkdir()
    Path(memory.layout.root, ".memctl", "cache").write_text("a file where a directory should be")
    tea(memory, 0, 3)
    assert 3 == len(memory.found("tea"))
    assert not memory.report.saved


def test_an_old_index_that_cannot_be_written(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index on a read-only disk is caught up in memory, not made anew."""
    tea(memory, 0, 3)
    memory.open().close()
    before = Path(memory.index_path()).read_bytes()
    tea(memory, 3, 5)

    def read_only(_path: str) -> tuple[int, str]:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(building.caches, "create", read_only)
    assert 5 == len(memory.found("tea"))
    assert catching_up.Report(added=2, saved=False) == memory.report
    assert before == Path(memory.index_path()).read_bytes()


@pytest.mark.parametrize("failing", ["create", "place"])
def test_a_full_disk(memory: Any, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    """An index that cannot be kept is used all the same, and leaves nothing behind."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    tea(memory, 0, 3)
    monkeypatch.setattr(building.caches, failing, full)
    assert 3 == len(memory.found("tea"))
    assert not memory.report.saved
    monkeypatch.undo()
    folder = Path(memory.index_path()).parent
    assert [] == (list(folder.iterdir()) if folder.exists() else [])
    assert 3 == len(memory.found("tea"))
    assert memory.report.saved


@pytest.mark.parametrize(
    "damage", ["empty", "text", "cut", "pages", "other", "words", "order", "directory", "link"]
)
def test_a_damaged_index_is_thrown_away(memory: Any, damage: str) -> None:
    """Whatever lies where the index should be, the answer is that of the truth."""
    tea(memory, 0, 300)
    memory.open().close()
    path = Path(memory.index_path())
    data = path.read_bytes()
    if damage in ("directory", "link", "other"):
        path.unlink()
    if damage == "directory":
        path.mkdir()
    elif damage == "link":
        path.with_name("elsewhere").write_bytes(data)
        path.symlink_to("elsewhere")
    elif damage in ("words", "order", "other"):
        base = sqlite3.connect(path)
        statement = {
            "words": "DELETE FROM words_data",
            "order": "UPDATE piece SET data = zeroblob(3) WHERE name = 'created'",
            "other": "CREATE TABLE t (x)",
        }[damage]
        base.execute(statement)
        base.commit()
        base.close()
    else:
        broken = {
            "empty": b"",
            "text": b"not a database at all" * 99,
            "cut": data[: len(data) // 2],
            "pages": data[:4096] + random.Random(1).randbytes(len(data) - 4096),
        }
        path.write_bytes(broken[damage])
    for number in (300, 305):
        truth = RecordFiles(memory.layout, "ann")
        assert number == answer(memory.index_path(), truth, lambda index: len(answers(index, "tea")))
        tea(memory, number, number + 5)


def test_random_damage_of_an_index_harms_no_answer(memory: Any) -> None:
    """Scribbled bytes, also in what SQLite names in its messages, raise nothing and change no answer."""
    tea(memory, 0, 8)
    memory.open().close()
    path = Path(memory.index_path())
    whole = path.read_bytes()
    damaged_reads = 0
    for seed in range(60):
        choose = random.Random(seed)
        data = bytearray(whole)
        for _ in range(choose.choice([1, 5, 40, 200, 1000])):
            data[choose.randrange(100, choose.choice([len(data), 4096]))] = choose.randrange(256)
        path.write_bytes(data)
        truth = RecordFiles(memory.layout, "ann")
        damaged_reads += catching_up.differences(str(path), truth) > 0
        path.write_bytes(data)
        assert 8 == answer(str(path), truth, lambda index: len(answers(index, "tea")))
    assert damaged_reads < 60


def test_the_file_is_for_its_owner(memory: Any) -> None:
    """The index has mode 0600, and lies under its path alone."""
    tea(memory, 0, 3)
    old = os.umask(0)
    try:
        memory.open().close()
    finally:
        os.umask(old)
    path = Path(memory.index_path())
    assert 0o600 == path.stat().st_mode & 0o777
    assert [path] == list(path.parent.iterdir())


def test_unfinished_files_of_living_processes_stay(memory: Any) -> None:
    """What a process that is alive is making is left to it."""
    tea(memory, 0, 3)
    memory.open().close()
    fd, unfinished = caches.create(memory.index_path())
    os.close(fd)
    drop(memory.index_path())
    assert Path(unfinished).exists()
