"""Where everything lies: names to directories and file names. Nothing is opened or made here.

A place is a base directory and the names below it, so it can be opened without following links.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names
from memctl.errors import BadConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Version of the layout on disk, written to `.memctl/format`.
FORMAT = 1


class Place(NamedTuple):
    """A file: directories below `base`, then its name."""

    base: str
    parts: tuple[str, ...]
    name: str

    @property
    def path(self) -> str:
        """The path as text, for messages and for opening caches."""
        return "/".join((self.base, *self.parts, self.name))


class Layout(NamedTuple):
    """The directories of one store, or of one tenant in it. `root` is absolute."""

    root: str
    conversations_base: str
    conversations_parts: tuple[str, ...]
    #: Directories of the tiers that lie elsewhere: (tier, absolute path).
    moved_tiers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        root: str,
        *,
        tenant: str | None = None,
        conversations_dir: str = "",
        tier_dirs: Mapping[str, str] | None = None,
    ) -> Layout:
        """The layout below `root`. Directories are relative to the (tenant's) root or absolute."""
        if tenant is not None:
            root = f"{root}/tenants/{names.encode(names.check(tenant, 'tenant'))}"
        given = {"conversations.dir": conversations_dir}
        given.update({f"tiers.{tier}": path for tier, path in (tier_dirs or {}).items()})
        for name, path in given.items():
            if os.path.isabs(path) and tenant is not None:
                raise BadConfig(
                    f"{name} is one absolute path: with --tenant it would mix the tenants",
                    hint=f"keep tenants in a store without {name}",
                )
        moved = {
            tier: os.path.realpath(os.path.join(root, path))
            for tier, path in (tier_dirs or {}).items()
            if path
        }
        if len({*moved.values()}) < len(moved):
            raise BadConfig(
                "two tiers have the same directory", hint="memctl config shows tiers.hot, warm and cold"
            )
        tiers = tuple(moved.items())
        if not conversations_dir:
            return cls(root, root, ("conversations",), tiers)
        return cls(root, os.path.realpath(os.path.join(root, conversations_dir)), (), tiers)

    def log(self, user: str, conversation: str) -> Place:
        """The conversation's log."""
        return Place(
            self.conversations_base,
            (*self.conversations_parts, names.encode(user)),
            names.encode(conversation) + names.SUFFIX,
        )

    def activities(self, user: str, conversation: str) -> Place:
        """The conversation's activities."""
        log = self.log(user, conversation)
        return log._replace(name=names.encode(conversation) + names.ACTIVITIES_SUFFIX)

    def tier(self, tier: str, user: str) -> Place:
        """The records of a user in a tier."""
        name = names.encode(user) + names.SUFFIX
        for moved, path in self.moved_tiers:
            if moved == tier:
                return Place(path, (), name)
        return Place(self.root, ("tiers", tier), name)

    def archive(self, user: str) -> Place:
        """The user's records that left cold."""
        return Place(self.root, ("archive",), names.encode(user) + names.SUFFIX)

    def forgotten(self, user: str) -> Place:
        """The ids that must not come back."""
        return Place(self.root, ("forgotten",), names.encode(user) + names.SUFFIX)

    def access(self, user: str) -> Place:
        """The journal of accesses that no pass has folded in yet."""
        return Place(self.root, (".memctl", "access"), names.encode(user) + names.SUFFIX)

    def state(self, kind: str, user: str) -> Place:
        """What is remembered of a user between runs; `kind` tells what."""
        return Place(self.root, (".memctl", "state", kind), names.encode(user) + ".json")

    def records_lock(self, user: str) -> Place:
        """The lock of all that writes a user's records."""
        return Place(self.root, (".memctl", "locks", "records"), names.encode(user) + ".lock")

    def access_lock(self, user: str) -> Place:
        """The lock of the journal of accesses, held for an append or a replacement only."""
        return Place(self.root, (".memctl", "locks", "access"), names.encode(user) + ".lock")

    def search_index(self, user: str, kind: str) -> Place:
        """The search index over a user's `records` or `messages`."""
        return Place(self.root, (".memctl", "cache", "search"), f"{names.encode(user)}.{kind}.db")

    def vectors(self, user: str, embedder: str) -> Place:
        """The vectors that an embedder made of a user's texts; `embedder` is a file name."""
        parts = (".memctl", "cache", "vectors", names.encode(user))
        return Place(self.root, parts, f"{embedder}.vec")

    def lock(self, user: str, conversation: str) -> Place:
        """The lock file of the conversation's log."""
        parts = (".memctl", "locks", "conversations", names.encode(user))
        return Place(self.root, parts, names.encode(conversation) + ".log")

    def tmp(self, place: Place) -> tuple[str, tuple[str, ...]]:
        """Base and parts of the directory for files being written, on the file system of `place`."""
        if place.base == self.root:
            return self.root, (".memctl", "tmp")
        return place.base, (".memctl-tmp",)

    def quarantine(self, user: str) -> tuple[str, ...]:
        """The user's quarantine, below root."""
        return "quarantine", names.encode(user)

    def trash(self, user: str) -> tuple[str, ...]:
        """The user's trash, below root."""
        return "trash", names.encode(user)

    def events(self, user: str | None) -> Place:
        """The user's events; `%` stands for an unusable name, no encoded name is one."""
        name = "%" if user is None else names.encode(user)
        return Place(self.root, (".memctl", "events"), name + names.SUFFIX)

    def cache(self, user: str, conversation: str, kind: str) -> Place:
        """A cache of the conversation; `kind` tells which."""
        parts = (".memctl", "cache", "conversations", names.encode(user))
        return Place(self.root, parts, f"{names.encode(conversation)}.{kind}")


def user_cache_dir(environ: dict[str, str] | None = None) -> str | None:
    """memctl's directory below the XDG cache directory, or None if there is no home."""
    env = os.environ if environ is None else environ
    base = env.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            return None
        base = f"{home}/.cache"
    return f"{base}/memctl"
