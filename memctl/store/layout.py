"""Where everything lies: names to directories and file names. Nothing is opened or made here.

A place is a base directory and the names below it, so it can be opened without following links.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from memctl.core import names
from memctl.errors import BadConfig

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

    @classmethod
    def of(cls, root: str, *, tenant: str | None = None, conversations_dir: str = "") -> Layout:
        """The layout below `root`. `conversations_dir` is relative to the (tenant's) root or absolute."""
        if tenant is not None:
            root = f"{root}/tenants/{names.encode(names.check(tenant, 'tenant'))}"
        if not conversations_dir:
            return cls(root, root, ("conversations",))
        if os.path.isabs(conversations_dir) and tenant is not None:
            raise BadConfig("conversations.dir is one absolute path: with --tenant it would mix the tenants")
        return cls(root, os.path.realpath(os.path.join(root, conversations_dir)), ())

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
