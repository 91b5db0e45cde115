"""`memctl activities`: print or replace a conversation's activities."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.given import read_whole

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation


def command(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="USER/CONVERSATION.")],
    new: Annotated[
        str | None,
        typer.Option("--set", metavar="FILE", help="Replace them by FILE's JSON array, - for stdin."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Print the activities of a conversation, a JSON array, or replace them whole.

    memctl does not look into them. Stop a Go service that has the conversation open before replacing them.
    """
    invocation: Invocation = ctx.obj
    conversation = invocation.store().at(ref)
    if new is not None:
        conversation.set_activities(read_whole(new, invocation.out, "a JSON array"))
    stored = conversation.activities()
    if as_json:
        from memctl.core import jsonl

        invocation.out.json(
            {
                "conversation": conversation.reference.written(),
                "activities": jsonl.exact(stored.decode("utf-8")),
                "replaced": new is not None,
            },
            report=new is not None,
        )
    elif new is None:
        invocation.out.bytes(stored + b"\n")
