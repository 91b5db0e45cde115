"""The index of a log: what its entries say, and when a kept one is believed, extended or made anew."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl.core import turns
from memctl.core.finding import CODES
from memctl.store import sidecar
from memctl.store.entries import ENTRY_BYTES, HEADER_BYTES, NOTHING, Damaged, Entry
from memctl.store.sidecar import Index

HEAD = b'{"role":"system","content":"be brief"}'
USER = b'{"role":"user","content":"hi"}'
CALL = b'{"role":"assistant","content":"","tool_calls":[{"id":"a"},{"id":"b"}]}'
RESULT_A = b'{"role":"tool","content":"1","tool_call_id":"a"}'
RESULT_B = b'{"role":"tool","content":"2","tool_call_id":"b"}'
SUMMARY = b'{"role":"assistant","content":"so far","extra":{"__eino_ext_memory_summary":true}}'
INCOMPLETE = b'{"role":"assistant","content":"cut","extra":{"__eino_ext_memory_incomplete":true}}'
TORN = b'{"role":"user","con'
GLUED = USER + USER + USER


class Bed:
    """A log and the place of its index."""

    def __init__(self, base: Path) -> None:
        self.log, self.path = base / "c.jsonl", base / "caches" / "c.index"
        self.open: list[tuple[Index, int]] = []
        self.log.write_bytes(b"")

    def write(self, *lines: bytes, end: bytes = b"\n") -> None:
        with self.log.open("ab") as file:
            file.write(b"\n".join(lines) + end)

    def index(self, *, kept: bool = True) -> Index:
        fd = os.open(self.log, os.O_RDONLY)
        index = Index(fd, str(self.path) if kept else None)
        self.open.append((index, fd))
        return index

    def close(self) -> None:
        for index, fd in self.open:
            index.close()
            os.close(fd)
        self.open.clear()


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    made = Bed(tmp_path)
    yield made
    made.close()


def listed(index: Index) -> list[Entry]:
    return [index[number] for number in range(len(index))]


# -- what entries say --------------------------------------------------------------------------------------


def test_an_empty_log_has_no_entries(bed: Bed) -> None:
    """There is nothing in it, and what is asked of it is said of nothing."""
    index = bed.index()
    assert (0, NOTHING, NOTHING) == (len(index), index.last(), index.before(0))


def test_counts_run_from_the_start_of_the_log(bed: Bed) -> None:
    """Lines, messages, sendable ones, marks: each entry has the sums up to and with itself."""
    lines = [HEAD, USER, TORN, CALL, RESULT_A, b"", RESULT_B, RESULT_B, INCOMPLETE]
    bed.write(*lines)
    entries = listed(bed.index())
    assert list(range(1, 10)) == [entry.line for entry in entries]
    assert [1, 2, 2, 3, 4, 4, 5, 6, 7] == [entry.messages for entry in entries]
    assert [1, 2, 2, 2, 2, 2, 5, 5, 6] == [entry.sent for entry in entries]
    assert [1, 2, 2, 2, 2, 2, 5, 5, 5] == [entry.clean for entry in entries]
    assert [0, 0, 1, 1, 1, 1, 1, 2, 2] == [entry.marks for entry in entries]
    assert [0, 2, 2, 2, 2, 2, 2, 2, 2] == [entry.user for entry in entries]
    assert [0, 2, 2, 4, 4, 4, 4, 4, 9] == [entry.start for entry in entries]
    assert ["", "", "bad-json", "", "", "blank-line", "", "duplicate-result", ""] == [
        CODES[entry.code] for entry in entries
    ]
    data = b"".join(line + b"\n" for line in lines)
    ends = [sum(len(line) + 1 for line in lines[: n + 1]) for n in range(len(lines))]
    assert ends == [entry.end for entry in entries]
    assert [zlib.crc32(data[:end]) for end in ends] == [entry.crc for entry in entries]


def test_a_line_of_several_messages_has_an_entry_for_each(bed: Bed) -> None:
    """They share the line and its end; the bytes of each are found."""
    bed.write(USER, GLUED, HEAD)
    index = bed.index()
    assert [1, 2, 2, 2, 3] == [entry.line for entry in listed(index)]
    assert [1, 2, 3, 4, 5] == [entry.messages for entry in listed(index)]
    assert [USER, USER, USER, USER, HEAD] == [index.stored(number) for number in range(5)]
    assert [0, *[len(USER) + 1] * 3, len(USER) + len(GLUED) + 2] == [index.line_start(n) for n in range(5)]


def test_a_summary_moves_the_frontier(bed: Bed) -> None:
    """A summary without `covers` stands for all in front of it; lines behind it keep the frontier."""
    bed.write(HEAD, USER, SUMMARY, USER)
    assert [(0, 0), (0, 0), (3, 2), (3, 2)] == [(e.summary, e.frontier) for e in listed(bed.index())]


def test_searching(bed: Bed) -> None:
    """By message, by running count, by flag, by offset."""
    bed.write(HEAD, TORN, USER, b"", CALL)
    index = bed.index()
    assert [0, 2, 4] == [index.entry_of(message) for message in range(3)]
    assert [1, 2] == [index.first_where(low, lambda entry: entry.line > 1) for low in (0, 2)]
    assert [2, 5] == [index.next_with(number, turns.USER) for number in (0, 3)]


@pytest.mark.parametrize("parts", [(9,), (4, 9), (1, 2, 3, 4, 5, 6, 7, 8, 9), (5, 6, 9), (4, 5, 9)])
def test_an_index_that_grows_is_the_one_made_at_once(bed: Bed, parts: tuple[int, ...]) -> None:
    """However the log comes, in front of, inside or behind a group: the same entries."""
    lines = [HEAD, USER, CALL, TORN, RESULT_A, SUMMARY, RESULT_B, GLUED, USER]
    written = 0
    for end in parts:
        bed.write(*lines[written:end])
        written = end
        bed.index()
        bed.close()
    assert listed(bed.index(kept=False)) == listed(bed.index())


# -- what is kept ------------------------------------------------------------------------------------------


def test_the_last_line_is_kept_when_it_is_whole(bed: Bed) -> None:
    """An entry of a line without its LF stays in memory: the line may go on."""
    bed.write(USER, USER, end=b"")
    index = bed.index()
    assert (2, 1, 1) == (len(index), index.saved, index.unsaved)
    bed.close()
    bed.write(b"", USER)
    assert listed(bed.index(kept=False)) == listed(bed.index())
    assert HEADER_BYTES + 3 * ENTRY_BYTES == bed.path.stat().st_size


def test_a_kept_index_is_extended_in_place(bed: Bed) -> None:
    """Growth adds entries to the file that is there; what is kept has the same generation."""
    bed.write(USER)
    first = bed.index()
    inode = bed.path.stat().st_ino
    bed.write(HEAD)
    second = bed.index()
    assert (inode, first.generation) == (bed.path.stat().st_ino, second.generation)
    assert 2 == second.saved


def test_an_index_that_lies_is_replaced(bed: Bed) -> None:
    """For a log that was rewritten a new file is made, with another generation, so totals go too."""
    bed.write(USER, HEAD)
    first = bed.index()
    inode = bed.path.stat().st_ino
    with bed.log.open("r+b") as file:
        file.write(USER.replace(b"hi", b"ho"))
    second = bed.index()
    assert inode != bed.path.stat().st_ino
    assert first.generation != second.generation
    assert listed(bed.index(kept=False)) == listed(second)


def test_what_a_killed_writer_left_is_taken_or_written_over(bed: Bed) -> None:
    """Whole entries behind the header's count are used; a part of one is overwritten."""
    bed.write(USER, HEAD)
    bed.index()
    bed.close()
    with bed.path.open("ab") as file:
        file.write(b"\x01" * (ENTRY_BYTES - 1))
    bed.write(USER)
    assert listed(bed.index(kept=False)) == listed(bed.index())
    assert HEADER_BYTES + 3 * ENTRY_BYTES == bed.path.stat().st_size


def test_two_processes_do_not_extend_at_once(bed: Bed) -> None:
    """The second answers from memory while the first holds the lock; the file has each entry once."""
    from fcntl import LOCK_EX, flock

    bed.write(USER)
    bed.index()
    bed.close()
    bed.write(HEAD)
    holder = os.open(bed.path, os.O_RDWR)
    flock(holder, LOCK_EX)
    second = bed.index()
    assert (2, 1) == (len(second), second.saved)
    assert listed(bed.index(kept=False)) == listed(second)
    os.close(holder)
    assert 2 == bed.index().saved


def test_a_line_changed_under_an_open_index_is_found_when_it_is_read(bed: Bed) -> None:
    """No byte is given that is not the one that was indexed."""
    bed.write(USER, USER, HEAD)
    index = bed.index()
    with bed.log.open("r+b") as file:
        file.seek(len(USER) + 1)
        file.write(USER.replace(b"hi", b"ho"))
    assert USER == index.stored(0)
    with pytest.raises(Damaged):
        index.stored(1)
    assert HEAD == index.stored(2)


def test_a_damaged_entry_is_found_when_it_is_asked(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each entry proves itself with its number: neither a flipped bit nor another entry passes."""
    monkeypatch.setattr(sidecar, "RACY_NS", -(1 << 62))
    bed.write(USER, USER, USER, USER, HEAD)
    bed.index()
    bed.close()
    data = bed.path.read_bytes()
    second = HEADER_BYTES + ENTRY_BYTES
    third = second + ENTRY_BYTES
    flipped = data[second : third - 1] + bytes((data[third - 1] ^ 1,))
    for new in (bytes(ENTRY_BYTES), data[HEADER_BYTES:second], flipped):
        bed.path.write_bytes(data[:second] + new + data[third:])
        index = bed.index()
        assert (1, 3) == (index[0].line, index[2].line)
        with pytest.raises(Damaged):
            index[1]
        bed.close()


@pytest.mark.parametrize("kept", [True, False])
def test_an_unchanged_log_is_not_read_again(bed: Bed, monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
    """Where nothing changed for long, a kept index costs one line; otherwise the log is read."""
    bed.write(*[USER] * 2000)
    bed.index()
    bed.close()
    monkeypatch.setattr(sidecar, "RACY_NS", -(1 << 62))
    read: list[int] = []
    pread = os.pread

    def counted(fd: int, size: int, offset: int) -> bytes:
        data = pread(fd, size, offset)
        if os.fstat(fd).st_ino == bed.log.stat().st_ino:
            read.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", counted)
    index = bed.index(kept=kept)
    assert 2000 == len(index)
    assert (sum(read) < 1000) == kept


def test_huge_lines_are_part_of_the_check(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a line beyond the limit every byte counts for whether the log is the one that was indexed."""
    monkeypatch.setattr("memctl.core.jsonl.LINE_MAX_BYTES", 1000)
    monkeypatch.setattr("memctl.store.entries.LINE_MAX_BYTES", 1000)
    bed.write(USER, b"x" * 5000, USER)
    first = bed.index()
    assert ["", "line-too-long", ""] == [CODES[entry.code] for entry in listed(first)]
    assert zlib.crc32(bed.log.read_bytes()) == first.last().crc
    with bed.log.open("r+b") as file:
        file.seek(4000)
        file.write(b"y")
    assert first.generation != bed.index().generation
