"""stats: how much each user's memory holds. Nothing is counted that takes a tokenizer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl, marker, turns
from memctl.core import metrics as metrics_text
from memctl.core.event_types import DEMOTED, EVICTED, PROMOTED
from memctl.core.lines import read_line
from memctl.core.names import Reference
from memctl.core.tier import TIERS
from memctl.errors import MemctlError, NotFound, of_system
from memctl.ops import tokens as counted
from memctl.ops.events import events
from memctl.ops.output_file import check_output
from memctl.ops.source import open_source, with_index
from memctl.store import archive, census, files, tiers, users

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memctl.ops.setup import Setup
    from memctl.store.sidecar import Index

#: How a file of metrics begins; one that begins otherwise is not written over.
_START = b"# HELP memctl_"
_OWN = marker.OWN.encode()


class UserStats(NamedTuple):
    """What a user's memory holds. `tiers` are `records`, `bytes` and `pinned` by tier; bytes are of files.

    `bytes` and `tokens` are those of the conversations; `tokens` is None unless all were counted before. A
    stored message id counts once in `messages`, if role and content are the same too. `damaged_lines` are
    lines of tiers that are no records.
    """

    user: str
    tiers: dict[str, dict[str, int]]
    archived: int
    conversations: int
    messages: int
    bytes: int
    tokens: int | None
    damaged_lines: int


class Stats(NamedTuple):
    """The users in order of their names, and those who could not be looked at; the keys of the report."""

    users: list[UserStats]
    failed: list[dict[str, str]]

    def as_rows(self) -> dict[str, Any]:
        """The report."""
        return {"users": [row._asdict() for row in self.users], "failed": self.failed}


def stats(
    setup: Setup,
    user: str | None = None,
    *,
    metrics: str | None = None,
    labels: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Stats:
    """What the memory of a user, or of all users, holds; with `metrics` written to that file for Prometheus.

    Raises NotFound for a user who is not there; UsageError, NotFound or AlreadyExists for what is no place
    for metrics.
    """
    setup.check_layout()
    if metrics is not None:
        _check_metrics(metrics)
    known = users.everyone(setup.layout)
    if user is not None:
        if user not in known:
            raise setup.no_user(user)
        found = Stats([_of(setup, user)], [])
    else:
        found = _of_all(setup, known, progress)
    if metrics is not None:
        _write_metrics(setup, metrics, found, user, labels)
    return found


def _of_all(setup: Setup, users: list[str], progress: Callable[[int, int], None] | None) -> Stats:
    rows: list[UserStats] = []
    failed: list[dict[str, str]] = []
    for done, name in enumerate(users):
        if progress is not None:
            progress(done, len(users))
        try:
            rows.append(_of(setup, name))
        except (MemctlError, OSError) as error:
            cause = error if isinstance(error, MemctlError) else of_system(error)
            failed.append({"user": name, "code": cause.code, "message": str(cause)})
    return Stats(rows, failed)


def _of(setup: Setup, user: str) -> UserStats:
    layout = setup.layout
    held = tiers.read(layout, user)
    tiered = {
        tier: {"records": 0, "bytes": _size(layout.tier(tier, user).path), "pinned": 0} for tier in TIERS
    }
    for record in held.records.values():
        tiered[record.tier]["records"] += 1
        tiered[record.tier]["pinned"] += record.pinned
    counting = _Counting(setup)
    for row in _logs(setup, user):
        counting.take(row)
    return UserStats(
        user=user,
        tiers=tiered,
        archived=len(archive.read(layout, user)),
        conversations=counting.conversations,
        messages=counting.messages,
        bytes=counting.bytes,
        tokens=counting.tokens,
        damaged_lines=len(held.bad),
    )


def _size(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def _logs(setup: Setup, user: str) -> list[Reference | str]:
    """The conversations of a user; one whose name does not decode back by its path."""
    try:
        rows = list(census.user(setup.layout, user))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [row.reference or row.path for row in rows if row.kind == census.LOG]


class _Counting:
    """Sums over the conversations of a user."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._counter = str(setup.settings["window.counter"])
        self._seen: set[bytes] = set()
        self.conversations = self.messages = self.bytes = 0
        self.tokens: int | None = 0

    def take(self, target: Reference | str) -> None:
        """Add a conversation; one that was deleted meanwhile adds nothing."""
        try:
            source = open_source(self._setup, target)
        except NotFound:
            return
        try:
            self.conversations += 1
            self.bytes += os.fstat(source.fd).st_size
            messages, new = with_index(source, None, self._look)
            self.messages += messages
            self._seen |= new
            tokens = None if self.tokens is None else counted.of_log(source, self._counter, known_only=True)
            self.tokens = None if tokens is None or self.tokens is None else self.tokens + tokens
        finally:
            os.close(source.fd)

    def _look(self, index: Index) -> tuple[int, set[bytes]]:
        """How many messages are new, and what tells those with ids."""
        from hashlib import blake2b

        number = 0
        new: set[bytes] = set()
        for entry, piece in enumerate(index.pieces(0, len(index))):
            if not index.flags(entry) & turns.MESSAGE:
                continue
            printed = piece.printed
            # Only where this stands, as it is or escaped, there can be an id.
            may_have_id = _OWN in printed or b"\\u" in printed
            value = piece.message or (read_line(piece.stored)[0].message if may_have_id else None) or {}
            id = marker.message_id(value)
            if id is not None:
                told = jsonl.dumps([id, value.get("role"), value.get("content")])
                key = blake2b(told, digest_size=16).digest()
                if key in self._seen or key in new:
                    continue
                new.add(key)
            number += 1
        return number, new


# -- metrics ----------------------------------------------------------------------------------------------


def _write_metrics(
    setup: Setup, path: str, found: Stats, user: str | None, labels: Mapping[str, str] | None
) -> None:
    """Write a file for Prometheus, whole at every moment; an older one is replaced, its mode kept."""
    moves = events(setup, user, types=(PROMOTED, DEMOTED, EVICTED)).events
    text = metrics_text.text(
        [row._asdict() for row in found.users],
        metrics_text.migrations(event.value for event in moves),
        labels,
    )
    files.replace(os.path.realpath(path), [text.encode("utf-8", "backslashreplace")], fsync=False)


def _check_metrics(path: str) -> None:
    check_output(path, "metrics are", "--metrics m.prom", _is_metrics, "has no metrics of memctl")


def _is_metrics(start: bytes) -> bool:
    return not start or start.startswith(_START)
