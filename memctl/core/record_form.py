"""Records as lines: in the serialised form of the reference, and from what a program gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.core import go_json, jsonl, times
from memctl.core.record import KEYS, TIMES, UNSET, Record, with_values
from memctl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_COUNTS = ("access_count", "size_bytes")
_LEFT_OUT_IF_EMPTY = ("categories", "metadata", "size_bytes", "pinned", "conversation")


def line(fields: Mapping[str, Any]) -> bytes:
    """The line of a record with these fields, keys in the reference's order. Raises BadInput."""
    values = dict(fields)
    for key in _COUNTS:
        if key in values and (type(values[key]) is not int or not 0 <= values[key] < 1 << 63):
            raise BadInput(f"{key} must be a whole number, 0 or more")
    for key in TIMES:
        if key in values:
            values[key] = time(values[key], key)
    if values.get("metadata"):
        values["metadata"] = go_json.ordered(values["metadata"])
    return go_json.encoded(
        {key: values[key] for key in KEYS if key in values and (values[key] or key not in _LEFT_OUT_IF_EMPTY)}
    )


def lines(given: object) -> list[bytes]:
    """The lines of a record, a mapping of its fields, or several of either. Raises BadInput."""
    several = given if hasattr(given, "__iter__") and not _is_record(given) else [given]
    found = []
    for one in several:
        if isinstance(one, Record):
            # It goes where it was read, whatever its line says.
            is_there = one.value.get("tier") == one.tier
            found.append(one.raw if is_there else with_values(one.raw, {"tier": one.tier}))
        elif _is_record(one):
            values = dict(one).items()
            found.append(jsonl.message_bytes({key: _in_json(key, value) for key, value in values}))
        else:
            raise BadInput("a text, a record, or several records are expected")
    return found


def _in_json(key: str, value: Any) -> Any:
    return time(value, key) if hasattr(value, "isoformat") else value


def _is_record(given: object) -> bool:
    return isinstance(given, Record) or hasattr(given, "keys")


def time(value: datetime | str | None, name: str) -> str:
    """A time as the reference writes it; None is the time that was never set. Raises BadInput."""
    if value is None:
        return UNSET
    try:
        return times.trimmed(value)
    except (ValueError, AttributeError):
        raise BadInput(f"{name} must be a time") from None
