"""The examination of records by itself: what it counts, which lines are versions, how lines are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import faults, lines, record
from memctl.core.line_examination import DEFAULT, LineExamination
from memctl.core.record_examination import ArchiveExamination, ForgottenExamination, RecordExamination
from memctl.core.record_lines import FORGOTTEN, RECORD, has_id, is_whole
from memctl.formats.records import is_records


def made(id: str, content: str = "x", **rest: Any) -> bytes:
    return json.dumps({"id": id, "content": content, **rest}, separators=(",", ":")).encode()


def examined(examination: LineExamination, *given: bytes) -> LineExamination:
    """The examination of these lines, each ended."""
    offset = 0
    for line in given:
        examination.feed(offset, len(line) + 1, line, True)
        offset += len(line) + 1
    examination.finish()
    return examination


def codes(examination: LineExamination) -> list[tuple[str, int | None]]:
    return [(found.problem.code, found.problem.line) for found in examination.diagnosis.found]


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        ([], (0, 0)),
        ([made("a"), made("b")], (2, 0)),
        ([made("a"), made("a", rev=1), made("a", rev=2)], (1, 2)),
        ([made("a") + made("b")], (2, 0)),
        ([b"oops", made("a")], (1, 0)),
    ],
)
def test_each_id_counts_once(given: list[bytes], counts: tuple[int, int]) -> None:
    """Further lines of an id are older versions, in the archive and among forgotten ids too."""
    for kind in (RecordExamination, ArchiveExamination, ForgottenExamination):
        found = examined(kind(), *given)
        assert counts == (found.records, found.older_versions)
        assert (0, {}, None, len(given)) == (found.messages, found.roles, found.last_summary, found.lines)


@pytest.mark.parametrize(
    ("revs", "named"),
    [
        ((1, 2, 3), []),
        ((3, 2, 1), []),
        ((1, 1), ["duplicate-message"]),
        ((None, 0), ["duplicate-id"]),
        ((True, -1), ["duplicate-id"]),
        (("2", 2.0), ["duplicate-id"]),
    ],
)
def test_versions(revs: tuple[Any, ...], named: list[str]) -> None:
    """Lines of one rev are told apart by their bytes; what is no rev counts as 0, as readers take it."""
    given = [made("a") if rev is None else made("a", rev=rev) for rev in revs]
    assert named == [code for code, _ in codes(examined(RecordExamination(), *given))]
    assert len({record.read(line, "hot").rev for line in given}) == len(given) - len(named)  # type: ignore[union-attr]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.sampled_from("xyz")), max_size=9))
def test_repair_never_changes_which_line_is_the_record(versions: list[tuple[str, int, str]]) -> None:
    """Whatever copies are taken out, the line that counts of each id is the same before and after."""
    given = [made(id, content, rev=rev) for id, rev, content in versions]
    found = examined(RecordExamination(), *given)
    gone = {(row.problem.line or 0) - 1 for row in found.diagnosis.found if row.action}
    assert newest(given) == newest([line for number, line in enumerate(given) if number not in gone])
    again = examined(RecordExamination(), *[line for n, line in enumerate(given) if n not in gone])
    assert [] == [code for code, _ in codes(again) if code == "duplicate-message"]


def newest(given: list[bytes]) -> dict[str, bytes]:
    found: dict[str, record.Record] = {}
    for line in given:
        read = record.read(line, "hot")
        assert read is not None
        found[read.id] = record.newer(found[read.id], read) if read.id in found else read
    return {id: kept.raw for id, kept in found.items()}


def test_copies_stay_where_they_are_not_wanted_to_go() -> None:
    """They are named all the same, and the plan is empty."""
    found = examined(RecordExamination(DEFAULT - {"duplicate-message"}), made("a"), made("a"))
    assert ([("duplicate-message", 2)], 0) == (codes(found), len(found.plan.edits))


def test_bad_times_of_a_record_are_one_problem() -> None:
    """All of its times that cannot be read are named in it; null and Go's unset time are none."""
    bad = made("a", created_at="noon", promoted_at=[1])
    good = made("b", created_at=None, last_access_at="0001-01-01T00:00:00Z", promoted_at=1_700_000_000)
    found = examined(RecordExamination(), bad, good)
    assert [("bad-time", 1)] == codes(found)
    assert "created_at noon, promoted_at [1]" == found.diagnosis.found[0].problem.detail


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        (b"[]", "an array, an object is expected"),
        (b'{"content":"x"}', "no id; keys content"),
        (b'{"id":1,"type":"t"}', "no id; type t"),
        (b'{"id":""}', "the id is empty"),
    ],
)
def test_why_a_line_is_no_record(line: bytes, detail: str) -> None:
    """The detail says what it lacks."""
    found = examined(RecordExamination(), line)
    assert ("not-a-record", detail) == found.diagnosis.found[0].problem[::5]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.text(max_size=3), below, max_size=2),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(["id", "content", "role", "rev", "x"]), json_values, max_size=5)
    | json_values
)
def test_a_line_is_a_record_for_inspect_as_for_readers(value: Any) -> None:
    """What readers take for a record has no code that says otherwise, and the other way round."""
    line = json.dumps(value).encode()
    (piece,) = lines.read_line(line, kind=RECORD)
    assert (record.read(line, "hot") is not None) == (piece.message is not None) == has_id(value)
    assert is_whole(value) <= has_id(value)
    assert (piece.message is None) == (
        "not-a-record" in [f.code for f in faults.look(line, kind=RECORD).faults]
    )


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=4), st.sampled_from([b"", b" ", b"\0"]))
def test_records_on_one_line_are_all_found(ids: list[str], between: bytes) -> None:
    """Whole ones in their order, with their own bytes; of conversations none of them would be taken."""
    given = [made(id, metadata={"id": "inner"}) for id in ids]
    pieces = lines.read_line(between.join(given), kind=RECORD)
    assert given == [piece.stored for piece in pieces]
    assert {"glued-lines"} == {piece.code for piece in pieces}
    assert [None] == [piece.message for piece in lines.read_line(between.join(given))]


def test_an_inner_object_is_no_record() -> None:
    """Behind a torn piece only what has an id and a text counts; on a list of ids an id is enough."""
    torn = b'{"id":"a","content":"x","metadata":{"id":"inner"}'
    assert ["bad-json"] == [piece.code for piece in lines.read_line(torn, kind=RECORD)]
    assert [None, {"id": "b"}] == [p.message for p in lines.read_line(b'{"id":"a{"id":"b"}', kind=FORGOTTEN)]


@pytest.mark.parametrize("size", [70_000, 5 << 20])
def test_a_long_record_has_no_fault(size: int) -> None:
    """Only a Go service that reads conversations stops at long lines; faults of long ones are found."""
    line = made("a", "x" * size)
    assert [] == faults.look(line, kind=RECORD).faults
    assert [] == codes(examined(RecordExamination(), line))
    damaged = line.replace(b'"content"', b'"n":NaN,"content"')
    assert ["bad-number"] == [fault.code for fault in faults.look(damaged, kind=RECORD).faults]
    assert ["not-a-record"] == [
        f.code for f in faults.look(line.replace(b'"id"', b'"di"'), kind=RECORD).faults
    ]
    two = line + made("b")
    assert ["glued-lines"] == [fault.code for fault in faults.look(two, kind=RECORD).faults]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"", False),
        (b"\n\n", False),
        (made("a"), True),
        (made("a")[:20], False),
        (made("a") + b"\n" + made("b")[:9], True),
        (b"\xef\xbb\xbf" + made("a") + b"\r\n", True),
        (made("a") + made("b"), True),
        (made("a", role="user"), False),
        (made("a") + b"\n" + made("b", role="user"), False),
        (b'{"id":"a","content":[]}', False),
        (made("a") + b'\n{"type":"x"}', False),
        (made("a") + b"\n" + made("b") + b'\n{"type":"x"}', True),
    ],
)
def test_the_shape_of_a_file_of_records(head: bytes, expected: bool) -> None:
    """More objects with id and content than others, and no message among them."""
    assert expected == is_records(head)
