"""`memctl records`: the records of a user, as they are stored."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.option_values import output_format
from memctl.core.tier import TIERS
from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.cli.output import Output
    from memctl.core.record import Record

FORMATS = ("table", "jsonl", "json", "text")


def command(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose memory.")],
    tier: Annotated[str | None, typer.Option("--tier", metavar="T", help="Only hot, warm or cold.")] = None,
    scope: Annotated[str | None, typer.Option("--scope", metavar="S", help="Only of this scope.")] = None,
    limit: Annotated[
        int | None, typer.Option("-k", "--limit", metavar="N", help="Only the first N.", min=0)
    ] = None,
    archived: Annotated[
        bool, typer.Option("--archived", help="Instead those that left cold, the newest first.")
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "-f", "--format", metavar="F", help="table, jsonl, json or text; table on a terminal, else jsonl."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as -f json.")] = False,
) -> None:
    """List the records of a user: the hottest first, in a tier those with the newest access first.

    jsonl is the stored lines; accesses that no reconcile has counted in yet are added. Nothing is changed.
    """
    invocation: Invocation = ctx.obj
    out = invocation.out
    form = output_format(form, as_json, FORMATS, "table" if out.is_terminal else "jsonl")
    if tier is not None and tier not in TIERS:
        raise UsageError(f"no tier {tier}; there are {', '.join(TIERS)}")
    if archived and tier is not None:
        raise UsageError("what is archived is in no tier: leave --tier or --archived out")
    memory = invocation.memory(user)
    found = memory.records(tier=tier, scope=scope, limit=limit, archived=archived)
    if not (found.records or found.bad or archived or tier or limit == 0) and scope is None:
        out.talk(f"no records of {user}; memctl stats lists the users")
    for item in found.bad:
        cut = "" if item.terminated else ", cut off"
        out.talk(f"line {item.line} of {user} in {item.tier} is no record{cut}: memctl inspect {user}")
    if not archived and (reason := memory.unread_accesses()):
        out.talk(f"accesses that no reconcile has counted in are not shown: {reason}")
    _print(out, found.records, form, archived)


def _print(out: "Output", records: "list[Record]", form: str, archived: bool) -> None:
    if form == "jsonl":
        out.lines(record.raw + b"\n" for record in records)
    elif form == "json":
        out.bytes(b"[" + b",".join(record.raw for record in records) + b"]\n")
    else:
        from memctl.cli import record_view

        if form == "text":
            for block in record_view.blocks(records, archived=archived):
                out.text(block, styled=True)
        elif archived:
            record_view.print_archived(out, records)
        else:
            record_view.print_table(out, records)
