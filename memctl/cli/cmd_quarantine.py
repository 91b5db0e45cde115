"""`memctl quarantine`: list, show or put back what was set aside."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.core.names import QUARANTINE_SUFFIX, is_path
from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.cli.output import Output
    from memctl.ops.quarantine import Restored

_COLUMNS = ("id", "conversation", "reason", "line", "offset", "length")


def command(
    ctx: typer.Context,
    action: Annotated[str, typer.Argument(metavar="[list|show|restore]", help="What to do.")] = "list",
    item: Annotated[
        str | None, typer.Argument(metavar="[ID|FILE]", help="An item, or ./FILE.quarantine outside a store.")
    ] = None,
    repair: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="Of ./FILE.quarantine: a repair in it; without, the newest."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON value.")] = False,
) -> None:
    """List what append, repair or drop set aside, print an item's bytes as they were, or put it back.

    restore brings a conversation or a file back to what it was before; what was appended since stays behind
    that. Stop a Go service that has it open first: this rewrites the file.
    """
    invocation: Invocation = ctx.obj
    out = invocation.out
    store = invocation.store()
    is_file = item is not None and (is_path(item) or item.endswith(QUARANTINE_SUFFIX))
    path, id = (item, repair) if is_file else (None, item)
    if repair is not None and not is_file:
        raise UsageError("a second ID goes with ./FILE.quarantine only")
    if action == "list" and id is None:
        _list(out, store.quarantine(path), as_json)
    elif action == "show" and item is not None:
        data = store.quarantined(id, path)
        if as_json:
            note = store.quarantine_note(id, path)
            out.json({**note, "text": data.decode("utf-8", "replace")}, report=False)
        elif out.is_terminal:
            out.text(data.decode("utf-8", "replace"))
        else:
            out.raw(data)
    elif action == "restore" and item is not None:
        done = store.quarantine_restore(id, path)
        if as_json:
            out.json(done._asdict())
        else:
            out.report(_said(done))
    else:
        looks_like_file = is_path(action) or action.endswith(QUARANTINE_SUFFIX)
        raise UsageError(
            "quarantine takes nothing, or list, or show ID, or restore ID",
            hint=f"memctl quarantine list {action}" if looks_like_file else "memctl quarantine --help",
        )


def _list(out: "Output", notes: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        out.json(notes, report=False)
        return
    rows = [[_cell(note, column) for column in _COLUMNS] for note in notes]
    out.table(_COLUMNS, rows, right=(3, 4, 5))


def _cell(note: dict[str, Any], column: str) -> str:
    value = note.get(column)
    if column == "conversation" and value is None:
        value = note.get("file")
    if column == "reason" and value == "repaired" and isinstance(codes := note.get("codes"), list) and codes:
        value = " ".join(map(str, codes))
    return "-" if value is None else str(value)


def _said(done: "Restored") -> str:
    from memctl.cli.output import counted
    from memctl.core.visible import visible

    # A line of the report is one line, whatever is in a name.
    name, id = visible(done.conversation or done.file or ""), visible(done.id)
    if not done.restored:
        return f"{name}: this had been put back already; {id} is no longer in quarantine\n"
    lines = [f"{name} has {counted(done.restored_bytes, 'byte')} back; {id} is no longer in quarantine"]
    if done.removed_bytes:
        lines.append(f"taken out again: {counted(done.removed_bytes, 'byte')} that had been put in")
    if done.appended_bytes:
        lines.append(f"kept behind it: {counted(done.appended_bytes, 'byte')} appended since")
    if done.newline_added:
        lines.append("a newline was put between the two")
    if done.summaries_rewritten:
        lines.append(f"summaries that say anew what they cover: {done.summaries_rewritten}")
    if done.late_bytes:
        lines.append(f"{counted(done.late_bytes, 'byte')} that arrived meanwhile were kept behind the rest")
    return "".join(f"{line}\n" for line in lines)
