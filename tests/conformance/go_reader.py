"""A model of the Go program that shares conversation files with us: how it reads a file and writes a message.

It stands for the Go types of the message, the JSON library in the version that the Go program pins, and the
line scanner with its default buffer (eino-ext `components/memory/file`). One table describes the types;
reading and writing both follow it.

A text holds bytes that are not UTF-8 the way Python's `surrogateescape` does: the Go program keeps them in
memory, and writes U+FFFD for each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

LINE_LIMIT_BYTES = 65_536
"""A line of this many bytes before its LF stops the scanner: its buffer holds the line and its LF only."""

Message = dict[str, Any]


class Loaded(NamedTuple):
    """What one load finds: the messages before the first problem, and the 1-based line of that problem.

    A message has its keys in the order of the wire format, and only those that the Go program would write.
    """

    messages: list[Message]
    stopped_at_line: int | None


def read(data: bytes) -> Loaded:
    """Reads a file as the Go program does when it opens a conversation. Nothing is raised: it stops."""
    messages: list[Message] = []
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        if len(line) >= LINE_LIMIT_BYTES:
            return Loaded(messages, number)
        try:
            messages.append(_decode(line.removesuffix(b"\r")))
        except (_Refused, ValueError, RecursionError):
            return Loaded(messages, number)
    return Loaded(messages, None)


def encode(message: Message) -> bytes:
    """The line, without LF, that the Go program writes for this message; keys unknown to it are lost."""
    return _write(_typed(_MESSAGE, message), _MESSAGE).encode("utf-8")


# The types.


class Struct(NamedTuple):
    """An object with known keys. One behind a pointer can be absent; any other is always there."""

    fields: tuple[Field, ...]
    is_pointer: bool = False


class ListOf(NamedTuple):
    """A list of one type; an absent one is null."""

    item: Type


class Scalar(NamedTuple):
    """A text, a number, a map or a free value, with what an absent one is. `read` refuses the wrong kind."""

    read: Callable[[Any], Any]
    zero: Any


Type = Struct | ListOf | Scalar


class Field(NamedTuple):
    """A key of an object: its type, and whether it is written when it is empty."""

    key: str
    type: Type
    always: bool = False


class _Refused(Exception):
    """The value does not fit the type."""


class _Number(str):
    """The digits of a number as they stand in the file."""


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object as they stand in the file, with repetitions."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or isinstance(value, _Number):
        raise _Refused("not a text")
    return value


def _integer(value: Any) -> int:
    is_digits = isinstance(value, _Number) and _INTEGER.fullmatch(value)
    if isinstance(value, bool) or not (isinstance(value, int) or is_digits):
        raise _Refused("not an integer")
    if not -(2**63) <= int(value) < 2**63:
        raise _Refused("beyond 64 bits")
    return int(value)


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, _Number)):
        raise _Refused("not a number")
    if float(value) in (float("inf"), float("-inf")):
        raise _Refused("beyond a double")
    return float(value)


def _free(value: Any) -> Any:
    """Any value; every number becomes a double, and of a repeated key the last value stays."""
    if isinstance(value, _Pairs):
        return {key: _free(item) for key, item in value}
    if isinstance(value, dict):
        return {key: _free(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_free(item) for item in value]
    return _real(value) if isinstance(value, _Number) else value


def _map(value: Any) -> dict[str, Any]:
    if not isinstance(value, (_Pairs, dict)):
        raise _Refused("not an object")
    mapping = _free(value)
    assert isinstance(mapping, dict)
    return mapping


_INTEGER = re.compile(r"-?[0-9]+")
_TEXT, _INT, _INT_OR_NULL, _REAL = (
    Scalar(_text, ""),
    Scalar(_integer, 0),
    Scalar(_integer, None),
    Scalar(_real, 0.0),
)
_MAP, _FREE = Scalar(_map, None), Scalar(_free, None)


def _texts(*keys: str) -> tuple[Field, ...]:
    return tuple(Field(key, _TEXT) for key in keys)


_EXTRA = Field("extra", _MAP)
_PART_TYPE = Field("type", _TEXT, always=True)


def _media(*more: str) -> Struct:
    return Struct((*_texts("url", "base64data", "mime_type"), _EXTRA, *_texts(*more)), is_pointer=True)


def _link(*more: str) -> Struct:
    return Struct((*_texts("url", "uri", "mime_type"), _EXTRA, *_texts(*more)), is_pointer=True)


_TOOL = Struct(
    (
        *_texts("name", "desc"),
        _EXTRA,
        *(Field(key, _FREE) for key in ("has_params_one_of", "params", "json_schema")),
    ),
    is_pointer=True,
)
_OLD_PART = Struct(
    (
        *_texts("type", "text"),
        Field("image_url", _link("detail")),
        Field("audio_url", _link()),
        Field("video_url", _link()),
        Field("file_url", _link("name")),
    )
)
_INPUT_PART = Struct(
    (
        _PART_TYPE,
        *_texts("text"),
        Field("image", _media("detail")),
        Field("audio", _media()),
        Field("video", _media()),
        Field("file", _media("name")),
        Field("tool_search_result", Struct((Field("Tools", ListOf(_TOOL), always=True),), is_pointer=True)),
        _EXTRA,
    )
)
_OUTPUT_PART = Struct(
    (
        _PART_TYPE,
        *_texts("text"),
        *(Field(key, _media()) for key in ("image", "audio", "video")),
        Field("reasoning", Struct(_texts("text", "signature"), is_pointer=True)),
        _EXTRA,
    )
)
_CALL = Struct(
    (
        Field("index", _INT_OR_NULL),
        Field("id", _TEXT, always=True),
        Field("type", _TEXT, always=True),
        Field("function", Struct(_texts("name", "arguments")), always=True),
        _EXTRA,
    )
)
_TOKEN = (
    Field("token", _TEXT, always=True),
    Field("logprob", _REAL, always=True),
    Field("bytes", ListOf(_INT)),
)
_LOGPROB = Struct((*_TOKEN, Field("top_logprobs", ListOf(Struct(_TOKEN)), always=True)))
_USAGE = Struct(
    (
        Field("prompt_tokens", _INT, always=True),
        Field("prompt_token_details", Struct((Field("cached_tokens", _INT, always=True),)), always=True),
        Field("completion_tokens", _INT, always=True),
        Field("total_tokens", _INT, always=True),
        Field("completion_token_details", Struct((Field("reasoning_tokens", _INT),)), always=True),
    ),
    is_pointer=True,
)
_META = Struct(
    (
        *_texts("finish_reason"),
        Field("usage", _USAGE),
        Field("logprobs", Struct((Field("content", ListOf(_LOGPROB), always=True),), is_pointer=True)),
    ),
    is_pointer=True,
)
_MESSAGE = Struct(
    (
        Field("role", _TEXT, always=True),
        Field("content", _TEXT, always=True),
        Field("multi_content", ListOf(_OLD_PART)),
        Field("user_input_multi_content", ListOf(_INPUT_PART)),
        Field("assistant_output_multi_content", ListOf(_OUTPUT_PART)),
        *_texts("name"),
        Field("tool_calls", ListOf(_CALL)),
        *_texts("tool_call_id", "tool_name"),
        Field("response_meta", _META),
        *_texts("reasoning_content"),
        _EXTRA,
    )
)


# Reading.

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)


def _decode(line: bytes) -> Message:
    if b"\0" in line:
        raise _Refused("a NUL byte ends the text")
    # Lone surrogates go first: in the decoded text they could not be told from bytes that are not UTF-8.
    line = _ESCAPE.sub(lambda escape: rb"\ufffd" if len(escape[0]) == 6 else escape[0], line)
    value = json.loads(
        line.decode("utf-8", "surrogateescape"),
        strict=False,
        parse_int=_Number,
        parse_float=_Number,
        parse_constant=_refuse,
        object_pairs_hook=_Pairs,
    )
    message = _typed(_MESSAGE, value)
    assert isinstance(message, dict)
    return message


def _refuse(constant: str) -> None:
    raise _Refused(constant)


def _typed(kind: Type, value: Any, previous: Any = None) -> Any:
    """The value as the Go type holds it. Null leaves a text or a number as it was, and empties all else."""
    if isinstance(kind, Scalar):
        return kind.read(value) if value is not None else previous if kind in (_TEXT, _INT, _REAL) else None
    if isinstance(kind, ListOf):
        if value is not None and (not isinstance(value, list) or isinstance(value, _Pairs)):
            raise _Refused("not a list")
        return None if value is None else [_typed(kind.item, item, _zero(kind.item)) for item in value]
    if value is None:
        return None if kind.is_pointer else previous if previous is not None else _typed(kind, {})
    if not isinstance(value, (_Pairs, dict)):
        raise _Refused("not an object")
    held = {field.key: _zero(field.type) for field in kind.fields}
    by_lower_case = {field.key.lower(): field for field in kind.fields}
    for key, item in value if isinstance(value, _Pairs) else value.items():
        if field := by_lower_case.get(key.lower()):
            held[field.key] = _typed(field.type, item, held[field.key])
    return {field.key: held[field.key] for field in kind.fields if _is_written(field, held[field.key])}


def _zero(kind: Type) -> Any:
    if isinstance(kind, Scalar):
        return kind.zero
    return None if isinstance(kind, ListOf) or kind.is_pointer else _typed(kind, {})


def _is_written(field: Field, value: Any) -> bool:
    if field.always or isinstance(field.type, Struct):
        return field.always or value is not None
    # An index of 0 is written: only a pointer tells it from none.
    return bool(value) or (field.type == _INT_OR_NULL and value is not None)


# Writing.

_ESCAPED = {
    char: f"\\u{ord(char):04x}" for char in (*map(chr, range(0x20)), "<", ">", "&", "\u2028", "\u2029")
}
_ESCAPED |= {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_ESCAPED |= {chr(code): "\\ufffd" for code in range(0xD800, 0xE000)}
_TABLE = str.maketrans(_ESCAPED)


def _quoted(text: str) -> str:
    return f'"{text.translate(_TABLE)}"'


def _write(value: Any, kind: Type) -> str:
    if value is None or isinstance(kind, Scalar):
        return _write_free(value)
    if isinstance(kind, ListOf):
        return f"[{','.join(_write(item, kind.item) for item in value)}]"
    types = {field.key: field.type for field in kind.fields}
    return f"{{{','.join(f'{_quoted(key)}:{_write(item, types[key])}' for key, item in value.items())}}}"


def _write_free(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{','.join(map(_write_free, value))}]"
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-8", "surrogateescape"))
        return f"{{{','.join(f'{_quoted(key)}:{_write_free(value[key])}' for key in keys)}}}"
    return _number(value)


def _number(value: float) -> str:
    """The shortest digits that read back equal: plain from 1e-6 up to 1e21, with an exponent outside."""
    if isinstance(value, int):
        return str(value)
    if value and not 1e-6 <= abs(value) < 1e21:
        return repr(value)
    return format(Decimal(repr(value)), "f").removesuffix(".0")
