"""What a command may load: the cost of a call is that of `import typer`, and of what is named here."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent.parent

_CLOSURE = """
import sys, importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*sys.modules)
"""
_DRIVER = """
import sys
from memctl.cli import guard
code = guard.main(sys.argv[1:])
sys.stdout.flush()
print(code, *sys.modules, file=sys.stderr)
"""
#: Small, and needed by all that reads a log; part of the interpreter or of typer.
LIGHT = {
    *("__future__", "_bisect", "_struct", "array", "binascii", "bisect", "fcntl", "gc", "struct"),
    *("typer._click.decorators", "zlib"),
}
#: How to read the table: a command after the ones that prepare -> what it loads beside typer and LIGHT.
READ = ("orjson",)
LOCK = ("filelock",)
RANK = (*READ, "sqlite3", "unicodedata")
COMMANDS: dict[str, tuple[str, ...]] = {
    "append u/c hello": LOCK,
    "append u/new hello --no-fsync --json": LOCK,
    "append u/c hello --id some-id": (*LOCK, *READ, "hashlib"),
    "append u/c --input {input}": (*LOCK, *READ),
    "remember u hello": LOCK,
    "remember u hello --json --meta k=v --pin": LOCK,
    "remember u hello --id some-id": (*LOCK, *READ),
    "remember u --input {input}": (*LOCK, *READ),
    "remember u --from c": (*LOCK, *READ, "hashlib"),
    "records u": READ,
    "recall u --no-touch": RANK,
    "recall u hello": RANK,
    "recall u hello --ranker overlap -f json": (*READ, "unicodedata"),
    "search u hello": RANK,
    "get u some-id": READ,
    "pin u some-id": (*LOCK, *READ, "json"),
    "forget u some-id": READ,
    "reconcile u": (*RANK, *LOCK, "json"),
    "reconcile --all --dry-run": READ,
    "purge": READ,
    "stats": (*READ, "hashlib"),
    "stats u --json": (*READ, "hashlib"),
    "events": READ,
    "window u/c": (),
    "window u/c -b 100": (),
    "window u/c -b 100 --counter bytes4": (),
    "window u/c -b 100 --explain": (),
    "window u/c --plain -b 100": (),
    "window u/c -f json": ("json",),
    "window u/c -f openai": ("json",),
    "window u/c -f text": ("json",),
    "window u/c -b 100 --pending hm": ("re",),
    "count u/c": (),
    "list": ("json",),
    "list u --json": (),
    "show u/c": READ,
    "activities u/c": (),
    "trash": (),
    "trash list --json": (),
    "quarantine": (),
    "delete u/c": (),
    "drop u/c nothing": (*READ, "hashlib"),
    "inspect": READ,
    "inspect u/c": READ,
    "inspect --json": READ,
    "inspect u/c --tokens": READ,
    "inspect {input}": (*READ, "hashlib"),
    "repair u/c": READ,
    "repair --json": READ,
    "repair {input}": (*READ, "hashlib"),
    "repair u/c --apply": (*READ, *LOCK),
    "rebuild-index --check": RANK,
    "config": ("json",),
    "help": ("typer._click._textwrap",),
    "--version": (),
    "--help": ("typer._click._textwrap",),
    "no-such-command": ("difflib",),
}


#: Commands that leave conversations and their caches as they are.
_LOOKING = {
    *(
        "window",
        "count",
        "list",
        "show",
        "trash",
        "quarantine",
        "inspect",
        "config",
        "help",
        "get",
        "records",
    ),
    *("remember", "recall", "search", "reconcile", "pin", "unpin", "stats", "events", "--version", "--help"),
}


@cache
def closure(*names: str) -> frozenset[str]:
    """All modules that importing these loads."""
    done = subprocess.run([sys.executable, "-c", _CLOSURE, *names], capture_output=True, check=True)
    return frozenset(done.stdout.decode().split())


class Caller:
    """Runs commands in children, in a store with a conversation that has been counted."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.environ = {
            "PATH": "",
            "HOME": str(base),
            "PYTHONPATH": str(CHECKOUT),
            "MEMCTL_ROOT": str(base / "store"),
        }
        (base / "input.jsonl").write_bytes(b'{"role":"user","content":"from a file"}\n')
        self.is_settled = False

    def loaded(self, command: str) -> set[str]:
        """The modules that are loaded when the command has ended."""
        arguments = command.format(input=self.base / "input.jsonl").split()
        self.is_settled = self.is_settled and arguments[0] in _LOOKING
        done = subprocess.run(
            [sys.executable, "-c", _DRIVER, *arguments],
            capture_output=True,
            check=True,
            stdin=subprocess.DEVNULL,
            cwd=self.base,
            env=self.environ,
        )
        return set(done.stderr.decode().splitlines()[-1].split()[1:])


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Caller:
    made = Caller(tmp_path_factory.mktemp("startup"))
    for command in (
        "append u/c hello",
        "append u/c answer -r assistant",
        "window u/c -b 100",
        "window u/c -b 100 --counter bytes4",
        "count u/c",
        "count u/c --counter bytes4",
        "remember u hello --id some-id",
    ):
        made.loaded(command)
    return made


def settle(caller: Caller) -> None:
    """Count and index what an append added: the next command finds nothing to do."""
    if caller.is_settled:
        return
    for counter in ("o200k_base", "bytes4"):
        caller.loaded(f"count u/c --counter {counter}")
    caller.loaded("list")
    caller.is_settled = True


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_only_what_the_table_says(caller: Caller, command: str) -> None:
    """Beside typer's modules and memctl's own, a command loads nothing that is not named for it."""
    settle(caller)
    allowed = closure("typer") | closure("typer", *COMMANDS[command]) | LIGHT
    extra = {name for name in caller.loaded(command) - allowed if name.partition(".")[0] != "memctl"}
    assert set() == extra


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("append u/c hello", "filelock"),
        ("append u/c --input {input}", "orjson"),
        ("window u/other -b 100 --counter bytes4", "orjson"),
    ],
)
def test_the_driver_sees_what_is_loaded(caller: Caller, command: str, needed: str) -> None:
    """A module that a command needs is among those that are compared."""
    caller.loaded("append u/other hello")
    assert needed in caller.loaded(command)


def test_a_command_loads_no_other_command(caller: Caller) -> None:
    """Of the command modules only the one that is called is imported."""
    loaded = {name for name in caller.loaded("window u/c") if name.startswith("memctl.cli.cmd_")}
    assert {"memctl.cli.cmd_window"} == loaded


def test_a_counted_window_loads_no_writer(caller: Caller) -> None:
    """A window of a counted log loads neither filelock nor tokenizer nor any other format."""
    settle(caller)
    loaded = caller.loaded("window u/c -b 100")
    avoided = ("filelock", "memctl.store.tokens", "memctl.ops.append", "memctl.formats")
    avoided += ("memctl.store.line_files", "memctl.core.level", "memctl.core.record", "memctl.api.memory")
    assert set() == loaded & set(avoided)
