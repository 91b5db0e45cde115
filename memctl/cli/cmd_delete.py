"""`memctl delete`: move a conversation to the trash."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.guard import Answer
from memctl.cli.output import counted

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation


def command(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="USER/CONVERSATION.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it the plan is printed.")] = False,
    hard: Annotated[bool, typer.Option("--hard", help="Remove it for good, not to the trash.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Move a conversation, with its activities, to the trash; its caches go too.

    `memctl trash restore REF` brings it back. Stop a Go service that has the conversation open first.
    """
    invocation: Invocation = ctx.obj
    done = invocation.store().at(ref).delete(hard=hard, apply=yes)
    if as_json:
        invocation.out.json(done._asdict())
    else:
        what = f"{done.conversation} ({counted(done.bytes, 'byte')})"
        if hard:
            said = "removed for good" if done.applied else "would be removed for good"
        else:
            said = "gone to the trash" if done.applied else "would go to the trash"
        invocation.out.report(f"{what}: {said}\n")
    if not done.applied:
        invocation.out.talk("nothing was changed; --yes does it")
        raise Answer(1)
