"""Counting: what of a message costs tokens, and what of it is text for a tokenizer.

Tokens of a message: 3, plus the tokens of role, content, the text parts of content lists,
`reasoning_content`, each call's name and arguments; plus 1 and the tokens of `name` if there is one. A media
part counts 85, the price of a small image with the service that the vocabularies come from.
"""

from __future__ import annotations

from typing import Any

COUNTERS = ("o200k_base", "cl100k_base", "bytes4")
MESSAGE_TOKENS = 3
NAME_TOKENS = 1
MEDIA_TOKENS = 85
_LISTS = ("multi_content", "user_input_multi_content", "assistant_output_multi_content")
_MEDIA_KEYS = (
    "image_url",
    "audio_url",
    "video_url",
    "file_url",
    "image",
    "audio",
    "video",
    "file",
    "reasoning",
)
_TEXT_TYPES = ("text", "input_text", "output_text")


def parts(value: dict[str, Any]) -> tuple[int, list[str]]:
    """The fixed tokens of a message, and the texts whose tokens come on top."""
    fixed = MESSAGE_TOKENS
    texts = [value["role"]]
    content = value.get("content")
    lists = [value[key] for key in _LISTS if type(value.get(key)) is list]
    if type(content) is str:
        texts.append(content)
    elif type(content) is list:
        lists.append(content)
    for items in lists:
        for part in items:
            text = part_text(part)
            if text is None:
                fixed += MEDIA_TOKENS
            else:
                texts.append(text)
    reasoning = value.get("reasoning_content")
    if type(reasoning) is str:
        texts.append(reasoning)
    for function in called(value) + _legacy_call(value):
        texts += [text for key in ("name", "arguments") if type(text := function.get(key)) is str]
    name = value.get("name")
    if type(name) is str and name:
        fixed += NAME_TOKENS
        texts.append(name)
    return fixed, texts


def part_text(part: Any) -> str | None:
    """The text of a part of a content list; None for a media part."""
    if type(part) is str:
        return part
    if type(part) is not dict:
        return ""
    kind = part_kind(part)
    if kind in _TEXT_TYPES:
        text = part.get("text")
        return text if type(text) is str else ""
    if kind == "reasoning":
        reasoning = part.get("reasoning")
        text = reasoning.get("text") if type(reasoning) is dict else part.get("text")
        return text if type(text) is str else ""
    return None


def part_kind(part: dict[str, Any]) -> str:
    """The type of a part. eino's older parts need not say it: then it is the key that they have."""
    kind = part.get("type")
    if type(kind) is str and kind:
        return kind
    if part.get("text"):
        return "text"
    return next((key for key in _MEDIA_KEYS if part.get(key)), "text")


def _legacy_call(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The call of a message from before there were lists of calls."""
    call = value.get("function_call")
    return [call] if type(call) is dict else []


def called(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The functions of a message's tool calls."""
    calls = value.get("tool_calls")
    if type(calls) is not list:
        return []
    return [call["function"] for call in calls if type(call) is dict and type(call.get("function")) is dict]


def reference_bytes(value: dict[str, Any]) -> int:
    """What the counter `bytes4` weighs of a message: the bytes of content and of calls' arguments.

    The rule is that of eino-ext `libs/counter`; the text parts of content lists, which the Go reader cannot
    read, are counted too.
    """
    content = value.get("content")
    texts = [content] if type(content) is str else []
    if type(content) is list:
        texts += [text for part in content if (text := part_text(part)) is not None]
    texts += [text for function in called(value) if type(text := function.get("arguments")) is str]
    return sum(len(text) if text.isascii() else _utf8_size(text) for text in texts)


def _utf8_size(text: str) -> int:
    """The size in UTF-8; a lone surrogate counts as U+FFFD, three bytes, which surrogatepass gives it too."""
    return len(text.encode("utf-8", "surrogatepass"))


def tokens(weight: int, counter: str) -> int:
    """Tokens of a total weight: `bytes4` divides once, for the whole list; others weigh tokens."""
    if counter != "bytes4":
        return weight
    return weight // 4 or (1 if weight else 0)


def limit(budget: int, counter: str) -> int:
    """The greatest weight that fits a budget."""
    return 4 * budget + 3 if counter == "bytes4" else budget
