"""`memctl search`: the messages that match a query."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.option_values import output_format
from memctl.cli.output import counted
from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.cli.output import Output
    from memctl.core.message import Message
    from memctl.ops.searched import Match

#: So many damaged conversations are named.
_NAMED_MAX = 5
FORMATS = ("table", "jsonl", "json", "text")


def command(
    ctx: typer.Context,
    target: Annotated[
        str, typer.Argument(metavar="USER|REF|PATH", help="A user, USER/CONVERSATION, or a file's path.")
    ],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What is looked for; any of its words.")],
    limit: Annotated[int, typer.Option("-k", "--limit", min=0, metavar="N", help="At most N messages.")] = 5,
    role: Annotated[
        str | None, typer.Option("--role", metavar="R", help="Only messages of this role.")
    ] = None,
    context: Annotated[
        int, typer.Option("--context", min=0, metavar="N", help="N neighbours before and after each.")
    ] = 0,
    form: Annotated[
        str | None,
        typer.Option(
            "-f",
            "--format",
            metavar="F",
            help="table, jsonl, json or text; table on a terminal, text with --context; else jsonl.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as -f json.")] = False,
) -> None:
    """Find the messages that match QUERY, best first: those with its words, or of a day it names.

    A message that was copied into several conversations is printed once. An unknown user has no messages.
    """
    invocation: Invocation = ctx.obj
    out = invocation.out
    for_people = "text" if context else "table"
    form = output_format(form, as_json, FORMATS, for_people if out.is_terminal else "jsonl")
    if context and form == "table":
        raise UsageError("a table has no room for the neighbours of --context", hint="-f text shows them")
    if role is not None:
        from memctl.core.message import ROLES

        if role not in ROLES:
            raise UsageError(f"no role {role}; there are {', '.join(ROLES)}")
    with out.progress("embedding") as progress:
        answer = invocation.store().search(
            target, query, limit=limit, role=role, context=context, progress=progress.advance
        )
    if answer.empty:
        # Whoever forgot ./ or mistyped a name would take the silence for an answer.
        out.talk(f"no messages of {target}; for a file: ./{target}; memctl stats lists the users")
    for name, lines in list(answer.damaged.items())[:_NAMED_MAX]:
        out.talk(f"{name}: left out: {counted(lines, 'damaged line')}; memctl inspect {name}")
    if len(answer.damaged) > _NAMED_MAX:
        out.talk(f"{len(answer.damaged) - _NAMED_MAX:,} more conversations are damaged; memctl inspect")
    if answer.copies:
        said = f"{answer.copies:,} copies" if answer.copies > 1 else "1 copy"
        out.talk(f"left out: {said} of messages in the answer")
    if answer.vectors and answer.vectors["stale"]:
        out.talk(f"{answer.vectors['stale']} stale vectors were passed over; memctl rebuild-index")
    _print(out, answer.found, form)


def _print(out: "Output", found: "list[Match]", form: str) -> None:
    if form == "table":
        from memctl.cli.text_table import print_texts

        print_texts(
            out,
            ("score", "message", "role", "created", "text"),
            [_row(out, match) for match in found],
            right=(0,),
        )
    elif form == "text":
        for match in found:
            out.text(_text(out, match), styled=True)
    else:
        lines = [line(match) for match in found]
        if form == "jsonl":
            out.lines(one + b"\n" for one in lines)
        else:
            out.bytes(b"[" + b",".join(lines) + b"]\n")


def line(match: "Match") -> bytes:
    """A match as one JSON object, the bytes of its messages as they are printed by `show -f jsonl`."""
    from memctl.core import jsonl

    score, name = jsonl.dumps(match.score), jsonl.dumps(match.conversation)
    context = b",".join(b"{" + _message(one) + b"}" for one in match.context)
    own = _message(match.message)
    return b'{"score":%s,"conversation":%s,%s,"context":[%s]}' % (score, name, own, context)


def _message(message: "Message") -> bytes:
    from memctl.core import jsonl

    id = jsonl.dumps(message.id)
    return b'"index":%d,"id":%s,"message":%s' % (message.position, id, message.raw)


def _row(out: "Output", match: "Match") -> "tuple[tuple[str, ...], str]":
    from memctl.cli.text_table import made
    from memctl.formats.chat import text_of

    message = match.message
    place = f"{match.conversation} #{message.position}"
    facts = (f"{match.score:.3f}", place, message.role, made(out, message.created_at))
    return facts, text_of(message.value, " ")


def _text(out: "Output", match: "Match") -> str:
    """The match among its neighbours, as `show` prints messages, under the name of its conversation."""
    from memctl.cli.ink import Ink
    from memctl.core.visible import visible
    from memctl.formats.text import Entry, log_text

    messages = sorted([match.message, *match.context], key=lambda one: one.position)
    entries = [
        Entry(one.position, one.line, one.id, one.created_at, one.value, len(one.raw)) for one in messages
    ]
    head = Ink(out.colour).strong(visible(match.conversation))
    return f"{head}  {match.score:.3f}\n" + "".join(log_text(entries, colour=out.colour))
