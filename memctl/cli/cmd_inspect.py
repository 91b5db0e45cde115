"""`memctl inspect`: say what files hold and exactly what is wrong with them."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.guard import Answer
from memctl.cli.tenants import tell_of_tenants

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation


def command(
    ctx: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGET…]",
            help="USER/CONVERSATION, USER, a file, a directory, or -; none: the whole store.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for a warning too.")] = False,
    tokens: Annotated[bool, typer.Option("--tokens", help="Count the tokens.")] = False,
    probe: Annotated[bool, typer.Option("--probe", help="Try to write in the store, too.")] = False,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 whatever is found.")] = False,
    input_format: Annotated[
        str | None, typer.Option("--input-format", metavar="F", help="Take the files for this format.")
    ] = None,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write the page as HTML there, too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say what is in conversations and records and what is wrong, line by line. Nothing is changed.

    Exit 1 if there is an error. `memctl help codes` explains the words for what can be wrong.
    """
    invocation: Invocation = ctx.obj
    out = invocation.out
    store = invocation.store()
    if probe:
        store.probe()
    with out.progress("inspecting") as progress:
        found = store.inspect(
            *(targets or ()),
            tokens=tokens,
            input_format=input_format,
            excerpts=not as_json or html is not None,
            progress=progress.advance,
        )
    if not as_json or html is not None:
        from memctl.cli.retyped import typed

        more = () if input_format is None else ("--input-format", input_format)
        said = typed(store, invocation.typed, targets or (), more)
    if html is not None:
        from memctl.cli import page_html

        store.write_page(html, page_html.html(found, said))
        out.talk(f"the page is in {html}")
    if as_json:
        out.json({**found.report(), **({"probe": True} if probe else {})})
    else:
        from memctl.cli import page_inspect

        out.report(page_inspect.text(found, said, colour=out.colour, columns=out.columns), styled=True)
    if not targets:
        tell_of_tenants(store, out)
    if not exit_zero and (found.errors or not found.complete or (strict and found.warnings)):
        raise Answer(1)
