"""Commands of the caller's that memctl runs: without a shell, in their own process group, not for ever."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from memctl.errors import BadConfig, Unavailable

if TYPE_CHECKING:
    from subprocess import Popen

PREFIX = "cmd:"
_SAID_BYTES = 2000


def words(setting: str, value: str) -> list[str]:
    """The words of a `cmd:COMMAND`, parted as a shell does. Raises BadConfig naming the setting."""
    import shlex

    try:
        found = shlex.split(value.removeprefix(PREFIX))
    except ValueError as error:
        raise BadConfig(f"{setting} = {value!r}: {error}") from None
    if not found:
        raise BadConfig(f"{setting} = {value!r}: there is no command behind cmd:")
    return found


def run(command: list[str], data: bytes, timeout_s: float | None, what: str) -> bytes:
    """What the command prints, given `data` on its standard input.

    Raises Unavailable, `what` naming its task, if it cannot be started, ends with another code than 0, or
    takes longer than `timeout_s` (None: no limit); the message ends with what it said on standard error. A
    command that is stopped, for its time or because we are, is stopped with all that it has started.
    """
    import subprocess

    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Unavailable(f"{what}: {command[0]} cannot be started: {reason}") from None
    try:
        printed, said = child.communicate(data, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        said = _stop(child)
        raise Unavailable(f"{what}: {command[0]} took longer than {timeout_s:g} s{_said(said)}") from None
    except BaseException:
        _stop(child)
        raise
    if child.returncode:
        code = child.returncode
        how = f"ended with {code}" if code > 0 else f"was ended by signal {-code}"
        raise Unavailable(f"{what}: {command[0]} {how}{_said(said)}")
    return printed


def _stop(child: Popen[bytes]) -> bytes:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    _, said = child.communicate()
    return said


def _said(said: bytes) -> str:
    text = said[-_SAID_BYTES:].decode("utf-8", "replace").strip()
    return f"; it said: {text}" if text else ""
