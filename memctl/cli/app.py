"""The Typer application: global options, and commands that are imported when they are called.

This module and those of the commands have real annotations, not `from __future__ import annotations`: typer
compiles and evaluates the text of each one four times, 3 to 4 ms a command.
"""

import gc
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from memctl.cli.catalogue import COMMANDS, GROUPS
from memctl.cli.invocation import Invocation
from memctl.errors import UsageError

if TYPE_CHECKING:
    from typer._click import Command as ClickCommand
    from typer._click import Context, HelpFormatter
    from typer._click.exceptions import NoSuchOption

    from memctl.cli.output import Output

#: Variable through which a shell asks for completions; click makes the name from the program's.
_COMPLETION_VARIABLE = "_MEMCTL_COMPLETE"
_HELP_NAMES = ["-h", "--help"]


class Subcommand(TyperCommand):
    """One command; the collector, off while arguments are parsed, is on while it runs."""

    def get_help_option_names(self, ctx: "Context") -> list[str]:
        # The inherited list comes from a set: its order, and so the help, would differ from run to run.
        return _HELP_NAMES

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        # Typer writes an argument that has to be there in braces.
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def invoke(self, ctx: "Context") -> Any:
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return super().invoke(ctx)


class Root(TyperGroup):
    """`memctl` itself: looks commands up in the catalogue, prints the help from it."""

    def get_help_option_names(self, ctx: "Context") -> list[str]:
        return _HELP_NAMES

    def list_commands(self, ctx: "Context") -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: "Context", cmd_name: str) -> "ClickCommand | None":
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        import importlib

        module = importlib.import_module(f"memctl.cli.{entry.module}")
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(name=cmd_name, cls=Subcommand, short_help=entry.help)(getattr(module, entry.function))
        return typer.main.get_command(single)

    def resolve_command(
        self, ctx: "Context", args: list[str]
    ) -> "tuple[str | None, ClickCommand | None, list[str]]":
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None and not ctx.resilient_parsing:
            import difflib

            near = difflib.get_close_matches(name.lower(), COMMANDS, n=1)
            raise UsageError(
                f"no command {name!r}",
                hint=f"the nearest is {near[0]}" if near else "memctl --help lists them",
            )
        return name, command, args[1:]

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        for group in GROUPS:
            rows = [(name, entry.help) for name, entry in COMMANDS.items() if entry.group == group]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows, col_max=20)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        self.format_commands(ctx, formatter)
        rows = [record for param in self.get_params(ctx) if (record := param.get_help_record(ctx))]
        with formatter.section("Global options"):
            formatter.write_dl(rows)


def _print_version(ctx: typer.Context, value: bool) -> None:
    if value:
        from memctl import __version__

        ctx.obj.out.text(f"memctl {__version__}\n")
        raise typer.Exit


def _global_options(
    ctx: typer.Context,
    root: Annotated[
        str | None, typer.Option("--root", metavar="DIR", help="The store. [MEMCTL_ROOT]", show_default=False)
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant", metavar="T", help="A tenant of the store. [MEMCTL_TENANT]", show_default=False
        ),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            "--config", metavar="FILE", help="Settings instead of ROOT/memctl.toml. [MEMCTL_CONFIG]"
        ),
    ] = None,
    lock_timeout: Annotated[
        str | None, typer.Option("--lock-timeout", metavar="S", help="Seconds to wait for a lock.")
    ] = None,
    now: Annotated[
        str | None, typer.Option("--now", metavar="TIME", help="Use this time for the clock's. [MEMCTL_NOW]")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="ID", help="Written into events. [MEMCTL_RUN_ID]")
    ] = None,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Errors only; no report of a success.")
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Say more; show where a bug is.")] = False,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Keep what language-model agents remember in plain files, and cut windows that can be sent."""
    ctx.obj.configure(
        root=root,
        tenant=tenant,
        config_file=config,
        lock_timeout=lock_timeout,
        now=now,
        run_id=run_id,
        quiet=quiet,
        verbose=verbose,
    )


def build(*, completion: bool = False) -> Root:
    """The application; `completion` adds the options that install and show shell completion."""
    app = typer.Typer(
        cls=Root,
        add_completion=completion,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        epilog="memctl COMMAND --help explains a command, memctl help lists the pages of the manual.",
    )
    app.callback()(_global_options)
    root = typer.main.get_command(app)
    assert isinstance(root, Root)
    return root


def run(arguments: list[str], out: "Output") -> int:
    """Parse and run one command; the exit code. Raises what the command raises, and click's usage errors."""
    if _COMPLETION_VARIABLE in os.environ:
        build(completion=True).main(arguments, prog_name="memctl")
    # The completion options cost as much as all others together; they are there when they can matter.
    rare = not arguments or any(
        argument in ("-h", "--help", "help") or "-completion" in argument for argument in arguments
    )
    root = build(completion=rare)
    try:
        # Not `root.main`: that turns a closed pipe into exit 1, and prints errors in its own way.
        with root.make_context("memctl", arguments or ["--help"], obj=Invocation(out)) as ctx:
            result = root.invoke(ctx)
    except typer.Exit as ended:
        return ended.exit_code
    return result if isinstance(result, int) else 0


def usage_error(error: BaseException, arguments: list[str]) -> UsageError | None:
    """What to say about an error of click's own, with the next thing to try; None if it is not one."""
    from typer._click import exceptions

    if isinstance(error, typer.Abort):
        return UsageError("aborted")
    if not isinstance(error, exceptions.ClickException):
        return None
    ctx = getattr(error, "ctx", None)
    if isinstance(error, exceptions.NoSuchOption):
        return _no_such_option(error, ctx, arguments)
    message = _said_plainly(error.format_message().rstrip("."))
    hint = f"{ctx.command_path if ctx else 'memctl'} --help"
    if message.startswith("Got unexpected extra argument"):
        hint += "; a text with spaces is put in quotes"
    return UsageError(message[:1].lower() + message[1:], hint=hint)


def _said_plainly(message: str) -> str:
    """A message of click without its words for types."""
    for theirs, ours in (
        ("is not a valid int range", "is not a whole number, 0 or more"),
        ("is not in the range x>=0", "is not 0 or more"),
        ("is not a valid int", "is not a whole number"),
        ("is not a valid float", "is not a number"),
    ):
        message = message.replace(theirs, ours)
    return message


def _no_such_option(error: "NoSuchOption", ctx: "Context | None", arguments: list[str]) -> UsageError:
    """The hint is a global option's place, `--` before a text that begins with `-`, or the nearest option."""
    name = error.option_name
    given = next((argument for argument in arguments if argument.startswith(name)), name)
    message = f"no such option: {name}" + (f" (in {given!r})" if given.partition("=")[0] != name else "")
    if ctx is None or ctx.parent is None:
        near = f"; the nearest is {error.possibilities[0]}" if error.possibilities else ""
        return UsageError(message, hint=f"memctl --help{near}")
    known = _global_usage(ctx.find_root().command)
    if name in known:
        hint = f"it is a global option: memctl {known[name]} {ctx.info_name} …"
    elif name[1:2].isdigit() or any(map(str.isspace, given)):
        hint = f"put -- before a text that begins with -: {ctx.command_path} … -- {given!r}"
    elif error.possibilities:
        hint = f"the nearest is {error.possibilities[0]}"
    else:
        hint = f"{ctx.command_path} --help; put -- before a text that begins with -"
    return UsageError(message, hint=hint)


def _global_usage(root: "ClickCommand") -> dict[str, str]:
    """Each name of a global option -> how it is written: `--root` -> `--root DIR`."""
    return {
        name: f"{name} {param.metavar}" if param.metavar else name
        for param in root.params
        for name in param.opts
        if name != "--version"
    }
