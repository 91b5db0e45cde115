"""Put memctl's own object into the bytes of a message without touching any other byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.core import jsonl, marker

if TYPE_CHECKING:
    from memctl.core.message import Incoming

_BLANK = " \t\r\n"


def with_identity(incoming: Incoming, id: str, created_at: str) -> bytes:
    """The message's bytes with `extra.memctl.id` and `created_at` added where they are missing.

    Nothing is taken out but a null where an object or a text has to be. An `extra` or `extra.memctl` that is
    something else than an object is left as it is.
    """
    line, value = incoming.line, incoming.value
    extra = value.get("extra")
    if extra is not None and type(extra) is not dict:
        return line
    given = extra.get(marker.OWN) if extra else None
    if given is not None and type(given) is not dict:
        return line
    missing = {key: text for key, text in (("id", id), ("created_at", created_at)) if not _has(given, key)}
    if not missing:
        return line
    if given:
        for key, text in missing.items():
            line = _with_member(line, given, key, jsonl.quote(text))
        return line
    members = ",".join(f'"{key}":{jsonl.quote(text)}' for key, text in missing.items())
    if "extra" not in value:
        return line[:-1] + f',"extra":{{"{marker.OWN}":{{{members}}}}}}}'.encode()
    start, end = _member(line, 0, "extra")
    if extra is None:
        return line[:start] + f'{{"{marker.OWN}":{{{members}}}}}'.encode() + line[end:]
    if marker.OWN not in extra:
        return _insert(line, end, f'"{marker.OWN}":{{{members}}}', bool(extra))
    start, end = _member(line, start, marker.OWN)
    if given is None:
        return line[:start] + f"{{{members}}}".encode() + line[end:]
    return _insert(line, end, members, False)


def _has(given: dict[str, Any] | None, key: str) -> bool:
    return given is not None and given.get(key) is not None


def _with_member(line: bytes, given: dict[str, Any], key: str, text: str) -> bytes:
    """A member more in `extra.memctl`, which is not empty; a null under that key gives way."""
    start, _ = _member(line, 0, "extra")
    start, end = _member(line, start, marker.OWN)
    if key not in given:
        return _insert(line, end, f'"{key}":{text}', True)
    start, end = _member(line, start, key)
    return line[:start] + text.encode() + line[end:]


def with_content(line: bytes, text: str) -> bytes:
    """The message's bytes with another text as its content; lone surrogates become U+FFFD."""
    start, end = _member(line, 0, "content")
    return line[:start] + jsonl.quote(jsonl.whole(text)).encode() + line[end:]


def with_covers(line: bytes, covers: dict[str, Any]) -> bytes:
    """The summary's bytes with other `covers`; it has some already.

    A byte order mark in front and zero bytes anywhere stay, but for zero bytes in what is replaced.
    """
    bare = line.replace(b"\0", b"")
    start, _ = _member(bare, bare.index(b"{"), "extra")
    start, _ = _member(bare, start, marker.OWN)
    start, end = _member(bare, start, "covers")
    if len(bare) < len(line):
        places = [place for place, byte in enumerate(line) if byte]
        start, end = places[start], places[end - 1] + 1
    return line[:start] + jsonl.dumps(covers) + line[end:]


def _insert(line: bytes, end: int, members: str, comma: bool) -> bytes:
    """`members` put before the brace that closes the object which ends at `end`."""
    return line[: end - 1] + (b"," if comma else b"") + members.encode() + line[end - 1 :]


def _member(line: bytes, start: int, name: str) -> tuple[int, int]:
    """Where the value of the object's last member `name` begins and ends; the object begins at `start`.

    The bytes are read as Latin-1, which keeps every offset: names are compared after their escapes only.
    """
    from json import JSONDecoder
    from json.decoder import scanstring  # type: ignore[attr-defined]

    text = line.decode("latin-1")
    decoder = JSONDecoder()
    position = _skip(text, start) + 1
    span = (-1, -1)
    while True:
        position = _skip(text, position)
        if text[position] == "}":
            return span
        key, position = scanstring(text, position + 1)
        value_start = _skip(text, _skip(text, position) + 1)
        _, position = decoder.raw_decode(text, value_start)
        if key == name:
            span = (value_start, position)
        position = _skip(text, position)
        if text[position] == ",":
            position += 1


def _skip(text: str, position: int) -> int:
    while text[position] in _BLANK:
        position += 1
    return position
