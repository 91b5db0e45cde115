"""A stored message as the forms see it: its parts and its calls.

Content is text, null, a list of parts as chat services write them, or one of eino's three lists of parts
(`user_input_multi_content`, `assistant_output_multi_content`, `multi_content`). All of it is read into one
kind of `Part`, so that each form decides only what it can hold. Nothing here raises on odd content: a part
of an unknown kind is a part that forms can name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MULTI_CONTENT_KEYS = ("user_input_multi_content", "assistant_output_multi_content", "multi_content")
#: A longer address (one that carries data) is cut where a part is only named.
URL_SHOWN_MAX = 500

_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_TEXT_TYPES = frozenset(("text", "input_text", "output_text"))
_MEDIA_TYPES = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio_url": "audio",
    "input_audio": "audio",
    "video_url": "video",
    "file": "file",
    "file_url": "file",
    "input_file": "file",
    "document": "file",
}
#: First characters, in base64, of the image kinds that services take.
_IMAGE_SIGNATURES = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
}


class Part(NamedTuple):
    """One piece of a message's content.

    `kind`: text, refusal, image, audio, video, file, reasoning, or the stored type of anything else.
    Media have a `url` or base64 `data` (never a `data:` URL), or, as files, a service's own `file_id`.
    """

    kind: str
    text: str = ""
    url: str = ""
    data: str = ""
    mime_type: str = ""
    name: str = ""
    detail: str = ""
    file_id: str = ""


class Call(NamedTuple):
    """One tool call; `arguments` is a JSON text, `{}` where none is stored."""

    id: str
    name: str
    arguments: str


def string(value: object) -> str:
    """`value` if it is text, else the empty text."""
    return value if isinstance(value, str) else ""


def safe_name(name: str, length_max: int) -> str:
    """`name` within `[a-zA-Z0-9_-]{1,length_max}`, the only names of tools that services take."""
    kept = "".join([character if character in _NAME_CHARACTERS else "_" for character in name])
    return kept[:length_max] or "_"


def tool_name(value: dict[str, Any]) -> str:
    """The name of the tool that a result comes from, if the message says."""
    return string(value.get("name")) or string(value.get("tool_name"))


def calls(value: dict[str, Any]) -> list[Call]:
    """The tool calls of a message, in order."""
    stored = value.get("tool_calls")
    return [_call(item) for item in stored if isinstance(item, dict)] if isinstance(stored, list) else []


def legacy_call(value: dict[str, Any]) -> Call | None:
    """The call of the older form, `function_call`, which has no id."""
    stored = value.get("function_call")
    return _call({"function": stored}) if isinstance(stored, dict) and not value.get("tool_calls") else None


def _call(item: dict[str, Any]) -> Call:
    function = item.get("function")
    if not isinstance(function, dict):
        function = {}
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        from memctl.formats.encoding import encode

        arguments = encode(arguments).decode("utf-8")
    return Call(string(item.get("id")), string(function.get("name")), arguments or "{}")


def parts(value: dict[str, Any]) -> list[Part]:
    """What a message holds, in order, without empty texts.

    eino's lists stand instead of `content`; a `content` that they do not repeat comes first.
    """
    content = value.get("content")
    multi: list[Part] = []
    for key in MULTI_CONTENT_KEYS:
        known = set(multi)
        multi += [part for part in _parts_of(value.get(key)) if part not in known]
    if isinstance(content, str):
        texts = [part.text for part in multi if part.kind == "text"]
        repeated = multi and (not content.strip() or content in (*texts, "".join(texts), "\n".join(texts)))
        return multi if repeated or not content else [Part("text", content), *multi]
    own = list(_parts_of(content))
    return [part for part in own if part not in multi] + multi


def text_of(value: dict[str, Any], separator: str) -> str:
    """The message as one text, other parts named in brackets."""
    return separator.join([part.text if part.kind == "text" else described(part) for part in parts(value)])


def described(part: Part) -> str:
    """A part that a form cannot hold, named in brackets, its binary data left out."""
    where = part.url[:URL_SHOWN_MAX] or part.file_id
    if not where and part.data:
        where = f"{part.mime_type or 'unknown type'}, {len(part.data)} base64 characters"
    said = [word for word in (part.name, where or part.text) if word]
    return f"[{part.kind}: {', '.join(said)}]" if said else f"[{part.kind}]"


def _parts_of(content: object) -> Iterator[Part]:
    if content is None:
        return
    if not isinstance(content, list):
        from memctl.formats.encoding import encode

        yield Part("text", encode(content).decode("utf-8"))
        return
    for item in content:
        part = Part("text", item) if isinstance(item, str) else _part(item)
        if part.kind != "text" or part.text:
            yield part


def _part(item: object) -> Part:
    if not isinstance(item, dict):
        return Part("part")
    kind = string(item.get("type")) or _kind_by_key(item)
    if kind in _TEXT_TYPES:
        return Part("text", string(item.get("text")))
    if kind == "refusal":
        return Part("refusal", string(item.get("refusal")))
    if kind == "tool_search_result":
        return Part(kind, ", ".join(_found_tools(item.get(kind))))
    if kind in ("reasoning", "thinking", "redacted_thinking"):
        return Part("reasoning")
    medium = _MEDIA_TYPES.get(kind)
    return _media(medium, kind, item) if medium else Part(kind or "part", string(item.get("text")))


def _kind_by_key(item: dict[str, Any]) -> str:
    """The kind of eino's older parts, whose `type` may be missing."""
    return next(
        (key for key in ("text", "image_url", "audio_url", "video_url", "file_url") if item.get(key)), ""
    )


def _found_tools(result: object) -> list[str]:
    tools = result.get("Tools") if isinstance(result, dict) else None
    return (
        [string(tool.get("name")) for tool in tools if isinstance(tool, dict)]
        if isinstance(tools, list)
        else []
    )


def _media(medium: str, kind: str, item: dict[str, Any]) -> Part:
    """A picture, sound, film or file in any of the spellings: eino's two, chat services', block services'."""
    stored = next((item[key] for key in (medium, kind, "source") if item.get(key)), item)
    if isinstance(stored, str):
        stored = {"url": stored}
    elif not isinstance(stored, dict):
        stored = {}

    if stored.get("type") == "text":
        return Part("text", string(stored.get("data")))

    def first(*keys: str) -> str:
        return next((stored[key] for key in keys if isinstance(stored.get(key), str) and stored[key]), "")

    url = first("url", "uri")
    data = first("base64data", "data", "file_data")
    mime_type = first("mime_type", "media_type") or (f"{medium}/{first('format')}" if first("format") else "")
    for text in (data, url):
        head, comma, rest = text.partition(",") if text.startswith("data:") else ("", "", "")
        if comma and head.endswith(";base64"):
            head, data = head[5:], rest
            mime_type = mime_type or head.partition(";")[0]
            url = ""
            break
    if medium == "image" and data and not mime_type:
        known = (kind for start, kind in _IMAGE_SIGNATURES.items() if data.startswith(start))
        mime_type = next(known, "")
    name = first("name", "filename") or string(item.get("title"))
    detail = first("detail") or string(item.get("detail"))
    return Part(medium, "", url, data, mime_type, name, detail, first("file_id"))
