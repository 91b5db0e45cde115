"""`memctl list`: the conversations of a store, newest first."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli.option_values import output_format

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.ops.listing import Listed

FORMATS = ("table", "jsonl", "json", "text")


def command(
    ctx: typer.Context,
    user: Annotated[str | None, typer.Argument(metavar="[USER]", help="Only this user's.")] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "-f", "--format", metavar="F", help="table, jsonl, json or text; table on a terminal, else jsonl."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as -f json.")] = False,
) -> None:
    """List conversations, newest first. A damaged file is listed; an unknown user has none."""
    invocation: Invocation = ctx.obj
    out = invocation.out
    form = output_format(form, as_json, FORMATS, "table" if out.is_terminal else "jsonl")
    store = invocation.store()
    name = None if user is None else store.setup.reference(user, conversation=False).user
    found = store.conversations(name)
    for note in found.notes:
        out.talk(note)
    rows = found.conversations
    if form == "json":
        out.json([_row(row) for row in rows], report=False)
    elif form == "jsonl":
        from memctl.core import jsonl

        out.lines(jsonl.dumps(_row(row)) + b"\n" for row in rows)
    elif form == "text":
        out.text("".join(f"{_name(row)}\n" for row in rows))
    else:
        columns = ("conversation", "messages", "updated", "last", "summaries", "problems", "bytes")
        out.table(columns, [_cells(row) for row in rows], right=(1, 4, 5, 6))


def _row(row: "Listed") -> dict[str, Any]:
    value = row._asdict()
    del value["mtime_ns"]
    if row.addressable:
        del value["addressable"], value["path"]
    return value


def _name(row: "Listed") -> str:
    from memctl.core.names import Reference

    return Reference(row.user, row.conversation).written() if row.addressable else row.path


def _cells(row: "Listed") -> tuple[str, ...]:
    return (
        _name(row),
        str(row.messages),
        # To the minute, in UTC.
        (row.updated_at or "-").replace("T", " ")[:16],
        row.last_role or "-",
        str(row.summaries),
        str(row.problems),
        str(row.bytes),
    )
