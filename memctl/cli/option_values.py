"""Option values: what is typed behind options that several commands have. Raises UsageError and BadName."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.errors import BadInput, BadReference, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memctl.settings import Settings

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def output_format(form: str | None, as_json: bool, formats: Sequence[str], default: str) -> str:
    """The format of `-f FORM` and `--json`, else the default."""
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and -f {form} contradict each other")
    chosen = "json" if as_json else form or default
    if chosen not in formats:
        raise UsageError(f"no format {chosen}; there are {', '.join(formats)}")
    return chosen


def setting(settings: Settings, name: str, flag: str, text: str | None) -> Any:
    """The value of a setting that a flag gives, None where it is not given."""
    return None if text is None else settings.with_values({name: text}, f"flag {flag}")[name]


def metadata(pairs: Sequence[str] | None) -> dict[str, str]:
    """The metadata of `--meta K=V`."""
    from memctl.core.remembering import metadata_of

    try:
        return metadata_of(pairs or ())
    except BadInput as error:
        raise UsageError(f"--meta: {error}") from None


def tiers(names: Sequence[str] | None) -> tuple[str, ...]:
    """The tiers of `--tier T`."""
    from memctl.core.tier import TIERS

    for name in names or ():
        if name not in TIERS:
            raise UsageError(f"no tier {name}; there are {', '.join(TIERS)}")
    return tuple(names or ())


def conversation_name(text: str | None) -> str | None:
    """The conversation of `--conversation C`, `%XX` decoded."""
    from memctl.core.names import reference_part

    if text is not None and "/" in text:
        raise BadReference(
            f"--conversation takes the name of a conversation alone, not {text!r}",
            hint="leave the user out; a / inside a name is written %2F",
        )
    return None if text is None else reference_part(text, "conversation")


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
