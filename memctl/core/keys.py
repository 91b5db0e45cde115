"""Keys that an object has twice: of which readers see the last value only."""

from __future__ import annotations

import re
from typing import Any

_KEY_END = re.compile(rb'"[ \t\r]*+:')


def may_repeat(line: bytes, value: dict[str, Any]) -> bool:
    """Whether the line may hold more keys than its value.

    Each key ends with a quote and a colon, perhaps white space between them, so this many there are at most;
    `\\":` with one backslash stands inside a text.
    """
    keys = _count(value)
    most = len(_KEY_END.findall(line))
    if most != keys and b"\\" in line:
        most -= line.count(b'\\":') - line.count(b'\\\\":')
    return most != keys


def _count(value: dict[str, Any]) -> int:
    number = len(value)
    for below in value.values():
        kind = type(below)
        if kind is dict:
            number += _count(below)
        elif kind is list:
            number += _in_list(below)
    return number


def _in_list(values: list[Any]) -> int:
    number = 0
    for below in values:
        kind = type(below)
        if kind is dict:
            number += _count(below)
        elif kind is list:
            number += _in_list(below)
    return number


def repeated(line: bytes) -> str:
    """The keys that an object of the line has twice, for people; "" if there are none."""
    import json

    found: dict[str, None] = {}

    def pairs(given: list[tuple[str, Any]]) -> None:
        if len(given) > 1:
            seen: set[str] = set()
            for key, _ in given:
                if key in seen:
                    found[key] = None
                seen.add(key)

    text = line.replace(b"\0", b"").decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        json.loads(text, object_pairs_hook=pairs, parse_int=len, parse_constant=len)
    except (ValueError, RecursionError):
        return ""
    if not found:
        return ""
    names = [name[:60] for name in list(found)[:5]]
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return f"key {', '.join(names)}{more}"
