"""`memctl show`: print a conversation for reading."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.option_values import output_format
from memctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memctl.cli.invocation import Invocation
    from memctl.cli.output import Output
    from memctl.core.message import Message
    from memctl.ops.read import Log

FORMATS = ("text", "jsonl", "json", "markdown")


def command(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="USER/CONVERSATION, or the path of a file.")],
    last: Annotated[int | None, typer.Option("--last", metavar="N", help="Only the last N messages.")] = None,
    span: Annotated[
        str | None, typer.Option("--range", metavar="A:B", help="Messages A to B, B excluded; from 0.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on as messages arrive; Ctrl-C ends.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Do not fold calls and long results.")] = False,
    form: Annotated[
        str | None, typer.Option("-f", "--format", metavar="F", help="text, jsonl, json or markdown.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as -f json.")] = False,
) -> None:
    """Print a conversation: index, role, time, id and markers of each message, then what it says."""
    invocation: Invocation = ctx.obj
    out = invocation.out
    form = output_format(form, as_json, FORMATS, "text")
    if follow and ref == "-":
        raise UsageError("standard input ends; there is nothing to follow")
    if follow and form == "json":
        raise UsageError("one JSON array cannot follow a conversation; -f jsonl can")
    if last is not None and (span is not None or last < 0):
        raise UsageError("--last takes a number that is not negative, and no --range beside it")
    conversation = invocation.store().at(ref)
    with out.progress("reading") as progress:
        log = conversation.read(last=last, span=_span(span), progress=progress.advance)
    _say(out, log)
    _print(out, log.messages, form, full)
    if follow:
        out.flush()
        for more in conversation.follow(log.total):
            _say(out, more)
            _print(out, more.messages, form, full)
            out.flush()


def _say(out: "Output", log: "Log") -> None:
    """Name the lines that hold no message, and those that are not printed as they are stored."""
    if log.findings or log.mended:
        from memctl.core.finding import summed_up

        for phrase in summed_up(log.findings):
            out.talk(f"{log.name}: no message: {phrase}")
        for phrase in summed_up(log.mended):
            out.talk(f"{log.name}: mended in what is printed: {phrase}")


def _span(text: str | None) -> tuple[int | None, int | None] | None:
    if text is None:
        return None
    start, colon, end = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return int(start) if start else None, int(end) if end else None
    except ValueError:
        raise UsageError(f"--range takes A:B, two numbers of messages, not {text!r}") from None


def _print(out: "Output", messages: "list[Message]", form: str, full: bool) -> None:
    if form == "jsonl":
        out.lines(message.raw + b"\n" for message in messages)
        return
    if form == "json":
        from memctl.core import jsonl
        from memctl.formats.encoding import encode
        from memctl.formats.openai import to_json

        values = [jsonl.exact(message.raw.decode("utf-8")) for message in messages]
        out.bytes(encode(to_json(values)) + b"\n")
        return
    for block in _blocks(out, messages, form, full):
        out.text(block, styled=True)


def _blocks(out: "Output", messages: "list[Message]", form: str, full: bool) -> "Iterable[str]":
    from memctl.formats.text import Entry, log_text

    entries = [
        Entry(message.position, message.line, message.id, message.created_at, message.value, len(message.raw))
        for message in messages
    ]
    if form == "markdown":
        from memctl.formats.markdown import log_markdown

        return log_markdown(entries)
    return log_text(entries, colour=out.colour, full=full)
