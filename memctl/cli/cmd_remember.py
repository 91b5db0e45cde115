"""`memctl remember`: store records of the long-term memory."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli.given import read_whole
from memctl.cli.output import counted
from memctl.core.tier import TIERS
from memctl.errors import BadInput, BadReference, UsageError

if TYPE_CHECKING:
    from memctl.api import Store
    from memctl.cli.invocation import Invocation
    from memctl.cli.output import Output
    from memctl.ops.remember import Remembered

#: So many forgotten ids are named one by one.
_NAMED_MAX = 10
#: How reasons for leaving something out are said.
_SAID = {
    "stored": "remembered before",
    "copy": "copy of another one",
    "archived": "archived",
    "forgotten": "forgotten",
    "summary": "summary",
    "ephemeral": "ephemeral",
    "empty": "without text",
}


def command(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose memory; it is created.")],
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="One record. Without it: JSON lines.")
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Id of the record; one that is stored changes.")
    ] = None,
    tier: Annotated[
        str | None, typer.Option("--tier", metavar="T", help="hot, warm or cold; a new record goes to hot.")
    ] = None,
    importance: Annotated[
        float | None, typer.Option("--importance", metavar="F", help="0 to 1; 0.5 if nothing says.")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", metavar="C", help="A category; as often as needed.")
    ] = None,
    meta: Annotated[
        list[str] | None, typer.Option("--meta", metavar="K=V", help="Metadata; as often as needed.")
    ] = None,
    scope: Annotated[str | None, typer.Option("--scope", metavar="S", help="A scope, any text.")] = None,
    pin: Annotated[bool, typer.Option("--pin", help="It stays in its tier.")] = False,
    provenance: Annotated[
        str, typer.Option("--provenance", metavar="P", help="Where it comes from, in the metadata.")
    ] = "",
    source: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="CONV", help="The messages of a conversation; as often as needed."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also what was forgotten.")] = False,
    input_file: Annotated[
        str | None, typer.Option("--input", metavar="FILE", help="Read JSON lines from FILE, - for stdin.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object about what was done.")] = False,
) -> None:
    """Store records; they are on the disk when it returns. Prints the id of each.

    With TEXT one record. Without: one JSON object a line from --input or standard input; one bad line refuses
    all of it; the options are for lines that do not say themselves. With --from the messages of a
    conversation, each once however often it is repeated. With the id of a stored record, what is given takes
    the place of what it has, and all else stays.
    """
    invocation: Invocation = ctx.obj
    ways = (text is not None, source is not None, input_file is not None)
    if sum(ways) > 1:
        raise UsageError("TEXT, --from and --input exclude each other")
    if id is not None and text is None:
        raise UsageError(
            "--id is for TEXT; JSON lines bring their own, messages have theirs",
            hint='without TEXT a record is changed by a line: {"id":"ID","importance":1}',
        )
    if id is not None and not id.strip():
        raise UsageError("--id is blank")
    fields = _fields(tier, importance, category, meta, scope, pin, provenance)
    store = invocation.store()
    memory = store.memory(store.setup.reference(user, conversation=False).user)
    if text is not None:
        if not text.strip():
            raise BadInput("the text is blank; nothing was stored")
        done = memory.remember(text, id=id, provenance=provenance, again=again, **fields)
    elif source is not None:
        names = [_conversation(store, user, name) for name in source]
        with invocation.out.progress("reading") as progress:
            done = memory.remember_from(
                *names, provenance=provenance, again=again, progress=progress.advance, **fields
            )
    else:
        data = read_whole(input_file, invocation.out, "JSON lines")
        done = memory.remember_jsonl(data, provenance=provenance, again=again, **fields)
    _say(invocation.out, done)
    if as_json:
        invocation.out.json(done._asdict())
    elif done.ids:
        from memctl.core.visible import visible

        # An id may hold a newline, and each is one line.
        invocation.out.text("".join(f"{visible(one)}\n" for one in done.ids))


def _fields(
    tier: str | None,
    importance: float | None,
    category: list[str] | None,
    meta: list[str] | None,
    scope: str | None,
    pin: bool,
    provenance: str,
) -> dict[str, Any]:
    """What the options say, by field. Raises UsageError."""
    if tier is not None and tier not in TIERS:
        raise UsageError(f"no tier {tier}; there are {', '.join(TIERS)}")
    if importance is not None and not 0 <= importance <= 1:
        raise UsageError("--importance takes a number from 0 to 1")
    fields: dict[str, Any] = {"tier": tier, "importance": importance, "scope": scope}
    if category:
        fields["categories"] = list(dict.fromkeys(category))
    if meta:
        from memctl.cli.option_values import metadata

        fields["metadata"] = metadata(meta)
        if provenance and "provenance" in fields["metadata"]:
            raise UsageError("--provenance and --meta provenance= say the same thing twice")
    if pin:
        fields["pinned"] = True
    return {key: value for key, value in fields.items() if value is not None}


def _conversation(store: "Store", user: str, name: str) -> str:
    """The name of a conversation as it is typed behind --from."""
    if "/" in name:
        raise BadReference(
            f"--from takes a conversation of {user} alone, not {name!r}",
            hint="leave the user out; a / inside a name is written %2F",
        )
    return store.setup.reference(f"{user}/{name}").conversation or ""


def _say(out: "Output", done: "Remembered") -> None:
    """What was left out, and lines that could not be read or not as they stand."""
    for rows, what in ((done.damaged, "no message"), (done.mended, "mended in what is remembered")):
        if rows:
            from memctl.core.finding import Finding, summed_up

            for name in dict.fromkeys(row["conversation"] for row in rows):
                found = [Finding(row["line"], row["code"]) for row in rows if row["conversation"] == name]
                for phrase in summed_up(found):
                    out.talk(f"{name}: {what}: {phrase}")
    left_out = [f"{_SAID[reason]} {number:,}" for reason, number in done.skipped.items() if number]
    if left_out:
        out.talk(f"left out: {', '.join(left_out)}")
    for id in done.forgotten[:_NAMED_MAX]:
        out.talk(f"the record {id} was forgotten; --again stores it")
    if len(done.forgotten) > _NAMED_MAX:
        out.talk(f"and {counted(len(done.forgotten) - _NAMED_MAX, 'forgotten record')} more; --json has all")
    if done.unchanged:
        out.talk(f"{counted(done.unchanged, 'record')} stored already as given, not stored again")
