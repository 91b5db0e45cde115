"""`memctl reconcile`: fold accesses in, promote, demote and evict records."""

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.guard import Answer
from memctl.cli.output import counted
from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.cli.output import Output
    from memctl.ops.reconcile import MigrationReport

#: So many lines of one kind are said on standard error; `--json` has all.
_SAID_MAX = 20


def command(
    ctx: typer.Context,
    users: Annotated[list[str] | None, typer.Argument(metavar="[USER…]", help="Whose records.")] = None,
    everybody: Annotated[bool, typer.Option("--all", help="Those of all users.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; report the same.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Name every move and its reason.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="So many processes share the users.")] = 1,
    skip_locked: Annotated[
        bool, typer.Option("--skip-locked", help="Skip users whose records are being changed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Move records between hot, warm and cold by the policy, and out of cold into the archive.

    Made for cron: a second run at the same time does nothing, and one user's trouble does not stop the next.
    Exit 1 if some users failed. `memctl help reconcile` has the rules.
    """
    out: Output = ctx.obj.out
    if everybody and users:
        raise UsageError("--all and users exclude each other")
    if not everybody and not users:
        raise UsageError("a user is expected, or --all", hint="memctl reconcile --all")
    if jobs < 1:
        raise UsageError("--jobs expects 1 or more")
    store = ctx.obj.store()
    named = [store.setup.reference(user, conversation=False).user for user in users or ()]
    with out.progress("reconciling") as progress:
        done = store.reconcile(
            *named,
            everybody=everybody,
            dry_run=dry_run,
            skip_locked=skip_locked,
            jobs=jobs,
            progress=progress.advance,
        )
    _tell(out, done)
    if as_json:
        out.json(done.report(explain=explain))
        for line in _failures(done):
            out.talk(line)
    else:
        out.report(_page(done, dry_run=dry_run, explain=explain))
    if everybody:
        from memctl.cli.tenants import tell_of_tenants

        tell_of_tenants(store, out)
    if done.failed:
        raise Answer(1)


def _tell(out: "Output", done: "MigrationReport") -> None:
    """What people have to know beside the numbers, on standard error."""
    left_out = [
        f"{_name(row.user)}: line {line} of {where} is no record; it stays where it is"
        if where != "journal"
        else f"{_name(row.user)}: line {line} of the journal of accesses is none; it is not counted"
        if line
        else f"{_name(row.user)}: the journal of accesses cannot be read; nothing of it is counted"
        for row in done.passed
        for where, line in row.left_out
    ]
    troubles = [
        f"{_name(row.user)}: {id}: {message}" for row in done.passed for id, message in row.troubles.items()
    ]
    for lines in (left_out, troubles):
        for line in lines[:_SAID_MAX]:
            out.talk(line)
        if len(lines) > _SAID_MAX:
            out.talk(f"and {len(lines) - _SAID_MAX} more of these; --json names all")
    for user in done.skipped:
        out.talk(f"{_name(user)}: skipped, another process changes these records")


def _page(done: "MigrationReport", *, dry_run: bool, explain: bool) -> str:
    lines = []
    if explain:
        for user, move in done.moves:
            kept = "the archive" if done.archived else "nowhere"
            lines.append(f"{_name(user)}: {move.id}: {move.source} to {move.target or kept} ({move.reason})")
    lines += [f"{_name(row.user)}: {id} is deleted" for row in done.passed for id in row.deleted]
    # A report, not talk: with -q it is all that a mail has.
    lines += _failures(done)
    evicted = f"{done.evicted:,} evicted"
    if done.evicted:
        evicted += f" ({done.archived:,} to the archive)"
    would = "would be: " if dry_run else ""
    lines.append(
        f"{counted(len(done.passed), 'user')}: {would}{done.promoted:,} promoted, {done.demoted:,} demoted, "
        f"{evicted}"
    )
    return "".join(f"{line}\n" for line in lines)


def _failures(done: "MigrationReport") -> list[str]:
    return [f"{_name(failed.user)}: failed: {failed.error}" for failed in done.failed]


def _name(user: str) -> str:
    from memctl.core.names import Reference

    return Reference(user).written()
