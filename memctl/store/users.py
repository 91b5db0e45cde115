"""Users: who has something in a store. Names that do not decode are left out."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memctl.core import names
from memctl.core.tier import TIERS
from memctl.store import directories

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.layout import Layout, Place


def everyone(layout: Layout) -> list[str]:
    """All users with conversations, records or an archive, in order."""
    return sorted({*_talking(layout), *with_records(layout), *archived(layout)})


def with_records(layout: Layout) -> list[str]:
    """The users with a file in a tier, in order. Raises AccessDenied for a tier that cannot be entered."""
    return sorted({user for tier in TIERS for user in _beside(layout.tier(tier, "x"))})


def archived(layout: Layout) -> list[str]:
    """The users with an archive, in order."""
    return sorted(_beside(layout.archive("x")))


def _beside(place: Place) -> Iterator[str]:
    """The users that have a file in the directory of a place."""
    for name in directories.listed(place.base, place.parts):
        user = names.decode(name.removesuffix(names.SUFFIX))
        if name.endswith(names.SUFFIX) and not name.startswith(".") and user is not None:
            yield user


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
