"""--json on every command: one value on standard output, and its keys are those of the manual."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from memctl.cli import shapes
from memctl.cli.catalogue import COMMANDS
from tests.conftest import Memctl

#: Title of a shape -> the command line that prints it, on the store `filled`.
REPORTS: dict[str, tuple[str, ...]] = {
    "append --json": ("append", "alice/trip", "more", "--json"),
    "remember --json": ("remember", "alice", "She likes tea", "--json"),
    "pin --json": ("pin", "alice", "seat", "--json"),
    "forget --json": ("forget", "alice", "seat", "--json"),
    "reconcile --json": ("reconcile", "alice", "--explain", "--json"),
    "purge --json": ("purge", "--json"),
    "stats --json": ("stats", "--json"),
    "count --json": ("count", "alice/trip", "--json"),
    "activities --json": ("activities", "alice/trip", "--json"),
    "drop --json": ("drop", "alice/trip", "q1", "--json"),
    "delete --json": ("delete", "alice/trip", "--json"),
    "trash restore --json": ("trash", "restore", "alice/gone", "--json"),
    "inspect --json": ("inspect", "--probe", "--json"),
    "repair --json": ("repair", "--json"),
    "rebuild-index --json": ("rebuild-index", "--json"),
    "config --json": ("config", "--json"),
    "config --init --json": ("config", "--init", "--json"),
    "help --json": ("help", "names", "--json"),
}
#: The same for reports that are lists.
LISTS = {
    "list -f jsonl": ("list", "--json"),
    "trash list --json": ("trash", "--json"),
    "quarantine list --json": ("quarantine", "--json"),
    "search -f jsonl": ("search", "alice", "train", "--context", "1", "--json"),
}
#: Command lines that print messages or texts.
OTHERS = [
    ("window", "alice/trip", "--json"),
    ("window", "alice/trip", "--json", "-f", "openai"),
    ("window", "alice/trip", "--json", "-f", "anthropic"),
    ("window", "alice/trip", "--json", "-b", "20", "--explain"),
    ("show", "alice/trip", "--json"),
    ("show", "alice/torn", "--json"),
    ("remember", "alice", "--from", "trip", "--json"),
    ("remember", "alice", "--from", "torn", "--json"),
    ("records", "alice", "--json"),
    ("records", "nobody", "--json"),
    ("get", "alice", "seat", "--json"),
    ("recall", "alice", "seat", "--explain", "--json"),
    ("recall", "nobody", "--json"),
    ("search", "alice/trip", "nothing like it", "--json"),
    ("unpin", "alice", "seat", "--json"),
    ("forget", "alice", "seat", "--yes", "--source", "--json"),
    ("forget", "alice", "--query", "nothing like it", "--json"),
    ("reconcile", "--all", "--json"),
    ("reconcile", "alice", "--dry-run", "--json"),
    ("purge", "--yes", "--json"),
    ("stats", "alice", "--json"),
    ("events", "--json"),
    ("events", "nobody", "--json"),
    ("count", "alice/trip", "--window", "-b", "10", "--json"),
    ("drop", "alice/trip", "q1", "--yes", "--json"),
    ("delete", "alice/trip", "--yes", "--json"),
    ("rebuild-index", "--check", "--json"),
    ("append", "alice/trip", "gone", "--ephemeral", "--json"),
]


def check(shape: str, value: dict[str, Any], *optional: str) -> None:
    """The value has the keys of the shape, in order; inner objects too, where there are any.

    `optional` keys may be missing.
    """
    rows = [path for path, _, _ in shapes.SHAPES[shape] if path in value or path not in optional]
    _check(rows, value)


def _check(rows: list[str], value: dict[str, Any]) -> None:
    assert [path for path in rows if "." not in path] == list(value)
    for key, inner in value.items():
        for start, items in ((f"{key}[].", inner), (f"{key}.", [inner])):
            below = [path.removeprefix(start) for path in rows if path.startswith(start)]
            for item in items if below else ():
                _check(below, item)


def test_every_command_and_shape_is_asked() -> None:
    """No command is without --json, and no shape without a test."""
    lines = [*REPORTS.values(), *LISTS.values(), *OTHERS]
    assert set(COMMANDS) == {line[0] for line in lines}
    elsewhere = {
        "window --explain",
        "show -f jsonl",
        "records -f jsonl",
        "recall -f jsonl",
        "recall --explain",
        "events -f jsonl",
        "errors (on standard error)",
    }
    elsewhere |= {"quarantine show --json", "quarantine restore --json"}
    assert set(shapes.SHAPES) == {*REPORTS, *LISTS, *elsewhere}


@pytest.mark.parametrize("shape", REPORTS)
def test_reports(memctl: Memctl, filled: Path, shape: str) -> None:
    """A report is one object with the keys of the manual, in order."""
    done = memctl("--root", str(filled), *REPORTS[shape])
    assert done.returncode in (0, 1)
    assert 1 == done.stdout.count(b"\n")
    check(shape, json.loads(done.stdout))


@pytest.mark.parametrize("shape", LISTS)
def test_lists(memctl: Memctl, filled: Path, shape: str) -> None:
    """A list is one array of objects with the keys of the manual; an empty store gives an empty one."""
    done = memctl("--root", str(filled), *LISTS[shape])
    rows = json.loads(done.stdout)
    optional = ("addressable", "path", "records", "file")
    expected = tuple(key for key in shapes.keys(shape) if key not in optional)
    assert rows
    assert {expected} == {tuple(row) for row in rows}
    assert b"[]\n" == memctl("--root", str(filled / "nothing"), *LISTS[shape]).stdout


@pytest.mark.parametrize("line", OTHERS, ids=" ".join)
def test_one_value(memctl: Memctl, filled: Path, line: tuple[str, ...]) -> None:
    """B80: standard output is one JSON value in one line, whatever else is said."""
    done = memctl("--root", str(filled), *line)
    assert done.returncode in (0, 1)
    assert 1 == done.stdout.count(b"\n")
    json.loads(done.stdout)


def test_append_with_everything(memctl: Memctl, filled: Path) -> None:
    """The report of an append that heals, skips, echoes and warns has all keys of the manual."""
    with open(filled / "conversations" / "alice" / "trip.jsonl", "ab") as file:
        file.write(b'{"role":"user","content":"whole"}\n{"ro')
    lines = [
        {"role": "user", "content": "x" * 70_000},
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "robot", "content": "bad"},
        {"role": "assistant", "content": "gone", "extra": {"__eino_ext_memory_ephemeral": True}},
        {"role": "user", "content": "Is there a train?", "extra": {"memctl": {"id": "q1"}}},
    ]
    done = memctl(
        "--root",
        str(filled),
        "append",
        "alice/trip",
        "--skip-invalid",
        "--json",
        input="\n".join(map(json.dumps, lines)).encode(),
    )
    report = json.loads(done.stdout)
    check("append --json", report)
    counts = ("appended", "duplicates", "skipped_ephemeral")
    assert (2, 1, 1) == tuple(report[key] for key in counts)
    lengths = ("skipped_invalid", "healed", "go_unreadable", "ids", "ephemeral")
    assert (1, 1, 2, 2, 1) == tuple(len(report[key]) for key in lengths)
    assert 3 == report["skipped_invalid"][0]["line"]
    assert ["line-too-long", "list-content"] == [item["code"] for item in report["go_unreadable"]]
    size = len((filled / "conversations" / "alice" / "trip.jsonl").read_bytes())
    assert size == report["offset"] + report["bytes"]


def test_inspect_and_repair_with_everything(memctl: Memctl, filled: Path, tmp_path: Path) -> None:
    """Reports of what is wrong, mended, left and could not be looked at have all keys of the manual."""
    with open(filled / "conversations" / "alice" / "trip.jsonl", "ab") as file:
        file.write(b'no json\n{"role":"assistant","content":""}\n')
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    (tmp_path / "other.jsonl").write_bytes(b'{"level":"info"}\n' * 3)
    start = ("--root", str(filled))
    done = memctl(*start, "inspect", "alice/trip", "./loop.jsonl", "--json")
    report = json.loads(done.stdout)
    check("inspect --json", report, "probe")
    assert (1, 1, 1) == (done.returncode, len(report["targets"]), len(report["failed"]))
    assert ["bad-json", "empty-message"] == [p["code"] for p in report["targets"][0]["problems"]]
    done = memctl(*start, "repair", "alice/trip", "./other.jsonl", "--json")
    report = json.loads(done.stdout)
    check("repair --json", report)
    assert (1, 1, 1) == (done.returncode, len(report["targets"]), len(report["failed"]))
    (target,) = report["targets"]
    assert (["bad-json"], ["empty-message"]) == tuple(
        [row["code"] for row in target[key]] for key in ("fixed", "left")
    )


def test_explain(memctl: Memctl, filled: Path) -> None:
    """--explain is the one line on standard error that begins with a brace, with the keys of the manual."""
    path = filled / "conversations" / "alice" / "trip.jsonl"
    with open(path, "ab") as file:
        file.write(b"no json\n")
    done = memctl("--root", str(filled), "window", "alice/trip", "-b", "30", "--explain")
    lines = done.stderr.decode().splitlines()
    objects = [line for line in lines if line.startswith("{")]
    assert 1 == len(objects)
    assert all(line.startswith("memctl: ") for line in lines if line not in objects)
    value = json.loads(objects[0])
    check("window --explain", value)
    assert [{"line": 4, "code": "bad-json"}] == value["left_out"]


def test_quarantine_show(memctl: Memctl, filled: Path) -> None:
    """An item is its note and its text; without --json its bytes, exactly."""
    note = json.loads(memctl("--root", str(filled), "quarantine", "--json").stdout)[0]
    done = memctl("--root", str(filled), "quarantine", "show", note["id"], "--json")
    assert {**note, "text": '{"role":"user","con'} == json.loads(done.stdout)
    assert b'{"role":"user","con' == memctl("--root", str(filled), "quarantine", "show", note["id"]).stdout


def test_quarantine_restore(memctl: Memctl, filled: Path) -> None:
    """What was set aside is back in its place; the report says how much, and what stands behind it."""
    path = filled / "conversations" / "alice" / "torn.jsonl"
    first, later = path.read_bytes().splitlines(keepends=True)
    note = json.loads(memctl("--root", str(filled), "quarantine", "--json").stdout)[0]
    done = memctl("--root", str(filled), "quarantine", "restore", note["id"], "--json")
    assert 0 == done.returncode, done.stderr
    value = json.loads(done.stdout)
    check("quarantine restore --json", value)
    torn = b'{"role":"user","con\n'
    assert first + torn + later == path.read_bytes()
    wanted = {"conversation": "alice/torn", "file": None, "restored": True, "restored_bytes": len(torn)}
    assert wanted == {key: value[key] for key in wanted}
    assert [] == json.loads(memctl("--root", str(filled), "quarantine", "--json").stdout)
    again = memctl("--root", str(filled), "quarantine", "restore", note["id"])
    assert (66, b"") == (again.returncode, again.stdout)


def test_quarantine_of_a_file(memctl: Memctl, filled: Path, tmp_path: Path) -> None:
    """A repaired file outside a store: list, show and restore take the path of its quarantine."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b'{"role":"user","content":"a"}\nbroken\n{"role":"assistant","content":"b"}\n')
    before = path.read_bytes()
    assert 0 == memctl("--root", str(filled), "repair", "./talk.jsonl", "--apply").returncode
    aside = "./talk.jsonl.quarantine"
    (note,) = json.loads(memctl("quarantine", "list", aside, "--json").stdout)
    assert (7, ["bad-json"]) == (note["length"], note["codes"])
    assert b"talk.jsonl" in memctl("quarantine", "list", aside).stdout
    assert b"broken\n" == memctl("quarantine", "show", aside).stdout
    shown = json.loads(memctl("quarantine", "show", aside, note["id"], "--json").stdout)
    pieces = [path for path, _, _ in shapes.SHAPES["quarantine show --json"] if path.startswith("pieces[].")]
    assert [pieces] == [[f"pieces[].{key}" for key in piece] for piece in shown["pieces"]]
    done = memctl("quarantine", "restore", "talk.jsonl.quarantine", note["id"])
    assert (0, before) == (done.returncode, path.read_bytes()), done.stderr
    assert note["id"].encode() in done.stdout


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (("quarantine", "restore"), 2),
        (("quarantine", "show"), 2),
        (("quarantine", "restore", "one", "two"), 2),
        (("quarantine", "list", "id"), 2),
        (("quarantine", "throw"), 2),
        (("quarantine", "list", "./talk.jsonl"), 2),
        (("quarantine", "list", "./none.quarantine"), 66),
        (("quarantine", "restore", "none"), 66),
    ],
)
def test_quarantine_refuses(memctl: Memctl, filled: Path, line: tuple[str, ...], code: int) -> None:
    """What cannot be meant, or is not there, is refused with its exit code and no output."""
    done = memctl("--root", str(filled), *line)
    assert (code, b"") == (done.returncode, done.stdout)


def test_quarantine_of_a_path_alone_is_hinted_at(memctl: Memctl) -> None:
    """A path where the action is expected is answered with the command that lists it."""
    done = memctl("quarantine", "talk.jsonl.quarantine")
    assert (2, b"") == (done.returncode, done.stdout)
    assert done.stderr.endswith(b"memctl: hint: memctl quarantine list talk.jsonl.quarantine\n")
    assert b"--help" in memctl("quarantine", "throw").stderr


def test_odd_names_in_the_list(memctl: Memctl, filled: Path) -> None:
    """A file whose name does not decode back is listed with its path, and can be read by it."""
    odd = filled / "conversations" / "alice" / "a%2fb.jsonl"
    shutil.copy(filled / "conversations" / "alice" / "trip.jsonl", odd)
    rows = json.loads(memctl("--root", str(filled), "list", "--json").stdout)
    (row,) = [row for row in rows if row.get("addressable") is False]
    assert shapes.keys("list -f jsonl") == tuple(row)
    assert str(odd) == row["path"]
    assert 0 == memctl("--root", str(filled), "show", row["path"]).returncode


@pytest.mark.parametrize(
    "line", [("show", "-f", "jsonl"), ("window",), ("show", "--json"), ("window", "--json")]
)
def test_messages_are_the_stored_ones(memctl: Memctl, filled: Path, line: tuple[str, ...]) -> None:
    """jsonl is the stored bytes; json is one array of the same messages in chat-completions form."""
    stored = (filled / "conversations" / "alice" / "trip.jsonl").read_bytes()
    shown = memctl("--root", str(filled), line[0], "alice/trip", *line[1:]).stdout
    if "--json" in line:
        expected = [json.loads(text) for text in stored.splitlines()]
        expected[1]["content"] = None
        assert expected == json.loads(shown)
    else:
        assert stored == shown


@pytest.mark.parametrize(
    ("line", "exit_code", "code"),
    [
        (("show", "alice/nothing", "--json"), 66, "not-found"),
        (("window", "alice/nothing", "--json"), 66, "not-found"),
        (("window", "alice/nothing", "-f", "jsonl"), 66, "not-found"),
        (("count", "alice/nothing", "--json"), 66, "not-found"),
        (("activities", "alice/nothing", "--json"), 66, "not-found"),
        (("drop", "alice/trip", "zz", "--json"), 66, "not-found"),
        (("drop", "alice/nothing", "zz", "--yes", "--json"), 66, "not-found"),
        (("delete", "alice/nothing", "--json"), 66, "not-found"),
        (("trash", "restore", "alice/nothing", "--json"), 66, "not-found"),
        (("quarantine", "show", "zz", "--json"), 66, "not-found"),
        (("rebuild-index", "alice/nothing", "--json"), 66, "not-found"),
        (("help", "nothing-like-it", "--json"), 66, "not-found"),
        (("append", "alice/trip", "other", "--id", "q1", "--json"), 65, "id-conflict"),
        (("append", "alice/ ", "text", "--json"), 65, "bad-name"),
        (("list", "alice/trip", "--json"), 2, "usage"),
        (("config", "alice", "--json"), 2, "usage"),
        (("window", "alice/trip", "-b", "-1", "--json"), 2, "usage"),
        (("window", "alice/trip", "-b", "many", "--json"), 2, "usage"),
        (("window", "alice/trip", "--json", "-f", "text"), 2, "usage"),
        (("show", "alice/trip", "--follow", "--json"), 2, "usage"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_failures(memctl: Memctl, filled: Path, line: tuple[str, ...], exit_code: int, code: str) -> None:
    """B80: on failure standard output is empty and standard error is one object with the exit code."""
    done = memctl("--root", str(filled), *line)
    assert (exit_code, b"", 1) == (done.returncode, done.stdout, done.stderr.count(b"\n"))
    error = json.loads(done.stderr)["error"]
    assert (code, exit_code) == (error["code"], error["exit"])
    assert error["message"]


def test_a_run_can_be_repeated(memctl: Memctl, tmp_path: Path) -> None:
    """With --now the same commands print the same, ids, times and names of entries included."""

    def run(root: Path) -> list[bytes]:
        lines = [
            ("append", "alice/a", "one", "--json"),
            ("append", "alice/a", "two", "--json"),
            ("delete", "alice/a", "--yes", "--json"),
            ("append", "alice/a", "one", "--json"),
            ("delete", "alice/a", "--yes", "--json"),
            ("trash", "--json"),
            ("quarantine", "--json"),
        ]
        shown = [memctl("--root", str(root), "--now", "1772614800", *line).stdout for line in lines[:4]]
        path = root / "conversations" / "alice" / "a.jsonl"
        for _ in range(2):
            # The same tail twice in the same instant at the same place: both are kept.
            with open(path, "ab") as file:
                file.write(b'{"torn')
            shown.append(
                memctl("--root", str(root), "--now", "1772614800", "append", "alice/a", "x", "--json").stdout
            )
            path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
        return shown + [
            memctl("--root", str(root), "--now", "1772614800", *line).stdout for line in lines[4:]
        ]

    first = run(tmp_path / "first")
    assert first == run(tmp_path / "second")
    assert [2, 2] == [len(json.loads(text)) for text in first[-2:]]
