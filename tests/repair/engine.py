"""A repair in memory, for tests over very many inputs, and what its parts promise of each other."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from memctl.core import edits, lines
from memctl.core.diagnosis import Found
from memctl.core.examination import Examination
from memctl.core.line_examination import DEFAULT
from memctl.store import revision
from memctl.store.examined import Examined
from tests.window import oracle
from tests.window.logs import fingerprint

#: Codes for which messages are set aside, one message each.
SET_ASIDE = ("orphan-result", "duplicate-result", "duplicate-message", "ephemeral-stored")


class Outcome(NamedTuple):
    """A file before and after, what was taken out, and what the repair says of it."""

    data: bytes
    new: bytes
    taken: bytes
    examination: Examination
    edits: edits.Edits
    summaries_rewritten: int

    @property
    def problems(self) -> list[Found]:
        """All problems, also those that stand behind graver ones of the same line and code."""
        diagnosis = self.examination.diagnosis
        return [*diagnosis.found, *diagnosis.remaining]

    @property
    def fixed(self) -> list[str]:
        return sorted(found.problem.code for found in self.problems if found.action)

    @property
    def left(self) -> list[tuple[str, str]]:
        return sorted((row.problem.code, row.problem.severity) for row in self.problems if not row.action)


def repaired(data: bytes, wanted: Collection[str] = DEFAULT) -> Outcome:
    """The repair of a file that holds `data`."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        fd = file.fileno()
        examined = Examined(fd, len(data), Examination(wanted))
        new = b"".join(revision.edited(fd, examined.edits, len(data)))
        taken = b"".join(revision.taken_out(fd, examined.edits))
    return Outcome(data, new, taken, examined.examination, examined.edits, examined.rewritten)


class Told(NamedTuple):
    """A message of a file: its bytes as stored and as readers get them, whether a summary hides it."""

    stored: bytes
    printed: bytes
    is_hidden: bool
    is_made: bool
    is_summary: bool


def messages(data: bytes) -> list[Told]:
    """The messages of a file, and which of them summaries hide by the rule as the oracle states it."""
    found: list[lines.Piece] = []
    split = data.split(b"\n")
    for number, line in enumerate(split):
        pieces = lines.read_line(line, terminated=number < len(split) - 1) if line else []
        found += [piece for piece in pieces if piece.message is not None]
    hidden = 0
    summaries = set()
    for place, piece in enumerate(found):
        message = piece.message or {}
        if oracle.marked(message, "summary") and not oracle.marked(message, "ephemeral"):
            summaries.add(place)
            text = [before.stored for before in found[:place]]
            hidden = oracle.boundary(text, hidden, message["extra"].get("memctl"), fingerprint)
    return [
        Told(piece.stored, piece.printed, place < hidden, _is_made(piece), place in summaries)
        for place, piece in enumerate(found)
    ]


def _is_made(piece: lines.Piece) -> bool:
    extra = (piece.message or {}).get("extra")
    own = extra.get("memctl") if isinstance(extra, dict) else None
    return isinstance(own, dict) and own.get("repair") == "open-call"


def bag(told: Iterable[Told], *, hidden: bool | None = None) -> Counter[bytes]:
    """How often each message is there, of all or of the hidden or shown ones.

    Those that repair made and summaries, which may say anew what they cover, are left out.
    """
    return Counter(
        one.printed
        for one in told
        if not one.is_made and not one.is_summary and hidden in (None, one.is_hidden)
    )


def check(outcome: Outcome, wanted: Collection[str] = DEFAULT) -> None:
    """What holds for every repair: nothing lost, nothing left to do, and what is said of it is true."""
    data, new, taken = outcome.data, outcome.new, outcome.taken
    assert len(data) + outcome.edits.newlines == len(new) - _other_bytes(outcome) + len(taken)
    assert data == _undone(outcome)
    again = repaired(new, wanted)
    assert [] == again.fixed
    assert new == again.new
    check_left(outcome, again)
    before, after = messages(data), messages(new)
    check_messages(outcome, before, after)
    check_hidden(before, after)


def _other_bytes(outcome: Outcome) -> int:
    return outcome.edits.added_bytes - outcome.edits.newlines


def _undone(outcome: Outcome) -> bytes:
    """The file before, from the file after, what was taken out, and the note of where it was."""
    note = list(edits.pieces(outcome.edits))
    parts, at = [], 0
    for edit in edits.inverse(note, lambda start, end: outcome.taken[start:end]):
        parts += [outcome.new[at : edit.offset], edit.text]
        at = edit.offset + edit.size
    return b"".join([*parts, outcome.new[at:]])


def check_left(outcome: Outcome, again: Outcome) -> None:
    """What was left is what is found then; of a line that was split each message has its own now."""
    left, found = Counter(outcome.left), Counter(again.left)
    if outcome.summaries_rewritten:
        # What a summary covers is written anew, without the odd things that stood in it.
        warnings = ("duplicate-key", "bad-text", "bad-number", "unreadable-json")
        for odd in (("nul-bytes", "error"), ("bad-utf8", "error"), *((code, "warning") for code in warnings)):
            found[odd] = max(found[odd], left[odd])
    if "open-call" in outcome.fixed:
        # A result that repair makes has the id of its call, half a surrogate pair and all.
        left["bad-text", "warning"] = max(left["bad-text", "warning"], found["bad-text", "warning"])
    assert {key for key, count in left.items() if count} == {key for key, count in found.items() if count}
    more = sum((found - left).values())
    assert Counter() == left - found
    if "glued-lines" not in outcome.fixed:
        assert 0 == more


def check_messages(outcome: Outcome, before: list[Told], after: list[Told]) -> None:
    """Each message is still there but for those that a code sets aside; results that were made are named."""
    fixed = Counter(outcome.fixed)
    set_aside = sum(fixed[code] for code in SET_ASIDE)
    assert len(before) - set_aside + fixed["open-call"] == len(after)
    made = sum(one.is_made for one in after) - sum(one.is_made for one in before)
    assert fixed["open-call"] == made
    assert sum(one.is_summary for one in before) == sum(one.is_summary for one in after)
    if "bad-text" not in fixed:
        assert Counter() == bag(after) - bag(before)
    assert set_aside == sum(bag(before).values()) - sum(bag(after).values())


def check_hidden(before: list[Told], after: list[Told]) -> None:
    """What summaries hid is hidden or gone, and what they showed is shown or gone."""
    if bag(after) - bag(before):
        # Texts were changed: the numbers have to do.
        return
    for hidden in (True, False):
        assert Counter() == bag(after, hidden=hidden) - bag(before, hidden=hidden)
