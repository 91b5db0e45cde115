"""`memctl purge`: remove for good what is kept aside."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.guard import Answer
from memctl.cli.output import counted

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation

#: How one thing of a kind is called, and several.
_THINGS = {
    "trash": ("entry in the trash", "entries in the trash"),
    "archive": ("archived record", "archived records"),
    "quarantine": ("item in quarantine", "items in quarantine"),
    "events": ("event", "events"),
    "leftovers": ("file that a killed process left", "files that killed processes left"),
}


def command(
    ctx: typer.Context,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="KIND", help="trash, archive, quarantine or events, or several."),
    ] = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="AGE", help="Only what is older: 24h, 30d.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it the plan is printed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object that names each item.")] = False,
) -> None:
    """Remove trash, archive, quarantine and events for good. Nothing brings them back.

    Conversations and the records in the tiers stay. -v before the command names each item.
    """
    from memctl.cli.tenants import tell_of_tenants

    invocation: Invocation = ctx.obj
    out = invocation.out
    store = invocation.store()
    age_s = None if older_than is None else _seconds(older_than)
    done = store.purge(only=only or (), older_than_s=age_s, apply=yes)
    if invocation.tenant is None:
        tell_of_tenants(store, out)
    if as_json:
        out.json(done._asdict())
    else:
        verb = "removed" if done.applied else "would be removed"
        lines = [
            f"{verb}: {_counted(row['items'], row['kind'])}, {counted(row['bytes'], 'byte')}"
            for row in done.kinds
        ]
        if out.verbose:
            lines += [f"{verb}: {_item(row)}" for row in done.items]
        out.report("".join(f"{line}\n" for line in lines))
    for row in done.failed:
        what = " ".join(text for text in (row["kind"], row["user"], row["name"]) if text)
        out.talk(f"{what} stays: {row['message']}")
    if not done.applied:
        out.talk("nothing was changed; --yes does it")
    if done.failed or not done.applied:
        raise Answer(1)


def _seconds(text: str) -> float:
    from memctl.errors import UsageError
    from memctl.settings import Setting

    try:
        return float(Setting("--older-than", "duration", 0, "").parse(text))
    except ValueError as error:
        raise UsageError(f"--older-than {text!r}: {error}") from None


def _counted(number: int, kind: str) -> str:
    return f"{number:,} {_THINGS[kind][number != 1]}"


def _item(row: dict[str, object]) -> str:
    whose = f" of {row['user']}" if row["user"] else ""
    when = f", {row['time']}" if row["time"] else ""
    return f"{row['kind']} {row['name']}{whose} ({row['bytes']} bytes{when})"
