"""sample_conversations/damaged: its README says what inspect and repair say, and the bytes bear it out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memctl.core.problems import TABLE
from tests.conftest import Memctl
from tests.docs.session import CHECKOUT, installed

SAMPLES = CHECKOUT / "sample_conversations"
DAMAGED = SAMPLES / "damaged"
TEXT = (DAMAGED / "README.md").read_text(encoding="utf-8")
FILES = sorted(path.name for path in DAMAGED.glob("*.jsonl"))


class Row(NamedTuple):
    """A row of the README's second table."""

    file: str
    code: str
    severity: str
    line: int
    offset: int
    action: str


def cells(columns: int) -> list[list[str]]:
    """The rows of the table with so many columns, without their marks."""
    rows = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]
    plain = [[re.sub(r"\[(.+)\]\(\1\)", r"\1", cell).strip("`") for cell in row] for row in rows]
    return [row for row in plain if len(row) == columns and row[0].endswith(".jsonl")]


ABOUT = {file: (int(messages), int(size), int(aside)) for file, _, messages, size, aside in cells(5)}
ROWS = [
    Row(file, code, severity, int(line), int(offset), action)
    for file, code, severity, line, offset, action in cells(6)
]


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """A directory with copies of the files."""
    directory = tmp_path / "copies"
    directory.mkdir()
    for name in FILES:
        shutil.copy(DAMAGED / name, directory)
    return directory


def reports(memctl: Memctl, *arguments: str) -> dict[str, dict[str, Any]]:
    """The targets of a report, by the names of the files."""
    done = memctl(*arguments, "./copies", "--json", "--exit-zero")
    assert (0, b"") == (done.returncode, done.stderr)
    return {Path(target["target"]).name: target for target in json.loads(done.stdout)["targets"]}


def test_every_file_is_there(memctl: Memctl, copies: Path) -> None:
    """Both tables have each file, and each file has a row with what it holds."""
    assert FILES == sorted(ABOUT)
    assert FILES == sorted({row.file for row in ROWS})
    found = reports(memctl, "inspect")
    planned = reports(memctl, "repair")
    assert ABOUT == {
        name: (found[name]["messages"], found[name]["bytes"], planned[name]["quarantined_bytes"])
        for name in FILES
    }


def test_what_inspect_says(memctl: Memctl, copies: Path) -> None:
    """The rows are the problems that inspect names, in its order, and there is no other."""
    found = reports(memctl, "inspect")
    assert [row[:5] for row in ROWS] == [
        (name, problem["code"], problem["severity"], problem["line"], problem["offset"])
        for name in ABOUT
        for problem in found[name]["problems"]
    ]


def test_what_repair_does(memctl: Memctl, copies: Path) -> None:
    """The plan has an action for each row, or leaves it; the deed is the plan; then only that is left."""
    planned = reports(memctl, "repair")
    for name, target in planned.items():
        rows = [row for row in ROWS if row.file == name]
        fixed = [(fix["code"], fix["line"], fix["action"]) for fix in target["fixed"]]
        left = [(rest["code"], rest["line"], rest["severity"]) for rest in target["left"]]
        assert sorted((row.code, row.line, row.action) for row in rows if row.action != "left") == sorted(
            fixed
        )
        assert sorted((row.code, row.line, row.severity) for row in rows if row.action == "left") == sorted(
            left
        )
    done = reports(memctl, "repair", "--apply")
    assert {name: {**target, "applied": True} for name, target in planned.items()} == done
    again = reports(memctl, "repair", "--apply")
    assert {name: [] for name in FILES} == {name: target["fixed"] for name, target in again.items()}
    assert {
        name: [(rest["code"], rest["severity"]) for rest in target["left"]] for name, target in done.items()
    } == {
        name: [(problem["code"], problem["severity"]) for problem in target["problems"]]
        for name, target in reports(memctl, "inspect").items()
    }
    for name, target in done.items():
        new = (copies / name).read_bytes()
        assert len(new) == target["kept"] + target["added_bytes"]
        backup = copies / f"{name}.bak"
        assert (target["backup"] is not None) == backup.exists()
        assert (DAMAGED / name).read_bytes() == (backup.read_bytes() if backup.exists() else new)


Holds = Callable[[bytes, int, bytes, int], bool]


def value(line: bytes) -> Any:
    """The JSON of a line, None if it is none."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def own(line: bytes) -> dict[str, Any]:
    """What memctl added to a message."""
    added: dict[str, Any] = value(line)["extra"]["memctl"]
    return added


def undecodable(data: bytes) -> int:
    """The first byte that is not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


#: code -> whether a line (all bytes, where it starts, the line, the byte named) is what the code says.
WHOLE: dict[str, Callable[[bytes, int, bytes], bool]] = {
    "torn-tail": lambda data, at, line: data[at:] == line and value(line) is None,
    "bad-json": lambda data, at, line: data[at + len(line) :][:1] == b"\n" and value(line) is None,
    "glued-lines": lambda data, at, line: value(line) is None and line.count(b'{"role":"') == 2,
    "not-a-message": lambda data, at, line: value(line) is not None and "role" not in value(line),
    "open-call": lambda data, at, line: (
        value(line)["tool_calls"][0]["id"].encode() not in data[at + len(line) :].split(b"\n")[1]
    ),
    "orphan-result": lambda data, at, line: (
        value(line)["role"] == "tool" and value(line)["tool_call_id"].encode() not in data[:at]
    ),
    "duplicate-result": lambda data, at, line: (
        f'"tool_call_id":"{value(line)["tool_call_id"]}"'.encode() in data[:at]
    ),
    "duplicate-message": lambda data, at, line: line + b"\n" in data[:at],
    "duplicate-id": lambda data, at, line: own(line)["id"].encode() in data[:at] and line not in data[:at],
    "blank-line": lambda data, at, line: not line.strip(),
    "unknown-role": lambda data, at, line: value(line)["role"] == "model",
    "dangling-user": lambda data, at, line: b'{"role":"user"' == line[:14] == data[at + len(line) + 1 :][:14],
    "empty-message": lambda data, at, line: not value(line)["content"] and value(line)["role"] == "assistant",
    "incomplete": lambda data, at, line: value(line)["extra"]["__eino_ext_memory_incomplete"] is True,
    "ephemeral-stored": lambda data, at, line: value(line)["extra"]["__eino_ext_memory_ephemeral"] is True,
    "bad-summary": lambda data, at, line: "covers" in own(line),
    "list-content": lambda data, at, line: isinstance(value(line)["content"], list),
    "line-too-long": lambda data, at, line: len(line) >= 65_536,
    "duplicate-key": lambda data, at, line: line.count(b'"content":') == 2,
    "time-order": lambda data, at, line: (
        own(line)["created_at"] < own(data[:at].splitlines()[-1])["created_at"]
    ),
    "bad-time": lambda data, at, line: not re.match(r"\d{4}-\d\d-\d\dT", own(line)["created_at"]),
}
INSIDE: dict[str, Holds] = {
    "no-final-newline": lambda data, at, line, byte: (
        byte == len(data) == at + len(line) and bool(value(line))
    ),
    "nul-bytes": lambda data, at, line, byte: data[byte - 1] != 0 == data[byte],
    "bad-utf8": lambda data, at, line, byte: undecodable(data) == byte,
    "bad-number": lambda data, at, line, byte: data[byte:].startswith((b"NaN", b"1e999")),
    "bom": lambda data, at, line, byte: byte == at and data[at : at + 3] == b"\xef\xbb\xbf",
    "crlf": lambda data, at, line, byte: data[byte : byte + 2] == b"\r\n",
    "bad-text": lambda data, at, line, byte: data[byte : byte + 7] == b'\\ud83e"',
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.file}-{row.line}-{row.code}")
def test_the_bytes_bear_it_out(row: Row) -> None:
    """Line and byte of a row are the place in the file where the damage is."""
    data = (DAMAGED / row.file).read_bytes()
    line = data.split(b"\n")[row.line - 1]
    start = len(b"\n".join([*data.split(b"\n")[: row.line - 1], b""]))
    if row.code in WHOLE:
        assert start == row.offset
        assert WHOLE[row.code](data, start, line)
    else:
        assert INSIDE[row.code](data, start, line, row.offset)


def test_the_common_damages_are_there() -> None:
    """Every code of a line has a file, but for records and for JSON that only our parsers refuse."""
    of_files = {"bad-activities", "mode", "symlink", "stray-file", "odd-name", "stale-cache"}
    assert set(TABLE) - of_files - {"not-a-record", "unreadable-json"} == {row.code for row in ROWS}
    assert [] == [row for row in ROWS if row.severity not in (TABLE[row.code].severity, TABLE[row.code].also)]


def test_the_samples_are_a_store_all_the_same(memctl: Memctl, root: Path) -> None:
    """Inspect of the samples as a store finds no error, and names what belongs to no store as that."""
    shutil.copytree(SAMPLES, root)
    for path in (root, *root.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    done = memctl("--root", str(root), "inspect", "--json")
    assert (0, b"") == (done.returncode, done.stderr)
    report = json.loads(done.stdout)
    problems = {
        Path(target["target"]).name: {problem["code"] for problem in target["problems"]}
        for target in report["targets"]
    }
    assert {
        "parser-rewrite": {"dangling-user"},
        "family-planning": {"dangling-user"},
        "support-case": {"dangling-user"},
        "README.md": {"stray-file"},
        "damaged": {"stray-file"},
    } == problems
    assert (0, True) == (report["errors"], report["complete"])
    said = "`inspect` names this page and `damaged/` as stray files"
    assert said in (SAMPLES / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "exit_code", "words"),
    [
        ("README.md", 0, ("parser-rewrite", "family-planning", "support-case")),
        ("damaged/README.md", 1, ("torn-tail", "glued-lines", "open-call", "nul-bytes")),
    ],
)
def test_the_first_commands(
    tmp_path: Path, environment: dict[str, str], page: str, exit_code: int, words: tuple[str, ...]
) -> None:
    """The command that a README of the samples begins with works in a clone, and on a copy."""
    clone = tmp_path / "clone"
    shutil.copytree(SAMPLES, clone / SAMPLES.name)
    tools = installed(tmp_path / "tools")
    (command,) = re.findall(r"`(cp [^`]+)`", (SAMPLES / page).read_text(encoding="utf-8"))
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=clone,
        env={**environment, "PATH": f"{tools}:{environment['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (exit_code, "") == (done.returncode, done.stderr)
    assert [] == [word for word in words if word not in done.stdout]
