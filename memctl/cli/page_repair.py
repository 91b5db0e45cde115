"""The page that `repair` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core.visible import visible

if TYPE_CHECKING:
    from memctl.ops.repaired import Repairs


def text(done: Repairs, *, colour: bool, columns: int) -> str:
    """The page."""
    lines = []
    for target in done.targets:
        lines.append(f"{visible(target.target)}: {len(target.fixed)} fixed, {len(target.left)} left")
    return "\n".join(lines) + "\n"
