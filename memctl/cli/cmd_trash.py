"""`memctl trash`: list or restore deleted conversations."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.core.names import Reference
from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation


def command(
    ctx: typer.Context,
    action: Annotated[str, typer.Argument(metavar="[list|restore]", help="What to do.")] = "list",
    ref: Annotated[str | None, typer.Argument(metavar="[REF]", help="What to restore.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON value.")] = False,
) -> None:
    """List what is in the trash, newest first, or put a conversation back."""
    invocation: Invocation = ctx.obj
    out = invocation.out
    store = invocation.store()
    if action == "list" and ref is None:
        items = store.trash()
        if as_json:
            out.json([item._asdict() for item in items], report=False)
        else:
            out.table(
                ("conversation", "deleted", "bytes"),
                [
                    (Reference(item.user, item.conversation).written(), item.deleted_at, str(item.bytes))
                    for item in items
                ],
                right=(2,),
            )
    elif action == "restore" and ref is not None:
        reference = store.setup.reference(ref)
        item = store.restore(reference.user, reference.conversation or "")
        if as_json:
            out.json({"conversation": reference.written(), "restored": True, "entry": item.entry})
        else:
            out.report(f"{reference.written()} is back\n")
    else:
        raise UsageError("trash takes nothing, or list, or restore REF")
