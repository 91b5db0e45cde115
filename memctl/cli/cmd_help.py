"""`memctl help`: the pages of the manual, and the help of a command.

A page is `memctl/manual/TOPIC.md`; for settings, exit codes, output and codes its prose is followed by the
table that the code itself works with.
"""

import os
from typing import TYPE_CHECKING, Annotated

import typer

import memctl
from memctl.cli.catalogue import COMMANDS
from memctl.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.cli.invocation import Invocation
    from memctl.cli.output import Output
    from memctl.errors import MemctlError

_NAME_WIDTH = 13
_MANUAL = os.path.join(os.path.dirname(memctl.__file__), "manual")


def command(
    ctx: typer.Context,
    topic: Annotated[str | None, typer.Argument(metavar="TOPIC", help="A page, a command or a code.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object with the text.")] = False,
) -> None:
    """Print a page of the manual, a command's help, or what a code of `inspect` means.

    Without TOPIC: what can be asked for.
    """
    invocation: Invocation = ctx.obj
    if topic is None:
        pages = "".join(f"  {name.ljust(_NAME_WIDTH)}  {title(name)}\n" for name in topics())
        _print(
            invocation.out,
            f"{ctx.find_root().get_help()}\n\nPages of the manual (memctl help TOPIC):\n{pages}",
            topic,
            as_json,
        )
        return
    parts = []
    if topic in COMMANDS:
        parts.append(_command_help(ctx, topic))
    if topic in topics():
        parts.append(page(topic))
    if not parts:
        import difflib

        from memctl.core.problems import TABLE

        if topic in TABLE:
            _print(invocation.out, _code(topic), topic, as_json)
            return
        near = difflib.get_close_matches(topic.lower(), [*topics(), *COMMANDS, *TABLE], n=1)
        raise NotFound(
            f"no page {topic!r} in the manual",
            hint=f"the nearest is {near[0]}" if near else "memctl help lists the pages",
        )
    _print(invocation.out, "\n\n".join(part.rstrip("\n") for part in parts) + "\n", topic, as_json)


def _print(out: "Output", text: str, topic: str | None, as_json: bool) -> None:
    if as_json:
        out.json({"topic": topic, "topics": topics(), "commands": list(COMMANDS), "text": text}, report=False)
    else:
        out.text(text)


def topics() -> list[str]:
    """The names of the pages, sorted."""
    return sorted(name.removesuffix(".md") for name in os.listdir(_MANUAL) if name.endswith(".md"))


def title(topic: str) -> str:
    """The heading of a page."""
    with open(os.path.join(_MANUAL, f"{topic}.md"), encoding="utf-8") as file:
        return file.readline().lstrip("# ").rstrip()


def page(topic: str) -> str:
    """The text of one page, with its generated table."""
    with open(os.path.join(_MANUAL, f"{topic}.md"), encoding="utf-8") as file:
        prose = file.read()
    tables = {"settings": _settings, "exit-codes": _exit_codes, "output": _output, "codes": _codes}
    table = tables.get(topic)
    return prose if table is None else f"{prose.rstrip()}\n\n{table()}"


def _command_help(ctx: typer.Context, name: str) -> str:
    root_ctx = ctx.find_root()
    sub = root_ctx.command.get_command(root_ctx, name)  # type: ignore[attr-defined]
    text: str = sub.get_help(sub.make_context(name, [], parent=root_ctx, resilient_parsing=True))
    return text


def _settings() -> str:
    from memctl.settings import SETTINGS

    blocks = []
    for setting in SETTINGS:
        kind = " | ".join(choice or "(empty)" for choice in setting.choices) or setting.kind
        default = setting.written(setting.default) or "(empty)"
        blocks.append(
            f"{setting.name}\n    {setting.help}\n    {kind}; default {default}; {setting.variable}\n"
        )
    return "\n".join(blocks)


def exit_codes() -> list[tuple[int, str, str]]:
    """(exit code, code words, meaning) of every ending, by number."""
    from memctl.errors import OTHER_EXIT_CODES, MemctlError

    words: dict[int, list[str]] = {}
    meanings: dict[int, str] = dict(OTHER_EXIT_CODES)
    for kind in _family(MemctlError):
        codes = words.setdefault(kind.exit_code, [])
        if kind.code not in codes:
            codes.append(kind.code)
        # The first class with a number is the most general one: its first line says what all share.
        meanings.setdefault(kind.exit_code, (kind.__doc__ or "").partition("\n")[0].rstrip("."))
    meanings[MemctlError.exit_code] = "A bug in memctl"
    return [
        (number, ", ".join(words.get(number, [])), meaning[:1].lower() + meaning[1:])
        for number, meaning in sorted(meanings.items())
    ]


def _family(kind: "type[MemctlError]") -> "Iterator[type[MemctlError]]":
    yield kind
    for child in kind.__subclasses__():
        yield from _family(child)


def _exit_codes() -> str:
    return "\n".join(
        f"{number:>4}  {meaning}{f' ({words})' if words else ''}" for number, words, meaning in exit_codes()
    )


def _output() -> str:
    from memctl.cli.shapes import SHAPES

    blocks = []
    for title, rows in SHAPES.items():
        width = max(len(key) for key, _, _ in rows)
        lines = [
            f"    {key.ljust(width)}  {kind}{f': {meaning}' if meaning else ''}"
            for key, kind, meaning in rows
        ]
        blocks.append("\n".join([title, *lines]))
    return "\n\n".join(blocks) + "\n"


def _codes() -> str:
    from memctl.core.problems import TABLE

    return "\n".join(map(_code, TABLE))


def _code(code: str) -> str:
    """What a code means and what repair does about it."""
    from memctl.core.problems import TABLE

    row = TABLE[code]
    severity = f"{row.severity}, milder: {row.also}" if row.also else row.severity
    what = f"{row.what} (milder: {row.milder})" if row.milder else row.what
    about = f"repair: {row.remedy}" if row.remedy else f"left: {row.why}"
    return f"{code}  ({severity})\n    {what}\n    {about}\n"
