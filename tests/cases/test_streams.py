"""What goes to which stream, in which locale, and to whom: B80."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .inputs import Put, Run, case_bytes

USER = b'{"role":"user","content":"a"}'
JSON_COMMANDS = [
    ["window", "./damaged.jsonl", "--json"],
    ["show", "./damaged.jsonl", "--json"],
    ["count", "./damaged.jsonl", "--json"],
    ["append", "alice/c", "x", "--json"],
    ["list", "--json"],
    ["list", "nobody", "--json"],
    ["rebuild-index", "--json"],
    ["trash", "--json"],
    ["trash", "list", "--json"],
    ["quarantine", "--json"],
    ["quarantine", "list", "--json"],
    ["activities", "alice/b80", "--json"],
    ["delete", "alice/b80", "--json"],
    ["config", "--json"],
]


@pytest.mark.parametrize("arguments", JSON_COMMANDS, ids=" ".join)
def test_b80_one_json_value_and_nothing_else(
    memctl: Run, root: Path, put: Put, tmp_path: Path, arguments: list[str]
) -> None:
    """With --json standard output is one JSON value, whatever is said beside it."""
    put("b80", USER + b"\n")
    (tmp_path / "damaged.jsonl").write_bytes(case_bytes("B80", "damaged.jsonl"))
    done = memctl("--root", str(root), *arguments)
    assert done.returncode in (0, 1)
    json.loads(done.stdout)
    assert b"\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (66, ["window", "alice/none", "--json"]),
        (66, ["show", "./none.jsonl", "--json"]),
        (66, ["count", "alice/none", "--json"]),
        (66, ["delete", "alice/none", "--yes", "--json"]),
        (66, ["trash", "restore", "alice/none", "--json"]),
        (66, ["quarantine", "show", "none", "--json"]),
        (66, ["activities", "alice/none", "--json"]),
        (65, ["append", "a/b/c", "x", "--json"]),
        (65, ["append", "alice/c", "--json"]),
        (2, ["window", "alice/b80", "-b", "-1", "--json"]),
        (2, ["show", "alice/b80", "--last", "-1", "--json"]),
        (2, ["list", "--json", "--no-such-option"]),
    ],
)
def test_b80_errors_are_one_object_on_standard_error(
    memctl: Run, root: Path, put: Put, code: int, arguments: list[str]
) -> None:
    """A failure with --json leaves standard output empty and one object on standard error."""
    put("b80", USER + b"\n")
    done = memctl("--root", str(root), *arguments, input=b"no json\n")
    assert (code, b"") == (done.returncode, done.stdout)
    error = json.loads(done.stderr)["error"]
    assert (code, True) == (error["exit"], bool(error["code"] and error["message"]))


@pytest.mark.parametrize("command", ["window", "show"])
@pytest.mark.parametrize("form", ["jsonl", "json", "text"])
def test_b80_no_locale_breaks_output(memctl: Run, root: Path, put: Put, command: str, form: str) -> None:
    """An emoji is printed as UTF-8 under an ASCII locale."""
    put("e", '{"role":"user","content":"🙂"}\n'.encode())
    ascii_only = {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = memctl("--root", str(root), command, "alice/e", "-f", form, env=ascii_only)
    assert (0, b"") == (done.returncode, done.stderr)
    assert "🙂".encode() in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["show", "alice/long", "-f", "jsonl"], ["window", "alice/long", "-f", "json"], ["show", "alice/long"]],
)
def test_b80_a_closed_pipe_is_quiet(
    environment: dict[str, str], root: Path, put: Put, arguments: list[str]
) -> None:
    """When the reader goes away the command ends without a word."""
    put("long", (USER + b"\n") * 20_000)
    command = [sys.executable, "-m", "memctl", "--root", str(root), *arguments]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        said = process.stderr.read()
        assert (141, b"") == (process.wait(timeout=60), said)


def test_b80_a_damaged_line_beside_the_data(memctl: Run, tmp_path: Path) -> None:
    """The message is printed and the line that is none is named on standard error."""
    (tmp_path / "damaged.jsonl").write_bytes(case_bytes("B80", "damaged.jsonl"))
    done = memctl("window", "./damaged.jsonl", "-b", "0", "-f", "jsonl")
    assert (0, USER + b"\n") == (done.returncode, done.stdout)
    assert b"bad-json (line 2)" in done.stderr
