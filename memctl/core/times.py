"""Times: read from messages, written into them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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
