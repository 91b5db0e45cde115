"""The types of the library: what a method returns has a public name, and is written down."""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import memctl

FOLDER = Path(memctl.__file__ or "").parent / "api"
#: Names of types that a program has from elsewhere.
KNOWN = {*vars(builtins), "Any", "Iterator"}


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Public functions and the public methods of public classes, with their names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                    yield f"{node.name}.{method.name}", method


def imported(tree: ast.Module) -> dict[str, str]:
    """Name -> module, of all that a module imports from ours, for type checkers too."""
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("memctl")
        for alias in node.names
    }


TREES = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.py"))}
METHODS = [
    pytest.param(TREES[module], method, id=name)
    for module in TREES
    if module != "family"
    for name, method in functions(TREES[module])
]


@pytest.mark.parametrize(("tree", "method"), METHODS)
def test_what_is_returned_has_a_public_name(tree: ast.Module, method: ast.FunctionDef) -> None:
    """A program can name the type of everything that the library gives it, from `memctl` itself."""
    assert method.returns is not None
    names = {node.id for node in ast.walk(method.returns) if isinstance(node, ast.Name)} - KNOWN
    modules = imported(tree)
    for name in names:
        public = getattr(memctl, name)
        if name in modules:
            assert public is getattr(importlib.import_module(modules[name]), name)


@pytest.mark.parametrize(("tree", "method"), METHODS)
def test_every_method_says_what_it_promises(tree: ast.Module, method: ast.FunctionDef) -> None:
    """Each has a docstring, and a type for every argument."""
    said = ast.get_docstring(method)
    assert said and said.split("\n\n")[0].endswith(".")
    args = [*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs]
    assert [] == [arg.arg for arg in args if arg.annotation is None and arg.arg not in ("self", "cls")]


def test_the_methods_are_found() -> None:
    """The table holds the methods of every class that a program uses."""
    found = {param.id for param in METHODS}
    assert {"Store.memory", "Conversation.window", "Memory.rebuild_index", "TierStore.put"} <= found
