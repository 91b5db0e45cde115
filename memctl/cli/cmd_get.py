"""`memctl get`: one record by its id."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.option_values import output_format

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation

FORMATS = ("jsonl", "json", "text")


def command(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose memory.")],
    id: Annotated[str, typer.Argument(metavar="ID", help="The record.")],
    form: Annotated[
        str | None, typer.Option("-f", "--format", metavar="F", help="jsonl, json or text.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as -f json.")] = False,
) -> None:
    """Print a record as it is stored; accesses that no reconcile has counted in yet are added."""
    invocation: Invocation = ctx.obj
    form = output_format(form, as_json, FORMATS, "jsonl")
    memory = invocation.memory(user)
    record = memory.get(id)
    if reason := memory.unread_accesses():
        invocation.out.talk(f"accesses that no reconcile has counted in are not shown: {reason}")
    if form == "text":
        from memctl.cli import record_view

        for block in record_view.blocks([record]):
            invocation.out.text(block, styled=True)
    else:
        invocation.out.bytes(record.raw + b"\n")
