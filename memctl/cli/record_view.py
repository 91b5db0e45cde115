"""Records for people: a table of them, and blocks of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.cli.text_table import day, print_texts
from memctl.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memctl.cli.output import Output
    from memctl.core.record import Record

#: So much of a time tells the day; a table has no room for more.
_DAY = len("2026-03-01")
COLUMNS = ("tier", "imp", "created", "pin", "id", "text")
COLUMNS_ARCHIVED = ("archived", "why", "imp", "created", "id", "text")


def print_table(out: Output, records: Sequence[Record]) -> None:
    """A row for each record, `*` for a pinned one; a text that is too long is cut, and says so."""
    rows = [
        ((tier, importance, created[:_DAY], "*" if pinned else "", record.id), record.content)
        for record in records
        for tier, importance, created, pinned in [_facts(record)]
    ]
    print_texts(out, COLUMNS, rows, right=(1,))


def print_archived(out: Output, records: Sequence[Record]) -> None:
    """The same for records of the archive: since when and why they are there."""
    rows = [
        ((when, why, importance, created[:_DAY], record.id), record.content)
        for record in records
        for (_, importance, created, _), (when, why) in [(_facts(record), _archived(record))]
    ]
    print_texts(out, COLUMNS_ARCHIVED, rows, right=(2,))


def _archived(record: Record) -> tuple[str, str]:
    why = record.value.get("archived_for")
    return day(record.value.get("archived_at")), why if type(why) is str else "-"


def _facts(record: Record) -> tuple[str, str, str, str]:
    pinned = "pinned" if record.pinned else ""
    return record.tier, f"{record.importance:.2g}", day(record.value.get("created_at")), pinned


def blocks(records: Sequence[Record], *, archived: bool = False) -> Iterator[str]:
    """Each record as a line about it and its whole text, indented; a blank line between two.

    Each is visible already. `archived` also says since when and why they are in the archive.
    """
    for number, record in enumerate(records):
        said = [record.id, *(fact for fact in _facts(record) if fact), *record.categories]
        if record.scope:
            said.append(f"scope {record.scope}")
        if archived:
            when, why = _archived(record)
            said.append(f"archived {when} for {why}")
        lines = visible(record.content, keep_newlines=True).split("\n")
        body = "".join(f"    {line}\n" if line else "\n" for line in lines)
        yield f"{chr(10) if number else ''}{visible('  '.join(said))}\n{body}"
