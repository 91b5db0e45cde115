"""JSON members: the values in the line of an object, looked at and replaced without touching the rest."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from memctl.core import jsonl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BLANK = " \t\r\n"


def members(raw: bytes) -> dict[str, str]:
    """The JSON of each value in an object's line, as it stands there; of a key that comes twice the last."""
    text = raw.decode("utf-8")
    return {key: text[start:end] for key, (start, end) in _spans(text).items()}


def spliced(raw: bytes, texts: Mapping[str, str]) -> bytes:
    """The line of an object with other values of some keys, given as JSON; every other byte stays.

    What it does not have yet comes at its end, in the order given.
    """
    text = raw.decode("utf-8")
    spans = _spans(text)
    parts: list[str] = []
    at = 0
    for key, (start, end) in spans.items():
        if key in texts:
            parts += [text[at:start], texts[key]]
            at = end
    close = text.rindex("}")
    parts.append(text[at:close])
    missing = [key for key in texts if key not in spans]
    if missing:
        added = ",".join(f"{_name(key)}:{texts[key]}" for key in missing)
        parts += ["," if spans else "", added]
    parts.append(text[close:])
    return "".join(parts).encode("utf-8")


def _name(key: str) -> str:
    return jsonl.quote(key) if key.isascii() else jsonl.message_bytes({"": key})[4:-1].decode("utf-8")


def _spans(text: str) -> dict[str, tuple[int, int]]:
    """Where the values of the members of an object stand, in order; of a key that comes twice the last."""
    scan = _scanner()
    spans: dict[str, tuple[int, int]] = {}
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "}":
        key, at = scan(text, at)
        start = at + 1 if text[at] == ":" else _skip(text, at) + 1
        if text[start] in _BLANK:
            start = _skip(text, start)
        _, at = scan(text, start)
        spans.pop(key, None)
        spans[key] = (start, at)
        if text[at] in _BLANK:
            at = _skip(text, at)
        if text[at] == ",":
            at += 1
            if text[at] in _BLANK:
                at = _skip(text, at)
    return spans


@cache
def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    """Reads one value from a place in a text of JSON; where it ends."""
    from json import JSONDecoder

    scan: Callable[[str, int], tuple[Any, int]] = JSONDecoder().scan_once  # type: ignore[attr-defined]
    return scan


def _skip(text: str, at: int) -> int:
    while text[at] in _BLANK:
        at += 1
    return at
