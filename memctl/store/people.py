"""People: who has something in a store."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memctl.core import names
from memctl.store import directories, tiers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.layout import Layout


def everyone(layout: Layout) -> list[str]:
    """All users with conversations, records or an archive, in order, but for names that do not decode."""
    return sorted({*_talking(layout), *tiers.users(layout), *archived(layout)})


def archived(layout: Layout) -> list[str]:
    """The users with an archive, in order."""
    found = []
    for name in directories.listed(layout.root, ("archive",)):
        user = names.decode(name.removesuffix(names.SUFFIX))
        if name.endswith(names.SUFFIX) and user is not None:
            found.append(user)
    return found


def _talking(layout: Layout) -> Iterator[str]:
    base, parts = layout.conversations_base, layout.conversations_parts
    for name in directories.listed(base, parts):
        user = names.decode(name)
        try:
            status = os.stat("/".join((base, *parts, name)), follow_symlinks=False)
        except FileNotFoundError:
            continue
        if user is not None and stat.S_ISDIR(status.st_mode):
            yield user
