"""Message: the wire form of one stored line; what is accepted, and how memctl writes one of its own.

The form is that of eino's `schema.Message`: keys, order and escapes are those of its encoder
(eino v0.9.12, goccy/go-json), so a Go program beside us reads what we write.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from memctl.core import jsonl, marker, wire
from memctl.errors import BadInput, UsageError

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
#: The Go reader's line scanner stops at a line of this many bytes, line end not counted.
GO_LINE_BYTES = 65_536

#: Room for what `core.splice` adds to a line: no line may grow beyond what is read.
_IDENTITY_BYTES = 256


class Incoming(NamedTuple):
    """A message on its way into a log: its bytes, its value, and the id that came with it, if any.

    `go_stops` is the code of what in it would stop the Go reader, or "".
    """

    line: bytes
    value: dict[str, Any]
    id: str | None
    go_stops: str = ""


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


def chosen_role(role: str, tool_call_id: str, *, answers: bool) -> str:
    """The role of a text: as it is given, else `tool` for a result, `assistant` for what `answers`, `user`.

    `answers`: it is a summary or an incomplete answer. Raises UsageError where these contradict each other.
    """
    if role and role not in ROLES:
        raise UsageError(f"no role {role}; there are {', '.join(ROLES)}")
    if tool_call_id and (answers or role not in ("", "tool")):
        raise UsageError("the id of a tool call is for the role tool")
    if answers and role not in ("", "assistant"):
        raise UsageError("a summary or an incomplete answer has the role assistant")
    return role or ("tool" if tool_call_id else "assistant" if answers else "user")


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
    """A new message from text. Raises BadInput for an unknown role, a blank id, text that is not Unicode."""
    _check_role(role)
    if id is not None and not id.strip():
        raise BadInput("the id of a message cannot be blank")
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
    line = f"{{{','.join(members)}}}".encode()
    _check_size(line)
    return Incoming(line, value, id)


def accept(line: bytes) -> Incoming:
    """The message in one line of JSON input, white space around it not counted.

    Raises BadInput, with the reason, for what is no message or would stop every reader behind it.
    """
    line = line.strip(b" \t\r\n")
    _check_size(line)
    value = parsed(line, hint="a text is given as memctl append REF TEXT")
    if type(value) is not dict:
        hint = "one JSON object a line is expected" if type(value) is list else ""
        raise BadInput("this is JSON, but not an object", hint=hint)
    _check_role(value.get("role"))
    _check_content(value)
    stops = ""
    if not wire.is_plain(line, value):
        try:
            stops = wire.check(line)
        except wire.Mismatch as error:
            raise BadInput(str(error)) from None
    return Incoming(line, value, _own_id(value), stops)


def _check_size(line: bytes) -> None:
    if len(line) > jsonl.LINE_MAX_BYTES - _IDENTITY_BYTES:
        raise BadInput(f"a message of {len(line)} bytes is more than a line holds: {jsonl.LINE_MAX_BYTES}")


def _check_role(role: object) -> None:
    if type(role) is not str or role not in ROLES:
        raise BadInput(f"role must be one of {', '.join(ROLES)}, not {jsonl.dumps(role).decode()[:60]}")


def parsed(line: bytes, *, hint: str) -> Any:
    """The value of a line of JSON input, as `jsonl.loads` gives it. Raises BadInput; `hint`: for no JSON."""
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
        what = f"{getattr(error, 'msg', error)} at character {getattr(error, 'pos', 0) + 1}"
        raise BadInput(f"this is not JSON: {what}", hint=hint) from None
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


def _own_id(value: dict[str, Any]) -> str | None:
    id = marker.own(value).get("id")
    if id is not None and (type(id) is not str or not id.strip()):
        raise BadInput("extra.memctl.id must be text")
    return id


def go_unreadable(incoming: Incoming, line: bytes) -> str:
    """Why the Go reader would stop at this line (`list-content`, `line-too-long`, `bad-number`), or ""."""
    if len(line) >= GO_LINE_BYTES and incoming.go_stops != wire.LIST_CONTENT:
        return "line-too-long"
    return incoming.go_stops
