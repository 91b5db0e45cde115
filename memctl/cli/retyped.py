"""Commands to type next: with the options and arguments of this call, quoted for the shell."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.api import Store

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


class Typed(NamedTuple):
    """What was typed: the global options, the arguments, the options that another command takes as well.

    `file` is the one argument where that is the path of a file; `in_place`: repair replaces it where it lies.
    """

    options: Sequence[str] = ()
    arguments: Sequence[str] = ()
    more: Sequence[str] = ()
    file: str | None = None
    in_place: bool = True

    def command(self, *words: str) -> str:
        """`memctl`, the global options of this call, and words that are quoted where they have to be."""
        return " ".join(map(quoted, ("memctl", *self.options, *words)))

    def again(self, name: str, *words: str) -> str:
        """A command on the same targets; `words` are further options."""
        return self.command(name, *map(target, self.arguments), *self.more, *words)

    def again_for(self, name: str, argument: str) -> str:
        """A command on one target."""
        return self.command(name, target(argument), *self.more)


def typed(store: Store, options: Sequence[str], arguments: Sequence[str], more: Sequence[str]) -> Typed:
    """What was typed, with what the store says of the one file that was asked for."""
    file = arguments[0] if len(arguments) == 1 and names.is_path(arguments[0]) else None
    if file is None or os.path.isdir(os.path.expanduser(file)):
        return Typed(options, arguments, more)
    return Typed(options, arguments, more, file, store.repairs_in_place(file))


def target(argument: str) -> str:
    """An argument that names the same, begins with no hyphen and, if it is a reference, has visible text."""
    if argument == "-":
        return argument
    if names.is_path(argument):
        return f"./{argument}" if argument.startswith("-") else argument
    text = "".join(char if char.isprintable() else _percent(char) for char in argument)
    return f"%2D{text[1:]}" if text.startswith("-") else text


def path(argument: str) -> str:
    """The argument that names a file, whatever its end is."""
    return argument if names.is_path(argument) else f"./{argument}"


def quoted(word: str) -> str:
    """A word for the shell; one with text that is not visible as `$'…'`, which bash, zsh and ksh read."""
    if word and _PLAIN.issuperset(word):
        return word
    if word.isprintable():
        return "'" + word.replace("'", "'\"'\"'") + "'"
    shown = []
    for char in word:
        if char in "\\'":
            shown.append(f"\\{char}")
        elif char.isprintable():
            shown.append(char)
        else:
            shown += [f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape")]
    return "$'" + "".join(shown) + "'"


def free(stem: str, end: str) -> str:
    """The name of a file that is not there yet: stem and end, with a number between them if need be."""
    name, number = f"{stem}{end}", 1
    while os.path.lexists(name):
        number += 1
        name = f"{stem}-{number}{end}"
    return name


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))
