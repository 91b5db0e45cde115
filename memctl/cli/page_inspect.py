"""The page that `inspect` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.cli import page_facts as facts
from memctl.cli.cells import padded, width, wrapped
from memctl.cli.excerpt_view import view
from memctl.cli.ink import Ink
from memctl.cli.next_steps import after_inspect
from memctl.cli.output import counted
from memctl.core.problems import ERROR, INFO
from memctl.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memctl.cli.next_steps import Step
    from memctl.cli.retyped import Typed
    from memctl.ops.excerpts import Excerpt
    from memctl.ops.inspect import Inspected, Inspection

#: Files that are fine have a line each up to so many files; of more they are only counted.
_LINES_MAX = 40
#: A table keeps so many columns for the codes; names that are longer than the rest have a line of their own.
_CODES_WIDTH, _NAMES_MIN = 28, 16
COLUMNS_MIN = 40
#: Where less than this is left for the codes, they go on in lines of their own.
_CODES_MIN = 20
_EXCERPT_INDENT = " " * 6


def text(found: Inspection, typed: Typed, *, colour: bool, columns: int) -> str:
    """The page: what there is, how much of it is fine, what is wrong, and what to type next.

    `colour` adds ANSI colours. It is `columns` wide, but for names and commands that are longer.
    """
    ink, columns = Ink(colour), max(columns, COLUMNS_MIN)
    lines: list[str] = []
    if not found.targets and not found.failed:
        lines.append("There is nothing to inspect: no conversation and no other file.")
    elif len(found.targets) <= facts.PAGES_MAX:
        for target in found.targets:
            lines += [*_page(target, ink, columns), ""]
    else:
        lines += [*_table(found.targets, ink, columns), ""]
    for failed in found.failed:
        name = visible(failed.target)
        lines += wrapped(f"not looked at: {name}: {visible(failed.message)}", columns, "", "  ")
    if len(found.targets) + len(found.failed) > 1:
        lines += wrapped(facts.summary(found), columns)
    if said := facts.unsettled(found):
        lines += wrapped(said, columns)
    while not lines[-1]:
        lines.pop()
    lines += steps(after_inspect(found, typed), ink, columns)
    return "\n".join(lines) + "\n"


def steps(found: Sequence[Step], ink: Ink, columns: int) -> Iterator[str]:
    """The commands to type next, behind an empty line; a command is never broken."""
    if not found:
        return
    yield ""
    yield "What to type next:"
    longest = max(width(step.command) for step in found)
    is_beside = all(longest + 4 + width(step.what) <= columns for step in found)
    for step in found:
        if is_beside:
            gap = " " * (longest + 2 - width(step.command))
            yield f"  {ink.strong(step.command)}{gap}{ink.faint(step.what)}"
        else:
            yield f"  {ink.strong(step.command)}"
            for line in wrapped(step.what, columns, "      ", "      "):
                yield ink.faint(line)


# -- one file -----------------------------------------------------------------------------------------------


def _page(target: Inspected, ink: Ink, columns: int) -> Iterator[str]:
    yield ink.strong(visible(target.target))
    for fact in facts.facts(target):
        yield from wrapped(fact, columns, "  ", "    ")
    yield from _verdict(target, ink, columns)
    for group in facts.groups(target):
        yield ""
        yield from _group(target, group, ink, columns)


def _verdict(target: Inspected, ink: Ink, columns: int) -> Iterator[str]:
    for line in wrapped(facts.verdict(target), columns, "  ", "    "):
        yield ink.good(line) if facts.is_fine(target) else ink.strong(line)


def _group(target: Inspected, group: facts.Group, ink: Ink, columns: int) -> Iterator[str]:
    number = len(group.places) + group.unlisted
    start = f"{group.severity} {group.code}"
    times = f", {number:,} times: " if number > 1 else ": "
    first, *rest = wrapped(group.what, columns, start + times, "  ")
    yield ink.severity(group.severity, start) + first[len(start) :]
    yield from rest
    yield from wrapped(group.fate, columns, "  ", "    ")
    shown = group.places[: facts.places_shown(group)]
    for index in shown:
        yield from wrapped(facts.place(target.problems[index]), columns, "  ", "    ")
        excerpt = target.excerpts.get(index)
        if excerpt is not None and group.severity != INFO:
            yield from _excerpt(excerpt, ink, columns)
    if number > len(shown):
        yield from wrapped(facts.more(target, group, len(shown)), columns, "  ", "    ")


def _excerpt(excerpt: Excerpt, ink: Ink, columns: int) -> Iterator[str]:
    seen = view(excerpt, columns - len(_EXCERPT_INDENT) - 1)
    if not (seen.before or seen.wrong or seen.behind):
        return
    yield f"{_EXCERPT_INDENT}{seen.before}{ink.marked(seen.wrong)}{seen.behind}"
    if seen.marks:
        yield _EXCERPT_INDENT + ink.severity(ERROR, seen.caret)


# -- several files ------------------------------------------------------------------------------------------


def _table(targets: Sequence[Inspected], ink: Ink, columns: int) -> Iterator[str]:
    """A line for each file; where there are many, those that are fine are only counted."""
    is_long = len(targets) > _LINES_MAX
    rows = [target for target in targets if target.problems or not is_long]
    amounts = facts.amounts(targets)
    heads = ("file", *amounts, "what is wrong")
    names = [visible(row.target) for row in rows]
    numbers = [[f"{amount(row):,}" for amount in amounts.values()] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(amounts, *numbers, strict=True)]
    room = max(columns - sum(widths) - 2 * len(heads) + 2 - _CODES_WIDTH, _NAMES_MIN)
    first = max([len(heads[0]), *(size for name in names if (size := width(name)) <= room)])
    shown = [padded(head, size, right=True) for head, size in zip(amounts, widths, strict=True)]
    if rows:
        yield ink.faint("  ".join((padded(heads[0], first), *shown, heads[-1])))
    for row, name, cells in zip(rows, names, numbers, strict=True):
        start = padded(name, first) if width(name) <= first else " " * first
        if width(name) > first:
            yield ink.severity(worst, name) if (worst := facts.worst(row)) else name
        start += "".join(
            f"  {padded(cell, size, right=True)}" for cell, size in zip(cells, widths, strict=True)
        )
        yield from _row(row, start, name, ink, columns)
    if len(rows) < len(targets):
        yield f"{counted(len(targets) - len(rows), 'file')} with nothing wrong: --json lists them."


def _row(row: Inspected, start: str, name: str, ink: Ink, columns: int) -> Iterator[str]:
    indent = " " * (width(start) + 2)
    if columns - len(indent) < _CODES_MIN:
        indent = "    "
    codes = facts.codes(row)
    parts = [f"{code}," for code in codes[:-1]] + codes[-1:]
    lines = wrapped(parts, columns, f"{start}  ", indent)
    yield ink.faint(lines[0]) if not codes else _coloured(lines[0], name, facts.worst(row), ink)
    yield from lines[1:]


def _coloured(line: str, name: str, severity: str, ink: Ink) -> str:
    """The line with the name at its start in the colour of a severity."""
    return ink.severity(severity, name) + line[len(name) :] if severity and line.startswith(name) else line
