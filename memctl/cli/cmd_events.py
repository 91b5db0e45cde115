"""`memctl events`: what happened, oldest first."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.option_values import output_format

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.store.history import Event

FORMATS = ("table", "jsonl", "json")
_COLUMNS = ("time", "type", "user", "what")
#: Keys that have a column of their own.
_SHOWN = frozenset(("time", "type", "user"))
#: Of a list so many items are shown in a table.
_ITEMS_MAX = 3


def command(
    ctx: typer.Context,
    user: Annotated[str | None, typer.Argument(metavar="[USER]", help="Only this user's.")] = None,
    type: Annotated[
        list[str] | None, typer.Option("--type", metavar="T", help="Only this type, or several.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="T", help="From a time on, or from 7d ago on.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("-f", "--format", metavar="F", help="table, jsonl or json; table on a terminal."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as -f json.")] = False,
) -> None:
    """Print what happened to a memory, of one user or of all, oldest first, one event a line.

    Events are history: they may be purged, and a store without them lacks nothing else.
    """
    from memctl.cli.option_values import moment_or_none

    invocation: Invocation = ctx.obj
    out = invocation.out
    form = output_format(form, as_json, FORMATS, "table" if out.is_terminal else "jsonl")
    store = invocation.store()
    name = None if user is None else store.setup.reference(user, conversation=False).user
    moment = moment_or_none("--since", since, store.setup.time_us())
    found = store.events(name, types=type or (), since=moment)
    for odd in found.odd:
        out.talk(f"{odd.path}, line {odd.line}: no event, passed over")
    if found.undated:
        out.talk(f"{found.undated} without a readable time were passed over: --since compares times")
    if form == "json":
        out.json([event.value for event in found.events], report=False)
    elif form == "jsonl":
        out.lines(event.line + b"\n" for event in found.events)
    elif found.events:
        out.table(_COLUMNS, [_cells(event) for event in found.events])


def _cells(event: "Event") -> tuple[str, ...]:
    value = event.value
    # To the second, in UTC.
    time = str(value.get("time") or "-").replace("T", " ")[:19]
    facts = (f"{key} {_shown(given)}" for key, given in value.items() if key not in _SHOWN)
    return time, value["type"], str(value.get("user") or "-"), ", ".join(facts)


def _shown(given: object) -> str:
    if isinstance(given, list):
        more = f" and {len(given) - _ITEMS_MAX:,} more" if len(given) > _ITEMS_MAX else ""
        return " ".join(map(_shown, given[:_ITEMS_MAX])) + more
    if given is None or isinstance(given, bool | dict):
        from memctl.core import jsonl

        return jsonl.dumps(given).decode()
    return str(given)
