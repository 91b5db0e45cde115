"""Times as messages carry them: RFC 3339, seconds, milliseconds, as number or text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core.times import stored

MOMENT = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)
SECONDS = 1772614800

# what is stored, the moment that it stands for
READ: list[tuple[Any, datetime | None]] = [
    ("2026-03-04T09:00:00.000000Z", MOMENT),
    ("2026-03-04T09:00:00Z", MOMENT),
    ("2026-03-04t09:00:00z", MOMENT),
    ("2026-03-04 09:00:00", MOMENT),
    ("2026-03-04T09:00", MOMENT),
    ("2026-03-04T10:00:00+01:00", MOMENT),
    (" 2026-03-04T09:00:00Z\n", MOMENT),
    (SECONDS, MOMENT),
    (float(SECONDS), MOMENT),
    (SECONDS * 1000, MOMENT),
    (str(SECONDS), MOMENT),
    (f"{SECONDS}000", MOMENT),
    (0, datetime(1970, 1, 1, tzinfo=UTC)),
    (-86400, datetime(1969, 12, 31, tzinfo=UTC)),
    ("soon", None),
    ("", None),
    ("2026-03-04", None),
    ("2026-13-04T09:00:00Z", None),
    ("1_000", None),
    ("١٢٣", None),
    ("nan", None),
    ("1e400", None),
    (10**30, None),
    (True, None),
    (None, None),
    ([SECONDS], None),
]


@pytest.mark.parametrize(("value", "moment"), READ, ids=[repr(value) for value, _ in READ])
def test_a_stored_time_is_read_in_every_form(value: Any, moment: datetime | None) -> None:
    """Each form gives the moment it stands for, all else gives none."""
    assert moment == stored(value)


@given(st.one_of(st.text(), st.integers(), st.floats(), st.binary()))
def test_nothing_is_too_odd(value: Any) -> None:
    """Whatever a message carries as its time, the answer is a moment with a zone, or none."""
    moment = stored(value)
    assert moment is None or moment.tzinfo is not None


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_times_can_be_compared(one: datetime, two: datetime) -> None:
    """What is written in two zones is in the order of the moments."""
    a, b = stored(one.isoformat()), stored(two.isoformat().replace("+00:00", "Z"))
    assert a is not None and b is not None
    assert (one < two) == (a < b)
