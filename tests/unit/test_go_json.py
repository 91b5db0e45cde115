"""JSON as Go writes it, and records in the reference's form."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import BadInput, CognitiveRecord, Record
from memctl.core import go_json, times
from memctl.core.record import UNSET, read

TEXT = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-(2.0**53), 2.0**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_every_value_comes_back(value: Any) -> None:
    """What is written is the value again, compact and without raw markup."""
    data = go_json.encoded(value)
    assert value == json.loads(data)
    assert not set(b"<>&\n") & set(data)
    assert not set("\u2028\u2029") & set(data.decode())


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_comes_back(value: float) -> None:
    """The digits of a number give the same double, however large or small."""
    assert value == float(go_json.encoded(value))


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (b"1", 1.0),
        (b"0.5", 0.5),
        (b"-0", -0.0),
        (b"0.000001", 1e-6),
        (b"1e-7", 1e-7),
        (b"1.5e-9", 1.5e-9),
        (b"1e-10", 1e-10),
        (b"100000000000000000000", 1e20),
        (b"123456789012345680000", 123456789012345680000.0),
        (b"1e+21", 1e21),
        (b"-2.5e+300", -2.5e300),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (rb'"\u003c\u003e\u0026\u2028\u2029"', "<>&\u2028\u2029"),
        (rb'"\b\f\n\r\t\u0000\u001f\"\\/"', '\b\f\n\r\t\0\x1f"\\/'),
        (rb'"\ud800x"', "\ud800x"),
        ('"\u00e9\U0001f600\x7f"'.encode(), "\u00e9\U0001f600\x7f"),
        (b'{"b":[1,2],"a":null}', {"b": (1, 2), "a": None}),
    ],
)
def test_the_form(expected: bytes, value: Any) -> None:
    """Numbers, escapes and the order of members are Go's."""
    assert expected == go_json.encoded(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1: 2}, b"x", {"a": {1, 2}}])
def test_what_is_no_json(value: Any) -> None:
    """A value that JSON cannot hold is refused, not bent."""
    with pytest.raises(BadInput):
        go_json.encoded(value)


# -- times -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ("2026-03-01T09:00:00Z", "2026-03-01T09:00:00.000Z"),
        ("2026-03-01T09:00:00.12Z", "2026-03-01T09:00:00.120000Z"),
        ("2026-03-01T09:00:00.000000001Z", "2026-03-01T09:00:00.000000001Z"),
        ("2026-03-01T11:00:00.5+02:00", "2026-03-01T11:00:00.50+02:00"),
        ("2026-03-01T09:00:00Z", "2026-03-01T09:00:00+00:00"),
        ("2026-03-01T09:00:00Z", "2026-03-01 09:00:00"),
        ("2026-03-01T09:00:03Z", "1772355603"),
        (UNSET, UNSET),
        ("2026-03-01T09:00:00.000001Z", datetime(2026, 3, 1, 9, 0, 0, 1, UTC)),
        ("2026-03-01T09:00:00Z", datetime(2026, 3, 1, 9)),
        (
            "2026-03-01T11:00:00.5+02:00",
            datetime(2026, 3, 1, 11, 0, 0, 500_000, timezone(timedelta(hours=2))),
        ),
        ("0999-03-01T09:00:00Z", datetime(999, 3, 1, 9, tzinfo=UTC)),
    ],
)
def test_times_as_go_writes_them(expected: str, value: datetime | str) -> None:
    """A text in RFC 3339 keeps zone and digits; another stored form is read first."""
    assert expected == times.trimmed(value)


@pytest.mark.parametrize("value", ["soon", "", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z"])
def test_what_is_no_time(value: str) -> None:
    """It is an error, with the name of the field where it is one of a record."""
    with pytest.raises(ValueError):
        times.trimmed(value)
    with pytest.raises(BadInput, match="last_access_at"):
        Record.new("x", "y", last_access_at=value)


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds(moment: datetime) -> None:
    """A datetime and what is written of it are the same moment."""
    expected = times.microseconds(moment)
    assert expected is not None
    assert moment == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=expected)
    assert expected == times.microseconds(times.trimmed(moment))
    assert expected == times.microseconds(moment.replace(tzinfo=None))


@pytest.mark.parametrize("value", [None, "soon", True, [], 1e300])
def test_no_microseconds(value: object) -> None:
    """What is no time has none."""
    assert times.microseconds(value) is None


# -- records -----------------------------------------------------------------------------------------------


@given(
    id=TEXT.filter(str.strip),
    content=TEXT,
    scope=TEXT,
    categories=st.lists(TEXT),
    importance=st.floats(0, 1),
    metadata=st.dictionaries(TEXT, TEXT),
    tier=st.sampled_from(["hot", "warm", "cold"]),
    access_count=st.integers(0, 2**62),
    pinned=st.booleans(),
    conversation=st.none() | TEXT.filter(bool),
)
def test_a_record_is_its_fields(**fields: Any) -> None:
    """The line of a new record, read again, is the record, and has the fields that were given."""
    made = Record.new(**fields)
    assert made == read(made.to_json(), fields["tier"])
    got = {key: getattr(made, key) for key in fields}
    assert {**fields, "importance": fields["importance"] or 0.5} == got
    assert 0 == made.rev


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": 1},
        {"importance": 1.5},
        {"importance": True},
        {"categories": [1]},
        {"metadata": {"a": 1}},
        {"access_count": -1},
        {"access_count": True},
        {"size_bytes": 1.5},
        {"created_at": 5j},
        {"pinned": 1},
    ],
)
def test_a_wrong_field_is_refused(wrong: dict[str, Any]) -> None:
    """The error names the field."""
    with pytest.raises(BadInput, match=next(iter(wrong))):
        Record.new(**{"id": "x", "content": "y", **wrong})


def test_a_cognitive_record() -> None:
    """What a record says, without its tier; times as they are stored."""
    made = Record.new(
        "x",
        "y",
        scope="s",
        categories=["c"],
        importance=0.7,
        created_at="5000000000",
        tier="cold",
        pinned=True,
    )
    seen = CognitiveRecord.of(made)
    assert ("x", "y", "s", ("c",), 0.7, {}) == (seen[:5] + seen[6:])
    assert (
        b'{"id":"x","content":"y","scope":"s","categories":["c"],"importance":0.7,'
        b'"created_at":"2128-06-11T08:53:20Z"}'
    ) == seen.to_json()
