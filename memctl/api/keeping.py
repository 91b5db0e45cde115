"""Keeping: what a store sets aside, trash, quarantine and archive; to look at, to put back, to remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.api.family import of_our_family

if TYPE_CHECKING:
    from collections.abc import Collection

    from memctl.ops.purge import Purged
    from memctl.ops.quarantine import Restored
    from memctl.ops.setup import Setup
    from memctl.store.trash import Trashed


class Keeping:
    """The part of a `Store` that has to do with what was set aside."""

    setup: Setup

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

    @of_our_family
    def purge(
        self, *, only: Collection[str] = (), older_than_s: float | None = None, apply: bool = True
    ) -> Purged:
        """Remove trash, archive, quarantine and events for good, or some of them; without `apply` the plan.

        Raises UsageError for an unknown kind.
        """
        from memctl.ops.purge import purge

        return purge(self.setup, only=only, older_than_s=older_than_s, apply=apply)
