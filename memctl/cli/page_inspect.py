"""The page that `inspect` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core.visible import visible

if TYPE_CHECKING:
    from memctl.ops.inspect import Inspection


def text(found: Inspection, *, colour: bool, columns: int) -> str:
    """The page."""
    lines = []
    for target in found.targets:
        lines.append(f"{visible(target.target)}: {target.messages} messages, {target.bytes} bytes")
        lines += [
            f"  {p.severity} {p.code} line {p.line} byte {p.offset} {visible(p.detail)}"
            for p in target.problems
        ]
    return "\n".join(lines) + "\n"
