"""`memctl config`: every setting, its value and where it came from."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli.config import FILE_NAME
from memctl.settings import SETTINGS, Setting

if TYPE_CHECKING:
    from memctl.cli.invocation import Invocation


def command(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    init: Annotated[bool, typer.Option("--init", help="Write a commented ROOT/memctl.toml.")] = False,
) -> None:
    """Print every setting, its value and its origin.

    Flags come before MEMCTL_* variables, these before --config FILE or ROOT/memctl.toml, that before
    $XDG_CONFIG_HOME/memctl/memctl.toml, and that before the defaults.
    """
    invocation: Invocation = ctx.obj
    if init:
        path = _write_commented(invocation.root)
        if as_json:
            invocation.out.json({"created": path})
        else:
            invocation.out.report(f"created {path}")
        return
    settings = invocation.settings
    if as_json:
        rows = [
            {
                "name": setting.name,
                "value": settings[setting.name],
                "default": setting.default,
                "origin": settings.origin(setting.name),
                "variable": setting.variable,
                "help": setting.help,
            }
            for setting in SETTINGS
        ]
        invocation.out.json({"root": invocation.root, "settings": rows}, report=False)
        return
    invocation.out.table(
        ("setting", "value", "origin"),
        [(s.name, _toml(s, settings[s.name]), settings.origin(s.name)) for s in SETTINGS],
    )


def commented_file() -> str:
    """A `memctl.toml` in which every setting stands with its default, commented out."""
    return "# Settings of this store; `memctl help settings` explains them.\n" + "".join(
        f"\n# {setting.help}{_choices(setting)}\n# {setting.name} = {_toml(setting, setting.default)}\n"
        for setting in SETTINGS
    )


def _write_commented(root: str) -> str:
    from memctl.store import directories, files

    path = os.path.join(root, FILE_NAME)
    directories.make(root)
    files.create(path, commented_file().encode())
    return path


def _choices(setting: Setting) -> str:
    choices = ", ".join(choice or "empty" for choice in setting.choices)
    return f" ({choices})" if choices else ""


def _toml(setting: Setting, value: int | float | str) -> str:
    """A value as TOML writes it: text in quotes (JSON's escapes are TOML's), numbers bare."""
    if setting.kind == "switch":
        return "true" if value else "false"
    written = setting.written(value)
    if not isinstance(value, str) and written == str(value):
        return written
    import json

    return json.dumps(written, ensure_ascii=False)
