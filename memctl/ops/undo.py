"""undo: put back what edits took out of a log, and keep behind it what was appended since."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.core import retelling
from memctl.core.edits import Edits
from memctl.errors import BadInput
from memctl.ops.carrying import drop_caches
from memctl.store import log, revision
from memctl.store.rewrite import replace_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.core.edits import Edit
    from memctl.core.restoring import Undo
    from memctl.ops.setup import Setup
    from memctl.ops.source import Source
    from memctl.store.layout import Place


class Undone(NamedTuple):
    """What went into the log and out of it, in bytes; `appended_bytes` is what stood behind and still does
    (None: not known to be appended since).

    `newline_added`: a LF parts what was put back from what was appended.
    """

    restored_bytes: int
    removed_bytes: int
    appended_bytes: int | None
    newline_added: bool
    summaries_rewritten: int
    late_bytes: int


NOTHING = Undone(0, 0, 0, False, 0, 0)


def applies(fd: int, undo: Undo, end: int) -> bool:
    """Whether the log begins with what the edits made of it."""
    return undo.size_after <= end and revision.digest_upto(fd, undo.size_after) == undo.sha256_after


def is_done(fd: int, undo: Undo, end: int) -> bool:
    """Whether the log begins with what was there before the edits: a killed process had put it back."""
    if not undo.sha256_before or undo.size_before > end:
        return False
    return revision.digest_upto(fd, undo.size_before) == undo.sha256_before


def put_back(
    setup: Setup, source: Source, place: Place, tmp: tuple[str, tuple[str, ...]], undo: Undo, end: int
) -> Undone:
    """Replace the log by the one of before, with what stands behind `size_after`; durable on return.

    Summaries there hide what they hid. Raises BadInput, with nothing changed, if the result is not what was
    there before. The log's lock is held where there is one.
    """
    fd = source.fd
    size_bytes, digest, ends = _result(fd, undo)
    if size_bytes != undo.size_before or digest != (undo.sha256_before or digest):
        raise BadInput(f"{source.name}: what would be put back is not what was there; nothing was changed")
    edits = Edits()
    for edit in undo.edits:
        edits.add(*edit)
    # A line that was without its LF when it was edited goes on behind it.
    newline = not ends and undo.size_after < end and revision.ends_with_newline(fd, undo.size_after)
    if newline:
        edits.add(undo.size_after, 0, b"\n", 0, "restored")
    told = _retold(fd, edits, undo.size_after, end)
    for edit in told:
        edits.add(*edit)
    late = replace_log(
        tmp,
        place,
        fd,
        revision.edited(fd, edits, end),
        end,
        fsync=setup.fsync(),
        settle_s=setup.settle_s(),
    )
    drop_caches(source)
    restored = sum(len(edit.text) for edit in undo.edits)
    return Undone(restored, undo.edits.removed_bytes, end - undo.size_after, newline, len(told), late)


def _result(fd: int, undo: Undo) -> tuple[int, str, bool]:
    """Size and digest of what was there before, and whether it ends with LF, or is empty."""
    last = b"\n"

    def watched() -> Iterator[bytes]:
        nonlocal last
        for block in revision.edited(fd, undo.edits, undo.size_after):
            last = block[-1:] or last
            yield block

    return *revision.digest(watched()), last == b"\n"


def _retold(fd: int, edits: Edits, since: int, end: int) -> list[Edit]:
    """The edits of the summaries behind `since`; without any the log need not be read whole."""
    if not retelling.speaking(log.read_span(fd, since, end)):
        return []
    return list(retelling.retold(log.read_span(fd, 0, end), edits, since))
