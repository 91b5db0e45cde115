"""The page that `repair` prints for people: the plan, or what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.cli import page_facts as facts
from memctl.cli.cells import wrapped
from memctl.cli.ink import Ink
from memctl.cli.next_steps import after_repair, is_file
from memctl.cli.output import counted
from memctl.cli.page_inspect import COLUMNS_MIN, steps
from memctl.core.finding import Finding, summed_up
from memctl.core.problems import ERROR, SEVERITIES, TABLE, rank
from memctl.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.cli.retyped import Typed
    from memctl.ops.repaired import Repaired, Repairs


def text(done: Repairs, typed: Typed, *, output: str | None, colour: bool, columns: int) -> str:
    """The page: what would be or was mended, what is left and why, where the rest goes, what to type next.

    `output` is the file that the repaired copy was written to. `colour` adds ANSI colours. The page is
    `columns` wide, but for names and commands that are longer.
    """
    ink, columns = Ink(colour), max(columns, COLUMNS_MIN)
    lines: list[str] = []
    for target in done.targets:
        if target.fixed_count or target.left_count or len(done.targets) == 1:
            lines += [*_file(target, output, ink, columns), ""]
    lines += _failed(done, ink, columns)
    if len(done.targets) != 1 or done.failed:
        lines += wrapped(_summary(done), columns)
    while lines and not lines[-1]:
        lines.pop()
    lines += steps(after_repair(done, typed, output), ink, columns)
    return "\n".join(lines) + "\n"


def _failed(done: Repairs, ink: Ink, columns: int) -> Iterator[str]:
    for failed in done.failed:
        said = f"{visible(failed.target)}: {visible(failed.message)}"
        hint = f" ({visible(failed.hint)})" if failed.hint else ""
        first, *rest = wrapped(f"{said}{hint}", columns, "not repaired: ", "  ")
        yield ink.severity(ERROR, "not repaired") + first[len("not repaired") :]
        yield from rest
    if done.failed:
        yield ""


# -- one file -----------------------------------------------------------------------------------------------


def _file(target: Repaired, output: str | None, ink: Ink, columns: int) -> Iterator[str]:
    name = visible(target.target)
    state = "" if target.applied or not target.is_mending else "  (plan: nothing is changed yet)"
    yield ink.strong(name) + ink.faint(state)
    if target.is_mending:
        head = "mended" if target.applied else "would be mended"
        yield f"  {ink.good(head)}: {counted(target.fixed_count, 'problem')}"
        for line in _mended(target):
            yield from wrapped(line, columns, "    ", "      ")
        for line in _where(target, output):
            yield from wrapped(line, columns, "  ", "    ")
    else:
        said = "nothing to repair"
        yield f"  {said if target.left_count else ink.good(said)}"
        if output is not None:
            yield from wrapped(_copied(target, output), columns, "  ", "    ")
    if target.left_count:
        yield f"  left as it is: {counted(target.left_count, 'problem')}"
        for severity, line in _left(target):
            first, *rest = wrapped(line, columns, f"    {severity} ", "      ")
            yield "    " + ink.severity(severity, severity) + first[4 + len(severity) :]
            yield from rest
    for code, number in target.unlisted.items():
        yield f"  {number:,} more of {code}, mended or left, {'is' if number == 1 else 'are'} not listed"


def _mended(target: Repaired) -> Iterator[str]:
    """`bad-json (lines 3, 9): set aside`, in the order of the table of codes."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in target.fixed:
        groups.setdefault((row["code"], row["action"]), []).append(row)
    for code, action in sorted(groups, key=lambda key: rank(key[0])):
        yield f"{_phrase(code, groups[code, action])}: {action}"


def _left(target: Repaired) -> Iterator[tuple[str, str]]:
    """Severity, and `dangling-user (line 4): why`; gravest first."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in target.left:
        groups.setdefault((row["severity"], row["code"]), []).append(row)
    for severity, code in sorted(groups, key=lambda key: (SEVERITIES.index(key[0]), rank(key[1]))):
        why = TABLE[code].why or facts.meaning(code, severity)
        yield severity, f"{_phrase(code, groups[severity, code])}: {why}"


def _phrase(code: str, rows: list[dict[str, Any]]) -> str:
    """The code with its lines as ranges, and how many there are where that is not seen at once."""
    lines = [row["line"] for row in rows if row["line"] is not None]
    if not lines:
        return code
    (phrase,) = summed_up([Finding(line, code) for line in lines])
    return phrase if len(set(lines)) == len(lines) <= 2 else f"{phrase}, {len(lines):,} times"


def _where(target: Repaired, output: str | None) -> Iterator[str]:
    """Where the bytes go that leave the file, what stays, what is kept beside it."""
    goes, is_kept, rewritten, arrived = (
        ("went", "is kept", "were rewritten", "arrived meanwhile and were kept")
        if target.applied
        else ("would go", "would be kept", "would be rewritten", "")
    )
    if target.quarantined_bytes:
        to = "" if target.quarantine is None else f": {_quarantine(target.quarantine)}"
        yield f"{counted(target.quarantined_bytes, 'byte')} {goes} to quarantine{to}"
    added = f", {counted(target.added_bytes, 'byte')} put in" if target.added_bytes else ""
    if target.messages or target.kept:
        holds = counted(target.records, "record") if target.records else counted(target.messages, "message")
        stay = "stays" if target.kept == 1 else "stay"
        yield f"{counted(target.kept, 'byte')} {stay}{added}; that is {holds}"
    elif target.quarantined_bytes:
        yield "nothing stays in the file"
    if target.summaries_rewritten:
        yield f"later summaries that {rewritten} to cover what they covered: {target.summaries_rewritten:,}"
    if target.late_bytes:
        yield f"{counted(target.late_bytes, 'byte')} {arrived}"
    if target.backup is not None:
        yield f"the file as it {'was' if target.applied else 'is'} {is_kept} as {visible(target.backup)}"
    if output is not None:
        yield _copied(target, output)


def _copied(target: Repaired, output: str) -> str:
    """Where the copy is, which is the whole file where nothing had to be repaired."""
    copy = "the repaired copy" if target.is_mending else "a copy"
    was = "" if target.target == "-" else f"; {visible(target.target)} is as it was"
    return f"{copy} is {visible(output)}{was}"


def _quarantine(place: str) -> str:
    return f"{visible(place)}" if is_file(place) else f"item {place}"


# -- all files ----------------------------------------------------------------------------------------------


def _summary(done: Repairs) -> str:
    if not done.targets and not done.failed:
        return "There is nothing to repair: no conversation and no other file."
    applied = any(target.applied for target in done.targets)
    mending = [target for target in done.targets if target.is_mending]
    number = len(done.targets) + len(done.failed)
    parts = []
    if mending:
        taken = sum(target.quarantined_bytes for target in mending)
        would = "" if applied else "would be "
        parts.append(f"{len(mending):,} {would}mended ({counted(done.fixed, 'problem')})")
        if taken:
            parts.append(f"{counted(taken, 'byte')} to quarantine")
    if quiet := sum(1 for target in done.targets if not target.fixed_count and not target.left_count):
        parts.append(f"{quiet:,} with nothing to repair")
    if done.left:
        parts.append(f"{counted(done.left, 'problem')} left")
    if done.failed:
        parts.append(f"{len(done.failed):,} not repaired")
    return f"{counted(number, 'file')}: {facts.several(parts, none='nothing to repair')}"
