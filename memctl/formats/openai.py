"""Messages in chat-completions form: what OpenAI's API and its many relatives take.

That form holds pictures, sounds and files only in user messages. What it cannot hold is named in brackets
in a text, so that nothing is left out silently; reasoning is not sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.formats.chat import Call, Part, calls, described, legacy_call, parts, safe_name, string, tool_name

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Limits of the API for names of tools and of speakers.
NAME_LENGTH_MAX = 64

_PART_TYPES = ("text", "image_url", "input_audio", "file", "refusal")
_DETAILS = ("auto", "low", "high")
_AUDIO_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}


def to_openai(values: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with only the keys of that API, names brought within what it accepts.

    `content` is text or a list of parts, and null only in an assistant message that is nothing but calls.
    Roles are kept, a summary is the assistant message that it is stored as.
    """
    return [_message(value) for value in values]


def to_json(values: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same form for reading on: every other stored key is kept too, at its place, and names as stored."""
    return [_kept(value) for value in values]


def _message(value: dict[str, Any]) -> dict[str, Any]:
    message = _form(value)
    if "name" in message:
        is_tool = message["role"] in ("tool", "function")
        message["name"] = _safe_tool(message["name"]) if is_tool else _safe_speaker(message["name"])
    for call in message.get("tool_calls", []):
        call["function"]["name"] = _safe_tool(call["function"]["name"])
    if "function_call" in message:
        message["function_call"]["name"] = _safe_tool(message["function_call"]["name"])
    return message


def _kept(value: dict[str, Any]) -> dict[str, Any]:
    form = _form(value)
    if isinstance(value.get("content"), list) and all(_is_chat_part(item) for item in value["content"]):
        form["content"] = value["content"]
    if "tool_calls" in form:
        stored = [item for item in value["tool_calls"] if isinstance(item, dict)]
        form["tool_calls"] = [_merged(*pair) for pair in zip(stored, form["tool_calls"], strict=True)]
    return {**value, **form}


def _merged(stored: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    """A call with what else is stored of it: eino's `index` and `extra`."""
    function = stored.get("function")
    return {
        **stored,
        **call,
        "function": {**(function if isinstance(function, dict) else {}), **call["function"]},
    }


def _is_chat_part(item: object) -> bool:
    return isinstance(item, dict) and item.get("type") in _PART_TYPES


def _form(value: dict[str, Any]) -> dict[str, Any]:
    """The keys of the API, names as they are stored."""
    role = string(value.get("role"))
    made = calls(value) if role == "assistant" else []
    older = legacy_call(value) if role == "assistant" else None
    message: dict[str, Any] = {"role": role, "content": _content(value, role, bool(made or older))}
    is_result = role in ("tool", "function")
    name = tool_name(value) if is_result else string(value.get("name"))
    if name or role == "function":
        message["name"] = name
    if made:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": _function(call)} for call in made
        ]
    if older:
        message["function_call"] = _function(older)
    if role == "tool":
        message["tool_call_id"] = string(value.get("tool_call_id"))
    return message


def _function(call: Call) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments}


def _safe_tool(name: str) -> str:
    return safe_name(name, NAME_LENGTH_MAX)


def _safe_speaker(name: str) -> str:
    """A speaker's name without white space and `<|\\/>`, which the API refuses."""
    kept = ["_" if character.isspace() or character in "<|\\/>" else character for character in name]
    return "".join(kept)[:NAME_LENGTH_MAX]


def _content(value: dict[str, Any], role: str, has_calls: bool) -> str | list[dict[str, Any]] | None:
    found = parts(value)
    if not found:
        return None if has_calls else ""
    if len(found) == 1 and found[0].kind == "text" and not isinstance(value.get("content"), list):
        return found[0].text
    if role == "function":
        return "\n\n".join([part.text if part.kind == "text" else described(part) for part in found])
    return [_part(part, role) for part in found]


def _part(part: Part, role: str) -> dict[str, Any]:
    if part.kind == "text":
        return {"type": "text", "text": part.text}
    if part.kind == "refusal" and role == "assistant":
        return {"type": "refusal", "refusal": part.text}
    media = _media(part) if role == "user" else None
    return media or {"type": "text", "text": described(part)}


def _media(part: Part) -> dict[str, Any] | None:
    """The part as the form holds it in a user message, or None."""
    if part.kind == "image" and (part.url or part.data):
        image = {"url": part.url or f"data:{part.mime_type or 'image/png'};base64,{part.data}"}
        if part.detail in _DETAILS:
            image["detail"] = part.detail
        return {"type": "image_url", "image_url": image}
    if part.kind == "audio" and part.data:
        subtype = part.mime_type.partition("/")[2].lower()
        audio = {"data": part.data, "format": _AUDIO_FORMATS.get(subtype, subtype) or "wav"}
        return {"type": "input_audio", "input_audio": audio}
    if part.kind == "file" and (part.data or part.file_id):
        file = {"filename": part.name} if part.name else {}
        if part.data:
            file["file_data"] = f"data:{part.mime_type or 'application/octet-stream'};base64,{part.data}"
        else:
            file["file_id"] = part.file_id
        return {"type": "file", "file": file}
    return None
