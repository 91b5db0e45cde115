"""Messages in the form of Anthropic's Messages API: system apart, blocks, user and assistant in turn.

What the API refuses is never written: empty texts, a call or a result without its other half (unless more
may come: the calls of the last group), two uses of one id, media it does not take, unsigned thinking. What
has to be put differently is put as text, so that nothing is left out silently but reasoning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core.marker import is_summary
from memctl.formats.chat import (
    Call,
    Part,
    calls,
    described,
    legacy_call,
    parts,
    safe_name,
    string,
    text_of,
    tool_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Block = dict[str, Any]

#: The first message has to be the user's; this stands there when the conversation has none.
OPENING = "(the conversation goes on)"
NAME_LENGTH_MAX = 128

_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_DOCUMENT_TYPES = ("application/pdf",)


class _Group(NamedTuple):
    """A message with, if it has calls, the run of results directly after it."""

    head: dict[str, Any]
    results: list[dict[str, Any]]


def to_anthropic(values: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """`{"system": text, "messages": [...]}`.

    `system` holds the texts of all system and developer messages and of summaries, in order, with blank
    lines between them, and may be empty. `messages` begins with a user message and alternates; neighbours
    of one role are one message, and results come first in theirs. Ids of calls are kept where the API takes
    them, else replaced: the same input always gives the same ids.
    """
    spoken = [value for value in values if not _is_system(value)]
    system = [text for value in values if _is_system(value) if (text := text_of(value, "\n\n")).strip()]
    messages = _Messages()
    groups = _groups(spoken)
    for position, group in enumerate(groups):
        if group.head.get("role") == "assistant":
            _add_answer(messages, group, is_last=position == len(groups) - 1)
        else:
            messages.add("user", _user_blocks(group.head))
    return {"system": "\n\n".join(system), "messages": messages.finished()}


class _Messages:
    """The messages so far, and the ids of calls that are taken."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        #: How often each id was asked for: some models number their calls anew in every turn.
        self._ids: dict[str, int] = {}

    def add(self, role: str, blocks: list[Block]) -> None:
        if not blocks:
            return
        if not self._messages and role == "assistant":
            self.add("user", [_text(OPENING)])
        if self._messages and self._messages[-1]["role"] == role:
            self._messages[-1]["content"] += blocks
        else:
            self._messages.append({"role": role, "content": blocks})

    def unique_id(self, stored: str) -> str:
        """An id within `[a-zA-Z0-9_-]+` that no earlier call has: the stored one where that will do."""
        safe = stored
        if not stored or safe_name(stored, len(stored)) != stored:
            import hashlib

            safe = "call_" + hashlib.sha256(stored.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        unique, count = safe, self._ids.get(safe, 0) + 1
        while unique in self._ids:
            unique = f"{safe}-{count}"
            count += unique in self._ids
        self._ids[safe] = count
        self._ids.setdefault(unique, 1)
        return unique

    def finished(self) -> list[dict[str, Any]]:
        # The API refuses an unfinished answer that ends in white space.
        if self._messages and self._messages[-1]["role"] == "assistant":
            block = self._messages[-1]["content"][-1]
            if block["type"] == "text":
                block["text"] = block["text"].rstrip()
        return self._messages


def _is_system(value: dict[str, Any]) -> bool:
    return value.get("role") in ("system", "developer") or is_summary(value)


def _groups(values: Sequence[dict[str, Any]]) -> list[_Group]:
    groups: list[_Group] = []
    for value in values:
        head = groups[-1].head if groups else {}
        if value.get("role") == "tool" and head.get("role") == "assistant" and calls(head):
            groups[-1].results.append(value)
        else:
            groups.append(_Group(value, []))
    return groups


def _add_answer(messages: _Messages, group: _Group, *, is_last: bool) -> None:
    """An assistant message, its calls, and the user message with their results."""
    pairs: list[tuple[Call, dict[str, Any] | None]] = []
    waiting = list(group.results)
    for call in calls(group.head):
        index = next((i for i, value in enumerate(waiting) if _answers(value, call)), None)
        pairs.append((call, None if index is None else waiting.pop(index)))
    # Only what nothing follows can still be answered by the caller.
    may_be_open = is_last and not waiting
    blocks = _blocks(parts(group.head), "assistant")
    answers: list[Block] = []
    for call, result in pairs:
        if result is None and not may_be_open:
            blocks.append(_text(f"[call without a result: {_call_text(call)}]"))
            continue
        use_id = messages.unique_id(call.id)
        name = safe_name(call.name, NAME_LENGTH_MAX)
        blocks.append({"type": "tool_use", "id": use_id, "name": name, "input": _input(call.arguments)})
        if result is not None:
            answer = {"type": "tool_result", "tool_use_id": use_id, "content": _result(result)}
            answers.append({**answer, "is_error": True} if _is_error(result) else answer)
    if (older := legacy_call(group.head)) is not None:
        blocks.append(_text(f"[call: {_call_text(older)}]"))
    messages.add("assistant", blocks)
    messages.add("user", answers)
    for value in waiting:
        messages.add("user", _user_blocks(value))


def _is_error(value: dict[str, Any]) -> bool:
    extra = value.get("extra")
    return isinstance(extra, dict) and extra.get("is_error") is True


def _answers(value: dict[str, Any], call: Call) -> bool:
    return string(value.get("tool_call_id")) == call.id


def _call_text(call: Call) -> str:
    return f"{call.name}({call.arguments})"


def _input(arguments: str) -> dict[str, Any]:
    """The arguments as the object they should be; any other text under one key, as it is."""
    import json

    try:
        value = json.loads(arguments, parse_constant=_refuse, parse_float=_number)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"arguments": arguments}


def _refuse(text: str) -> float:
    raise ValueError(text)


def _number(text: str) -> float:
    """A float that JSON can hold again."""
    number = float(text)
    return number if number - number == 0 else _refuse(text)


def _result(value: dict[str, Any]) -> str | list[Block]:
    found = parts(value)
    if all(part.kind == "text" for part in found):
        text = "\n\n".join([part.text for part in found])
        return text if text.strip() else ""
    return _blocks(found, "user")


def _user_blocks(value: dict[str, Any]) -> list[Block]:
    """What anyone but the assistant says: users, functions, results without a call, unknown roles."""
    role = value.get("role")
    blocks = _blocks(parts(value), "user")
    name = string(value.get("name"))
    if role in ("tool", "function"):
        name = f"result of {tool_name(value) or string(value.get('tool_call_id')) or role}"
    if not name or not blocks:
        return blocks
    if blocks[0]["type"] == "text":
        return [_text(f"{name}: {blocks[0]['text']}"), *blocks[1:]]
    return [_text(f"{name}:"), *blocks]


def _blocks(found: list[Part], role: str) -> list[Block]:
    blocks = []
    for part in found:
        media = _media(part) if role == "user" else None
        text = part.text if part.kind in ("text", "refusal") else described(part)
        if media is not None:
            blocks.append(media)
        elif text.strip():
            blocks.append(_text(text))
    return blocks


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _media(part: Part) -> Block | None:
    """The part as a block of its own kind, or None if the API has none for it."""
    if part.kind not in ("image", "file"):
        return None
    is_image = part.kind == "image"
    takes = _IMAGE_TYPES if is_image else _DOCUMENT_TYPES
    block = {"type": "image" if is_image else "document"}
    if part.name and not is_image:
        block["title"] = part.name
    mime_type = part.mime_type.lower()
    if part.data and mime_type in takes:
        return {**block, "source": {"type": "base64", "media_type": mime_type, "data": part.data}}
    if part.kind == "file" and part.data and mime_type.startswith("text/"):
        text = _decoded(part.data)
        if text.strip():
            return {**block, "source": {"type": "text", "media_type": "text/plain", "data": text}}
    if part.url.startswith(("https://", "http://")) and mime_type in ("", *takes):
        return {**block, "source": {"type": "url", "url": part.url}}
    return None


def _decoded(data: str) -> str:
    """The text behind base64, empty if it is none."""
    import base64

    try:
        return base64.b64decode(data, validate=True).decode("utf-8")
    except ValueError:
        return ""
