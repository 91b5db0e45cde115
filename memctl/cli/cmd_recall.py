"""`memctl recall`: the records that answer a question."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.option_values import output_format
from memctl.cli.output import counted
from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation
    from memctl.cli.output import Output
    from memctl.core.recall_answer import Recalled
    from memctl.ops.recalled import Recall

FORMATS = ("table", "jsonl", "json", "text")
ORDERS = ("time", "score")


def command(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose records.")],
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY]", help="What is asked; none: by recency and importance."),
    ] = None,
    limit: Annotated[
        str | None, typer.Option("-k", "--limit", metavar="N", help="At most N records. [recall.limit]")
    ] = None,
    max_hot: Annotated[
        int | None, typer.Option("--max-hot", min=0, metavar="N", help="At most N of them from hot.")
    ] = None,
    max_warm: Annotated[
        int | None, typer.Option("--max-warm", min=0, metavar="N", help="At most N from warm.")
    ] = None,
    max_cold: Annotated[
        int | None, typer.Option("--max-cold", min=0, metavar="N", help="At most N from cold.")
    ] = None,
    weight_semantic: Annotated[
        str | None,
        typer.Option("--weight-semantic", metavar="W", help="Weight of relevance. [recall.weight_semantic]"),
    ] = None,
    weight_recency: Annotated[
        str | None,
        typer.Option("--weight-recency", metavar="W", help="Weight of recency. [recall.weight_recency]"),
    ] = None,
    weight_importance: Annotated[
        str | None,
        typer.Option(
            "--weight-importance", metavar="W", help="Weight of importance. [recall.weight_importance]"
        ),
    ] = None,
    ranker: Annotated[
        str | None, typer.Option("--ranker", metavar="R", help="fused, overlap or recent. [recall.ranker]")
    ] = None,
    order: Annotated[
        str | None,
        typer.Option("--order", metavar="O", help="time or score; tables by score, else by time."),
    ] = None,
    tier: Annotated[
        list[str] | None, typer.Option("--tier", metavar="T", help="Only of hot, warm or cold; repeatable.")
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option("--category", metavar="C", help="Only with this category; repeated: with all."),
    ] = None,
    scope: Annotated[str | None, typer.Option("--scope", metavar="S", help="Only of this scope.")] = None,
    meta: Annotated[
        list[str] | None,
        typer.Option("--meta", metavar="K=V", help="Only with this metadata; repeated: with all."),
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="C", help="Only from this conversation.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="T", help="Only made at T or later; 7d: in 7 days.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="T", help="Only made before T.")] = None,
    no_touch: Annotated[bool, typer.Option("--no-touch", help="Do not count this as an access.")] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="A record's summary instead of its text, where it has one.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="What each score is made of; on stderr, what was left out.")
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "-f", "--format", metavar="F", help="table, jsonl, json or text; table on a terminal, else jsonl."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as -f json.")] = False,
) -> None:
    """Print the records that answer QUERY: found by relevance, ranked with recency and importance.

    Only what something in QUERY finds is printed, each text once, oldest first; tables have the best first.
    An unknown user has no records.
    """
    invocation: Invocation = ctx.obj
    out = invocation.out
    chosen = output_format(form, as_json, FORMATS, "table" if out.is_terminal else "jsonl")
    if order is not None and order not in ORDERS:
        raise UsageError(f"no order {order}; there are {', '.join(ORDERS)}")
    from memctl.cli.option_values import conversation_name, metadata, moment_or_none, setting, tiers

    settings = invocation.settings
    memory = invocation.memory(user)
    now_us = memory.setup.time_us()
    with out.progress("embedding") as progress:
        recall = memory.recall(
            query or "",
            limit=setting(settings, "recall.limit", "-k", limit),
            max_hot=max_hot,
            max_warm=max_warm,
            max_cold=max_cold,
            weight_semantic=setting(settings, "recall.weight_semantic", "--weight-semantic", weight_semantic),
            weight_recency=setting(settings, "recall.weight_recency", "--weight-recency", weight_recency),
            weight_importance=setting(
                settings, "recall.weight_importance", "--weight-importance", weight_importance
            ),
            ranker=setting(settings, "recall.ranker", "--ranker", ranker),
            tier=tiers(tier),
            categories=category or (),
            scope=scope,
            metadata=metadata(meta),
            conversation=conversation_name(conversation),
            since=moment_or_none("--since", since, now_us),
            until=moment_or_none("--until", until, now_us),
            touch=not no_touch,
            progress=progress.advance,
        )
    _say(out, recall)
    if recall.found and (reason := memory.unread_accesses()):
        out.talk(f"accesses that no reconcile has counted in are not shown: {reason}")
    if explain:
        out.object_on_stderr(recall.explain())
    by_time = order == "time" or (order is None and (chosen != "table" or recall.ranker == "recent"))
    _print(out, recall.in_time() if by_time else recall.found, chosen, brief, explain)


def _say(out: "Output", recall: "Recall") -> None:
    if not recall.records:
        out.talk(f"no records of {recall.user}; memctl stats lists the users")
    for tier, lines in recall.damaged.items():
        out.talk(f"{recall.user}: left out: {counted(lines, 'damaged line')} of {tier}; memctl inspect")
    if recall.touched is False:
        out.talk(f"{recall.user}: the accesses could not be noted")
    if recall.vectors and recall.vectors["stale"]:
        out.talk(
            f"{recall.user}: {recall.vectors['stale']} stale vectors were passed over; memctl rebuild-index"
        )


def _print(out: "Output", found: "list[Recalled]", form: str, brief: bool, explain: bool) -> None:
    if form == "table":
        from memctl.cli.text_table import made, print_texts

        columns = ("score", "tier", "created", "id", "text")
        rows = [
            (
                (
                    f"{one.score:.3f}",
                    one.record.tier,
                    made(out, one.record.value.get("created_at")),
                    one.record.id,
                ),
                one.text(brief=brief),
            )
            for one in found
        ]
        print_texts(out, columns, rows, right=(0,))
        return
    if form == "text":
        out.text("\n".join(one.text(brief=brief).rstrip("\n") + "\n" for one in found))
        return
    lines = [one.line(scores=explain, brief=brief) for one in found]
    if form == "jsonl":
        out.lines(line + b"\n" for line in lines)
    else:
        out.bytes(b"[" + b",".join(lines) + b"]\n")
