"""Token totals beside an index: counted once, from the end, whatever the order in which the log grows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memctl.store.entries import Damaged
from memctl.store.sidecar import Index
from memctl.store.totals import Total, Totals


def user(text: str) -> bytes:
    return json.dumps({"role": "user", "content": text}).encode()


def call(text: str, *ids: str) -> bytes:
    calls = [{"id": id, "function": {"name": "f", "arguments": ""}} for id in ids]
    return json.dumps({"role": "assistant", "content": text, "tool_calls": calls}).encode()


def result(text: str, id: str, **extra: Any) -> bytes:
    return json.dumps({"role": "tool", "content": text, "tool_call_id": id, **extra}).encode()


class Bench:
    """A log, its index and totals; `weighed` holds the texts that had to be weighed, in order."""

    def __init__(self, base: Path) -> None:
        self.log = base / "c.jsonl"
        self.log.write_bytes(b"")
        self.base = base
        self.weighed: list[str] = []
        self.open: list[Any] = []

    def write(self, *lines: bytes, end: bytes = b"\n") -> None:
        with self.log.open("ab") as file:
            file.write(b"\n".join(lines) + end)

    def weigh(self, values: Sequence[dict[str, Any]]) -> list[int]:
        self.weighed += [value["content"] for value in values]
        return [len(value["content"]) for value in values]

    def totals(self, *, cached: bool = True, counter: str = "letters") -> Totals:
        fd = os.open(self.log, os.O_RDONLY)
        index = Index(fd, str(self.base / "c.index") if cached else None)
        made = Totals(index, str(self.base / f"c.{counter}") if cached else None, counter, self.weigh)
        self.open.append((made, index, fd))
        return made

    def close(self) -> None:
        for made, index, fd in self.open:
            made.close()
            index.close()
            os.close(fd)
        self.open.clear()

    def taken(self) -> list[str]:
        """What was weighed since the last time."""
        taken, self.weighed = self.weighed, []
        return taken


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


def texts(count: int, start: int = 0) -> list[str]:
    return ["x" * (n % 7 + 1) + str(n) for n in range(start, start + count)]


def sums(totals: Totals, first: int, end: int) -> int:
    return totals.upto(end).all - totals.upto(first).all


@pytest.mark.parametrize("cached", [True, False])
def test_counting_goes_from_the_end_as_far_as_it_is_needed(bench: Bench, cached: bool) -> None:
    """Of 200 messages only steps at the end are weighed, each once."""
    all_texts = texts(200)
    bench.write(*map(user, all_texts))
    totals = bench.totals(cached=cached)
    totals.reach(190)
    assert sum(map(len, all_texts[190:])) == sums(totals, 190, 200)
    counted = totals.base
    assert 100 < counted <= 190
    assert sorted(all_texts[counted:]) == sorted(bench.taken())
    totals.reach(0)
    assert 0 == totals.base
    assert sorted(all_texts[:counted]) == sorted(bench.taken())
    assert sum(map(len, all_texts)) == sums(totals, 0, 200)


def test_what_was_counted_is_not_weighed_again(bench: Bench) -> None:
    """A second process finds all totals; after growth it weighs the new messages alone."""
    bench.write(*map(user, texts(50)))
    bench.totals().reach(0)
    bench.close()
    bench.taken()
    assert sum(map(len, texts(50))) == sums(bench.totals(), 0, 50)
    assert [] == bench.taken()
    bench.close()
    bench.write(*map(user, texts(5, 50)))
    assert sum(map(len, texts(55))) == sums(bench.totals(), 0, 55)
    assert texts(5, 50) == bench.taken()


def test_growing_to_both_sides_in_turns(bench: Bench) -> None:
    """Left by steps and right with the log, in any order: every difference is that of a fresh count."""
    written: list[str] = []
    for part in range(6):
        new = texts(90, len(written))
        bench.write(*map(user, new))
        written += new
        totals = bench.totals()
        totals.reach(max(0, 300 - 100 * part))
        for first in range(totals.base, len(written), 37):
            assert sum(map(len, written[first:])) == sums(totals, first, len(written)), (part, first)
        bench.close()
    assert sorted(written) == sorted(bench.taken()), "a message was weighed twice, or never"


def test_a_group_weighs_where_it_is_completed(bench: Bench) -> None:
    """Until its last result is there a call weighs nothing that can be sent, in one look or over several."""
    lines = [user("12345"), call("123", "a", "b"), result("1234567", "a"), result("12", "b"), user("1")]
    expected = [5, 5, 5, 17, 18]
    bench.write(*lines)
    totals = bench.totals()
    totals.reach(0)
    base = totals.upto(0).sent
    assert expected == [totals.upto(end).sent - base for end in range(1, 6)]
    assert 18 == totals.upto(5).all - totals.upto(0).all


@pytest.mark.parametrize("looks", [(1, 2, 3, 4, 5), (2, 3, 5), (3, 5), (2, 4, 5), (1, 3, 4)])
def test_a_group_that_arrives_in_parts(bench: Bench, looks: tuple[int, ...]) -> None:
    """However often one looks while the call, its results and what follows arrive, the sums are the same."""
    lines = [user("12345"), call("123", "a", "b"), result("1234567", "a"), result("12", "b"), user("1")]
    sent = {1: 5, 2: 5, 3: 5, 4: 17, 5: 18}
    written = 0
    for end in looks:
        bench.write(*lines[written:end])
        written = end
        totals = bench.totals()
        totals.reach(0)
        assert sent[end] == totals.upto(end).sent - totals.upto(0).sent
        bench.close()


def test_clean_leaves_out_groups_with_an_incomplete_member(bench: Bench) -> None:
    """One marked result takes its whole group out of the clean total, and only out of that."""
    marked = {"extra": {"__eino_ext_memory_incomplete": True}}
    bench.write(user("12345"), call("123", "a"), result("1234567", "a", **marked), user("1"))
    totals = bench.totals()
    totals.reach(0)
    whole = [b - a for a, b in zip(totals.upto(0), totals.upto(4), strict=True)]
    assert Total(16, 16, 6) == Total(*whole)


def test_an_open_call_in_front_of_the_counted_part(bench: Bench) -> None:
    """Counting that begins at the newest group, whose results come later, counts the group once."""
    bench.write(*map(user, texts(40)))
    bench.write(call("123", "a", "b"), result("1234567", "a"))
    totals = bench.totals()
    totals.reach(40)
    bench.close()
    bench.write(result("12", "b"))
    totals = bench.totals()
    assert 12 == totals.upto(43).sent - totals.upto(40).sent
    totals.reach(0)
    assert sum(map(len, texts(40))) + 12 == totals.upto(43).sent - totals.upto(0).sent


def test_single_messages_are_weighed_where_totals_do_not_reach(bench: Bench) -> None:
    """The head's weight is kept too, and stays right when counting reaches it."""
    bench.write(*map(user, texts(300)))
    totals = bench.totals()
    totals.reach(290)
    bench.taken()
    assert len(texts(300)[3]) == totals.single(3)
    assert [texts(300)[3]] == bench.taken()
    bench.close()
    totals = bench.totals()
    assert len(texts(300)[3]) == totals.single(3)
    assert [] == bench.taken()
    totals.reach(0)
    assert sum(map(len, texts(300))) == sums(totals, 0, 300)
    assert len(texts(300)[3]) == totals.single(3)


def test_a_last_line_without_its_end_is_counted_but_not_kept(bench: Bench) -> None:
    """What another program is still writing counts now, and is weighed again when its line is whole."""
    bench.write(*map(user, texts(20)))
    bench.write(user("unfinished"), end=b"")
    totals = bench.totals()
    totals.reach(0)
    assert sum(map(len, texts(20))) + 10 == sums(totals, 0, 21)
    bench.close()
    bench.taken()
    bench.write(b"")
    bench.write(user("next"))
    assert sum(map(len, texts(20))) + 14 == sums(bench.totals(), 0, 22)
    assert ["unfinished", "next"] == bench.taken()


def test_counters_do_not_meet(bench: Bench) -> None:
    """Each counter has its own totals."""
    bench.write(*map(user, texts(10)))
    bench.totals(counter="letters").reach(0)
    bench.close()
    bench.taken()
    bench.totals(counter="others").reach(0)
    assert 10 == len(bench.taken())


def test_a_damaged_record_is_not_taken_for_a_total(bench: Bench) -> None:
    """A flipped bit in a record is found when the record is asked for."""
    bench.write(*map(user, texts(10)))
    bench.totals().reach(0)
    bench.close()
    path = bench.base / "c.letters"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(Damaged):
        bench.totals().upto(10)


def test_another_process_that_counts_is_not_waited_for(bench: Bench) -> None:
    """While one holds the totals, a second counts for itself and leaves the file alone."""
    bench.write(*map(user, texts(30)))
    first = bench.totals()
    first.reach(20)
    second = bench.totals()
    second.reach(0)
    assert sum(map(len, texts(30))) == sums(second, 0, 30)
    first.reach(0)
    assert sum(map(len, texts(30))) == sums(first, 0, 30)
    bench.close()
    bench.taken()
    assert sum(map(len, texts(30))) == sums(bench.totals(), 0, 30)
    assert [] == bench.taken()


def test_where_nothing_can_be_kept_only_the_end_is_counted(bench: Bench) -> None:
    """Without any cache a window at the end of a long log weighs no more than with one."""
    bench.write(*map(user, texts(2000)))
    totals = bench.totals(cached=False)
    totals.reach(1990)
    assert len(bench.taken()) < 100
    assert sum(map(len, texts(2000)[1990:])) == sums(totals, 1990, 2000)
