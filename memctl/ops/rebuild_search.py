"""rebuild-index, the search indexes of a user: made anew from the files, or only compared with them."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.ops.setup import Setup
    from memctl.store.search.marks import Truth


class Compared(NamedTuple):
    """How an index was, and how many records or messages it has; None where it was not opened for that."""

    kind: str
    state: str
    documents: int | None = None


def compared(setup: Setup, user: str, *, check: bool) -> Iterator[Compared]:
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


def _of_kind(setup: Setup, user: str, kind: str, path: str, *, check: bool) -> Compared:
    if kind == "messages":
        from memctl.store.search.messages import Logs

        return _compared(kind, path, Logs(setup.layout, user), check=check)
    from memctl.store.search.records import RecordFiles

    with closing(RecordFiles(setup.layout, user)) as files:
        return _compared(kind, path, files, check=check)


def _compared(kind: str, path: str, truth: Truth, *, check: bool) -> Compared:
    if not truth.marks():
        # There is nothing to find; an index that is left belongs to nothing.
        return Compared(kind, "right", 0)
    from memctl.store.search.catching_up import differences, drop, is_kept, open_current

    if check:
        return Compared(kind, "wrong" if differences(path, truth) else "right")
    kept = is_kept(path)
    index, report = open_current(path, truth)
    with index:
        documents = index.corpus.live
    if report.rebuilt:
        made = "missing" if kept is not False else "wrong"
        return Compared(kind, made if report.saved else "right", documents)
    if not differences(path, truth):
        return Compared(kind, "right", documents)
    drop(path)
    index, _ = open_current(path, truth)
    with index:
        return Compared(kind, "wrong", index.corpus.live)
