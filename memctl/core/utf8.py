"""UTF-8: which bytes of a text are none, however long it is, without a copy of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

REPLACEMENT = "\ufffd".encode()
#: Shorter texts are decoded at once, which is faster.
_LONG_BYTES = 1 << 20
#: With more bytes that are wrong, the places of all of them take more memory than the text does.
_PLACES_MAX = 100_000
# Each byte that is not UTF-8 decodes to one of U+DC80 to U+DCFF.
_REPLACED = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")
_CHARACTERS = (
    rb"(?:[\x00-\x7f]++|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]{2})*+"
)


def broken(data: bytes) -> Iterator[int]:
    """Where the bytes stand that are not UTF-8, in order."""
    if len(data) < _LONG_BYTES:
        try:
            data.decode("utf-8")
            return
        except UnicodeDecodeError:
            pass
    import re

    characters = re.compile(_CHARACTERS, re.DOTALL).match
    place = 0
    while match := characters(data, place):
        place = match.end()
        if place >= len(data):
            return
        yield place
        place += 1


def mended(data: bytes) -> bytes:
    """`data` with U+FFFD for each byte that is not UTF-8."""
    if len(data) >= _LONG_BYTES:
        places: list[int] = []
        for place in broken(data):
            places.append(place)
            if len(places) > _PLACES_MAX:
                break
        else:
            return _replaced(data, places)
    text = data.decode("utf-8", "surrogateescape")
    return text.translate(_REPLACED).encode("utf-8")


def _replaced(data: bytes, places: list[int]) -> bytes:
    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    at = 0
    for place in places:
        parts += [view[at:place], REPLACEMENT]
        at = place + 1
    return b"".join([*parts, view[at:]])
