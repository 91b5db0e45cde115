"""The index of records agrees with the truth after every change: appended, replaced, moved, removed."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from memctl.core.relevance import ranking
from memctl.core.tier import TIERS
from memctl.errors import Changing
from memctl.store import caches
from memctl.store.search.catching_up import Report, differences, drop, open_current
from memctl.store.search.index import SearchIndex
from memctl.store.search.records import RecordFiles

from .conftest import USER, answers

WORDS = (
    *("cat", "dog", "tea", "box", "ssh", "port", "sun", "rain", "milk", "snow", "boat", "tree", "July"),
    *("2023", "when?", "Anna", "three", "yesterday"),
)
QUERIES = ("cat", "tea box Anna", "july 2023", "when did Bo ssh", "how many boats", "nothing there")


def some_record(chance: random.Random, number: int, rev: int) -> dict[str, Any]:
    """A record that may meet others in words, id, conversation and time."""
    conversation = chance.choice(["", "", "a", "b"])
    return {
        "id": f"r{number}",
        "content": " ".join(chance.choices(WORDS, k=chance.randint(1, 8))),
        "rev": rev,
        "conversation": conversation,
        "created_at": 1.6e9 + chance.randrange(400) * 700,
        "metadata": {"name": chance.choice(["Anna", "Bo"])} if conversation else {},
        "importance": chance.choice([0.2, 0.9]),
    }


def change(memory: Any, chance: random.Random, rev: int) -> None:
    """Do one thing to the tier files."""
    tier, other = chance.sample(TIERS, 2)
    kind = chance.choice(["append", "append", "append", "edit", "move", "touch", "forget"])
    if kind == "append":
        memory.append(tier, [some_record(chance, chance.randrange(60), rev) for _ in range(5)])
    elif kind == "edit":
        memory.append(tier, [some_record(chance, chance.randrange(10), rev)])
    elif kind == "move":
        records = memory.records(tier)
        memory.append(other, [record | {"rev": rev, "tier": other} for record in records[:3]])
        memory.replace(tier, records[3:])
    elif kind == "touch":
        memory.replace(tier, [record | {"importance": 0.5} for record in memory.records(tier)])
    else:
        gone = {f"r{chance.randrange(60)}" for _ in range(4)}
        for each in TIERS:
            memory.replace(each, [record for record in memory.records(each) if record["id"] not in gone])


@pytest.mark.parametrize("seed", range(10))
def test_what_caught_up_answers_as_what_is_made_anew(memory: Any, seed: int) -> None:
    """After each change the kept index gives the answers of a new one: places, scores and order."""
    chance = random.Random(seed)
    for step in range(25):
        change(memory, chance, step + 1)
        with memory.open() as kept, memory.open(kept=False) as fresh:
            assert fresh.corpus.live == kept.corpus.live
            for query in QUERIES:
                assert answers(fresh, query) == answers(kept, query), (step, query)
        assert 0 == differences(memory.index_path(), RecordFiles(memory.layout, USER))


def test_an_unchanged_truth_is_not_read(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no file changed, no line is read and nothing is written."""
    memory.add("x", "cat")
    memory.open().close()
    monkeypatch.setattr(RecordFiles, "read", None)
    monkeypatch.setattr(caches, "create", None)
    assert ["x"] == memory.found("cat")
    assert Report() == memory.report


def test_what_was_appended_is_read_alone(memory: Any) -> None:
    """An append adds the new records, and nothing else is looked at."""
    memory.append("hot", [{"id": f"r{n}", "content": f"tea {n}"} for n in range(50)])
    memory.open().close()
    assert Report(rebuilt=True, added=50) == memory.report
    memory.add("new", "coffee")
    assert ["new"] == memory.found("coffee")
    assert Report(added=1) == memory.report


def test_records_that_moved_are_not_indexed_again(memory: Any) -> None:
    """A pass that rewrites tier files changes places alone: no text is taken in again."""
    records = [{"id": f"r{n}", "content": f"tea number{n}", "rev": 1, "tier": "hot"} for n in range(100)]
    memory.append("hot", records)
    assert "r70" == memory.found("number70")[0]
    memory.replace("warm", [record | {"tier": "warm", "rev": 2} for record in records[50:]])
    memory.replace("hot", [record | {"access_count": 3} for record in records[:50]])
    with memory.open() as index:
        assert Report(moved=100) == memory.report
        place, _ = answers(index, "number70")[0]
        with RecordFiles(memory.layout, USER) as files:
            files.marks()
            assert ("r70", 2, "warm") == (place.id, place.rev, place.source)
            assert "tea number70" == json.loads(files.line(place))["content"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([("hot", 1, "old"), ("hot", 2, "new")], "new"),
        ([("hot", 2, "new"), ("hot", 1, "old")], "new"),
        ([("hot", 2, "first"), ("hot", 2, "second")], "second"),
        ([("cold", 3, "new"), ("hot", 2, "old")], "new"),
        ([("cold", 2, "colder"), ("hot", 2, "hotter")], "hotter"),
        ([("hot", 2, "hotter"), ("warm", 2, "colder")], "hotter"),
        ([("hot", 0, "first"), ("hot", 0, "second"), ("cold", 0, "third")], "second"),
    ],
)
@pytest.mark.parametrize("step_by_step", [False, True])
def test_of_several_lines_of_an_id_one_is_the_record(
    memory: Any, lines: list[tuple[str, int, str]], expected: str, step_by_step: bool
) -> None:
    """The highest revision counts, of equal ones the hotter, then the later; also when they come singly."""
    for tier, rev, content in lines:
        memory.append(tier, [{"id": "x", "content": content, "rev": rev}])
        if step_by_step:
            memory.open().close()
    for _, _, content in lines:
        assert (["x"] if content == expected else []) == memory.found(content)


@pytest.mark.parametrize(
    ("record", "query", "is_found"),
    [
        ({"content": "a b", "metadata": {"searchable": "zebra"}}, "zebra", True),
        ({"content": "tiger", "metadata": {"searchable": "zebra"}}, "tiger", False),
        ({"content": "tiger", "metadata": {"summary": "zebra"}}, "zebra", True),
        ({"content": "tiger", "metadata": {"summary": "zebra"}}, "tiger", True),
        ({"content": {"text": "zebra"}}, "zebra", True),
        ({"content": "zebra", "metadata": "odd"}, "zebra", True),
        ({"content": "zebra", "metadata": {"name": 7}, "conversation": 8, "created_at": []}, "zebra", True),
        ({"content": None}, "zebra", False),
        ({}, "zebra", False),
    ],
)
def test_what_a_record_is_found_by(memory: Any, record: dict[str, Any], query: str, is_found: bool) -> None:
    """The searchable text or else the content, and the summary beside it; odd values are no trouble."""
    memory.append("hot", [{"id": "x", **record}])
    assert is_found == bool(memory.found(query))


@pytest.mark.parametrize("id", ["a\ud800b", "a\0b", "a\nb", 'a"b', "é", "'; DROP TABLE piece; --"])
def test_any_id_comes_back(memory: Any, id: str) -> None:
    """An id is any text, lone surrogates and NUL too; it is found, replaced and removed by it."""
    memory.add(id, "cat", conversation="c\ud800", metadata={"name": "N\ud800 Bo"})
    assert [id] == memory.found("cat")
    memory.append("hot", [{"id": id, "content": "dog", "rev": 2}])
    assert [id] == memory.found("dog")
    memory.replace("hot", [])
    assert [] == memory.found("dog")


def test_lines_that_are_no_records_are_left_out(memory: Any) -> None:
    """Damaged lines, blank ones and a torn last one hide nothing; the torn one counts once it is whole."""
    memory.add("a", "cat")
    with memory.path("hot").open("ab") as file:
        file.write(b'nothing\n\n[1]\n{"content":"cat"}\n{"id":"b","content":"cat"}\n{"id":"c","cont')
    assert ["a", "b"] == memory.found("cat")
    with memory.path("hot").open("ab") as file:
        file.write(b'ent":"cat"}\n{"id":"d","content":"cat"}')
    assert ["a", "b", "c", "d"] == memory.found("cat")
    with memory.path("hot").open("ab") as file:
        file.write(b'\n{"id":"e","content":"cat"}\n')
    assert ["a", "b", "c", "d", "e"] == memory.found("cat")


def test_a_file_that_was_edited_in_place_is_read_again(memory: Any) -> None:
    """The same size and inode, but another time: what it says now is found."""
    memory.add("a", "cat")
    assert ["a"] == memory.found("cat")
    path = memory.path("hot")
    data = path.read_bytes().replace(b"cat", b"dog")
    with path.open("r+b") as file:
        file.write(data)
    assert ["a"] == memory.found("dog")
    assert [] == memory.found("cat")


def test_very_many_equal_records_come_by_id(memory: Any) -> None:
    """Of more equal records than are looked at, those with the lowest ids are in the answer."""
    chance = random.Random(3)
    ids = [f"r{n:05}" for n in range(ranking.EQUAL_MAX + 500)]
    chance.shuffle(ids)
    for start in (0, 1000):
        part = ids[:1000] if start == 0 else ids[1000:]
        memory.append("hot", [{"id": id, "content": "tea"} for id in part])
        found = memory.found("tea")
        assert sorted(ids[: start + len(part)])[:100] == found[:100]


def test_the_index_keeps_no_text(memory: Any) -> None:
    """Of a record's text only words are in the file, never two in a row."""
    memory.add("x", "confidential rendezvous behind the observatory")
    memory.open().close()
    data = Path(memory.index_path()).read_bytes()
    assert b"observatori" in data
    assert b"behind the" not in data
    assert b"rendezvous behind" not in data


def test_drop_removes_everything(memory: Any) -> None:
    """Nothing of an index is left beside it, as what a killed process was making."""
    memory.add("x", "cat")
    memory.open().close()
    path = Path(memory.index_path())
    path.with_name(f".{2**22 + 5}-0123456789ab").write_bytes(b"unfinished")
    other = path.with_name("other.records.db")
    other.write_bytes(b"of another user")
    drop(str(path))
    assert [other] == list(path.parent.iterdir())


def test_differences_are_counted(memory: Any) -> None:
    """An index that has a record at a wrong place differs; one that is behind, or missing, does not."""
    files = RecordFiles(memory.layout, USER)
    assert 0 == differences(memory.index_path(), files)
    memory.append("hot", [{"id": "a", "content": "cat"}, {"id": "b", "content": "dog"}])
    memory.open().close()
    assert 0 == differences(memory.index_path(), files)
    base = sqlite3.connect(memory.index_path())
    base.execute("UPDATE piece SET data = zeroblob(16) WHERE name = 'start'")
    base.commit()
    base.close()
    assert 2 == differences(memory.index_path(), files)
    memory.add("c", "cow")
    assert 0 == differences(memory.index_path(), files)


def test_a_file_replaced_while_it_is_read_is_read_again(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that moves from cold to hot between the reading of the two is found all the same."""
    memory.add("a", "cat", tier="cold")
    memory.add("b", "cat", tier="hot")
    read = RecordFiles.read
    moves = iter([True])

    def moving(self: RecordFiles, source: str, start: int) -> Any:
        yield from read(self, source, start)
        if source == "hot" and next(moves, False):
            memory.append("hot", [{"id": "a", "content": "cat", "rev": 2}])
            memory.replace("cold", [])

    monkeypatch.setattr(RecordFiles, "read", moving)
    with memory.open() as index:
        assert [("a", "hot"), ("b", "hot")] == [(p.id, p.source) for p, _ in answers(index, "cat")]


def test_files_that_are_replaced_all_the_time(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no moment can be caught, that is an error that says so, and no index is left behind."""
    memory.add("a", "cat")
    read = RecordFiles.read

    def moving(self: RecordFiles, source: str, start: int) -> Any:
        yield from read(self, source, start)
        memory.replace("hot", memory.records("hot"))

    monkeypatch.setattr(RecordFiles, "read", moving)
    with pytest.raises(Changing):
        memory.open()
    assert not Path(memory.index_path()).exists()


def test_many_small_appends_stay_quick_to_ask(memory: Any) -> None:
    """Each append is found, and the postings stay in few pieces."""
    for number in range(60):
        memory.add(f"m{number}", f"tea word{number}", conversation="c", created_at=1.6e9 + number)
        memory.open().close()
    with memory.open() as index:
        assert "m7" == answers(index, "word7")[0][0].id
        assert list(range(60)) == index.corpus.order.tolist()
        segments = index.base.execute("SELECT count(DISTINCT segid) FROM words_idx").fetchone()[0]
        assert 20 >= segments


def test_masks(memory: Any) -> None:
    """What is not among the flags is in no answer, and a conversation has its own flags."""
    memory.add("a", "cat", conversation="x", created_at=1)
    memory.add("b", "cat", conversation="y", created_at=2)
    memory.add("c", "cat")
    with memory.open() as index:
        assert ["b"] == [p.id for p, _ in answers(index, "cat", among=index.of_conversation("y"))]
        assert [] == answers(index, "cat", among=index.of_conversation("z"))
        assert [] == answers(index, "cat", among=index.of_conversation(""))
        assert b"\1\1\1" == bytes(index.everything())


def test_an_index_of_another_format_is_made_anew(memory: Any) -> None:
    """A file of an older memctl is not read."""
    memory.add("x", "cat")
    memory.open().close()
    base = sqlite3.connect(memory.index_path())
    base.execute("UPDATE meta SET value = 'memctl search 0' WHERE key = 'format'")
    base.commit()
    base.close()
    assert ["x"] == memory.found("cat")
    assert memory.report.rebuilt


def test_without_a_path_nothing_is_kept(memory: Any) -> None:
    """An index without a path is in memory alone."""
    memory.add("x", "cat")
    index, report = open_current(None, RecordFiles(memory.layout, USER))
    with index:
        assert ["x"] == [place.id for place, _ in answers(index, "cat")]
    assert report.rebuilt
    assert not report.saved
    assert not Path(memory.index_path()).exists()


def test_columns_that_do_not_belong_together_are_refused(memory: Any) -> None:
    """A corpus is checked before it is asked."""
    memory.add("x", "cat")
    memory.open().close()
    base = sqlite3.connect(memory.index_path(), isolation_level=None)
    base.execute("DELETE FROM piece WHERE name = 'flags'")
    with SearchIndex(base) as index, pytest.raises(sqlite3.DatabaseError):
        _ = index.corpus
