"""Restoring: from an item's note and its bytes, the edits that bring back what edits took out of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core.edits import inverse
from memctl.errors import BadInput

if TYPE_CHECKING:
    from memctl.core.edits import Edits

_HEX_DIGITS = 64


class Undo(NamedTuple):
    """`edits` make of the `size_after` bytes that edits left the `size_before` bytes that they were made in.

    The digests (SHA-256 in hex) are of all of these bytes; `sha256_before` is "" where it was not noted.
    """

    edits: Edits
    size_before: int
    sha256_before: str
    size_after: int
    sha256_after: str


def undo(note: dict[str, Any], taken: bytes) -> Undo:
    """The undoing of the edits in a note that has `pieces`; `taken` is all that they took out.

    Raises BadInput for a note that contradicts itself or these bytes.
    """
    try:
        before, after = _number(note["size_before"]), _number(note["size_after"])
        digest = note["sha256_after"]
        if type(digest) is not str or len(digest) != _HEX_DIGITS:
            raise ValueError("sha256_after is no digest")
        removed, added = _check_pieces(note["pieces"], before)
        if removed != len(taken) or before - removed + added != after:
            raise ValueError("its sizes contradict each other")
    except KeyError as error:
        raise _damaged(note, f"it has no {error.args[0]}") from None
    except (ValueError, TypeError) as error:
        raise _damaged(note, str(error)) from None
    return Undo(
        inverse(note["pieces"], lambda first, end: taken[first:end]),
        before,
        str(note.get("sha256_before") or ""),
        after,
        digest,
    )


def _check_pieces(pieces: Any, size_bytes: int) -> tuple[int, int]:
    """How many bytes the pieces took out and put in. Raises KeyError, TypeError, ValueError."""
    removed = added = at = 0
    if type(pieces) is not list:
        raise ValueError("pieces is no list")
    for piece in pieces:
        offset, length, inserted = (_number(piece[key]) for key in ("offset", "length", "inserted"))
        if offset < at or offset + length > size_bytes:
            raise ValueError(f"the piece at offset {offset} does not fit in")
        at = offset + length
        removed += length
        added += inserted
    return removed, added


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.40} is no number of bytes")
    return value


def _damaged(note: dict[str, Any], why: str) -> BadInput:
    id = note.get("id")
    return BadInput(
        f"the note of {id} is damaged ({why}); nothing was restored, its bytes are still there",
        hint=f"memctl quarantine show {id}",
    )
