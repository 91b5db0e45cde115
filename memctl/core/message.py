"""Message: the wire form of one stored line; what is accepted, and how memctl writes one of its own.

The form is that of eino's `schema.Message`: keys, order and escapes are those of its encoder
(`reference-conversation`, section 2), so a Go program beside us reads what we write.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from memctl.core import jsonl, marker
from memctl.errors import BadInput

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
#: The Go reader's line scanner stops at a line of this many bytes, line end not counted.
GO_LINE_BYTES = 65_536

_TEXT_KEYS = ("name", "tool_call_id", "tool_name", "reasoning_content")
_LIST_KEYS = ("multi_content", "user_input_multi_content", "assistant_output_multi_content", "tool_calls")
_OBJECT_KEYS = ("extra", "response_meta")


class Incoming(NamedTuple):
    """A message on its way into a log: its bytes, its value, and the id that came with it, if any."""

    line: bytes
    value: dict[str, Any]
    id: str | None


class Message(NamedTuple):
    """A message of a log: its place and its bytes, without line end.

    `position` counts messages from 0, `line` lines from 1. `id` is its own, or derived from its bytes
    and how often they occurred before. `problem` is a code of `core.finding`, or "".
    """

    position: int
    line: int
    id: str
    created_at: str | None
    raw: bytes
    value: dict[str, Any]
    problem: str = ""

    @property
    def role(self) -> str:
        """The role as it is stored."""
        return str(self.value["role"])

    @property
    def content(self) -> Any:
        """Text, a list of parts, or None."""
        return self.value.get("content")


def compose(
    role: str,
    content: str,
    *,
    name: str = "",
    tool_call_id: str = "",
    tool_name: str = "",
    markers: tuple[str, ...] = (),
    id: str | None = None,
) -> Incoming:
    """A new message from text. Raises BadInput for text that is not valid Unicode."""
    value: dict[str, Any] = {"role": role, "content": content}
    for key, text in (("name", name), ("tool_call_id", tool_call_id), ("tool_name", tool_name)):
        if text:
            value[key] = text
    for text in (*value.values(), id or ""):
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise BadInput("the text is not valid UTF-8", hint="give it as JSON lines on standard input")
    members = [f"{jsonl.quote(key)}:{jsonl.quote(text)}" for key, text in value.items()]
    extra: dict[str, Any] = dict.fromkeys(markers, True)
    marks = [f'"{key}":true' for key in sorted(markers)]
    if id is not None:
        extra[marker.OWN] = {"id": id}
        marks.append(f'"{marker.OWN}":{{"id":{jsonl.quote(id)}}}')
    if extra:
        value["extra"] = extra
        members.append(f'"extra":{{{",".join(marks)}}}')
    return Incoming(f"{{{','.join(members)}}}".encode(), value, id)


def accept(line: bytes) -> Incoming:
    """The message in one line of JSON input, white space around it not counted.

    Raises BadInput, with the reason, for what is no message or would stop every reader behind it.
    """
    line = line.strip(b" \t\r\n")
    value = _parse(line)
    if type(value) is not dict:
        hint = "one JSON object a line is expected" if type(value) is list else ""
        raise BadInput("this is JSON, but not an object", hint=hint)
    role = value.get("role")
    if role not in ROLES or type(role) is not str:
        raise BadInput(f"role must be one of {', '.join(ROLES)}, not {jsonl.dumps(role).decode()}")
    _check_content(value)
    _check_types(value)
    return Incoming(line, value, _own_id(value))


def _parse(line: bytes) -> Any:
    try:
        return jsonl.loads(line)
    except jsonl.Unreadable as error:
        raise BadInput(f"this JSON cannot be read: {error}") from None
    except ValueError:
        pass
    try:
        constants = jsonl.Constants()
        value = jsonl.exact(line.decode("utf-8"), constants)
    except UnicodeDecodeError as error:
        raise BadInput(f"byte {error.start + 1} of the line is not UTF-8") from None
    except jsonl.Unreadable as error:
        raise BadInput(f"this JSON cannot be read: {error}") from None
    except ValueError as error:
        raise BadInput(f"this is not JSON: {error}") from None
    if constants:
        raise BadInput(f"{constants[0]} is not JSON")
    return value


def _check_content(value: dict[str, Any]) -> None:
    if "content" not in value:
        if not value.get("tool_calls"):
            raise BadInput("content is missing")
        return
    content = value["content"]
    if content is not None and type(content) not in (str, list):
        raise BadInput("content must be text, null or a list of parts")
    if type(content) is list and not all(type(part) in (str, dict) for part in content):
        raise BadInput("the parts of content must be objects or text")


def _check_types(value: dict[str, Any]) -> None:
    """Keys that every reader knows must have the type that they expect; the Go reader ignores their case."""
    for key, item in value.items():
        lower = key.lower()
        if item is None:
            continue
        if lower in _TEXT_KEYS and type(item) is not str:
            raise BadInput(f"{key} must be text")
        if lower in _OBJECT_KEYS and type(item) is not dict:
            raise BadInput(f"{key} must be an object")
        if lower in _LIST_KEYS and not (type(item) is list and all(type(part) is dict for part in item)):
            raise BadInput(f"{key} must be a list of objects")
        if lower in ("role", "content") and key != lower:
            raise BadInput(f"{key} must be written {lower}")
        if lower == "tool_calls":
            for call in item:
                _check_call(call)


def _check_call(call: dict[str, Any]) -> None:
    function = call.get("function")
    if function is None:
        function = {}
    if type(function) is not dict:
        raise BadInput("the function of a tool call must be an object")
    if type(call.get("index")) not in (int, type(None)):
        raise BadInput("the index of a tool call must be an integer")
    if any(type(call.get(key)) not in (str, type(None)) for key in ("id", "type")):
        raise BadInput("id and type of a tool call must be text")
    if type(function.get("name")) not in (str, type(None)):
        raise BadInput("the name of a called function must be text")
    if type(function.get("arguments")) not in (str, type(None)):
        raise BadInput("the arguments of a tool call must be JSON inside a text")


def _own_id(value: dict[str, Any]) -> str | None:
    id = marker.own(value).get("id")
    if id is not None and (type(id) is not str or not id.strip()):
        raise BadInput("extra.memctl.id must be text")
    return id


def go_unreadable(incoming: Incoming, line: bytes) -> str:
    """Why the Go reader would stop at this line (`list-content`, `line-too-long`), or ""."""
    if type(incoming.value.get("content")) is list:
        return "list-content"
    return "line-too-long" if len(line) >= GO_LINE_BYTES else ""
