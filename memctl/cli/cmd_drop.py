"""`memctl drop`: remove single messages, to quarantine."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.guard import Answer

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation


def command(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="USER/CONVERSATION.")],
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids as `memctl show` prints them.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it the plan is printed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Remove messages from a conversation, a call together with its results. Their bytes go to quarantine.

    Stop a Go service that has the conversation open first: this rewrites the file.
    """
    invocation: Invocation = ctx.obj
    done = invocation.store().at(ref).drop(ids, apply=yes)
    if as_json:
        invocation.out.json(done._asdict())
    else:
        verb = "removed" if done.applied else "would remove"
        lines = [f"{verb} {item['id']} (line {item['line']}, {item['bytes']} bytes)" for item in done.dropped]
        if done.summaries_rewritten:
            lines.append(f"summaries that say anew what they cover: {done.summaries_rewritten}")
        invocation.out.report("".join(f"{line}\n" for line in lines))
    if done.late_bytes:
        invocation.out.talk(f"{done.late_bytes} bytes that arrived meanwhile were kept behind the rest")
    if not done.applied:
        invocation.out.talk("nothing was changed; --yes does it")
        raise Answer(1)
