"""The journal of accesses, the intent of a pass, the archive: each access counts once."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

import pytest

from memctl.core import record as records
from memctl.errors import LockTimeout
from memctl.store import archive, intent, journal, line_files, unfinished
from memctl.store.intent import Intent
from memctl.store.journal import Accesses
from memctl.store.layout import Layout

USER = "alice"
T1, T2, T3 = (f"2026-03-01T09:00:0{second}.000000Z" for second in (1, 2, 3))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.of(str(tmp_path))


def note(layout: Layout, ids: list[str], time: str = T1) -> bool:
    return journal.note(layout, USER, ids, time, 1.0)


def put(layout: Layout, tier: str, *values: dict[str, object]) -> None:
    lines = [json.dumps(value).encode() for value in values]
    line_files.append(layout.tier(tier, USER), lines, fsync=False)


def path(layout: Layout) -> Path:
    return Path(layout.access(USER).path)


def mark_and_size(layout: Layout) -> tuple[str, int]:
    found = journal.pending(layout, USER, {})
    assert found.mark
    return found.mark, found.end


def test_each_recall_is_a_line_behind_the_mark(layout: Layout) -> None:
    """The first line is the journal's mark; a recall adds one line with its time and ids."""
    assert note(layout, ["a", "b"])
    assert note(layout, ["b"], T2)
    first, *rest = (json.loads(line) for line in path(layout).read_bytes().splitlines())
    assert ["journal"] == list(first)
    assert [{"time": T1, "ids": ["a", "b"]}, {"time": T2, "ids": ["b"]}] == rest


def test_accesses_are_counted_by_id(layout: Layout) -> None:
    """Each id has its number of accesses and the newest time, in whatever order; unknown ids none."""
    for ids, time in ((["a", "b"], T2), (["b"], T3), (["b", "gone"], T1)):
        note(layout, ids, time)
    assert {"a": Accesses(1, T2), "b": Accesses(3, T3)} == journal.accesses(layout, USER, {"a": 0, "b": 4})


def test_no_journal(layout: Layout) -> None:
    """Without a journal there are no accesses, nothing to clear up, and nothing is made."""
    assert {} == journal.accesses(layout, USER, {"a": 1})
    assert journal.pending(layout, USER, {"a": 1}).is_empty
    journal.forget(layout, USER, ["a"], 1.0, fsync=False)
    assert not unfinished.clear_up(layout, USER, 1.0, fsync=False)
    assert [] == os.listdir(layout.root)


def test_noting_nothing_makes_nothing(layout: Layout) -> None:
    """A recall that found nothing leaves no journal."""
    assert note(layout, [])
    assert [] == os.listdir(layout.root)


def test_ids_of_any_kind(layout: Layout) -> None:
    """An id of any characters, half a surrogate pair too, is counted as itself."""
    ids = ["a\nb", '"', "猫", "\ud800", "a\u2028b"]
    note(layout, ids)
    assert dict.fromkeys(ids, Accesses(1, T1)) == journal.accesses(layout, USER, dict.fromkeys(ids, 1))


def test_a_torn_line(layout: Layout) -> None:
    """What a crash left of a line is set apart, named by its number and not counted; all others count."""
    note(layout, ["a"])
    with path(layout).open("ab") as file:
        file.write(b'{"time":"2026')
    assert {"a": Accesses(1, T1)} == journal.accesses(layout, USER, {"a": 1})
    note(layout, ["a"], T2)
    found = journal.pending(layout, USER, {"a": 1})
    assert ({"a": Accesses(2, T2)}, [3]) == (found.accesses, found.bad)


def test_a_journal_that_cannot_be_written(layout: Layout) -> None:
    """A recall is told that its access was not noted; it does not fail."""
    path(layout).parent.parent.mkdir()
    path(layout).parent.write_text("in the way")
    assert not note(layout, ["a"])


def test_a_locked_journal(layout: Layout) -> None:
    """A recall waits for the journal no longer than it was told; a replacement raises LockTimeout."""
    note(layout, ["a"])
    mark, end = mark_and_size(layout)
    with open(layout.access_lock(USER).path, "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not journal.note(layout, USER, ["a"], T2, 0.0)
        with pytest.raises(LockTimeout, match="access"):
            journal.drop_folded(layout, USER, mark, end, 0.0, fsync=False)
    assert {"a": Accesses(1, T1)} == journal.accesses(layout, USER, {"a": 1})


def test_dropping_what_is_folded_in(layout: Layout) -> None:
    """What came later stays, under another mark; with nothing left the journal goes."""
    note(layout, ["a"])
    mark, end = mark_and_size(layout)
    note(layout, ["b"], T2)
    journal.drop_folded(layout, USER, mark, end, 1.0, fsync=True)
    assert {"b": Accesses(1, T2)} == journal.accesses(layout, USER, {"a": 1, "b": 1})
    other, end = mark_and_size(layout)
    assert mark != other
    journal.drop_folded(layout, USER, mark, end, 1.0, fsync=True)
    assert path(layout).exists()
    journal.drop_folded(layout, USER, other, end, 1.0, fsync=True)
    assert not path(layout).exists()


def test_an_intent_tells_who_has_the_accesses(layout: Layout) -> None:
    """Behind an intent a record of the new rev has its accesses, one of the old rev waits for them."""
    note(layout, ["moved", "waiting"])
    mark, end = mark_and_size(layout)
    note(layout, ["moved"], T2)
    intent.write(layout, USER, Intent(mark, end, {"moved": 2, "waiting": 6}, None), fsync=False)
    expected = {"moved": Accesses(1, T2), "waiting": Accesses(1, T1)}
    assert expected == journal.accesses(layout, USER, {"moved": 2, "waiting": 5})
    old = {"moved": Accesses(2, T2), "waiting": Accesses(1, T1)}
    assert old == journal.accesses(layout, USER, {"moved": 1, "waiting": 5})


def test_an_intent_of_another_journal(layout: Layout) -> None:
    """An intent whose journal was replaced since says nothing about the new one."""
    note(layout, ["a"])
    intent.write(layout, USER, Intent("0123456789abcdef", 10_000, {"a": 1}, None), fsync=False)
    assert {"a": Accesses(1, T1)} == journal.accesses(layout, USER, {"a": 1})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no json",
        b"[]",
        b"\xff",
        b'{"bytes":"1","revs":{}}',
        b'{"bytes":-1,"revs":{}}',
        b'{"bytes":0,"revs":{},"archive":-9}',
        b'{"bytes":0,"revs":{},"archive":true}',
        b'{"bytes":0,"revs":{},"archive":%b}' % (b"9" * 30),
    ],
)
def test_an_intent_that_cannot_be_read(layout: Layout, data: bytes) -> None:
    """What is no intent is none; it stands in nobody's way."""
    note(layout, ["a"])
    place = layout.state("fold", USER)
    line_files.replace(layout, place, [data], fsync=False)
    assert intent.read(layout, USER) is None
    assert {"a": Accesses(1, T1)} == journal.accesses(layout, USER, {"a": 1})
    assert not unfinished.clear_up(layout, USER, 1.0, fsync=False)


def test_clearing_up(layout: Layout) -> None:
    """Afterwards the journal has only what the records lack, no intent is left, and the same is counted."""
    note(layout, ["moved", "waiting"])
    note(layout, ["waiting"], T2)
    mark, end = mark_and_size(layout)
    note(layout, ["moved", "waiting"], T3)
    intent.write(layout, USER, Intent(mark, end, {"moved": 2, "waiting": 6}, None), fsync=False)
    put(layout, "hot", {"id": "moved", "rev": 2}, {"id": "waiting", "rev": 5})
    revs = {"moved": 2, "waiting": 5}
    before = journal.accesses(layout, USER, revs)
    assert unfinished.clear_up(layout, USER, 1.0, fsync=True)
    assert {"moved": Accesses(1, T3), "waiting": Accesses(3, T3)} == before
    assert before == journal.accesses(layout, USER, revs)
    assert before == journal.accesses(layout, USER, {"moved": 9, "waiting": 9})
    assert intent.read(layout, USER) is None
    assert not unfinished.clear_up(layout, USER, 1.0, fsync=True)


def test_forgetting(layout: Layout) -> None:
    """Forgotten ids are in no byte of the journal; lines without them keep theirs, what is no entry too."""
    note(layout, ["a", "secret"])
    note(layout, ["secret"], T2)
    note(layout, ["b"], T3)
    with path(layout).open("ab") as file:
        file.write(b"no entry\n")
    lines = path(layout).read_bytes().splitlines()
    journal.forget(layout, USER, ["secret"], 1.0, fsync=True)
    data = path(layout).read_bytes()
    assert b"secret" not in data
    assert [{"time": T1, "ids": ["a"]}, {"time": T3, "ids": ["b"]}] == [
        json.loads(line) for line in data.splitlines()[1:3]
    ]
    assert lines[3:] == data.splitlines()[2:]


def test_with_accesses() -> None:
    """A reader sees the counts of its journal; every other byte of the line, and the rev, stay."""
    raw = b'{"id":"a", "n":1.50,"access_count":2,"last_access_at":"2026-03-01T09:00:01Z","rev":3}'
    record = records.read(raw, "hot")
    assert record is not None
    seen = records.with_accesses(record, 2, T2)
    assert (4, 2, T2, 3) == (
        seen.access_count,
        seen.tier_access_count,
        seen.value["last_access_at"],
        seen.rev,
    )
    assert (
        b'{"id":"a", "n":1.50,"access_count":4,"last_access_at":"%b","rev":3,'
        b'"tier_access_count":2}' % T2.encode()
    ) == seen.raw
    assert seen.value == json.loads(seen.raw)
    assert record is records.with_accesses(record, 0, T2)


def test_an_access_that_is_older() -> None:
    """A last access that the record has already, and is newer, stays."""
    record = records.read(b'{"id":"a","last_access_at":1772355700}', "hot")
    assert record is not None
    assert 1772355700 == records.with_accesses(record, 1, T1).value["last_access_at"]


def evicted(id: str, rev: int, reason: str = "cold_capacity") -> bytes:
    return archive.line(b'{"id":"%b","x":1.50,"rev":%d}' % (id.encode(), rev), T1, reason)


def test_the_archive(layout: Layout) -> None:
    """A line is the record's bytes with when and why; the newest line of an id counts."""
    archive.append(layout, USER, [evicted("a", 2), evicted("b", 2)], fsync=True)
    archive.append(layout, USER, [evicted("a", 5, "cold_ttl")], fsync=False)
    first = Path(layout.archive(USER).path).read_bytes().splitlines()[0]
    assert (
        b'{"id":"a","x":1.50,"rev":2,"archived_at":"%b","archived_for":"cold_capacity"}' % T1.encode()
        == first
    )
    found = [
        (row.record.id, row.record.rev, row.archived_at, row.reason) for row in archive.read(layout, USER)
    ]
    assert [("b", 2, T1, "cold_capacity"), ("a", 5, T1, "cold_ttl")] == found
    assert [] == archive.read(layout, "bob")


def test_a_record_that_was_archived_before() -> None:
    """A line of the archive that came back as a record gets the new time and reason in their places."""
    again = archive.line(archive.line(b'{"id":"a"}', T1, "cold_ttl"), T2, "cold_capacity")
    assert b'{"id":"a","archived_at":"%b","archived_for":"cold_capacity"}' % T2.encode() == again


@pytest.mark.parametrize("torn", [b"", b'{"id":"live","re'], ids=["whole", "torn"])
def test_clearing_up_takes_back_what_did_not_leave(layout: Layout, torn: bytes) -> None:
    """Records of a killed pass that are still in a tier are not in the archive; all other lines stay."""
    archive.append(layout, USER, [evicted("older", 2)], fsync=False)
    start = archive.size_bytes(layout, USER)
    archive.append(layout, USER, [evicted("live", 3), evicted("gone", 3)], fsync=False)
    with open(layout.archive(USER).path, "ab") as file:
        file.write(torn)
    put(layout, "cold", {"id": "live", "rev": 2}, {"id": "older", "rev": 1})
    intent.write(layout, USER, Intent(None, 0, {}, start), fsync=False)
    assert ["older", "gone"] == [row.record.id for row in archive.read(layout, USER)]
    assert unfinished.clear_up(layout, USER, 1.0, fsync=True)
    assert ["older", "gone"] == [row.record.id for row in archive.read(layout, USER)]
    assert 2 == Path(layout.archive(USER).path).read_bytes().count(b"\n")
    assert intent.read(layout, USER) is None
