"""Global options, unknown commands, hints."""

from __future__ import annotations

import json

import pytest

import memctl as package
from memctl.cli.catalogue import COMMANDS, GROUPS
from memctl.cli.guard import wants_json
from tests.conftest import Memctl

#: What parsing and running a small command may load beyond what `import typer` loads.
HEAVY = (
    "rich",
    "tiktoken",
    "orjson",
    "filelock",
    "sqlite3",
    "tomllib",
    "json",
    "importlib.metadata",
    "hashlib",
)


def test_version(memctl: Memctl) -> None:
    """`--version` prints name and version on standard output."""
    done = memctl("--version")
    assert (0, f"memctl {package.__version__}\n".encode(), b"") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("args", [(), ("--help",), ("-h",), ("--root", "x", "-h")])
def test_root_help(memctl: Memctl, args: tuple[str, ...]) -> None:
    """No arguments, `-h` and `--help` print the help on standard output; every command and group is in it."""
    done = memctl(*args)
    assert (0, b"") == (done.returncode, done.stderr)
    text = done.stdout.decode()
    assert [] == [
        name for name, entry in COMMANDS.items() if entry.help not in text or f"  {name} " not in text
    ]
    assert {entry.group for entry in COMMANDS.values()} == {
        group for group in GROUPS if f"\n{group}:\n" in text
    }


def test_help_is_reproducible(memctl: Memctl) -> None:
    """The help does not depend on the hash seed or the locale."""
    outputs = {
        memctl("config", "-h", env={"PYTHONHASHSEED": str(seed), "LANG": lang, "LC_ALL": lang}).stdout
        for seed, lang in ((1, "C"), (2, "C.UTF-8"), (3, "POSIX"), (4, "C"))
    }
    assert 1 == len(outputs)
    assert b"-h, --help" in outputs.pop()


def test_groups() -> None:
    """Every command is in a group of the help."""
    assert set() == {entry.group for entry in COMMANDS.values()} - set(GROUPS)


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (("confg",), "no command 'confg'", "the nearest is config"),
        (("qqqqq",), "no command 'qqqqq'", "memctl --help lists them"),
        (("--rooot", "x", "config"), "no such option: --rooot", "memctl --help; the nearest is --root"),
        (
            ("config", "--root", "x"),
            "no such option: --root",
            "it is a global option: memctl --root DIR config …",
        ),
        (
            ("config", "--now=5"),
            "no such option: --now",
            "it is a global option: memctl --now TIME config …",
        ),
        (("config", "-q"), "no such option: -q", "it is a global option: memctl -q config …"),
        (
            ("help", "-5 degrees"),
            "no such option: -5 (in '-5 degrees')",
            "put -- before a text that begins with -: memctl help … -- '-5 degrees'",
        ),
        (("config", "--jsno"), "no such option: --jsno", "the nearest is --json"),
        (
            ("help", "a", "b"),
            "got unexpected extra argument(s) (b)",
            "memctl help --help; a text with spaces is put in quotes",
        ),
        (("--root",), "option '--root' requires an argument", "memctl --help"),
        (("--root", "x"), "missing command", "memctl --help"),
    ],
)
def test_usage_errors(memctl: Memctl, args: tuple[str, ...], message: str, hint: str) -> None:
    """A usage error is exit 2, one line, and a line with what to try; nothing on standard output."""
    done = memctl(*args)
    assert (2, b"") == (done.returncode, done.stdout)
    assert f"memctl: {message}\nmemctl: hint: {hint}\n" == done.stderr.decode()


def test_usage_error_as_json(memctl: Memctl) -> None:
    """With an explicit --json a usage error is one object, too."""
    done = memctl("config", "--json", "--jsno")
    assert (2, b"") == (done.returncode, done.stdout)
    assert {
        "error": {
            "code": "usage",
            "exit": 2,
            "message": "no such option: --jsno",
            "hint": "the nearest is --json",
        }
    } == json.loads(done.stderr)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("list --json", True),
        ("list -f json", True),
        ("list -f jsonl", True),
        ("list -fjson", True),
        ("list --format=jsonl", True),
        ("list --format json", True),
        ("list -f table", False),
        ("window a/b -f openai", False),
        ("append a/b -- --json", False),
        ("list -f", False),
        ("", False),
    ],
)
def test_wants_json(line: str, wanted: bool) -> None:
    """Only an explicit --json or -f json|jsonl before a -- asks for errors as JSON."""
    assert wanted == wants_json(line.split())


def test_start_up_loads_little(memctl: Memctl, environment: dict[str, str]) -> None:
    """A small command loads no module that costs time and is not needed, nor another command's."""
    import subprocess
    import sys

    script = (
        "import sys; from memctl.cli import guard; code = guard.main(['config', '--json']);"
        "print('\\n' + '\\n'.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=environment, check=True, text=True
    )
    loaded = done.stdout.split("\n")[2:]
    commands = [name for name in loaded if name.startswith("memctl.cli.cmd_")]
    assert [] == [name for name in HEAVY if name in loaded]
    assert ["memctl.cli.cmd_config"] == commands


def test_completion(memctl: Memctl) -> None:
    """A shell that asks for completions gets the commands."""
    done = memctl(env={"_MEMCTL_COMPLETE": "complete_bash", "COMP_WORDS": "memctl conf", "COMP_CWORD": "1"})
    assert (0, b"config\n") == (done.returncode, done.stdout)


def test_completion_script(memctl: Memctl) -> None:
    """The script for the shell can be printed."""
    done = memctl("--show-completion", env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert 2 == done.returncode
    done = memctl("--show-completion", "bash", env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert 0 == done.returncode
    assert b"_MEMCTL_COMPLETE" in done.stdout
