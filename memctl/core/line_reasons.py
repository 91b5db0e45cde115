"""Line reasons: why a line is not what the lines of its file are to be, for people."""

from __future__ import annotations

from typing import Any

from memctl.core import jsonl
from memctl.core.lines import MESSAGE, Kind


def why(line: bytes, code: str, kind: Kind = MESSAGE) -> str:
    """Why a line is no message (in a file of records: no record)."""
    if code == "blank-line":
        return ""
    text = line.replace(b"\0", b"").decode("utf-8", "replace").removeprefix("\ufeff")
    zeros = line.count(b"\0")
    beside = f"; {zeros:,} zero byte{'s' if zeros > 1 else ''} in it" if zeros else ""
    try:
        value = jsonl.exact(text)
    except jsonl.Unreadable as error:
        return str(error)
    except ValueError as error:
        what = (getattr(error, "msg", "") or str(error)).removesuffix(" at").removesuffix(" starting")
        return f"{what[:1].lower()}{what[1:]} (character {getattr(error, 'pos', 0) + 1}){beside}"
    if type(value) is not dict:
        kinds: dict[Any, str] = {list: "an array", str: "a text", bool: "true or false", type(None): "null"}
        return f"{kinds.get(type(value), 'a number')}, an object is expected{beside}"
    if type(value.get(kind.key)) is str:
        return f"{kind.wrong}{beside}"
    given = value.get("type")
    said = f"type {jsonl.whole(given)[:60]}" if type(given) is str else _key_names(value)
    return f"no {kind.key}; {said}{beside}"


def _key_names(value: dict[str, Any]) -> str:
    names = [jsonl.whole(key)[:40] for key in list(value)[:4]]
    return f"keys {', '.join(names)}{', …' if len(value) > 4 else ''}" if names else "an empty object"
