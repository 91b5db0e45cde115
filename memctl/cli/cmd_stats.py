"""`memctl stats`: how much each user's memory holds."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.guard import Answer
from memctl.cli.output import counted

if TYPE_CHECKING:
    from memctl.cli.ink import Ink
    from memctl.cli.invocation import Invocation
    from memctl.ops.stats import Stats, UserStats

#: A bar is as long as there is room for, up to this.
_BAR_MAX = 60
_BAR_MIN = 8


def command(
    ctx: typer.Context,
    user: Annotated[str | None, typer.Argument(metavar="[USER]", help="Only this user's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    metrics: Annotated[
        str | None, typer.Option("--metrics", metavar="FILE", help="Also write a file for Prometheus.")
    ] = None,
) -> None:
    """Print how many records and messages each user has, in which tier, and how large they are.

    Tokens are those that were counted before; this command counts none.
    """
    from memctl.cli.tenants import tell_of_tenants

    invocation: Invocation = ctx.obj
    out = invocation.out
    store = invocation.store()
    name = None if user is None else store.setup.reference(user, conversation=False).user
    labels = None if invocation.tenant is None else {"tenant": invocation.tenant}
    with out.progress("looking at users") as progress:
        found = store.stats(name, metrics=metrics, labels=labels, progress=progress.advance)
    if invocation.tenant is None and name is None:
        tell_of_tenants(store, out)
    # Beside a file it is a report of what was written.
    if as_json:
        out.json(found.as_rows(), report=metrics is not None)
    else:
        from memctl.cli.ink import Ink

        page = _page(found, Ink(out.colour), out.columns)
        if metrics is not None:
            out.report(page, styled=True)
        else:
            out.text(page, styled=True)
    for row in found.failed:
        out.talk(f"{row['user']}: {row['message']}")
    if found.failed:
        raise Answer(1)


def _page(found: "Stats", ink: "Ink", columns: int) -> str:
    widths = _widths(found.users)
    most = max((held["records"] for row in found.users for held in row.tiers.values()), default=0)
    # What stands beside a bar: the tier, the numbers, and the gaps.
    room = columns - sum(widths) - len("  warm") - 8
    blocks = [
        _block(row, ink, columns, widths, most, max(_BAR_MIN, min(_BAR_MAX, room))) for row in found.users
    ]
    return "\n".join(blocks) if blocks else "no users\n"


def _widths(rows: "list[UserStats]") -> tuple[int, int, int]:
    """How wide records, bytes and pinned are."""
    held = [tier for row in rows for tier in row.tiers.values()]
    texts = [
        (f"{tier['records']:,}", counted(tier["bytes"], "byte"), _pinned(tier["pinned"])) for tier in held
    ]
    records, sizes, pinned = ([len(text[at]) for text in texts] for at in range(3))
    return max(records, default=0), max(sizes, default=0), max(pinned, default=0)


def _block(
    row: "UserStats", ink: "Ink", columns: int, widths: tuple[int, int, int], most: int, room: int
) -> str:
    from memctl.cli.cells import width, wrapped
    from memctl.core.metrics import bar
    from memctl.core.visible import visible

    facts = [counted(row.conversations, "conversation"), counted(row.messages, "message")]
    facts.append(counted(row.bytes, "byte"))
    facts.append("tokens not counted" if row.tokens is None else counted(row.tokens, "token"))
    if row.archived:
        facts.append(f"{row.archived:,} archived")
    if row.damaged_lines:
        facts.append(counted(row.damaged_lines, "damaged line"))
    parts = [f"{fact}," for fact in facts[:-1]] + facts[-1:]
    name = visible(row.user)
    if width(name) + 2 + len(parts[0]) <= columns:
        first, *rest = wrapped(parts, columns, f"{name}  ", "    ")
        lines = [f"{ink.strong(name)}{first[len(name) :]}", *rest]
    else:
        lines = [ink.strong(name), *wrapped(parts, columns, "    ", "    ")]
    for tier, held in row.tiers.items():
        drawn = bar(held["records"], most, room).ljust(room)
        numbers = f"{held['records']:,}".rjust(widths[0])
        size = counted(held["bytes"], "byte").rjust(widths[1])
        line = f"  {tier.ljust(4)}  {numbers}  {drawn}  {size}  {_pinned(held['pinned'])}"
        lines.append(line.rstrip())
    return "".join(f"{line}\n" for line in lines)


def _pinned(number: int) -> str:
    return f"{number:,} pinned" if number else ""
