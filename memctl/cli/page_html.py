"""The page of `inspect --html`: one file without scripts that needs no network, light or dark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.cli import page_facts as facts
from memctl.cli.excerpt_view import view
from memctl.cli.next_steps import after_inspect
from memctl.core.problems import ERROR, INFO, WARNING
from memctl.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memctl.cli.next_steps import Step
    from memctl.cli.retyped import Typed
    from memctl.ops.excerpts import Excerpt
    from memctl.ops.inspect import Inspected, Inspection

#: Columns that an excerpt takes at most.
_EXCERPT_COLUMNS = 160
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2126; --paper: #fdfdfc; --faint: #5c646e; --line: #d9dce0;
  --error: #a8201a; --warning: #8a5a00; --info: #1a5f8a; --good: #23702f; --wrong: #ffd7d2; --code: #f1f2f0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e6e8; --paper: #16191c; --faint: #9aa3ad;
  --line: #353b42; --error: #ff8a80; --warning: #f0b94d; --info: #7cc4f0; --good: #7ecb88; --wrong: #7a231c;
  --code: #21262b; } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.4rem 0 .2rem; } p { margin: .2rem 0; overflow-wrap: anywhere; }
ul { margin: .2rem 0; padding-left: 1.4rem; }
table { border-collapse: collapse; margin: 1rem 0; } .wide { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0;
  border-bottom: 1px solid var(--line); }
td:first-child { overflow-wrap: anywhere; min-width: 12rem; }
.number { text-align: right; white-space: nowrap; }
pre { margin: .3rem 0 .6rem; padding: .5rem .7rem; overflow-x: auto; background: var(--code);
  border-radius: 4px; font: 14px/1.45 ui-monospace, monospace; unicode-bidi: plaintext; }
mark { color: inherit; background: var(--wrong); outline: 1px solid var(--error); }
.faint { color: var(--faint); } .error { color: var(--error); } .warning { color: var(--warning); }
.info { color: var(--info); } .good { color: var(--good); }
"""


def html(found: Inspection, typed: Typed) -> str:
    """The page, whole; all text from files is visible and escaped."""
    title = facts.summary(found) if len(found.targets) != 1 else found.targets[0].target
    body: list[str] = []
    if not found.targets and not found.failed:
        body.append(_p("There is nothing to inspect: no conversation and no other file."))
    if len(found.targets) + len(found.failed) > 1:
        body.append(_p(facts.summary(found)))
        body += _table(found.targets)
    body += [_p(f"not looked at: {failed.target}: {failed.message}", ERROR) for failed in found.failed]
    if said := facts.unsettled(found):
        body.append(_p(said, WARNING))
    for target in found.targets:
        if target.problems or len(found.targets) == 1:
            body += _file(target)
    body += _steps(after_inspect(found, typed))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>memctl inspect: {_text(title)}</title><style>{_STYLE}</style></head>\n"
        "<body><h1>memctl inspect</h1>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _text(text: str) -> str:
    """Visible and escaped."""
    from html import escape

    return escape(visible(text))


def _p(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{_text(text)}</p>' if kind else f"<p>{_text(text)}</p>"


def _file(target: Inspected) -> Iterator[str]:
    yield f"<h2>{_text(target.target)}</h2>"
    yield "<ul>" + "".join(f"<li>{_text(fact)}</li>" for fact in facts.facts(target)) + "</ul>"
    yield _p(facts.verdict(target), "good" if facts.is_fine(target) else "")
    for group in facts.groups(target):
        yield from _group(target, group)


def _group(target: Inspected, group: facts.Group) -> Iterator[str]:
    number = len(group.places) + group.unlisted
    times = f", {number:,} times" if number > 1 else ""
    head = f'<span class="{group.severity}">{group.severity} {group.code}</span>'
    yield f"<h3>{head}{times}: {_text(group.what)}</h3>"
    yield _p(group.fate, "faint")
    shown = facts.places_shown(group)
    for index in group.places[:shown]:
        yield f"<p>{_text(facts.place(target.problems[index]))}</p>"
        excerpt = target.excerpts.get(index)
        if excerpt is not None and group.severity != INFO:
            yield _excerpt(excerpt)
    if number > shown:
        yield _p(facts.more(target, group, shown), "faint")


def _excerpt(excerpt: Excerpt) -> str:
    seen = view(excerpt, _EXCERPT_COLUMNS)
    if not (seen.before or seen.wrong or seen.behind):
        return ""
    mark = f"<mark>{_text(seen.wrong)}</mark>" if seen.marks else ""
    return f"<pre>{_text(seen.before)}{mark}{_text(seen.behind)}</pre>"


def _table(targets: Sequence[Inspected]) -> Iterator[str]:
    """A line for each file."""
    if not targets:
        return
    amounts = facts.amounts(targets)
    heads = "".join(f'<th class="number">{head}</th>' for head in amounts)
    yield f'<div class="wide"><table><tr><th>file</th>{heads}<th>what is wrong</th></tr>'
    for target in targets:
        cells = "".join(f'<td class="number">{amount(target):,}</td>' for amount in amounts.values())
        name = f'<span class="{facts.worst(target)}">{_text(target.target)}</span>'
        yield f"<tr><td>{name}</td>{cells}<td>{_text(facts.several(facts.codes(target)))}</td></tr>"
    yield "</table></div>"


def _steps(steps: Sequence[Step]) -> Iterator[str]:
    if not steps:
        return
    yield "<h2>What to type next</h2>"
    for step in steps:
        yield f"<p>{_text(step.what)}</p><pre>{_text(step.command)}</pre>"
