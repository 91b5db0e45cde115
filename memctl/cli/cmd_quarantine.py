"""`memctl quarantine`: list or show what was set aside."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation


def command(
    ctx: typer.Context,
    action: Annotated[str, typer.Argument(metavar="[list|show]", help="What to do.")] = "list",
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="The item to show.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON value.")] = False,
) -> None:
    """List what append or drop set aside, or print an item's bytes as they were."""
    invocation: Invocation = ctx.obj
    out = invocation.out
    store = invocation.store()
    if action == "list" and id is None:
        items = store.quarantine()
        if as_json:
            out.json(items, report=False)
        else:
            keys = ("id", "conversation", "reason", "line", "offset", "length")
            rows = [tuple(str(item.get(key, "-")) for key in keys) for item in items]
            out.table(keys, rows, right=(3, 4, 5))
    elif action == "show" and id is not None:
        data = store.quarantined(id)
        if as_json:
            note = next(item for item in store.quarantine() if item["id"] == id)
            out.json({**note, "text": data.decode("utf-8", "replace")}, report=False)
        elif out.is_terminal:
            out.text(data.decode("utf-8", "replace"))
        else:
            out.raw(data)
    else:
        raise UsageError("quarantine takes nothing, or list, or show ID")
