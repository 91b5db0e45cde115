"""Store: the conversations below a directory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memctl.api.conversation import Conversation
from memctl.api.family import of_our_family
from memctl.core.names import Reference
from memctl.core.tier import TIERS
from memctl.ops.setup import Setup
from memctl.settings import Settings
from memctl.store.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from memctl.api.memory import Memory
    from memctl.ops.inspect import Inspection
    from memctl.ops.listing import Listing
    from memctl.ops.quarantine import Restored
    from memctl.ops.rebuild import Rebuilt
    from memctl.ops.repaired import Repairs
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
            Setup(Layout.of(path), settings, now_us, run_id).checked(tenant, "tenant")
        layout = Layout.of(
            path,
            tenant=tenant,
            conversations_dir=str(settings["conversations.dir"]),
            tier_dirs={tier: str(settings[f"tiers.{tier}"]) for tier in TIERS},
        )
        self.setup = Setup(layout, settings, now_us, run_id)

    @property
    def root(self) -> str:
        """The absolute path of the store (of the tenant's part of it)."""
        return self.setup.layout.root

    @of_our_family
    def conversation(self, user: str, id: str, create: bool = True) -> Conversation:
        """The conversation `id` of a user. Raises BadName; with `create` False, NotFound if it is not there.

        It comes into being with its first message.
        """
        conversation = Conversation(self.setup, self.setup.identity(user, id), create=create)
        if not create:
            conversation.check_exists()
        return conversation

    @of_our_family
    def at(self, argument: str) -> Conversation:
        """The conversation of a reference as it is typed, or the file of a path. Paths are for reading."""
        from memctl.core.names import is_path

        target: Reference | str = argument if is_path(argument) else self.setup.reference(argument)
        return Conversation(self.setup, target)

    @of_our_family
    def memory(self, user: str) -> Memory:
        """The long-term memory of a user; it comes into being with its first record. Raises BadName."""
        from memctl.api.memory import Memory

        return Memory(self.setup, self.setup.checked(user, "user"))

    @of_our_family
    def conversations(self, user: str | None = None) -> Listing:
        """The conversations of a user, or of all, newest first; an unknown user has none."""
        from memctl.ops.listing import listing

        return listing(self.setup, user)

    @of_our_family
    def rebuild_index(
        self,
        *targets: str,
        check: bool = False,
        progress: Progress | None = None,
    ) -> Rebuilt:
        """Make the caches of conversations anew, or with `check` only compare them; without targets, of all.

        A target is a user or a conversation as it is typed. Raises NotFound for one that is not there.
        """
        from memctl.ops.rebuild import rebuild

        return rebuild(self.setup, targets, check=check, progress=progress)

    @of_our_family
    def inspect(
        self,
        *targets: str,
        tokens: bool = False,
        input_format: str | None = None,
        excerpts: bool = False,
        progress: Progress | None = None,
    ) -> Inspection:
        """Say what is wrong with conversations, users, files or directories; without any, with all.

        A target is an argument as it is typed: a reference, a user, a path. Nothing is changed. `tokens`
        counts them; `excerpts` reads the bytes around problems. Raises NotFound for one that is not there.
        """
        from memctl.ops.inspect import inspect

        return inspect(
            self.setup,
            targets,
            tokens=tokens,
            input_format=input_format,
            excerpts=excerpts,
            progress=progress,
        )

    @of_our_family
    def tenants(self) -> int:
        """How many tenants the store has; `inspect` and `repair` of the whole store leave them out."""
        from memctl.store import whole

        return whole.tenants(self.setup.layout)

    @of_our_family
    def probe(self) -> None:
        """Try to write in the store, and undo it. Raises what a command that stores would raise."""
        from memctl.ops.probe import probe

        probe(self.setup)

    @of_our_family
    def repair(
        self,
        *targets: str,
        apply: bool = True,
        output: str | None = None,
        fix_text: bool = False,
        only: Collection[str] = (),
        input_format: str | None = None,
        progress: Progress | None = None,
    ) -> Repairs:
        """Repair what `inspect` finds, durable on return; without `apply` only the plan.

        What leaves a file goes to quarantine. With `output` the one target stays and the copy is written.
        `only` are the codes that are repaired.
        """
        from memctl.ops.repair import repair

        return repair(
            self.setup,
            targets,
            apply=apply,
            output=output,
            fix_text=fix_text,
            only=only,
            input_format=input_format,
            progress=progress,
        )

    @of_our_family
    def repairs_in_place(self, target: str) -> bool:
        """Whether `repair` replaces a target where it lies, or needs an output. Raises NotFound."""
        from memctl.ops.destination import is_in_place

        return is_in_place(self.setup, target)

    @of_our_family
    def write_page(self, path: str, text: str) -> None:
        """Write an HTML page to a file outside of stores; an older page is replaced, another file is not.

        Durable on return. Raises AlreadyExists, NotFound, UsageError.
        """
        from memctl.ops.page import write_page

        write_page(path, text)

    @of_our_family
    def trash(self) -> list[Trashed]:
        """Deleted conversations, the newest first."""
        from memctl.store import trash

        return trash.items(self.setup.layout)

    @of_our_family
    def restore(self, user: str, id: str) -> Trashed:
        """Put the newest deleted conversation of this name back; AlreadyExists, NotFound."""
        from memctl.ops.trash import restore

        return restore(self.setup, self.setup.identity(user, id))

    @of_our_family
    def quarantine(self, path: str | None = None) -> list[dict[str, Any]]:
        """The notes of what was set aside, or of a FILE.quarantine, oldest first, without their `pieces`.

        Raises NotFound, UsageError, BadInput for such a file.
        """
        from memctl.ops import quarantine

        return quarantine.listed(self.setup, path)

    @of_our_family
    def quarantined(self, id: str | None, path: str | None = None) -> bytes:
        """The bytes of an item in quarantine, or of a repair (the newest for None) in a FILE.quarantine.

        Raises NotFound, UsageError, BadInput.
        """
        from memctl.ops import quarantine

        return quarantine.shown(self.setup, id, path)[1]

    @of_our_family
    def quarantine_note(self, id: str | None, path: str | None = None) -> dict[str, Any]:
        """The whole note of an item, as `quarantined` finds it: with where each piece was."""
        from memctl.ops import quarantine

        return quarantine.shown(self.setup, id, path)[0]

    @of_our_family
    def quarantine_restore(self, id: str | None, path: str | None = None) -> Restored:
        """Put an item back, or undo a repair (the newest for None) in a FILE.quarantine; durable on return.

        The log is as it was before, with what was appended since behind it. Raises NotFound, AlreadyExists,
        BadInput if it was changed since; then nothing is changed.
        """
        from memctl.ops import quarantine

        return quarantine.restore(self.setup, id, path)
