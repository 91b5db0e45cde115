"""`memctl count`: the tokens of a conversation or of its window."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation


def command(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="USER/CONVERSATION, or the path of a file.")],
    window: Annotated[bool, typer.Option("--window", help="Count the window instead of the log.")] = False,
    budget: Annotated[
        int | None, typer.Option("-b", "--budget", metavar="N", help="The window's budget.")
    ] = None,
    counter: Annotated[
        str | None, typer.Option("--counter", metavar="C", help="o200k_base, cl100k_base or bytes4.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, with tokens by role.")] = False,
) -> None:
    """Print the tokens of the whole log, or with --window of the window, as a bare number."""
    invocation: Invocation = ctx.obj
    if budget is not None and not window:
        raise UsageError("-b is for --window")
    conversation = invocation.store().at(ref)
    with invocation.out.progress("counting") as progress:
        if window and not as_json:
            # The rest of the log need not be counted for this.
            chosen = conversation.window(budget, counter=counter, progress=progress.advance)
            invocation.out.text(f"{chosen.tokens}\n")
            return
        given = budget if budget is not None else int(invocation.settings["window.budget"])
        counted = conversation.count(
            counter, window_budget=given if window else None, by_role=as_json, progress=progress.advance
        )
    if as_json:
        invocation.out.json(counted._asdict(), report=False)
    else:
        invocation.out.text(f"{counted.tokens}\n")
