"""The types that the Go reader expects of the keys it knows: one other value, and it stops at the line.

It looks at every occurrence of a key, in any case, and takes null for all of them; keys that it does not know
it passes over. The table follows eino's `schema/message.go`
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT, INTEGER, NUMBER, MAP, ANY = "text", "an integer", "a number", "an object", "any value"
#: A number that no double can hold: the reader stops, other readers need not.
BAD_NUMBER = "bad-number"
LIST_CONTENT = "list-content"

#: Keys whose values are text and nothing else: messages of these alone need no closer look.
PLAIN_KEYS = frozenset(("role", "content", "name", "tool_call_id", "tool_name", "reasoning_content"))

_LARGEST = float("1.7976931348623157e308")
_INTEGERS = range(-(1 << 63), 1 << 63)


def _texts(*keys: str, **more: Any) -> dict[str, Any]:
    return dict.fromkeys(keys, TEXT) | more


@cache
def _message() -> dict[str, Any]:
    """The keys of a message. A list of one type stands for a list of it, a dict for an object."""
    media = _texts("url", "base64data", "mime_type", extra=MAP)
    link = _texts("url", "uri", "mime_type", extra=MAP)
    found = [_texts("name", "desc", extra=MAP)]
    old_part = _texts(
        "type",
        "text",
        image_url=link | _texts("detail"),
        audio_url=link,
        video_url=link,
        file_url=link | _texts("name"),
    )
    any_part = _texts("type", "text", audio=media, video=media, extra=MAP)
    input_part = any_part | {
        "image": media | _texts("detail"),
        "file": media | _texts("name"),
        "tool_search_result": {"tools": found},
    }
    output_part = any_part | {"image": media, "reasoning": _texts("text", "signature")}
    token = {"token": TEXT, "logprob": NUMBER, "bytes": [INTEGER]}
    usage = {
        "prompt_tokens": INTEGER,
        "prompt_token_details": {"cached_tokens": INTEGER},
        "completion_tokens": INTEGER,
        "total_tokens": INTEGER,
        "completion_token_details": {"reasoning_tokens": INTEGER},
    }
    meta = {
        "finish_reason": TEXT,
        "usage": usage,
        "logprobs": {"content": [token | {"top_logprobs": [token]}]},
    }
    call = _texts("id", "type", index=INTEGER, function=_texts("name", "arguments"), extra=MAP)
    return _texts(
        *PLAIN_KEYS,
        multi_content=[old_part],
        user_input_multi_content=[input_part],
        assistant_output_multi_content=[output_part],
        tool_calls=[call],
        response_meta=meta,
        extra=MAP,
    )


class Mismatch(ValueError):
    """A value has another type than its key; the text says which and what is expected."""


class _Number(str):
    """The digits of a number as they stand in the line."""


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object as they stand in the line, with repetitions."""


@cache
def _decode() -> Callable[[str], Any]:
    from json import JSONDecoder

    return JSONDecoder(parse_int=_Number, parse_float=_Number, object_pairs_hook=_Pairs).decode


def is_plain(line: bytes, value: dict[str, Any]) -> bool:
    """Whether a message is nothing but texts under known keys, each once: four quotation marks a member."""
    return (
        line.count(b'"') == 4 * len(value)
        and value.keys() <= PLAIN_KEYS
        and all(type(item) is str for item in value.values())
    )


def check(line: bytes) -> str:
    """Why the Go reader would stop at this message although its keys have the right types: a code, or "".

    Raises Mismatch where one has not, or where a key that it knows is written in another case: it would be
    one thing for that reader and nothing for all others.
    """
    message = _decode()(line.decode("utf-8"))
    keys = _message()
    stops = ""
    for key, item in message:
        kind = keys.get(key.lower())
        if kind is not None and key != key.lower():
            raise Mismatch(f"{key} must be written {key.lower()}")
        if key == "content" and type(item) is list:
            stops = stops or LIST_CONTENT
        elif kind is not None:
            stops = stops or _look(item, kind, key)
    return stops


def _look(item: Any, kind: Any, path: str) -> str:
    if item is None:
        return ""
    if kind == MAP:
        if type(item) is not _Pairs:
            raise Mismatch(f"{path} must be an object")
        return "" if _holds_doubles(item) else BAD_NUMBER
    if type(kind) is list:
        if type(item) is not list:
            raise Mismatch(f"{path} must be a list")
        return _first(_look(entry, kind[0], f"{path}[{number}]") for number, entry in enumerate(item))
    if type(kind) is dict:
        if type(item) is not _Pairs:
            raise Mismatch(f"{path} must be an object")
        return _first(
            _look(entry, kind[key.lower()], f"{path}.{key}") for key, entry in item if key.lower() in kind
        )
    return _look_at_scalar(item, kind, path)


def _look_at_scalar(item: Any, kind: str, path: str) -> str:
    if kind == TEXT:
        if type(item) is not str:
            hint = ": JSON inside a text" if path.endswith(".arguments") else ""
            raise Mismatch(f"{path} must be text{hint}")
        return ""
    if type(item) is not _Number or (kind == INTEGER and not _is_integer(item)):
        raise Mismatch(f"{path} must be {kind}")
    return "" if _holds_doubles(item) else BAD_NUMBER


def _is_integer(digits: str) -> bool:
    return digits.removeprefix("-").isdigit() and len(digits) <= 20 and int(digits) in _INTEGERS


def _holds_doubles(item: Any) -> bool:
    """Whether every number in a value fits a double."""
    pending = [item]
    while pending:
        value = pending.pop()
        if type(value) is _Number:
            if not -_LARGEST <= float(value) <= _LARGEST:
                return False
        elif type(value) is _Pairs:
            pending += [entry for _, entry in value]
        elif type(value) is list:
            pending += value
    return True


def _first(codes: Any) -> str:
    """The first code that is one; every value is looked at."""
    return next((code for code in list(codes) if code), "")
