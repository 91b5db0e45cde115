"""Chat messages as agentflow-go (v0.5.1) keeps them in records: the message as JSON in the record's content.

`remember --from` makes records of another kind, with the text itself as content. These are for programs that
share records with the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import go_json, record_form
from memctl.core.record import Record
from memctl.core.remembering import importance_of
from memctl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


class ToolCall(NamedTuple):
    """A call of a tool: `input` is any JSON value, None for none."""

    id: str
    name: str
    input: Any = None


class ChatMessage(NamedTuple):
    """A message of a chat; a time of None is unset."""

    role: str
    content: str = ""
    tool_calls: Sequence[ToolCall] = ()
    tool: str = ""
    tool_call_id: str = ""
    metadata: Mapping[str, str] = {}
    time: datetime | str | None = None

    def to_json(self) -> bytes:
        """The reference's serialised form. Raises BadInput for what cannot be written."""
        calls = [
            {"id": call.id, "name": call.name} | ({} if call.input is None else {"input": call.input})
            for call in self.tool_calls
        ]
        members = {
            "content": self.content,
            "tool_calls": calls,
            "tool": self.tool,
            "tool_call_id": self.tool_call_id,
            "metadata": go_json.ordered(self.metadata),
        }
        given = {key: value for key, value in members.items() if value}
        return go_json.encoded({"role": self.role, **given, "time": record_form.time(self.time, "time")})


def record_of(id: str, message: ChatMessage, *, scope: str = "", provenance: str = "") -> Record:
    """The record of a message, to the letter of the reference, but that the given metadata stays as it is.

    Raises BadInput.
    """
    if not isinstance(message.content, str) or not isinstance(message.role, str):
        raise BadInput("role and content of a chat message must be text")
    if provenance:
        message = message._replace(metadata={**message.metadata, "provenance": provenance})
    return Record.new(
        id,
        message.to_json().decode(),
        scope=scope,
        categories=[message.role],
        importance=importance_of(message.role),
        created_at=message.time,
        last_access_at=message.time,
        metadata={"role": message.role, "kind": "message", "searchable": message.content},
    )
