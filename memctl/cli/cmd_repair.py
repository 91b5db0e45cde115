"""`memctl repair`: print the plan, or carry it out."""

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
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without it the plan is printed.")] = False,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the repaired copy there; replaces FILE."),
    ] = None,
    fix_text: Annotated[
        bool, typer.Option("--fix-text", help="U+FFFD for half of a surrogate pair, too.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="CODE", help="Repair only what has this code; may be repeated."),
    ] = None,
    input_format: Annotated[
        str | None, typer.Option("--input-format", metavar="F", help="Take the files for this format.")
    ] = None,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 whatever is left.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Mend what `inspect` finds. What leaves a file goes to quarantine; a second repair finds nothing.

    Without --apply the plan is printed and nothing is changed. Exit 1 if something would change, or an error
    or a warning is left. Stop a Go service that has the files open first: this rewrites them.
    `memctl help codes` says what is mended and what is left.
    """
    invocation: Invocation = ctx.obj
    out = invocation.out
    store = invocation.store()
    with out.progress("repairing" if apply else "planning") as progress:
        done = store.repair(
            *(targets or ()),
            apply=apply,
            output=output,
            fix_text=fix_text,
            only=only or (),
            input_format=input_format,
            progress=progress.advance,
        )
    if as_json:
        out.json(done.report())
    else:
        from memctl.cli import page_repair
        from memctl.cli.retyped import typed

        more = [word for code in only or () for word in ("--only", code)]
        more += [] if input_format is None else ["--input-format", input_format]
        more += ["--fix-text"] if fix_text else []
        said = typed(store, invocation.typed, targets or (), more)
        page = page_repair.text(done, said, output=output, colour=out.colour, columns=out.columns)
        out.report(page, styled=True)
    if not targets:
        tell_of_tenants(store, out)
    if not done.is_clean and not exit_zero:
        raise Answer(1)
