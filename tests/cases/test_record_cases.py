"""Damage in files of records: B02, B62, B66 and B80 on the tier side."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from memctl import Store

from .inputs import Put, Run, case_bytes, case_lines, pairs, repaired, report_of


@pytest.fixture
def hot(memctl: Run, root: Path, put: Put) -> Path:
    """The records of the messages of B02, in the hot tier of alice."""
    put("b02", case_bytes("B02"))
    done = memctl("--root", str(root), "remember", "alice", "--from", "b02", "--json")
    assert 0 == done.returncode, done.stderr
    return root / "tiers" / "hot" / "alice.jsonl"


def test_b02_a_bad_line_names_itself_and_costs_no_record(memctl: Run, root: Path, hot: Path) -> None:
    """One problem at its line and byte, five records; repair sets that line aside and no other byte."""
    records = hot.read_bytes().splitlines(keepends=True)
    torn = case_lines("B02")[2]
    hot.write_bytes(b"".join([*records[:2], torn, *records[2:]]))
    run = ("--root", str(root))
    done = memctl(*run, "inspect", str(hot), "--json")
    (target,) = report_of(done)["targets"]
    offset = len(b"".join(records[:2]))
    assert [("bad-json", "error", 3, offset)] == [
        (p["code"], p["severity"], p["line"], p["offset"]) for p in target["problems"]
    ]
    assert (1, "records", 5, 0) == (
        done.returncode,
        target["format"],
        target["records"],
        target["messages"],
    )
    found = memctl(*run, "recall", "alice", "six", "--no-touch", "-f", "jsonl")
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert "six" == max(lines, key=lambda line: line["score"])["content"]

    code, report, plan = _repair(memctl, root, hot)
    assert (1, 1, [("bad-json", 3)]) == (code, report["fixed"], pairs(plan["fixed"]))
    code, report, target = _repair(memctl, root, hot, "--apply")
    assert (0, 1, 0, len(torn)) == (code, report["fixed"], report["left"], target["quarantined_bytes"])
    assert b"".join(records) == hot.read_bytes()
    assert torn == memctl(*run, "quarantine", "show", target["quarantine"]).stdout
    assert (0, 0) == (_repair(memctl, root, hot)[0], _repair(memctl, root, hot)[1]["fixed"])
    assert 0 == memctl(*run, "inspect", str(hot), "--strict").returncode
    assert 0 == memctl(*run, "quarantine", "restore", target["quarantine"]).returncode
    assert b"".join([*records[:2], torn, *records[2:]]) == hot.read_bytes()


def _repair(memctl: Run, root: Path, path: Path, *options: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    done = memctl("--root", str(root), "repair", str(path), *options, "--json")
    report = report_of(done)
    (target,) = report["targets"]
    return done.returncode, report, target


def test_b02_a_copy_of_the_file_anywhere(memctl: Run, hot: Path, tmp_path: Path) -> None:
    """The same of a file outside of the store, which is told by its shape."""
    copy = tmp_path / "records.jsonl"
    records = hot.read_bytes()
    copy.write_bytes(case_lines("B02")[2] + records)
    code, _, target = repaired(memctl, "./records.jsonl", "-o", "out.jsonl")
    assert (0, [("bad-json", 1)], 5) == (code, pairs(target["fixed"]), target["records"])
    assert records == (tmp_path / "out.jsonl").read_bytes()


@pytest.mark.parametrize(("mode", "after"), [(0o600, 0o600), (0o640, 0o640), (0o644, 0o640)])
def test_b62_modes_of_tier_files(memctl: Run, root: Path, hot: Path, mode: int, after: int) -> None:
    """New ones are 0600; a repair keeps the mode but for what others may; all that it makes is 0600."""
    assert 0o600 == stat.S_IMODE(hot.stat().st_mode)
    hot.write_bytes(hot.read_bytes() + b'{"id":"cut')
    hot.chmod(mode)
    found = report_of(memctl("--root", str(root), "inspect", str(hot), "--json"))["targets"][0]
    assert (mode != after) == ("mode" in [problem["code"] for problem in found["problems"]])
    done = memctl("--root", str(root), "repair", str(hot), "--apply", umask=0o022)
    assert (0, after) == (done.returncode, stat.S_IMODE(hot.stat().st_mode))
    for entry in (root / "tiers", hot.parent, *(root / "quarantine").rglob("*")):
        assert (0o700 if entry.is_dir() else 0o600) == stat.S_IMODE(entry.stat().st_mode), entry


def test_b66_a_stray_index_beside_records(memctl: Run, root: Path, hot: Path) -> None:
    """It is named and left, in a tier too; rebuild-index counts the records as the files have them."""
    stray = hot.parent / "index.json"
    stray.write_bytes(case_bytes("B66", "index.json"))
    stray.chmod(0o600)
    run = ("--root", str(root))
    report = report_of(memctl(*run, "inspect", "--json"))
    found = [(target["target"], p["code"]) for target in report["targets"] for p in target["problems"]]
    assert (str(stray), "stray-file") in found

    def rebuild(*options: str) -> tuple[int, dict[str, Any]]:
        done = memctl(*run, "rebuild-index", "alice", "--json", *options)
        return done.returncode, report_of(done)

    assert (0, 5) == (rebuild()[0], rebuild()[1]["records"])
    code, report = rebuild()
    assert (0, 0, 0, 0) == (code, report["added"], report["removed"], report["differences"])
    hot.write_bytes(b"".join(hot.read_bytes().splitlines(keepends=True)[:3]))
    memctl(*run, "recall", "alice", "two", "--no-touch")
    code, report = rebuild("--check")
    assert (0, 3, 0) == (code, report["records"], report["differences"])


def test_b66_a_tier_that_is_removed(memctl: Run, root: Path, hot: Path) -> None:
    """What was made of it belongs to nothing then, is a difference, and goes with a rebuild."""
    run = ("--root", str(root))
    assert 0 == memctl(*run, "rebuild-index").returncode
    hot.unlink()
    done = memctl(*run, "rebuild-index", "--check", "--json")
    assert (1, 1) == (done.returncode, json.loads(done.stdout)["differences"])
    assert 1 == report_of(memctl(*run, "rebuild-index", "--json"))["removed"]
    assert 0 == memctl(*run, "rebuild-index", "--check").returncode


def test_b80_json_of_records(memctl: Run, root: Path, hot: Path) -> None:
    """inspect, repair and rebuild-index print one JSON value, whatever lies in the tier."""
    hot.write_bytes(b"oops\n" + hot.read_bytes())
    run = ("--root", str(root))
    for line in (
        *(("inspect", "alice"), ("inspect",), ("inspect", str(hot)), ("repair", "alice"), ("repair",)),
        *(("rebuild-index",), ("rebuild-index", "--check"), ("repair", str(hot), "--apply")),
    ):
        done = memctl(*run, *line, "--json")
        assert (True, b"") == (done.returncode in (0, 1), done.stderr)
        assert dict is type(json.loads(done.stdout))
    done = memctl(*run, "inspect", str(hot.with_name("bob.jsonl")), "--json")
    assert (66, b"") == (done.returncode, done.stdout)
    assert "not-found" == json.loads(done.stderr)["error"]["code"]


def test_b66_a_store_of_the_library(store: Store, hot: Path) -> None:
    """The same numbers come from the library."""
    assert 5 == store.rebuild_index("alice").records
    assert [0, 5] == [target.records for target in store.inspect("alice").targets][:2]
