"""What a page says of an inspection, in sentences and groups; how it looks is another module's matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.cli.output import counted
from memctl.core.finding import Finding, summed_up
from memctl.core.problems import ACTIONS, ERROR, INFO, SEVERITIES, TABLE, WARNING, gravest, rank
from memctl.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memctl.core.problems import Problem
    from memctl.ops.inspect import Inspected, Inspection

#: Up to so many files have a page each; of more there is a line each.
PAGES_MAX = 3
#: Formats whose lines are no messages -> what each is.
HOLDING = {"records": "record", "forgotten": "id"}
#: Of a group so many places are named one by one; of infos fewer.
_PLACES_MAX, _PLACES_OF_INFO = 5, 2


class Group(NamedTuple):
    """The problems of one code that are equally grave and meet the same fate; `places` are their indices.

    `unlisted` counts further ones of the code, of which it is not known whether they are of this group.
    """

    code: str
    severity: str
    what: str
    fate: str
    places: list[int]
    unlisted: int


def several(parts: Sequence[str], *, none: str = "") -> str:
    """The parts with commas, or `none`."""
    return ", ".join(parts) or none


# -- one file -----------------------------------------------------------------------------------------------


def facts(target: Inspected) -> list[str]:
    """What the file is and holds, one sentence each."""
    size = counted(target.bytes, "byte")
    if target.format == "activities":
        return [f"activities, {size}"]
    if target.format is None:
        return [f"{size}, recognised as no conversation and no records" if target.lines else size]
    if target.format in HOLDING:
        holds = [counted(target.records, HOLDING[target.format])]
        if target.older_versions:
            holds.append(counted(target.older_versions, "older version"))
        return [f"{target.format}: {several([*holds, counted(target.lines, 'line'), size])}"]
    sizes = [counted(target.messages, "message"), counted(target.lines, "line"), size]
    said = [f"a conversation (format {target.format}): {several(sizes)}"]
    if target.roles:
        said.append("by role: " + several([f"{visible(r)} {n:,}" for r, n in target.roles.items()]))
    if marked := [f"{number:,} {name}" for name, number in target.markers.items() if number]:
        last = f"; the last summary is message #{target.last_summary}"
        said.append("marked: " + several(marked) + (last if target.last_summary is not None else ""))
    if target.open_calls:
        said.append(f"{counted(target.open_calls, 'call')} without result")
    if target.tokens is not None:
        said.append(counted(target.tokens, "token"))
    return said


def _fine(target: Inspected) -> str:
    """How much of the file is fine; "" where lines are not what it consists of."""
    if not target.lines:
        return "" if target.problems or target.bytes else "It is empty."
    wrong = {p.line for p in target.problems if p.severity != INFO and p.line is not None}
    good = target.lines - len(wrong)
    if not wrong:
        return "The one line has nothing wrong." if good == 1 else f"All {good:,} lines have nothing wrong."
    if not good:
        return "The one line has something wrong." if len(wrong) == 1 else "Each line has something wrong."
    most = "at most " if target.unlisted else ""
    verb = "has" if good == 1 else "have"
    return f"{most}{good:,} of {counted(target.lines, 'line')} {verb} nothing wrong.".capitalize()


def verdict(target: Inspected) -> str:
    """How much is fine, and how many problems of what severity there are."""
    numbers = [(target.counts.get(severity, 0), severity) for severity in SEVERITIES]
    found = several([counted(number, name) for number, name in numbers if number])
    good = _fine(target)
    return f"{good} Found: {found}.".strip() if found else good or "Nothing is wrong."


def groups(target: Inspected) -> list[Group]:
    """The problems, gravest first; of one severity, in the order of the table of codes."""
    places: dict[tuple[str, str, str], list[int]] = {}
    for number, (found, action) in enumerate(zip(target.problems, target.actions, strict=True)):
        places.setdefault((found.severity, found.code, action), []).append(number)
    keys = sorted(places, key=lambda key: (SEVERITIES.index(key[0]), rank(key[1]), not key[2]))
    return [
        Group(
            code,
            severity,
            meaning(code, severity),
            fate(code, action),
            places[severity, code, action],
            target.unlisted.get(code, 0),
        )
        for severity, code, action in keys
    ]


def meaning(code: str, severity: str) -> str:
    """What a code means where it is so grave: of some there is a milder case."""
    row = TABLE[code]
    if not row.milder or severity == row.severity:
        return row.what
    return row.milder


def fate(code: str, action: str) -> str:
    """What repair does about a problem, given its word for that, or why it does nothing.

    A problem of a line that is set aside is not mended but goes with it.
    """
    row = TABLE[code]
    if action:
        is_usual = action == ACTIONS.get(code) and row.remedy
        return f"repair: {row.remedy if is_usual else action}"
    return f"repair leaves it: {row.why}" if row.why else "repair leaves it as it is"


def place(found: Problem) -> str:
    """`line 3, byte 210: detail`; for the file itself the detail alone."""
    where = "" if found.line is None else f"line {found.line}, byte {found.offset}"
    detail = visible(found.detail)
    return f"{where}: {detail}" if where and detail else where or detail or "the file itself"


def places_shown(group: Group) -> int:
    """How many places of a group are named one by one; one more is no reason for `and 1 more`."""
    most = _PLACES_OF_INFO if group.severity == INFO else _PLACES_MAX
    return len(group.places) if len(group.places) <= most + 1 else most


def more(target: Inspected, group: Group, shown: int) -> str:
    """`and 47 more, lines 20-31, 40: --json lists all`."""
    rest = [target.problems[index] for index in group.places[shown:]]
    number = len(rest) + group.unlisted
    lines = [Finding(found.line, group.code) for found in rest if found.line is not None]
    where = "".join(f", {said[len(group.code) + 2 : -1]}" for said in summed_up(lines))
    if group.unlisted:
        return f"and {number:,} more{where} and behind them: --json lists {len(group.places):,}"
    return f"and {number:,} more{where}: --json lists all"


# -- several files ------------------------------------------------------------------------------------------


def amounts(targets: Sequence[Inspected]) -> dict[str, Callable[[Inspected], int]]:
    """What a table counts of each file: records only where there is a file of them."""
    found: dict[str, Callable[[Inspected], int]] = {"messages": lambda target: target.messages}
    if any(target.format in HOLDING for target in targets):
        found["records"] = lambda target: target.records
    found["errors"] = lambda target: target.counts.get(ERROR, 0)
    found["warnings"] = lambda target: target.counts.get(WARNING, 0)
    return found


def is_fine(target: Inspected) -> bool:
    """Whether a file has neither errors nor warnings."""
    return not target.counts.get(ERROR) and not target.counts.get(WARNING)


def codes(target: Inspected) -> list[str]:
    """`bad-json`, `crlf × 200`, `mode (0644)`: gravest first; one of the file itself with its detail."""
    said: dict[str, str] = {}
    for group in groups(target):
        first = target.problems[group.places[0]]
        if first.line is None and len(group.places) == 1:
            said[group.code] = f"{group.code} ({visible(first.detail)})" if first.detail else group.code
        elif group.code not in said:
            number = sum(found.code == group.code for found in target.problems) + group.unlisted
            said[group.code] = f"{group.code} × {number:,}" if number > 1 else group.code
    return list(said.values())


def summary(found: Inspection) -> str:
    """`1,000 files: 3 with errors, 12 with warnings, 985 fine`."""
    grave = [target for target in found.targets if target.counts.get(ERROR)]
    good = [target for target in found.targets if is_fine(target)]
    milder = len(found.targets) - len(grave) - len(good)
    parts = [(len(grave), "with errors"), (milder, "with warnings"), (len(good), "fine")]
    parts.append((len(found.failed), "not looked at"))
    number = len(found.targets) + len(found.failed)
    return f"{counted(number, 'file')}: {several([f'{n:,} {what}' for n, what in parts if n])}"


def unsettled(found: Inspection) -> str:
    """What is said where a file was being written; "" if none was."""
    if found.complete or found.failed:
        return ""
    return "A file was being written to meanwhile. What is said about its end may be wrong: look again."


def worst(target: Inspected) -> str:
    """The gravest severity that a file has, "" of none."""
    return gravest({severity for severity, number in target.counts.items() if number})
