"""window: bring the index up to date, count what it lacks, select, read the lines and check them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.core.finding import summed_up
from memctl.core.window import Request, Window
from memctl.errors import StrictFinding, UsageError
from memctl.ops.choosing import Choice
from memctl.ops.source import open_source, with_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.core.names import Reference
    from memctl.ops.setup import Setup


def window(
    setup: Setup,
    target: Reference | str,
    request: Request,
    *,
    counted: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Window:
    """The window of a conversation or a file. `counted` False spares counting where no budget asks for it.

    Raises UsageError for negative numbers, NotFound, AccessDenied, StrictFinding with `request.strict`.
    """
    if request.budget < 0 or request.reserve < 0:
        raise UsageError("a budget or reserve cannot be negative; a budget of 0 is no limit")
    source = open_source(setup, target)
    try:
        chosen = with_index(
            source,
            progress,
            lambda index: Choice(source, index, request, counted=counted, progress=progress).window(),
        )
    finally:
        os.close(source.fd)
    if request.strict and chosen.left_out:
        raise StrictFinding(
            f"{source.name}: left out: {', '.join(summed_up(chosen.left_out))}",
            hint=f"memctl show {source.name} shows the log; without --strict the rest is printed",
        )
    return chosen
