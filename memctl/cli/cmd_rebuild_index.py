"""`memctl rebuild-index`: make the caches anew from the files."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.guard import Answer
from memctl.cli.output import counted

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation

KEYS = ("users", "conversations", "messages", "records", "added", "removed", "differences")


def command(
    ctx: typer.Context,
    ref: Annotated[
        str | None, typer.Argument(metavar="[USER|REF]", help="Only this user or conversation.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only compare; exit 1 if they differ.")] = False,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 also if they differ.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make the caches of conversations anew from their files, which alone hold what counts."""
    invocation: Invocation = ctx.obj
    out = invocation.out
    store = invocation.store()
    user = conversation = None
    if ref is not None:
        reference = store.setup.reference(ref, conversation=None)
        user, conversation = reference.user, reference.conversation
        if conversation is not None:
            store.conversation(user, conversation, create=False)
    with out.progress("rebuilding") as progress:
        done = store.rebuild_index(user, conversation, check=check, progress=progress.advance)
    if as_json:
        # Long-term records have no caches yet; scripts find the key already.
        report = done._asdict()
        out.json({key: report.get(key, 0) for key in KEYS})
    elif check:
        differing = counted(done.differences, "cache")
        verb = "differs" if done.differences == 1 else "differ"
        out.report(f"{counted(done.conversations, 'conversation')}, {differing} {verb}\n")
    else:
        out.report(
            f"{counted(done.conversations, 'conversation')}, {counted(done.messages, 'message')}: "
            f"{counted(done.added, 'cache')} made, {done.removed} removed\n"
        )
    if check and done.differences and not exit_zero:
        raise Answer(1)
