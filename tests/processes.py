"""Children of a test: forked with an action, and waited for."""

from __future__ import annotations

import os
from collections.abc import Callable


def fork(action: Callable[[], object]) -> int:
    """Run `action` in a forked child; its process id. It ends with 0 when the action does."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    return pid


def wait(*pids: int) -> list[int]:
    """The exit codes of children, minus the signal of one that was killed."""
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
