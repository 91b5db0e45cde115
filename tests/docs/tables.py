"""The tables in README.md that are made from the code."""

from __future__ import annotations

import re

from memctl.cli.cmd_help import exit_codes
from memctl.settings import SETTINGS


def exit_code_table() -> str:
    """The exit codes, as `memctl help exit-codes` has them."""
    rows = [
        f"| {number} | {meaning} | {', '.join(f'`{word}`' for word in words.split(', ') if word)} |"
        for number, words, meaning in exit_codes()
    ]
    return "\n".join(["| exit | meaning | `code` of the JSON error |", "| --- | --- | --- |", *rows])


def settings_table() -> str:
    """The settings, as `memctl help settings` has them."""
    rows = []
    for setting in SETTINGS:
        choices = ", ".join(choice or "empty" for choice in setting.choices)
        help = setting.help + (f" ({choices})" if choices else "")
        default = f"`{setting.written(setting.default)}`" if setting.default != "" else "empty"
        rows.append(f"| `{setting.name}` | {default} | `{setting.variable}` | {help} |")
    return "\n".join(["| setting | default | variable | what it is |", "| --- | --- | --- | --- |", *rows])


TABLES = {"exit-codes": exit_code_table, "settings": settings_table}


def with_tables(text: str) -> str:
    """The page with its tables made anew."""
    for name, table in TABLES.items():
        text = re.sub(
            rf"(<!-- {name}: .*? -->\n).*?(<!-- end -->)",
            lambda match, table=table: f"{match[1]}{table()}\n{match[2]}",
            text,
            flags=re.DOTALL,
        )
    return text
