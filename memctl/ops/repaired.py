"""What a repair is asked for, and what it reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core.line_examination import DEFAULT
from memctl.core.problems import REPAIRED, TABLE
from memctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from memctl.formats import files as formats
    from memctl.ops.targets import Failed


class Request(NamedTuple):
    """What is wanted of a repair: the codes that are mended, whether to do it, where the result goes.

    `output` None: the file itself is replaced. With it the copy is written, `apply` or not.
    """

    wanted: frozenset[str]
    apply: bool
    output: str | None
    form: formats.FileFormat | None


class Repaired(NamedTuple):
    """What was, or without `applied` would be, done to a file; the fields are the keys of its report.

    `kept` and `quarantined_bytes` together are the bytes of the input and the newlines added. `added_bytes`
    are others that were put in. `quarantine` and `backup` are where the rest is, None if there is none.
    `fixed_count`, `left_count` and `leaves_trouble` (an error or a warning is left) count the unlisted too;
    they are not in the report.
    """

    target: str
    applied: bool
    kept: int
    fixed: list[dict[str, Any]]
    quarantined_bytes: int
    summaries_rewritten: int
    left: list[dict[str, Any]]
    added_bytes: int
    late_bytes: int
    quarantine: str | None
    backup: str | None
    unlisted: dict[str, int]
    fixed_count: int
    left_count: int
    leaves_trouble: bool
    messages: int
    records: int

    def report(self) -> dict[str, Any]:
        """The report of `--json`."""
        values = self._asdict()
        for key in ("fixed_count", "left_count", "leaves_trouble"):
            del values[key]
        return values

    @property
    def is_mending(self) -> bool:
        """Whether anything was or would be fixed."""
        return self.fixed_count > 0


class Repairs(NamedTuple):
    """All targets; `fixed` and `left` are how many problems."""

    targets: list[Repaired]
    fixed: int
    left: int
    failed: list[Failed]

    def report(self) -> dict[str, Any]:
        """The report of `--json`."""
        return {
            "targets": [target.report() for target in self.targets],
            "fixed": self.fixed,
            "left": self.left,
            "failed": [failed._asdict() for failed in self.failed],
        }

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left to do that was not done: exit code 0."""
        done = all(target.applied or not target.is_mending for target in self.targets)
        return done and not self.failed and not any(target.leaves_trouble for target in self.targets)


def codes(only: Collection[str], *, fix_text: bool) -> frozenset[str]:
    """The codes that are mended. Raises UsageError for one that repair does not know, or leaves."""
    for code in only:
        if code not in TABLE:
            import difflib

            near = difflib.get_close_matches(code, TABLE, n=1)
            hint = f"the nearest is {near[0]}" if near else "memctl help codes lists them"
            raise UsageError(f"no code {code}", hint=hint)
        if code not in REPAIRED:
            raise UsageError(f"repair leaves {code}: {TABLE[code].why or TABLE[code].what}")
    wanted = frozenset(only) if only else DEFAULT
    return wanted | {"bad-text"} if fix_text else wanted
