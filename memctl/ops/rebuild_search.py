"""rebuild-index, the search indexes of a user: made anew from the files, or only compared with them."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.ops.setup import Setup
    from memctl.store.search.marks import Truth


def compared(setup: Setup, user: str, *, check: bool) -> Iterator[str]:
    """How each search index of a user was: `right`, `missing`, or `wrong`.

    One that is behind its files is right, for readers let it catch up. Without `check` it has caught up
    then, and the latter two are put right. A store that memctl never wrote to has none.
    """
    if not os.path.isdir(f"{setup.layout.root}/.memctl"):
        return
    for kind in ("records", "messages"):
        path = setup.layout.search_index(user, kind).path
        if not check or os.path.lexists(path):
            yield _of_kind(setup, user, kind, path, check=check)


def _of_kind(setup: Setup, user: str, kind: str, path: str, *, check: bool) -> str:
    if kind == "messages":
        from memctl.store.search.messages import Logs

        return _compared(path, Logs(setup.layout, user), check=check)
    from memctl.store.search.records import RecordFiles

    with closing(RecordFiles(setup.layout, user)) as files:
        return _compared(path, files, check=check)


def _compared(path: str, truth: Truth, *, check: bool) -> str:
    if not truth.marks():
        # There is nothing to find; an index that is left belongs to nothing.
        return "right"
    from memctl.store.search.catching_up import differences, drop, open_current

    if check:
        return "wrong" if differences(path, truth) else "right"
    index, report = open_current(path, truth)
    index.close()
    if report.rebuilt:
        return "missing" if report.saved else "right"
    if not differences(path, truth):
        return "right"
    drop(path)
    open_current(path, truth)[0].close()
    return "wrong"
