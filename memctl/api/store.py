"""Store: the conversations and memories below a directory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.api.conversation import Conversation
from memctl.api.family import of_our_family
from memctl.api.keeping import Keeping
from memctl.core.names import Reference
from memctl.core.tier import TIERS
from memctl.ops.setup import Setup
from memctl.settings import Settings
from memctl.store.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from memctl.api.memory import Memory
    from memctl.core.observing import MigrationObserver
    from memctl.ops.events import Events
    from memctl.ops.inspect import Inspection
    from memctl.ops.listing import Listing
    from memctl.ops.rebuild import Rebuilt
    from memctl.ops.reconcile import MigrationReport
    from memctl.ops.repaired import Repairs
    from memctl.ops.searched import Search
    from memctl.ops.stats import Stats

    Progress = Callable[[int, int], None]


class Store(Keeping):
    """Conversations and memories below the directory `root`; nothing is opened or made before it is needed.

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
    def search(
        self,
        target: str,
        query: str,
        *,
        limit: int = 5,
        role: str | None = None,
        context: int = 0,
        progress: Progress | None = None,
    ) -> Search:
        """The messages that match a query best, in all conversations of a user, in one, or in a file.

        `target` is an argument as it is typed; an unknown user has no messages. `context` neighbours of each
        come with it on either side. Raises NotFound, BadConfig, Unavailable.
        """
        from memctl.ops.search import search

        return search(self.setup, target, query, limit=limit, role=role, context=context, progress=progress)

    @of_our_family
    def rebuild_index(
        self,
        *targets: str,
        check: bool = False,
        progress: Progress | None = None,
    ) -> Rebuilt:
        """Make caches and search indexes anew, or with `check` only compare them; without targets, all.

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
    def reconcile(
        self,
        *users: str,
        everybody: bool = False,
        dry_run: bool = False,
        skip_locked: bool = False,
        jobs: int = 1,
        observers: Sequence[MigrationObserver | None] = (),
        progress: Progress | None = None,
    ) -> MigrationReport:
        """Reconcile the memory of these users, or of `everybody`; durable on return.

        The trouble of one of several users does not stop the next, and is in the report; that of a single one
        is raised. With `skip_locked`, users whose records another process changes are skipped. `jobs`
        processes share the users, forked from this one. Raises BadConfig, UsageError, and NotFound for an
        unknown user, with nothing done.
        """
        from memctl.errors import UsageError
        from memctl.ops import reconcile

        if everybody == bool(users):
            raise UsageError("users are expected, or everybody")
        for user in users:
            self.setup.checked(user, "user")
        chosen = reconcile.users(self.setup, users, everybody=everybody)
        return reconcile.reconcile(
            self.setup,
            chosen,
            dry_run=dry_run,
            skip_locked=skip_locked,
            jobs=jobs,
            observers=observers,
            raises=not everybody and len(chosen) == 1,
            progress=progress,
        )

    @of_our_family
    def events(
        self,
        user: str | None = None,
        *,
        types: Collection[str] = (),
        since: datetime | str | float | None = None,
    ) -> Events:
        """What happened, of a user or of all, oldest first. Raises UsageError for an unknown type."""
        from memctl.core import times
        from memctl.ops.events import events

        return events(self.setup, user, types=types, since_us=times.given("since", since))

    @of_our_family
    def stats(
        self,
        user: str | None = None,
        *,
        metrics: str | None = None,
        labels: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> Stats:
        """How much the memory of a user, or of each user, holds. Raises NotFound.

        With `metrics` the numbers, and the moves of the events, are also written to that file for Prometheus,
        whole at every moment; `labels` are put on each. Raises UsageError, AlreadyExists for another file.
        """
        from memctl.ops.stats import stats

        return stats(self.setup, user, metrics=metrics, labels=labels, progress=progress)
