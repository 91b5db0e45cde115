"""message_record: a chat message as a record of the reference, with an id of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.core.chat_message import ChatMessage, record_of

if TYPE_CHECKING:
    from memctl.core.record import Record


def message_record(message: ChatMessage, *, scope: str = "", provenance: str = "") -> Record:
    """The record of a chat message as agentflow-go makes it: the message as JSON in its content, in hot.

    Each call gives a fresh id, so that remembering it twice keeps it twice;
    `Memory.remember_from` adds only what is new of a conversation. Raises BadInput.
    """
    return record_of(os.urandom(8).hex(), message, scope=scope, provenance=provenance)
