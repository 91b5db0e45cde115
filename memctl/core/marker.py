"""Markers: the booleans in a message's `extra`, and memctl's own object there.

A marker counts only as JSON true; the text "true" and the number 1 are no marks. The role is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

SUMMARY = "__eino_ext_memory_summary"
INCOMPLETE = "__eino_ext_memory_incomplete"
EPHEMERAL = "__eino_ext_memory_ephemeral"
OWN = "memctl"


def marked(message: dict[str, Any], marker: str) -> bool:
    """Whether the message carries the marker."""
    extra = message.get("extra")
    return type(extra) is dict and extra.get(marker) is True


def is_summary(message: dict[str, Any]) -> bool:
    """A summary: it stands for messages before it."""
    return marked(message, SUMMARY)


def is_incomplete(message: dict[str, Any]) -> bool:
    """An answer that may be cut short."""
    return marked(message, INCOMPLETE)


def is_ephemeral(message: dict[str, Any]) -> bool:
    """A message for the reader of a stream, never for the store."""
    return marked(message, EPHEMERAL)


def own(message: dict[str, Any]) -> dict[str, Any]:
    """memctl's object in the message, empty where there is none."""
    extra = message.get("extra")
    value = extra.get(OWN) if type(extra) is dict else None
    return value if type(value) is dict else {}


def message_id(message: dict[str, Any]) -> str | None:
    """The id that the message carries, or None."""
    value = own(message).get("id")
    return value if type(value) is str and value else None


def created_at(message: dict[str, Any]) -> str | None:
    """The time that the message carries, as it is written there; numbers too."""
    value = own(message).get("created_at")
    return str(value) if type(value) in (str, int, float) else None


def last_summary_index(messages: Sequence[dict[str, Any]]) -> int:
    """The index of the last summary, -1 if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if is_summary(messages[index]):
            return index
    return -1


def mark(message: dict[str, Any], marker: str) -> dict[str, Any]:
    """A copy of the message that carries the marker."""
    extra = message.get("extra")
    return {**message, "extra": {**(extra if type(extra) is dict else {}), marker: True}}


def mark_incomplete(message: dict[str, Any]) -> dict[str, Any]:
    """A copy of the message that says it may be cut short."""
    return mark(message, INCOMPLETE)


def new_summary_message(content: str) -> dict[str, Any]:
    """An assistant message that stands for all messages before it."""
    return mark({"role": "assistant", "content": content}, SUMMARY)


def new_ephemeral_message(role: str, content: str) -> dict[str, Any]:
    """A message for the reader of a stream, never for the store."""
    return mark({"role": role, "content": content}, EPHEMERAL)
