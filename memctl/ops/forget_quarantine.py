"""forget, the quarantine: which items of a user hold texts that are to be forgotten, and their removal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memctl.core import lines, marker, names
from memctl.errors import BadName, UsageError
from memctl.store import quarantine, scanning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.ops.forget_sources import Sought
    from memctl.ops.setup import Setup


def items(setup: Setup, user: str, sought: Sought) -> Iterator[dict[str, Any]]:
    """The items of the user's quarantine that hold what is sought."""
    for note, fd in quarantine.opened(setup.layout, user):
        reference = _reference(user, note.get("conversation"))
        own = frozenset[str]()
        if reference is not None:
            own = sought.messages.get(reference.conversation or "", own)
        size_bytes = os.fstat(fd).st_size
        if any(_is_held(line.data, sought, own) for line in scanning.scan(fd, 0, size_bytes)):
            conversation = None if reference is None else reference.written()
            yield {"id": note["id"], "conversation": conversation, "bytes": size_bytes}


def _is_held(line: bytes, sought: Sought, own: frozenset[str]) -> bool:
    if sought.traces.in_line(line):
        return True
    found = (piece.message for piece in lines.read_line(line) if piece.message is not None) if own else ()
    return any(marker.message_id(message) in own for message in found)


def _reference(user: str, written: object) -> names.Reference | None:
    """The conversation of the user that a note names."""
    try:
        reference = names.parse_reference(written) if type(written) is str else None
    except (BadName, UsageError):
        return None
    return reference if reference is not None and reference.user == user else None


def remove(setup: Setup, user: str, item: dict[str, Any]) -> None:
    """Remove an item, not while a command that set it aside is at work."""
    reference = _reference(user, item["conversation"])
    if reference is None:
        quarantine.take_back(setup.layout, user, item["id"], fsync=setup.fsync())
        return
    with setup.lock(reference, "forget"):
        quarantine.take_back(setup.layout, user, item["id"], fsync=setup.fsync())
