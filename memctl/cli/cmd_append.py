"""`memctl append`: store messages at the end of a conversation."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.given import read_whole
from memctl.cli.output import counted
from memctl.core import marker
from memctl.core.message import chosen_role, compose
from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.cli.output import Output
    from memctl.ops.append import Appended


def command(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="USER/CONVERSATION; it is created.")],
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="One message. Without it: JSON lines.")
    ] = None,
    role: Annotated[
        str,
        typer.Option(
            "-r", "--role", metavar="ROLE", help="Role of TEXT; user unless an option below says else."
        ),
    ] = "",
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the speaker.")] = "",
    tool_call_id: Annotated[
        str, typer.Option("--tool-call-id", metavar="ID", help="The call that TEXT answers.")
    ] = "",
    tool_name: Annotated[
        str, typer.Option("--tool-name", metavar="NAME", help="Name of the tool that answers.")
    ] = "",
    id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Id of the message: a retry is then safe.")
    ] = None,
    summary: Annotated[bool, typer.Option("--summary", help="TEXT stands for all before it.")] = False,
    incomplete: Annotated[bool, typer.Option("--incomplete", help="TEXT may be cut short.")] = False,
    ephemeral: Annotated[bool, typer.Option("--ephemeral", help="Echo TEXT, do not store it.")] = False,
    input_file: Annotated[
        str | None, typer.Option("--input", metavar="FILE", help="Read JSON lines from FILE, - for stdin.")
    ] = None,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Store the other lines when one is bad.")
    ] = False,
    no_fsync: Annotated[bool, typer.Option("--no-fsync", help="Do not wait for the disk.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object about what was done.")] = False,
) -> None:
    """Store messages at the end of a conversation; they are on the disk when it returns.

    With TEXT one message: role user, but tool with --tool-call-id, assistant with --summary or --incomplete.
    Without TEXT: one JSON object a line from --input or standard input; one bad line refuses all of it.
    """
    invocation: Invocation = ctx.obj
    store = invocation.store()
    fsync = False if no_fsync else None
    if text is None:
        flags = (role, name, tool_call_id, tool_name, id, summary, incomplete, ephemeral)
        if any(flags):
            raise UsageError("-r, --name, --id and the like are for TEXT; JSON lines bring their own")
        conversation = store.at(ref)
        done = conversation.append_jsonl(
            read_whole(input_file, invocation.out, "JSON lines"), skip_invalid=skip_invalid, fsync=fsync
        )
    else:
        if input_file is not None or skip_invalid:
            raise UsageError(
                "TEXT and JSON lines exclude each other: leave TEXT, or --input and --skip-invalid"
            )
        message = compose(
            chosen_role(role, tool_call_id, answers=summary or incomplete),
            text,
            name=name,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            markers=_markers(summary, incomplete, ephemeral),
            id=_id(id),
        )
        done = store.at(ref).append_messages([message], fsync=fsync)
    _say(invocation.out, done)
    if as_json:
        invocation.out.json(done.report())
    else:
        _echo(invocation.out, done)


def _markers(summary: bool, incomplete: bool, ephemeral: bool) -> tuple[str, ...]:
    given = ((summary, marker.SUMMARY), (incomplete, marker.INCOMPLETE), (ephemeral, marker.EPHEMERAL))
    return tuple(key for wanted, key in given if wanted)


def _id(id: str | None) -> str | None:
    if id is not None and not id.strip():
        raise UsageError("--id is blank")
    return id


def _say(out: "Output", done: "Appended") -> None:
    """What has to be known beside the answer: healed tails, skipped lines, what the Go reader stops at."""
    for item in done.healed:
        if item["quarantine"] is not None:
            out.talk(
                f"{done.conversation}: a torn tail (line {item['line']}, {item['length']} bytes at offset "
                f"{item['offset']}) was set aside: memctl quarantine show {item['quarantine']}"
            )
        else:
            out.talk(f"{done.conversation}: the last line ({item['line']}) lacked its newline; it was added")
    for item in done.skipped_invalid:
        out.talk(f"line {item['line']} of the input was skipped: {item['reason']}")
    for item in done.go_unreadable:
        out.talk(f"message {item['id']}: {item['code']}, the Go reader stops there")
    if done.duplicates:
        out.talk(f"{counted(done.duplicates, 'message')} stored already, not stored again")


def _echo(out: "Output", done: "Appended") -> None:
    for line in done.echoed:
        out.bytes(line + b"\n")
