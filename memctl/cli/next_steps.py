"""Next steps: the commands that a page ends with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.cli import retyped
from memctl.cli.page_facts import PAGES_MAX
from memctl.core.names import QUARANTINE_SUFFIX
from memctl.core.problems import ERROR, WARNING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.cli.retyped import Typed
    from memctl.ops.inspect import Inspected, Inspection
    from memctl.ops.repaired import Repaired, Repairs

#: So many repairs are each named with the command that undoes them.
_UNDONE_MAX = 5


class Step(NamedTuple):
    """A command to type next, and what it does."""

    command: str
    what: str


def after_inspect(found: Inspection, typed: Typed) -> list[Step]:
    """How to see more and how to repair; none if there is nothing to do."""
    said = []
    if len(found.targets) > PAGES_MAX and (worst := _worst(found.targets)) is not None:
        said.append(Step(typed.again_for("inspect", worst), "shows the worst one line by line"))
    mends = any(action for target in found.targets for action in target.actions)
    codes = {problem.code for target in found.targets for problem in target.problems}
    if not mends and "bad-text" not in codes:
        return said
    fix_text = () if mends else ("--fix-text",)
    if is_input(typed):
        return [*said, _copy(typed, *fix_text)]
    if typed.in_place:
        if mends:
            said.append(Step(typed.again("repair"), "shows the plan, changes nothing"))
            said.append(Step(typed.again("repair", "--apply"), "carries the plan out"))
        if "bad-text" in codes:
            said.append(Step(typed.again("repair", "--fix-text"), "mends bad-text too"))
    if typed.file is not None:
        said.append(_copy(typed, *fix_text))
    return said


def after_repair(done: Repairs, typed: Typed, output: str | None) -> list[Step]:
    """How a plan is carried out, or how a deed is undone."""
    mending = [target for target in done.targets if target.is_mending]
    left = {row["code"] for target in done.targets for row in target.left}
    if any(not target.applied for target in mending):
        if is_input(typed) or not typed.in_place:
            return [_copy(typed)]
        return [Step(typed.again("repair", "--apply"), "carries the plan out")]
    said = []
    if "bad-text" in left and output is None and not is_input(typed):
        said.append(Step(typed.again("repair", "--fix-text"), "mends bad-text too"))
    undone = [step for target in mending if (step := _undone(target, typed)) is not None]
    if len(undone) <= _UNDONE_MAX:
        return said + undone
    if any(target.quarantine and not is_file(target.quarantine) for target in mending):
        return [*said, Step(typed.command("quarantine", "list"), "names what can be brought back")]
    last = undone[_UNDONE_MAX - 1]
    return [*said, *undone[: _UNDONE_MAX - 1], last._replace(what=f"{last.what}; the others alike")]


def is_file(quarantine: str) -> bool:
    """Whether quarantine is a file beside the repaired one rather than an item of a store."""
    return quarantine.endswith(QUARANTINE_SUFFIX)


def is_input(typed: Typed) -> bool:
    """Whether standard input was asked for, alone."""
    return list(typed.arguments) == ["-"]


def _copy(typed: Typed, *words: str) -> Step:
    """The repaired copy in the working directory, under a name that is free."""
    name = "" if is_input(typed) else os.path.basename(typed.file or "").removesuffix(".jsonl") + "."
    copy = retyped.target(retyped.free(f"{name}repaired", ".jsonl"))
    same = ", given the same input" if is_input(typed) else ""
    return Step(typed.again("repair", *words, "-o", copy), f"writes a repaired copy{same}")


def _undone(target: Repaired, typed: Typed) -> Step | None:
    """How a repair is undone; from the backup where nothing was taken out of a file outside of stores."""
    if target.quarantine is not None:
        place = retyped.path(target.quarantine) if is_file(target.quarantine) else target.quarantine
        return Step(typed.command("quarantine", "restore", place), "undoes it")
    if target.backup is None:
        return None
    words = ("cp", *(retyped.target(retyped.path(name)) for name in (target.backup, target.target)))
    return Step(" ".join(map(retyped.quoted, words)), "undoes it")


def _worst(targets: Sequence[Inspected]) -> str | None:
    """The conversation with the most errors, or else warnings."""
    looked = [t for t in targets if t.format not in (None, "activities") and t.problems]
    worst = max(looked, key=lambda t: (t.counts.get(ERROR, 0), t.counts.get(WARNING, 0)), default=None)
    return None if worst is None else worst.target
