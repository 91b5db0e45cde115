"""`memctl window`: print the messages to send, as many as fit."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.output import counted
from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.cli.output import Output
    from memctl.core.window import Window

FORMATS = ("jsonl", "json", "openai", "anthropic", "text")


def command(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="USER/CONVERSATION, or the path of a file.")],
    budget: Annotated[
        int | None,
        typer.Option(
            "-b", "--budget", metavar="N", help="Tokens that may be used; 0: no limit. [window.budget]"
        ),
    ] = None,
    counter: Annotated[
        str | None,
        typer.Option("--counter", metavar="C", help="o200k_base, cl100k_base or bytes4. [window.counter]"),
    ] = None,
    pending: Annotated[
        str | None, typer.Option("--pending", metavar="TEXT", help="A user message to end with, not stored.")
    ] = None,
    reserve: Annotated[int, typer.Option("--reserve", metavar="N", help="Take N off the budget.")] = 0,
    plain: Annotated[bool, typer.Option("--plain", help="The Go program's rule, to the letter.")] = False,
    keep_open: Annotated[
        bool, typer.Option("--keep-open", help="Keep the last calls though results are missing.")
    ] = False,
    no_incomplete: Annotated[
        bool, typer.Option("--no-incomplete", help="Leave out answers marked incomplete.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 65 if a line has to be left out.")] = False,
    form: Annotated[
        str | None,
        typer.Option("-f", "--format", metavar="F", help="jsonl, json, openai, anthropic or text."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say on stderr how it was chosen, as one JSON object.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as -f json.")] = False,
) -> None:
    """Print the messages to send: head, last summary, and the newest messages that fit in the budget.

    The window is always valid to send: calls keep their results, a cut never parts them, and it begins with
    a user message where there is one. What had to be left out is named on standard error.
    """
    invocation: Invocation = ctx.obj
    out = invocation.out
    chosen = _form(form, as_json)
    if pending is not None and not pending.strip():
        raise UsageError("--pending is blank: services refuse such a message")
    with out.progress("counting") as progress:
        window = (
            invocation.store()
            .at(ref)
            .window(
                budget,
                counter=counter,
                pending=pending,
                reserve=reserve,
                plain=plain,
                keep_open=keep_open,
                no_incomplete=no_incomplete,
                strict=strict,
                counted=explain,
                progress=progress.advance,
            )
        )
    _say(out, window)
    if explain:
        out.object_on_stderr(window.explain())
    _print(out, window, chosen)


def _form(form: str | None, as_json: bool) -> str:
    if form is None:
        return "json" if as_json else "jsonl"
    if form not in FORMATS:
        raise UsageError(f"no format {form}; there are {', '.join(FORMATS)}")
    if as_json and form in ("jsonl", "text"):
        raise UsageError(f"--json and -f {form} contradict each other")
    return form


def _say(out: "Output", window: "Window") -> None:
    if window.left_out or window.mended:
        from memctl.core.finding import summed_up

        for phrase in summed_up(window.left_out):
            out.talk(f"{window.conversation}: left out: {phrase}")
        for phrase in summed_up(window.mended):
            out.talk(f"{window.conversation}: mended in what is printed: {phrase}")
    if window.summary_shortened:
        what = "was left out" if window.summary is None else "was shortened from its oldest part"
        out.talk(f"{window.conversation}: the summary did not fit and {what}")
    if window.over_budget:
        out.talk(f"{window.conversation}: {window.tokens} tokens, more than the budget allows")
    if window.plain and window.covered:
        out.talk(f"{window.conversation}: {counted(window.covered, 'message')} hidden by the last summary")


def _print(out: "Output", window: "Window", form: str) -> None:
    if form == "jsonl":
        out.lines(line + b"\n" for line in window.lines)
        return
    messages = window.messages
    if form == "text":
        from memctl.formats.text import window_text

        out.text(window_text(messages), styled=True)
        return
    from memctl.formats.encoding import encode

    if form == "anthropic":
        from memctl.formats.anthropic import to_anthropic

        out.bytes(encode(to_anthropic(messages)) + b"\n")
        return
    from memctl.formats.openai import to_json, to_openai

    out.bytes(encode(to_openai(messages) if form == "openai" else to_json(messages)) + b"\n")
