"""Restoring: from an item's note and its bytes, the edits that bring back what edits took out of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core.edits import inverse
from memctl.errors import BadInput

if TYPE_CHECKING:
    from memctl.core.edits import Edits

_HEX_DIGITS = 64
#: The largest offset that a file can have.
_NUMBER_MAX = (1 << 63) - 1


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
        before, after = number(note["size_before"]), number(note["size_after"])
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


def place(note: dict[str, Any]) -> int:
    """The offset in a note without `pieces`. Raises BadInput if it says none."""
    try:
        return number(note.get("offset"))
    except ValueError:
        id = note.get("id")
        raise BadInput(
            f"the note of {id} does not say where it was", hint=f"memctl quarantine show {id}"
        ) from None


def number(value: Any) -> int:
    """A number of a note: an offset, a size, or a line. Raises ValueError for what no file can have."""
    if type(value) is not int or not 0 <= value <= _NUMBER_MAX:
        raise ValueError(f"{value!r:.40} is no number of bytes or lines")
    return value


def _check_pieces(pieces: Any, size_bytes: int) -> tuple[int, int]:
    """How many bytes the pieces took out and put in. Raises KeyError, TypeError, ValueError."""
    removed = added = at = 0
    if type(pieces) is not list:
        raise ValueError("pieces is no list")
    for piece in pieces:
        offset, length, inserted = (number(piece[key]) for key in ("offset", "length", "inserted"))
        number(piece.get("line", 0))
        if offset < at or offset + length > size_bytes:
            raise ValueError(f"the piece at offset {offset} does not fit in")
        at = offset + length
        removed += length
        added += inserted
    return removed, added


def _damaged(note: dict[str, Any], why: str) -> BadInput:
    id = note.get("id")
    return BadInput(
        f"the note of {id} is damaged ({why}); nothing was restored, its bytes are still there",
        hint=f"memctl quarantine show {id}",
    )
