"""Conversation: one log, in a store or in a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memctl.api.family import of_our_family
from memctl.core.names import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from memctl.core.message import Incoming, Message
    from memctl.core.window import Window
    from memctl.ops.append import Appended
    from memctl.ops.count import Counted
    from memctl.ops.delete import Deleted
    from memctl.ops.drop import Dropped
    from memctl.ops.read import Log
    from memctl.ops.setup import Setup

    Progress = Callable[[int, int], None]


class Conversation:
    """A conversation of a store, or a file to read from. It keeps no state: every call looks at the file."""

    def __init__(self, setup: Setup, target: Reference | str, *, create: bool = True) -> None:
        self._setup = setup
        self.target = target
        self._create = create

    @property
    def reference(self) -> Reference:
        """The reference; UsageError for a file, which is only for reading."""
        if isinstance(self.target, Reference):
            return self.target
        from memctl.errors import UsageError

        raise UsageError(f"{self.target} is a file; this needs a conversation, USER/CONVERSATION")

    @of_our_family
    def check_exists(self) -> None:
        """Raise NotFound if there is no such log."""
        from memctl.ops.source import open_source

        os.close(open_source(self._setup, self.target).fd)

    @of_our_family
    def append(
        self,
        content: str | Mapping[str, Any] | Iterable[Mapping[str, Any]],
        role: str = "",
        *,
        id: str | None = None,
        name: str = "",
        tool_call_id: str = "",
        tool_name: str = "",
        summary: bool = False,
        incomplete: bool = False,
        ephemeral: bool = False,
        fsync: bool | None = None,
    ) -> Appended:
        """Append a text, a message, or several; durable on return. A text's role follows from the rest:
        `tool` with a `tool_call_id`, `assistant` for a summary or an incomplete answer, else `user`.

        A message is a mapping in the stored form. Raises BadInput, IdConflict, LockTimeout or StorageError;
        nothing is stored then.
        """
        from memctl.core import jsonl, marker
        from memctl.core.message import accept, chosen_role, compose
        from memctl.errors import BadInput, UsageError

        if isinstance(content, str):
            marks = (
                (summary, marker.SUMMARY),
                (incomplete, marker.INCOMPLETE),
                (ephemeral, marker.EPHEMERAL),
            )
            message = compose(
                chosen_role(role, tool_call_id, answers=summary or incomplete),
                content,
                name=name,
                tool_call_id=tool_call_id,
                tool_name=tool_name,
                markers=tuple(key for wanted, key in marks if wanted),
                id=id,
            )
            return self.append_messages([message], fsync=fsync)
        if role or id or name or tool_call_id or tool_name or summary or incomplete or ephemeral:
            raise UsageError("role, id and the like are for a text; a message brings its own")
        given: Any = content
        items: list[Any] = [given] if hasattr(given, "keys") else [None]
        if hasattr(given, "__iter__") and not hasattr(given, "keys"):
            items = list(given)
        if not all(hasattr(item, "keys") for item in items):
            raise BadInput("a text, a message (a mapping), or several messages are expected")
        return self.append_messages([accept(jsonl.message_bytes(dict(item))) for item in items], fsync=fsync)

    @of_our_family
    def append_jsonl(self, data: bytes, *, skip_invalid: bool = False, fsync: bool | None = None) -> Appended:
        """Append the messages of JSONL input, bytes as they are; one bad line refuses all (BadInput)."""
        from memctl.ops.append import read_input

        given = read_input(data, skip_invalid=skip_invalid)
        return self.append_messages(given.messages, skipped=given.skipped, fsync=fsync)

    @of_our_family
    def append_messages(
        self,
        messages: list[Incoming],
        *,
        skipped: list[dict[str, Any]] | None = None,
        fsync: bool | None = None,
    ) -> Appended:
        """Append messages that were checked (`core.message`)."""
        from memctl.ops.append import append

        return append(
            self._setup, self.reference, messages, skipped=skipped or (), create=self._create, fsync=fsync
        )

    @of_our_family
    def window(
        self,
        budget: int | None = None,
        *,
        counter: str | None = None,
        pending: str | None = None,
        reserve: int = 0,
        plain: bool = False,
        keep_open: bool = False,
        no_incomplete: bool = False,
        strict: bool = False,
        counted: bool = True,
        progress: Progress | None = None,
    ) -> Window:
        """The messages to send, as many as fit in `budget` tokens (None: the setting; 0: no limit).

        With `counted` False and no budget, tokens are not counted and `tokens` is None.
        """
        from memctl.core.window import Request
        from memctl.ops.window import window

        request = Request(
            budget=int(self._setup.settings["window.budget"]) if budget is None else budget,
            counter=counter or str(self._setup.settings["window.counter"]),
            pending=pending,
            reserve=reserve,
            plain=plain,
            keep_open=keep_open,
            no_incomplete=no_incomplete,
            strict=strict,
        )
        return window(self._setup, self.target, request, counted=counted, progress=progress)

    @of_our_family
    def messages(self) -> list[Message]:
        """All messages of the log; lines that hold none are passed over (`read` names them)."""
        return self.read().messages

    @of_our_family
    def read(
        self,
        *,
        last: int | None = None,
        span: tuple[int | None, int | None] | None = None,
        progress: Progress | None = None,
    ) -> Log:
        """The messages, all or some, and the faults of lines that hold none."""
        from memctl.ops.read import read

        return read(self._setup, self.target, last=last, span=span, progress=progress)

    def follow(self, position: int) -> Iterator[Log]:
        """What is written from the message `position` on, as it comes; it does not end on its own."""
        from memctl.ops.read import follow

        return follow(self._setup, self.target, position)

    @of_our_family
    def count(
        self,
        counter: str | None = None,
        *,
        window_budget: int | None = None,
        by_role: bool = False,
        progress: Progress | None = None,
    ) -> Counted:
        """The tokens of the whole log, and with `window_budget` those of its window."""
        from memctl.core.window import Request
        from memctl.ops.count import count

        return count(
            self._setup,
            self.target,
            counter or str(self._setup.settings["window.counter"]),
            window=None if window_budget is None else Request(budget=window_budget),
            by_role=by_role,
            progress=progress,
        )

    @of_our_family
    def activities(self) -> bytes:
        """The activities, a JSON array as bytes."""
        from memctl.ops.activities import activities

        return activities(self._setup, self.reference)

    @of_our_family
    def set_activities(self, data: bytes) -> None:
        """Replace the activities, durable on return. Raises BadInput for what is not a JSON array."""
        from memctl.ops.activities import set_activities

        set_activities(self._setup, self.reference, data)

    @of_our_family
    def drop(self, ids: Iterable[str], *, apply: bool = True) -> Dropped:
        """Remove messages (a call with its results) to quarantine; without `apply` only the plan."""
        from memctl.ops.drop import drop

        return drop(self._setup, self.reference, list(ids), apply=apply)

    @of_our_family
    def delete(self, *, hard: bool = False, apply: bool = True) -> Deleted:
        """Move the conversation to the trash, or with `hard` remove it; without `apply` only the plan."""
        from memctl.ops.delete import delete

        return delete(self._setup, self.reference, apply=apply, hard=hard)
