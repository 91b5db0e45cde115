"""Turns and groups: what each line of a log is for a window, decided line by line in one pass.

The unit is the group: an assistant message with calls and the results directly behind it, each once; every
other message that can be sent is a group of its own. Lines that are never sent where they stand (damaged,
blank, ephemeral, summaries, empty answers, unknown roles, orphans) do not part a call from its results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import marker
from memctl.core.counting import part_kind
from memctl.core.finding import NUMBER

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.core.lines import Piece

MESSAGE = 1  # a message, sent or not
START = 2  # first of a group: a window may begin here
USER = 4  # a user message that can be sent
SUMMARY = 8
INCOMPLETE = 16  # carries the incomplete marker
LEFT = 32  # never sent; the code says why
CALL = 64  # an assistant message with calls
RESULT = 128  # a result in its place
MENDED = 256  # served as repair would write it; the code says what is wrong
HEAD = 512  # one of the system and developer messages at the start
DONE = 1024  # completes its group
BROKE = 2048  # the group before it stayed incomplete
LEADING = 4096  # the head may still go on behind this line

ROLE_NAMES = ("", "system", "developer", "user", "assistant", "tool", "function")
_ROLE_NUMBER = {role: number for number, role in enumerate(ROLE_NAMES)}
#: Stands for every role that is not in the list.
OTHER_ROLE = len(ROLE_NAMES)
_MEDIA_LISTS = ("multi_content", "user_input_multi_content", "assistant_output_multi_content")


class Mark(NamedTuple):
    """What a piece of a line is: flags, number of its code, number of its role."""

    flags: int
    code: int
    role: int


class OpenGroup:
    """A call and the ids it waits for; `waiting` is None if it can never be complete."""

    def __init__(self, calls: list[Any]) -> None:
        ids = [call.get("id") if type(call) is dict else None for call in calls]
        sound = all(type(id) is str and id for id in ids) and len(set(map(str, ids))) == len(ids)
        self.ids = frozenset(id for id in ids if type(id) is str and id)
        self.answered: set[str] = set()
        self.sound = sound

    @property
    def done(self) -> bool:
        """Whether each call has its result."""
        return self.sound and len(self.answered) == len(self.ids)


class Reader:
    """The pass over a log. `feed` wants the pieces of all lines in order, from the start or a `resume`."""

    def __init__(self, *, leading: bool = True, group: OpenGroup | None = None) -> None:
        self.leading = leading
        self.group = group

    def feed(self, piece: Piece) -> Mark:
        """What the piece is, seen from what came before it."""
        value = piece.message
        if value is None:
            flags = LEFT if piece.code != "blank-line" else 0
            return self._mark(flags, piece.code, 0)
        flags, code = self.classify(value)
        role = _ROLE_NUMBER.get(value["role"], OTHER_ROLE)
        if "extra" in value and marker.is_incomplete(value):
            flags |= INCOMPLETE
        if piece.mended is not None:
            flags |= MENDED
            code = code or piece.code
        return self._mark(flags | MESSAGE, code, role)

    def _mark(self, flags: int, code: str, role: int) -> Mark:
        return Mark(flags | (LEADING if self.leading else 0), NUMBER[code], role)

    def classify(self, value: dict[str, Any]) -> tuple[int, str]:
        """Flags and code of a message, seen from what came before it; for those who need no more."""
        flags, code = self._classify(value)
        if flags & (START | SUMMARY):
            self.leading = False
        return flags, code

    def _classify(self, value: dict[str, Any]) -> tuple[int, str]:
        extra = value.get("extra")
        if type(extra) is dict:
            if extra.get(marker.EPHEMERAL) is True:
                return LEFT, "ephemeral-stored"
            if extra.get(marker.SUMMARY) is True:
                return SUMMARY, ""
        role = value["role"]
        if role not in _ROLE_NUMBER or not role:
            return LEFT, "unknown-role"
        if role == "tool":
            return self._result(value.get("tool_call_id"))
        if role == "assistant" and is_empty(value):
            return LEFT, "empty-message"
        if self.leading and role in ("system", "developer"):
            return HEAD | DONE, ""
        broke = BROKE if self.group is not None and not self.group.done else 0
        calls = value.get("tool_calls") if role == "assistant" else None
        if calls:
            self.group = OpenGroup(calls if type(calls) is list else [None])
            return START | CALL | broke, ""
        self.group = None
        return START | DONE | broke | (USER if role == "user" else 0), ""

    def _result(self, id: object) -> tuple[int, str]:
        group = self.group
        if group is None or type(id) is not str or id not in group.ids:
            return LEFT, "orphan-result"
        if id in group.answered:
            return LEFT, "duplicate-result"
        group.answered.add(id)
        return RESULT | (DONE if group.done else 0), ""


def is_damage(flags: int) -> bool:
    """Whether it is of a line that holds no message, blank ones not counted."""
    return bool(flags & LEFT) and not flags & MESSAGE


def role_of(number: int, value: dict[str, Any]) -> str:
    """The role of a mark as text; one outside the list is looked up in the message."""
    return ROLE_NAMES[number] if number < OTHER_ROLE else str(value.get("role", ""))


def is_empty(value: dict[str, Any]) -> bool:
    """An assistant message with neither text (white space is none) nor call nor media part."""
    if value.get("tool_calls") or type(value.get("function_call")) is dict:
        return False
    content = value.get("content")
    if type(content) is str and content.strip():
        return False
    parts = list(content) if type(content) is list else []
    for key in _MEDIA_LISTS:
        if type(value.get(key)) is list:
            parts += value[key]
    return not any(_says_something(part) for part in parts)


def _says_something(part: Any) -> bool:
    if type(part) is str:
        return bool(part.strip())
    if type(part) is not dict:
        return False
    kind = part_kind(part)
    if kind in ("text", "input_text", "output_text"):
        text = part.get("text")
        return type(text) is str and bool(text.strip())
    return kind not in ("reasoning", "thinking")


def sent_entries(
    flags: Callable[[int], int], start: int, end: int, *, clean: bool, keep_open: bool
) -> list[int]:
    """The entries between two that are sent, in order: whole groups only.

    `start` is the first of a group. `clean` leaves out groups with an incomplete message; `keep_open` takes
    the last group even if a result is missing.
    """
    sent: list[int] = []
    group: list[int] = []
    spoilt = False
    for number in range(start, end):
        flag = flags(number)
        if flag & START:
            group, spoilt = [], False
        elif not flag & RESULT:
            continue
        group.append(number)
        spoilt = spoilt or bool(clean and flag & INCOMPLETE)
        if flag & DONE and not spoilt:
            sent += group
            group = []
    if keep_open and group and not spoilt:
        sent += group
    return sent
