"""Exceptions, signals and closed pipes become exit codes and one line of talk; on every command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from memctl.cli.output import Output, OutputClosed, use_utf8
from memctl.errors import MemctlError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType


class Answer(Exception):
    """Ends a command with an exit code although nothing failed: 1 is a complete negative answer.

    What the command printed and reported before stays printed.
    """

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class Terminated(BaseException):
    """SIGTERM arrived; raised in the main thread so that what is held is let go."""


class Failure(NamedTuple):
    """What is said about an error; `code` is the word in the JSON form."""

    code: str
    exit_code: int
    message: str
    hint: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. `argv` is what follows the program's name (default: this process's)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    out = Output()
    try:
        use_utf8()
        exit_code = _run(arguments, out)
        out.finish(exit_code)
        return exit_code
    except BaseException as error:
        return _end(error, arguments, out)


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether an explicit `--json` or `-f json|jsonl` is among the arguments (before a `--`)."""
    for index, argument in enumerate(arguments):
        if argument == "--":
            return False
        if argument in ("--json", "-fjson", "-fjsonl", "--format=json", "--format=jsonl"):
            return True
        if argument in ("-f", "--format") and arguments[index + 1 : index + 2] in (["json"], ["jsonl"]):
            return True
    return False


def _run(arguments: list[str], out: Output) -> int:
    # Typer is most of a call's time: it is imported inside the guard, so that Ctrl-C ends this quietly too.
    from memctl.cli import app

    restore = _on_terminate()
    try:
        return app.run(arguments, out)
    except Answer as answer:
        return answer.exit_code
    except SystemExit as ended:
        # Installing or answering shell completion ends this way.
        return ended.code if isinstance(ended.code, int) else 0
    finally:
        restore()


def _on_terminate() -> Callable[[], object]:
    """Let SIGTERM raise Terminated; returns what puts the old handler back."""
    import signal

    def terminate(_number: int, _frame: FrameType | None) -> None:
        # A second one ends the process at once: what is half done is made whole by the next command.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    def restore() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return lambda: None
    try:
        signal.signal(signal.SIGTERM, terminate)
    except ValueError:
        # Not in the main thread: the program around us decides about signals.
        return lambda: None
    return restore


def _end(error: BaseException, arguments: list[str], out: Output) -> int:
    """Say what happened; the exit code."""
    if isinstance(error, OutputClosed | BrokenPipeError):
        out.detach()
        return 141
    out.abandon(flush=_signal_behind(error) is None)
    failure = _failure(_signal_behind(error) or error, arguments)
    if failure.exit_code == MemctlError.exit_code and out.verbose:
        import traceback

        out.traceback("".join(traceback.format_exception(error)))
    out.error(
        failure.message,
        code=failure.code,
        exit_code=failure.exit_code,
        hint=failure.hint,
        as_object=wants_json(arguments),
    )
    return failure.exit_code


def _signal_behind(error: BaseException | None) -> BaseException | None:
    """The signal that `error` came from: it can interrupt a library between two steps, whose cleaning up
    then fails with an error of its own."""
    while error is not None and not isinstance(error, KeyboardInterrupt | Terminated):
        error = error.__context__
    return error


def _failure(error: BaseException, arguments: list[str]) -> Failure:
    if isinstance(error, KeyboardInterrupt):
        return Failure("interrupted", 130, "interrupted")
    if isinstance(error, Terminated):
        return Failure("terminated", 143, "terminated")
    known = error if isinstance(error, MemctlError) else _known(error, arguments)
    if known is not None:
        return Failure(known.code, known.exit_code, str(known), known.hint)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Failure(
        MemctlError.code,
        MemctlError.exit_code,
        f"a bug in memctl: {what}",
        "report it with what memctl -v prints for the same command",
    )


def _known(error: BaseException, arguments: list[str]) -> MemctlError | None:
    """The error of our family that stands for another one; None for a bug."""
    from memctl import errors

    if isinstance(error, MemoryError):
        return errors.StorageError("out of memory")
    if isinstance(error, OSError) and error.errno is not None:
        return errors.of_system(error)
    app = sys.modules.get("memctl.cli.app")
    return None if app is None else app.usage_error(error, arguments)
