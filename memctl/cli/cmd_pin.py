"""`memctl pin` and `memctl unpin`: records that stay in their tier, whatever the policy says."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.output import counted

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.ops.pin import Pinned

User = Annotated[str, typer.Argument(metavar="USER", help="Whose memory.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="The records: all of them, or none.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def pin(ctx: typer.Context, user: User, ids: Ids, as_json: AsJson = False) -> None:
    """Keep records in their tier: reconcile neither moves nor evicts them. They take room there."""
    invocation: Invocation = ctx.obj
    _say(invocation, invocation.memory(user).pin(*ids), as_json)


def unpin(ctx: typer.Context, user: User, ids: Ids, as_json: AsJson = False) -> None:
    """Let records move again as the policy says."""
    invocation: Invocation = ctx.obj
    _say(invocation, invocation.memory(user).unpin(*ids), as_json)


def _say(invocation: "Invocation", done: "Pinned", as_json: bool) -> None:
    if as_json:
        invocation.out.json(done._asdict())
        return
    verb = "pinned" if done.pinned else "unpinned"
    lines = [f"{verb} {id}\n" for id in done.changed]
    if done.unchanged:
        lines.append(f"{counted(len(done.unchanged), 'record')} {verb} before\n")
    invocation.out.report("".join(lines))
