"""`memctl forget`: remove records for good, everywhere, and keep them from coming back."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli.guard import Answer
from memctl.cli.output import counted

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.ops.forget import Forgotten

#: So many records, messages or items are named to people; --json names all.
_NAMED_MAX = 20
#: So much of a text is shown in a plan.
_EXCERPT_CHARS = 60


def command(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose records.")],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID…]", help="Ids as `memctl records` prints them.")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", metavar="C", help="Those of a category; of all given.")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="T", help="Those made before a time, or 30d ago.")
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="C", help="Those that came from a conversation.")
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            metavar="Q",
            help="Those with every word of Q in their text, letter for letter but for case; nothing fuzzy.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it the plan is printed.")] = False,
    source: Annotated[
        bool, typer.Option("--source", help="Remove the messages from conversations and trash too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Forget records: they leave tiers, archive, journal, quarantine and index for good.

    They do not come back with `remember --from` or a rebuild. Of several options all must hold. Conversations
    and trash that still hold the text are named.
    """
    from memctl.cli.option_values import conversation_name, moment_or_none

    invocation: Invocation = ctx.obj
    memory = invocation.memory(user)
    done = memory.forget(
        ids or (),
        categories=category or (),
        before=moment_or_none("--before", before, memory.setup.time_us()),
        conversation=conversation_name(conversation),
        query=query,
        source=source,
        apply=yes,
    )
    if as_json:
        invocation.out.json(done.as_report())
    else:
        invocation.out.report("".join(f"{line}\n" for line in _lines(done)))
    if query is not None and not done.records:
        invocation.out.talk(
            "no record has all these words; conversations may: memctl search finds messages, memctl drop and "
            "forget ID --source remove them"
        )
    for line in _hints(done, source):
        invocation.out.talk(line)
    if not done.applied:
        more = "--yes does it" if _would_act(done) else "nothing is found"
        invocation.out.talk(f"nothing was changed; {more}")
        raise Answer(1)


def _would_act(done: "Forgotten") -> bool:
    """Whether --yes would do anything; an id that was forgotten before may leave remains."""
    return bool(done.records or done.already or done.copies or done.damaged_lines or done.quarantine)


def _lines(done: "Forgotten") -> list[str]:
    verb = "forgotten" if done.applied else "would be forgotten"
    lines = [
        f"{verb}: {row['id']} ({row['tier']}){_excerpt(done.texts.get(row['id'], ''))}"
        for row in done.records[:_NAMED_MAX]
    ]
    lines += _more(len(done.records), "record", f" {verb}")
    if not done.records:
        lines.append(f"{verb}: no record")
    lines += [f"nothing is left of {id}, which was forgotten before" for id in done.already]
    verb = "removed" if done.applied else "would be removed"
    if done.copies:
        lines.append(f"must not come back either: {', '.join(done.copies[:_NAMED_MAX])}")
        lines += _more(len(done.copies), "id", "")
    if done.damaged_lines:
        lines.append(f"{verb}: {counted(done.damaged_lines, 'damaged line')} with the text")
    for item in done.quarantine[:_NAMED_MAX]:
        lines.append(f"{verb}: {item['id']} in quarantine ({counted(item['bytes'], 'byte')})")
    lines += _more(len(done.quarantine), "item", f" in quarantine {verb}")
    for row in (*done.conversations, *done.trash):
        lines += _of_source(row, verb)
    if done.other_records:
        lines.append(f"other records hold the text too: {', '.join(done.other_records[:_NAMED_MAX])}")
        lines += _more(len(done.other_records), "record", "")
    return lines


def _excerpt(text: str) -> str:
    """The beginning of a text, behind a colon."""
    words = " ".join(text[: 2 * _EXCERPT_CHARS].split())
    if not words:
        return ""
    return f": {words}" if len(words) <= _EXCERPT_CHARS else f": {words[:_EXCERPT_CHARS]}…"


def _of_source(row: dict[str, Any], verb: str) -> list[str]:
    name = (
        row["conversation"] if "entry" not in row else f"{row['conversation']} in the trash ({row['entry']})"
    )
    lines = []
    removed = set(row["removed"])
    if removed or row["removed_lines"]:
        number = len(row["removed"]) + row["removed_lines"]
        lines.append(f"{name}: {counted(number, 'message')} {verb}")
    left = [id for id in row["messages"] if id not in removed]
    if left:
        also = f" and {len(left) - _NAMED_MAX:,} more" if len(left) > _NAMED_MAX else ""
        lines.append(f"{name} still holds the text: {', '.join(left[:_NAMED_MAX])}{also}")
    if (damaged := row["damaged_lines"] - row["removed_lines"]) > 0:
        lines.append(f"{name} still holds the text in {counted(damaged, 'damaged line')}")
    if row["activities"]:
        lines.append(f"{name} still holds the text in its activities")
    return lines


def _hints(done: "Forgotten", source: bool) -> list[str]:
    """What else can be done about what still holds the text."""
    hints = []
    if (done.conversations or done.trash) and not source:
        hints.append("--source removes the messages there")
    elif any(_stays(row) for row in done.trash):
        hints.append("memctl purge --only trash --yes removes what is in the trash")
    return hints


def _stays(row: dict[str, Any]) -> bool:
    left = set(row["messages"]) - set(row["removed"])
    return bool(left or row["activities"] or row["damaged_lines"] > row["removed_lines"])


def _more(number: int, thing: str, verb: str) -> list[str]:
    return [f"and {counted(number - _NAMED_MAX, thing)} more{verb}"] if number > _NAMED_MAX else []
