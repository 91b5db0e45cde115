"""Memory: the records of one user in hot, warm and cold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.api.family import of_our_family
from memctl.core.names import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Unpack

    from memctl.api.cognitive import CognitiveMemory
    from memctl.api.record_fields import RecordFields
    from memctl.core.budget import RecallWeights
    from memctl.core.observing import MigrationObserver
    from memctl.core.record import Record
    from memctl.ops.forget import Forgotten
    from memctl.ops.pin import Pinned
    from memctl.ops.rebuild import Rebuilt
    from memctl.ops.recalled import Recall
    from memctl.ops.reconcile import MigrationReport
    from memctl.ops.records import Records
    from memctl.ops.remember import Remembered
    from memctl.ops.setup import Setup

    Progress = Callable[[int, int], None]


class Memory:
    """The long-term memory of a user of a store. It keeps no state: every call looks at the files."""

    def __init__(self, setup: Setup, user: str) -> None:
        self.setup = setup
        self.user = user

    @of_our_family
    def remember(
        self,
        content: str | Record | Mapping[str, Any] | Iterable[Record | Mapping[str, Any]],
        *,
        id: str | None = None,
        provenance: str = "",
        again: bool = False,
        **fields: Unpack[RecordFields],
    ) -> Remembered:
        """Store a text, a record, or several; durable on return. `fields`: `tier`, `scope`, `importance`,
        `categories`, `metadata`, `pinned`, `created_at` of a text, or of records that have none of their own.

        A record is a Record, or a mapping with `content` and any other keys. With the id of a stored record,
        what is given takes the place of what it has. `again`: forgotten ids come back. Raises BadInput;
        nothing is stored then.
        """
        from memctl.core.remembering import read_input, typed
        from memctl.errors import UsageError
        from memctl.ops.remember import known_fields, remember

        given = known_fields(fields)
        if isinstance(content, str):
            one = typed(content, given, id=id, provenance=provenance)
            return remember(self.setup, self.user, [one], again=again)
        if id is not None:
            raise UsageError("an id is for a text; a record brings its own")
        from memctl.core import record_form

        data = b"\n".join(record_form.lines(content))
        return remember(self.setup, self.user, read_input(data, given, provenance), again=again)

    @of_our_family
    def remember_jsonl(
        self, data: bytes, *, provenance: str = "", again: bool = False, **fields: Unpack[RecordFields]
    ) -> Remembered:
        """Store the records of JSONL input as `remember` does; one bad line refuses all (BadInput)."""
        from memctl.core.remembering import read_input
        from memctl.ops.remember import known_fields, remember

        given = read_input(data, known_fields(fields), provenance)
        return remember(self.setup, self.user, given, again=again)

    @of_our_family
    def remember_from(
        self,
        *conversations: str,
        provenance: str = "",
        again: bool = False,
        progress: Progress | None = None,
        **fields: Unpack[RecordFields],
    ) -> Remembered:
        """Store the messages of conversations of this user as records, each once; durable on return.

        What is stored, archived or forgotten is left out and counted; `again` brings the forgotten back.
        `fields` as for `remember`. Raises NotFound, with nothing stored, if one is missing.
        """
        from memctl.ops.remember import known_fields
        from memctl.ops.seeding import seed

        return seed(
            self.setup,
            self.user,
            conversations,
            known_fields(fields),
            provenance=provenance,
            again=again,
            progress=progress,
        )

    @of_our_family
    def get(self, id: str) -> Record:
        """A record by its id. Raises NotFound."""
        from memctl.ops.records import get

        return get(self.setup, self.user, id)

    @of_our_family
    def records(
        self,
        *,
        tier: str | None = None,
        scope: str | None = None,
        limit: int | None = None,
        archived: bool = False,
    ) -> Records:
        """The records, the hottest first, then those with the newest access; and lines that are none.

        `archived`: instead those that left cold, the newest first.
        """
        from memctl.ops.records import listed

        return listed(self.setup, self.user, tier=tier, scope=scope, limit=limit, archived=archived)

    def unread_accesses(self) -> str:
        """Why the accesses that no pass has folded in are not counted; "" where they are."""
        from memctl.ops.records import unread_accesses

        return unread_accesses(self.setup, self.user)

    def list_all(self) -> list[Record]:
        """All records, in the order of `records`, which also names the lines that are none."""
        return self.records().records

    @of_our_family
    def pin(self, *ids: str) -> Pinned:
        """Keep records in their tier. Raises NotFound, with nothing changed, if one is missing."""
        from memctl.ops.pin import pin

        return pin(self.setup, self.user, ids, pinned=True)

    @of_our_family
    def unpin(self, *ids: str) -> Pinned:
        """Let records move again. Raises NotFound, with nothing changed, if one is missing."""
        from memctl.ops.pin import pin

        return pin(self.setup, self.user, ids, pinned=False)

    @of_our_family
    def rebuild_index(self, *, check: bool = False) -> Rebuilt:
        """Make the caches of the user anew, of records and conversations; with `check` only compare them."""
        from memctl.ops.rebuild import rebuild

        return rebuild(self.setup, [Reference(self.user).written()], check=check)

    def cognitive(self, weights: RecallWeights | None = None) -> CognitiveMemory:
        """The memory without its tiers, as agents see it; `weights` are those of its recalls."""
        from memctl.api.cognitive import CognitiveMemory

        return CognitiveMemory(self, weights)

    @of_our_family
    def reconcile(
        self,
        now: datetime | str | float | None = None,
        *,
        observers: Sequence[MigrationObserver | None] = (),
        dry_run: bool = False,
    ) -> MigrationReport:
        """Fold the accesses in and move records by the policy, at `now`; durable on return.

        Observers are told of each move; one that raises is named in the report. With `dry_run` nothing is
        changed, and the report is the same. Raises BadInput for a `now` that is no time, LockTimeout.
        """
        from memctl.ops.reconcile import at, reconcile

        return reconcile(at(self.setup, now), [self.user], observers=observers, dry_run=dry_run, raises=True)

    @of_our_family
    def forget(
        self,
        ids: str | Iterable[str] = (),
        *,
        categories: str | Iterable[str] = (),
        before: datetime | str | float | None = None,
        conversation: str | None = None,
        query: str | None = None,
        source: bool = False,
        apply: bool = True,
    ) -> Forgotten:
        """Forget records, by ids or by what all of them have in common; without `apply` only the plan.

        They leave every file of the store but conversations and trash, which are named, and do not come back.
        With `source` the messages leave there too. Raises UsageError, NotFound; then nothing is changed.
        """
        from memctl.core import times
        from memctl.core.filtering import Filters
        from memctl.ops.forget import forget

        until_us = times.given("before", before)
        chosen = (categories,) if isinstance(categories, str) else tuple(categories)
        filters = Filters(categories=chosen, conversation=conversation, until_us=until_us)
        named = [ids] if isinstance(ids, str) else list(ids)
        return forget(self.setup, self.user, named, filters, query, apply=apply, source=source)

    @of_our_family
    def recall(
        self,
        query: str = "",
        *,
        limit: int | None = None,
        max_hot: int | None = None,
        max_warm: int | None = None,
        max_cold: int | None = None,
        weight_semantic: float | None = None,
        weight_recency: float | None = None,
        weight_importance: float | None = None,
        ranker: str | None = None,
        tier: str | Sequence[str] = (),
        categories: str | Sequence[str] = (),
        scope: str | None = None,
        metadata: Mapping[str, str] | None = None,
        conversation: str | None = None,
        since: datetime | str | float | None = None,
        until: datetime | str | float | None = None,
        touch: bool = True,
        progress: Progress | None = None,
    ) -> Recall:
        """The records that answer a query; a blank one is answered by recency and importance.

        What is None is as the settings have it. `max_*` cap a tier's share. `tier` is one of those named, all
        of `categories` and `metadata` have to be there, made at `since` or later and before `until`. With
        `touch` each record of the answer counts as accessed. Raises BadInput, BadConfig, Unavailable.
        """
        from memctl.core import times
        from memctl.ops.recall import recall
        from memctl.ops.recalled import asked, with_given

        settings = with_given(
            self.setup.settings,
            limit=limit,
            ranker=ranker,
            weight_semantic=weight_semantic,
            weight_recency=weight_recency,
            weight_importance=weight_importance,
        )
        question = asked(
            query,
            caps={"hot": max_hot, "warm": max_warm, "cold": max_cold},
            tiers=tier,
            categories=categories,
            scope=scope,
            metadata=metadata,
            conversation=conversation,
            since_us=times.given("since", since),
            until_us=times.given("until", until),
            touch=touch,
        )
        return recall(self.setup._replace(settings=settings), self.user, question, progress)
