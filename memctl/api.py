"""Store and Conversation: what a Python program uses; one short method per use case.

The command line is a thin layer over this module, with the same errors as exceptions.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memctl.core.names import Reference
from memctl.ops.setup import Setup
from memctl.settings import Settings
from memctl.store.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from memctl.core.message import Incoming, Message
    from memctl.core.window import Window
    from memctl.ops.append import Appended
    from memctl.ops.count import Counted
    from memctl.ops.delete import Deleted
    from memctl.ops.drop import Dropped
    from memctl.ops.listing import Listing
    from memctl.ops.read import Log
    from memctl.ops.rebuild import Rebuilt
    from memctl.store.trash import Trashed

    Progress = Callable[[int, int], None]


class Store:
    """A store of conversations below the directory `root`; nothing is opened or made before it is needed.

    `settings` are values by name (`memctl.settings.SETTINGS`); `now_us` replaces the clock.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        tenant: str | None = None,
        settings: Settings | Mapping[str, object] | None = None,
        now_us: int | None = None,
        run_id: str | None = None,
    ) -> None:
        if not isinstance(settings, Settings):
            settings = Settings.from_mapping(settings or {})
        path = os.path.realpath(os.fspath(root))
        if tenant is not None:
            Setup(Layout.of(path), settings, now_us, run_id).tenant(tenant)
        layout = Layout.of(path, tenant=tenant, conversations_dir=str(settings["conversations.dir"]))
        self.setup = Setup(layout, settings, now_us, run_id)

    @property
    def root(self) -> str:
        """The absolute path of the store (of the tenant's part of it)."""
        return self.setup.layout.root

    def conversation(self, user: str, id: str, create: bool = True) -> Conversation:
        """The conversation `id` of a user. Raises BadName; with `create` False, NotFound if it is not there.

        It comes into being with its first message.
        """
        conversation = Conversation(self, self.setup.identity(user, id), create=create)
        if not create:
            conversation.check_exists()
        return conversation

    def at(self, argument: str) -> Conversation:
        """The conversation of a reference as it is typed, or the file of a path. Paths are for reading."""
        from memctl.core.names import is_path

        target: Reference | str = argument if is_path(argument) else self.setup.reference(argument)
        return Conversation(self, target)

    def conversations(self, user: str | None = None) -> Listing:
        """The conversations of a user, or of all, newest first; an unknown user has none."""
        from memctl.ops.listing import listing

        return listing(self.setup, user)

    def rebuild_index(
        self,
        user: str | None = None,
        conversation: str | None = None,
        *,
        check: bool = False,
        progress: Progress | None = None,
    ) -> Rebuilt:
        """Make the caches of conversations anew, or with `check` only compare them."""
        from memctl.ops.rebuild import rebuild

        return rebuild(self.setup, user, conversation, check=check, progress=progress)

    def trash(self) -> list[Trashed]:
        """Deleted conversations, the newest first."""
        from memctl.store import trash

        return trash.items(self.setup.layout)

    def restore(self, user: str, id: str) -> Trashed:
        """Put the newest deleted conversation of this name back; AlreadyExists, NotFound."""
        from memctl.ops.trash import restore

        return restore(self.setup, self.setup.identity(user, id))

    def quarantine(self) -> list[dict[str, Any]]:
        """The notes of what was set aside, oldest first."""
        from memctl.store import quarantine

        return quarantine.items(self.setup.layout)

    def quarantined(self, id: str) -> bytes:
        """The bytes of an item in quarantine. Raises NotFound."""
        from memctl.store import quarantine

        return quarantine.read(self.setup.layout, id)


class Conversation:
    """A conversation of a store, or a file to read from. It keeps no state: every call looks at the file."""

    def __init__(self, store: Store, target: Reference | str, *, create: bool = True) -> None:
        self._setup = store.setup
        self.target = target
        self._create = create

    @property
    def reference(self) -> Reference:
        """The reference; UsageError for a file, which is only for reading."""
        if isinstance(self.target, Reference):
            return self.target
        from memctl.errors import UsageError

        raise UsageError(f"{self.target} is a file; this needs a conversation, USER/CONVERSATION")

    def check_exists(self) -> None:
        """Raise NotFound if there is no such log."""
        from memctl.ops.source import open_source

        os.close(open_source(self._setup, self.target).fd)

    def append(
        self,
        content: str | Mapping[str, Any] | Iterable[Mapping[str, Any]],
        role: str = "user",
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
        """Append a text as a message of `role`, a message, or several; durable on return.

        A message is a mapping in the stored form. Raises BadInput, IdConflict, LockTimeout or StorageError;
        nothing is stored then.
        """
        from memctl.core import jsonl, marker
        from memctl.core.message import accept, compose

        if isinstance(content, str):
            marks = (
                (summary, marker.SUMMARY),
                (incomplete, marker.INCOMPLETE),
                (ephemeral, marker.EPHEMERAL),
            )
            message = compose(
                role,
                content,
                name=name,
                tool_call_id=tool_call_id,
                tool_name=tool_name,
                markers=tuple(key for wanted, key in marks if wanted),
                id=id,
            )
            return self.append_messages([message], fsync=fsync)
        given: Any = content
        items = [given] if hasattr(given, "keys") else list(given)
        return self.append_messages([accept(jsonl.message_bytes(dict(item))) for item in items], fsync=fsync)

    def append_jsonl(self, data: bytes, *, skip_invalid: bool = False, fsync: bool | None = None) -> Appended:
        """Append the messages of JSONL input, bytes as they are; one bad line refuses all (BadInput)."""
        from memctl.ops.append import read_input

        given = read_input(data, skip_invalid=skip_invalid)
        return self.append_messages(given.messages, skipped=given.skipped, fsync=fsync)

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

    def messages(self) -> list[Message]:
        """All messages of the log; lines that hold none are passed over (`read` names them)."""
        return self.read().messages

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

    def follow(self, position: int) -> Iterator[Message]:
        """The messages from `position` on, as they come; it does not end on its own."""
        from memctl.ops.read import follow

        return follow(self._setup, self.target, position)

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

    def activities(self) -> bytes:
        """The activities, a JSON array as bytes."""
        from memctl.ops.activities import activities

        return activities(self._setup, self.reference)

    def set_activities(self, data: bytes) -> None:
        """Replace the activities, durable on return. Raises BadInput for what is not a JSON array."""
        from memctl.ops.activities import set_activities

        set_activities(self._setup, self.reference, data)

    def drop(self, ids: Iterable[str], *, apply: bool = True) -> Dropped:
        """Remove messages (a call with its results) to quarantine; without `apply` only the plan."""
        from memctl.ops.drop import drop

        return drop(self._setup, self.reference, list(ids), apply=apply)

    def delete(self, *, hard: bool = False, apply: bool = True) -> Deleted:
        """Move the conversation to the trash, or with `hard` remove it; without `apply` only the plan."""
        from memctl.ops.delete import delete

        return delete(self._setup, self.reference, apply=apply, hard=hard)
