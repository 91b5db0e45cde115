"""Refresh: let a search index catch up with what a command changed, so that no reader waits for it."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.ops.setup import Setup


def refresh(setup: Setup, user: str) -> None:
    """Let the index of a user's records catch up, if there is one. It raises nothing: it is a cache."""
    path = setup.layout.search_index(user, "records").path
    if not os.path.exists(path):
        return
    from memctl.errors import MemctlError
    from memctl.store.search.catching_up import open_current
    from memctl.store.search.records import RecordFiles
    from memctl.store.search.schema import DAMAGED

    try:
        with closing(RecordFiles(setup.layout, user)) as files:
            open_current(path, files)[0].close()
    except (MemctlError, OSError, *DAMAGED):
        # Readers let it catch up, or make it anew; what is wrong with it they see.
        return
