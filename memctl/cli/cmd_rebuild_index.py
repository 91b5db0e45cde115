"""`memctl rebuild-index`: make the caches anew from the files."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.guard import Answer
from memctl.cli.output import counted
from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.ops.rebuild import Rebuilt

KEYS = ("users", "conversations", "messages", "records", "added", "removed", "differences", "failed")


def command(
    ctx: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[USER…|REF…]", help="Only these users or conversations; none: all."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All users, as without arguments.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only compare; exit 1 if they differ.")] = False,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 also if they differ.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make caches and search indexes anew from the files, which alone hold what counts.

    Exit 1 with --check if they differ, and if a conversation or a user's records could not be looked at.
    """
    invocation: Invocation = ctx.obj
    out = invocation.out
    if everything and targets:
        raise UsageError("--all and targets exclude each other")
    with out.progress("rebuilding") as progress:
        done = invocation.store().rebuild_index(*(targets or ()), check=check, progress=progress.advance)
    for failed in done.failed:
        out.talk(f"{failed.conversation}: {failed.message}")
    if as_json:
        report = {**done._asdict(), "failed": [failed._asdict() for failed in done.failed]}
        out.json({key: report[key] for key in KEYS})
    elif check:
        differing = counted(done.differences, "cache")
        verb = "differs" if done.differences == 1 else "differ"
        out.report(f"{_held(done)}, {differing} {verb}\n")
    else:
        out.report(
            f"{_held(done)}, {counted(done.messages, 'message')}: "
            f"{counted(done.added, 'cache')} made, {done.removed} removed\n"
        )
    if ((check and done.differences) or done.failed) and not exit_zero:
        raise Answer(1)


def _held(done: "Rebuilt") -> str:
    said = counted(done.conversations, "conversation")
    return f"{said}, {counted(done.records, 'record')}" if done.records else said
