"""Calls and the results that they wait for, as inspect names them and repair answers them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl, marker

if TYPE_CHECKING:
    from memctl.core.planning import Spot

#: What a result says that repair puts in the place of one that never came.
INTERRUPTED = "Interrupted: no result of this call was recorded."
_SHOWN_CHARACTERS = 60


class Group:
    """The message `place` with calls; `last` is the last of its group, and a missing result comes `behind`.

    `behind` is an offset in the old file, -1 where nothing can be put in.
    """

    def __init__(self, calls: list[Any], place: int, line: int, offset: int, size: int) -> None:
        self.calls = calls
        self.line, self.offset, self.size = line, offset, size
        self.place = self.last = place
        self.behind = -1

    def settle(self, spot: Spot | None) -> None:
        """Take in where the last message stands."""
        self.behind = -1 if spot is None else spot.behind


class OpenCall(NamedTuple):
    """A call without a result: its id ("" where no result can name it), itself, what to say of it."""

    id: str
    call: Any
    detail: str


def open_calls(calls: list[Any], missing: frozenset[str]) -> list[OpenCall]:
    """Id, call and what to say of each call without a result; "" for an id that no result can name.

    With no `missing` at all the calls are such that no results can complete them.
    """
    if missing:
        found = []
        for call in calls:
            if call["id"] in missing:
                name = name_of(call)
                detail = call_detail(call["id"]) + (f", {shown(name)}" if name else "")
                found.append(OpenCall(call["id"], call, detail))
        return found
    given = [call.get("id") if type(call) is dict else None for call in calls]
    ids = Counter(id if type(id) is str else "" for id in given)
    odd: list[OpenCall] = []
    for id, count in ids.items():
        if not id:
            odd.append(OpenCall("", None, "a call without an id: nothing can answer it"))
        elif count > 1:
            odd.append(OpenCall("", None, f"{call_detail(id)} stands for several calls: no result fits"))
    return odd or [OpenCall("", None, "calls that are no list of calls")]


def call_detail(id: object) -> str:
    """`call ID`, for people."""
    return f"call {shown(id)}" if type(id) is str and id else "no tool_call_id"


def shown(text: str) -> str:
    """A text from a message, cut to what a line of a report takes."""
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def interrupted(call: dict[str, Any], place: int, offset: int) -> bytes:
    """The line, without LF, of the result of a call in the message `place`; marked as made by repair.

    It has no time of its own. Its id follows from the message's number and its line's `offset`: a plan can be
    made twice, and no two results have the same id.
    """
    from hashlib import sha256

    id = str(call["id"])
    seed = f"open-call {place} {offset} {id}".encode("utf-8", "surrogatepass")
    value: dict[str, Any] = {"role": "tool", "content": INTERRUPTED, "tool_call_id": id}
    if name := name_of(call):
        value["tool_name"] = name
    value["extra"] = {marker.OWN: {"id": sha256(seed).hexdigest()[:16], "repair": "open-call"}}
    return jsonl.message_bytes(value)


def name_of(call: dict[str, Any]) -> str:
    """The name of the called function, "" if there is none."""
    function = call.get("function")
    name = function.get("name") if type(function) is dict else None
    return name if type(name) is str else ""
