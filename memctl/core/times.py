"""Times: read from messages, written into them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memctl.errors import BadInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: Numbers above this are milliseconds, others seconds.
_MILLISECONDS_FROM = 100_000_000_000
_SHORTEST = len("2000-01-01T00:00")


def stored(value: object) -> datetime | None:
    """The moment of a stored time: RFC 3339 (UTC without zone), seconds since 1970, or milliseconds.

    A number above 10^11 is milliseconds; it may be text. None for all else, and beyond the years 1 to 9999.
    """
    if type(value) is str:
        if len(value) >= _SHORTEST:
            try:
                moment = datetime.fromisoformat(value)
            except ValueError:
                return _odd_text(value)
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return _odd_text(value)
    return _number(value) if type(value) in (int, float) else None  # type: ignore[arg-type]


def microseconds(value: object) -> int | None:
    """The microseconds since 1970 of a stored time or a datetime (UTC without zone); None for all else."""
    moment = value if isinstance(value, datetime) else stored(value)
    if moment is None:
        return None
    return ((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def text_us(us: int) -> str:
    """A moment as memctl writes it: RFC 3339, UTC, microseconds; "" beyond the years 1 to 9999."""
    try:
        moment = _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return ""
    return f"{moment.isoformat(timespec='microseconds')[:26]}Z"


def given(name: str, value: datetime | str | float | None) -> int | None:
    """The microseconds since 1970 of a time that a program gives; None stays None. Raises BadInput."""
    found = microseconds(value)
    if found is None and value is not None:
        raise BadInput(f"{name} = {value!r} is no time")
    return found


def trimmed(value: datetime | str) -> str:
    """A time as Go writes it: RFC 3339 with no zeros at the end of a fraction, `Z` for UTC.

    A text in RFC 3339 keeps its zone and all its digits; any other stored form and a datetime are read first.
    Raises ValueError for what is no time.
    """
    import re

    if isinstance(value, str) and stored(value) is not None:
        given = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)", value, re.ASCII)
        if given:
            zone = "Z" if given[3] in ("+00:00", "-00:00") else given[3]
            return given[1] + (given[2] or "").rstrip("0").rstrip(".") + zone
    moment = value if isinstance(value, datetime) else stored(value)
    if moment is None:
        raise ValueError(f"{value!r} is no time")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    whole, fraction = moment.replace(microsecond=0).isoformat(), moment.microsecond
    digits = f".{fraction:06d}".rstrip("0") if fraction else ""
    return whole[:19] + digits + ("Z" if whole[19:] == "+00:00" else whole[19:])


def _odd_text(value: str) -> datetime | None:
    text = value.strip()
    if len(text) >= _SHORTEST:
        try:
            # RFC 3339 allows small letters for T and Z.
            moment = datetime.fromisoformat(text.upper())
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        except ValueError:
            pass
    if not text.isascii() or "_" in text:
        return None
    try:
        return _number(float(text))
    except ValueError:
        return None


def _number(number: float) -> datetime | None:
    try:
        return _EPOCH + timedelta(seconds=number / 1000 if abs(number) > _MILLISECONDS_FROM else number)
    except (OverflowError, ValueError):
        return None
