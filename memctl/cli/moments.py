"""Moments as they are typed: a time, a day, or how long ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def moment(option: str, text: str, now_us: int) -> datetime:
    """The moment of RFC 3339 (no zone: UTC), a day (its begin), Unix seconds or milliseconds, or `7d` ago.

    Raises UsageError naming the option.
    """
    from datetime import UTC, datetime, timedelta

    from memctl.core import times

    given = text.strip()
    day = f"{given}T00:00" if len(given) == len("2000-01-01") and "-" in given else given
    found = times.stored(day)
    number, unit = given[:-1], given[-1:]
    if found is None and unit in _SECONDS and number.isascii() and number.isdigit() and len(number) < 10:
        try:
            ago = timedelta(seconds=int(number) * _SECONDS[unit])
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now_us) - ago
        except OverflowError:
            pass
    if found is None:
        raise UsageError(
            f"{option} {text!r}: no time", hint="2026-03-01, 2026-03-01T09:00:00Z, or how long ago: 90m, 7d"
        )
    return found


def moment_or_none(option: str, text: str | None, now_us: int) -> datetime | None:
    """The same; None for no text."""
    return None if text is None else moment(option, text, now_us)
