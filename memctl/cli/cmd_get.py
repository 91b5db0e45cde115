"""`memctl get`: one record by its id."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.errors import UsageError

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
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and -f {form} contradict each other")
    form = form or "jsonl"
    if form not in FORMATS:
        raise UsageError(f"no format {form}; there are {', '.join(FORMATS)}")
    store = invocation.store()
    record = store.memory(store.setup.reference(user, conversation=False).user).get(id)
    if form == "text":
        from memctl.cli import record_view

        for block in record_view.blocks([record]):
            invocation.out.text(block, styled=True)
    else:
        invocation.out.bytes(record.raw + b"\n")
