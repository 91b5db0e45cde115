"""Traces: where the words of a query stand in a text, and where forgotten texts stand in other bytes.

Nothing here is fuzzy. A text stands in another one where it is found letter for letter and no word of the
other goes on at its ends: `art` does not stand in `start`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memctl.core import jsonl

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

#: Texts of at least this length are looked for all at once, each by the rarest of its pieces of this length.
_KEY_CHARS = 8
#: Of a text so much is looked at for it.
_KEYED_MAX = 256
#: Shorter and fewer ones are looked for one by one.
_FEW = 16
#: A piece of a text that was cut off has to have so many characters to be taken for one.
_PIECE_MIN_CHARS = 2
#: So many quotes from an end of a damaged line may begin or end a piece.
_QUOTES_MAX = 64
#: Keys whose values are words of the form, not of the talk.
_FORM = frozenset(("role", "type", "id", "tool_call_id", "name", "tool_name"))
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NOT_UTF8 = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")
_ID = re.compile(rb'"id"[ \t]*:[ \t]*("(?:[^"\\]|\\.)*")')


def words_of(query: str) -> tuple[str, ...]:
    """The words of a query, each once, as `has_words` wants them; none for a blank one."""
    return tuple(dict.fromkeys(_folded(query).split()))


def has_words(text: str, words: Collection[str]) -> bool:
    """Whether every one of some words stands in a text as a word, whatever its case."""
    folded = _folded(text)
    return all(_stands_in(word, folded) for word in words)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", text).casefold())


def _stands_in(word: str, text: str) -> bool:
    at = text.find(word)
    while at >= 0:
        if _is_apart(text, at, at + len(word)):
            return True
        at = text.find(word, at + 1)
    return False


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether no word goes on at either end of a stretch of a text."""
    if start and _goes_on(text[start - 1], text[start]):
        return False
    return end == len(text) or not _goes_on(text[end - 1], text[end])


def _goes_on(one: str, other: str) -> bool:
    """Whether two characters side by side are parts of one word, as far as spaces tell."""
    if not other.isascii():
        from unicodedata import category

        if category(other)[0] == "M":
            return True
    return one.isalnum() and other.isalnum() and not (_is_unspaced(one) or _is_unspaced(other))


def _is_unspaced(char: str) -> bool:
    """Whether a character is of a script that is written without spaces."""
    code = ord(char)
    return (
        0x0E00 <= code <= 0x0EFF
        or 0x1000 <= code <= 0x109F
        or 0x1780 <= code <= 0x17FF
        or 0x2E80 <= code <= 0x9FFF
        or 0xAC00 <= code <= 0xD7AF
        or 0xF900 <= code <= 0xFAFF
        or 0xFF66 <= code <= 0xFF9F
        or 0x20000 <= code <= 0x3FFFF
    )


def strings(value: Any) -> Iterator[str]:
    """The texts in a JSON value, those of a list of parts joined too; keys, roles and ids are none."""
    waiting = [value]
    while waiting:
        given = waiting.pop()
        kind = type(given)
        if kind is str:
            yield given
        elif kind is dict:
            waiting += [below for key, below in given.items() if key not in _FORM]
        elif kind is list:
            waiting += given
            parts = [part["text"] for part in given if type(part) is dict and type(part.get("text")) is str]
            if len(parts) > 1:
                yield "".join(parts)
                yield "\n".join(parts)


def unescaped(data: bytes) -> str:
    """What a line of JSON says to a reader, whole or damaged: escapes read, NUL left out."""
    text = data.replace(b"\0", b"").decode("utf-8", "surrogateescape").translate(_NOT_UTF8)
    return _read_escapes(text)


def _read_escapes(text: str) -> str:
    if "\\" not in text:
        return text
    text = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _SHORT.get(m[2], m[2]), text)
    if any("\ud800" <= char <= "\udbff" for char in text):
        # Two halves side by side are one character.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


class Traces:
    """Looks for texts, and for the ids of records, in values and in bytes. Blank texts leave no trace."""

    def __init__(self, texts: Iterable[str], ids: Iterable[str] = ()) -> None:
        self.texts = frozenset(text for text in texts if text.strip())
        self.ids = frozenset(ids)
        long = [text for text in self.texts if len(text) >= _KEY_CHARS]
        self._keys: dict[str, list[tuple[int, str]]] = _keys(long) if len(long) > _FEW else {}
        self._singly = [text for text in self.texts if not self._keys or len(text) < _KEY_CHARS]

    def in_text(self, text: str) -> bool:
        """Whether one of the texts stands in a text."""
        if text in self.texts or any(one in text and _stands_in(one, text) for one in self._singly):
            return True
        keys = self._keys
        if not keys:
            return False
        for at in range(len(text) - _KEY_CHARS + 1):
            for offset, one in keys.get(text[at : at + _KEY_CHARS], ()):
                start = at - offset
                if start >= 0 and text.startswith(one, start) and _is_apart(text, start, start + len(one)):
                    return True
        return False

    def is_one_of(self, value: Any) -> bool:
        """Whether a text of a JSON value, or all of a list of parts, is one of the texts."""
        return not self.texts.isdisjoint(strings(value))

    def in_value(self, value: Any) -> bool:
        """Whether one of the texts stands in a JSON value, also within JSON that is a text there."""
        for text in strings(value):
            if self.in_text(text) or ("\\" in text and self.in_text(_read_escapes(text))):
                return True
        return False

    def in_json(self, data: bytes) -> bool:
        """Whether one of the texts stands in the bytes of a JSON text, sound or damaged."""
        try:
            return self.in_value(jsonl.loads(data))
        except ValueError:
            return self.in_damaged(data)

    def in_line(self, line: bytes) -> bool:
        """Whether a line holds one of the texts, or is that of a record with one of the ids."""
        try:
            value = jsonl.loads(line)
        except ValueError:
            return self.in_damaged(line)
        if type(value) is dict and "content" in value:
            id = value.get("id")
            if type(id) is str and id in self.ids:
                return True
        return self.in_value(value)

    def in_damaged(self, line: bytes) -> bool:
        """Whether a line that is no JSON, or a piece of one, holds a text, a piece of one, or an id."""
        if self.ids and any(_id(found) in self.ids for found in _ID.findall(line)):
            return True
        text = unescaped(line)
        return self.in_text(text) or self._is_piece(text.strip())

    def _is_piece(self, text: str) -> bool:
        """Whether a looked-for text begins at its end, ends at its start, or goes on at both."""
        ends, starts = list(_tails(text)), list(_heads(text))
        inside = text if len(text) >= _KEY_CHARS else None
        return any(
            any(one.startswith(end) for end in ends)
            or any(one.endswith(start) for start in starts)
            or (inside is not None and inside in one)
            for one in self.texts
        )


def _keys(texts: list[str]) -> dict[str, list[tuple[int, str]]]:
    """The piece by which each text is looked for: of all its pieces the one that the fewest texts have."""
    counts: dict[str, int] = {}
    for text in texts:
        for at in range(min(len(text), _KEYED_MAX) - _KEY_CHARS + 1):
            piece = text[at : at + _KEY_CHARS]
            counts[piece] = counts.get(piece, 0) + 1
    keys: dict[str, list[tuple[int, str]]] = {}
    for text in texts:
        places = range(min(len(text), _KEYED_MAX) - _KEY_CHARS + 1)
        _, at = min((counts[text[at : at + _KEY_CHARS]], at) for at in places)
        keys.setdefault(text[at : at + _KEY_CHARS], []).append((at, text))
    return keys


def _id(quoted: bytes) -> str | None:
    try:
        id = jsonl.exact(quoted.decode("utf-8"))
    except ValueError:
        return None
    return id if type(id) is str else None


def _tails(text: str) -> Iterator[str]:
    """What stands behind each of the last quotes."""
    at = len(text)
    for _ in range(_QUOTES_MAX):
        at = text.rfind('"', 0, at)
        if at < 0:
            return
        if len(text) - at > _PIECE_MIN_CHARS:
            yield text[at + 1 :]


def _heads(text: str) -> Iterator[str]:
    """What stands in front of each of the first quotes."""
    at = -1
    for _ in range(_QUOTES_MAX):
        at = text.find('"', at + 1)
        if at < 0:
            return
        if at >= _PIECE_MIN_CHARS:
            yield text[:at]
