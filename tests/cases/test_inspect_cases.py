"""What inspect finds in damaged files, and what repair makes of them: B01 to B34, and B61."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memctl.store import beside

from .damaged import CASES, INPUT, SIZES, Case, lines
from .inputs import Put, Run, case_bytes, case_lines, pairs, repaired, report_of, split

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} {case.file}")


@each_case
def test_inspect_names_every_fault_and_no_other(memctl: Run, tmp_path: Path, case: Case) -> None:
    """Each problem has its code, severity, line, first wrong byte and length; the file is not changed."""
    data = case_bytes(case.name, case.file)
    (tmp_path / case.file).write_bytes(data)
    done = memctl("inspect", case.file, "--json")
    report = report_of(done)
    (target,) = report["targets"]
    found = target["problems"]
    assert [row[:5] for row in case.problems] == [
        tuple(row[key] for key in ("code", "severity", "line", "offset", "length")) for row in found
    ]
    for (*_, named), row in zip(case.problems, found, strict=True):
        assert named in row["detail"]
    assert (case.messages, SIZES[case.name, case.file][0]) == (target["messages"], target["bytes"])
    for severity in ("error", "warning"):
        assert sum(row[1] == severity for row in case.problems) == report[f"{severity}s"]
    strict = memctl("inspect", case.file, "--json", "--strict")
    assert done.stdout == strict.stdout
    assert case.exits == (done.returncode, strict.returncode)
    assert data == (tmp_path / case.file).read_bytes()
    assert {case.file, "home"} == set(os.listdir(tmp_path))


@each_case
def test_repair_makes_exactly_this(memctl: Run, tmp_path: Path, case: Case) -> None:
    """The copy, the bytes in quarantine with their places, and the report; the input stays as it was."""
    data = case_bytes(case.name, case.file)
    (tmp_path / case.file).write_bytes(data)
    plan = repaired(memctl, case.file)[2]
    code, report, target = repaired(memctl, case.file, "--apply", "-o", "OUT.jsonl")
    out = (tmp_path / "OUT.jsonl").read_bytes()
    assert data == (tmp_path / case.file).read_bytes()
    assert case.fixed == pairs(target["fixed"])
    assert case.left == pairs(target["left"])
    assert (len(case.fixed), len(case.left)) == (report["fixed"], report["left"])
    assert case.exit == code
    assert SIZES[case.name, case.file] == (len(data), len(out), target["quarantined_bytes"])
    assert target["kept"] + target["added_bytes"] == len(out)
    if case.out:
        assert case.out == out
    kept = tmp_path / "OUT.jsonl.quarantine"
    if case.taken:
        (section,) = beside.sections(str(kept))
        taken = kept.read_bytes()[section.start : section.start + section.length]
        assert (case.taken, case.places) == (taken, [row["offset"] for row in section.note["pieces"]])
        assert case.places[0] == section.note["offset"]
    else:
        assert not kept.exists()
    differing = {key for key in target if plan[key] != target[key]}
    assert differing <= {"applied", "quarantine", "backup"}, "the plan says what the deed does"


@each_case
def test_a_second_repair_finds_nothing(memctl: Run, tmp_path: Path, case: Case) -> None:
    """What repair wrote needs no repair; what it left is what inspect finds in it."""
    (tmp_path / case.file).write_bytes(case_bytes(case.name, case.file))
    repaired(memctl, case.file, "-o", "OUT.jsonl")
    code, report, target = repaired(memctl, "OUT.jsonl")
    assert (0, [], [code for code, _ in case.left]) == (
        report["fixed"],
        target["fixed"],
        [code for code, _ in pairs(target["left"])],
    )
    assert case.exit == code
    assert b'"errors":0' in memctl("inspect", "OUT.jsonl", "--json").stdout


# -- what single cases add -----------------------------------------------------------------------------------


def test_b03_padding_hides_no_message_from_a_listing(memctl: Run, root: Path, put: Put) -> None:
    """A log with zero bytes is listed with all its messages; the window has them and no zero byte."""
    put("b03", case_bytes("B03"))
    (row,) = memctl("--root", str(root), "list", "alice", "-f", "jsonl").stdout.splitlines()
    assert ("b03", 3) == (json.loads(row)["conversation"], json.loads(row)["messages"])
    window = memctl("--root", str(root), "window", "alice/b03", "-b", "0", "-f", "jsonl").stdout
    assert ["a", "b", "c"] == [json.loads(line)["content"] for line in split(window)]
    assert b"\0" not in window


def test_b05_a_split_file_has_no_error(memctl: Run, tmp_path: Path) -> None:
    """Once split, the two objects are two lines with the bytes that they had."""
    (tmp_path / INPUT).write_bytes(case_bytes("B05"))
    memctl("repair", INPUT, "-o", "OUT.jsonl")
    done = memctl("inspect", "OUT.jsonl", "--json")
    assert (0, 0, 1) == (done.returncode, report_of(done)["errors"], report_of(done)["warnings"])
    assert case_bytes("B05")[34:105] + b"\n" == split((tmp_path / "OUT.jsonl").read_bytes())[1]


def test_b11_and_b29_roles_are_counted_as_they_are(memctl: Run, tmp_path: Path) -> None:
    """The message behind a byte order mark counts, and a role outside the list is counted by its name."""
    for case, expected in (
        ("B11", {"system": 1, "user": 1, "assistant": 1}),
        ("B29", {"user": 1, "critic": 1, "assistant": 1}),
    ):
        (tmp_path / INPUT).write_bytes(case_bytes(case))
        (target,) = report_of(memctl("inspect", INPUT, "--json"))["targets"]
        assert expected == target["roles"]


def test_b10_and_b14_people_are_told_how_many_lines(memctl: Run, tmp_path: Path) -> None:
    """The report for people names the code, the lines and their number of what was set aside or removed."""
    for case, expected in (
        ("B10", "bad-json (line 2): set aside"),
        ("B14", "blank-line (lines 2-3, 6-7), 4 times: removed"),
    ):
        (tmp_path / INPUT).write_bytes(case_bytes(case))
        text = memctl("repair", INPUT, "-o", "OUT.jsonl").stdout.decode()
        assert expected in [line.strip() for line in text.splitlines()]


def test_b16_fix_text_puts_the_replacement_character_in(memctl: Run, tmp_path: Path) -> None:
    """With --fix-text half a surrogate pair becomes U+FFFD; the other lines stay, and once is enough."""
    (tmp_path / INPUT).write_bytes(case_bytes("B16"))
    code, report, target = repaired(memctl, INPUT, "--fix-text", "--apply", "-o", "OUT.jsonl")
    out = split((tmp_path / "OUT.jsonl").read_bytes())
    assert (0, [("bad-text", 3)], 0) == (code, pairs(target["fixed"]), report["left"])
    assert "done \ufffd\u2026 tail" == json.loads(out[2])["content"]
    assert lines("B16", 1, 2, 4) == out[0] + out[1] + out[3]
    code, report, _ = repaired(memctl, "OUT.jsonl", "--fix-text")
    assert (0, 0) == (code, report["fixed"])


def test_b18_and_b19_what_is_written_is_strict(memctl: Run, tmp_path: Path) -> None:
    """The repaired copies are UTF-8 and JSON to the strictest reader."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for case, expected in (("B18", "caf\ufffd \ufffd open"), ("B19", "x")):
        (tmp_path / INPUT).write_bytes(case_bytes(case))
        memctl("repair", INPUT, "-o", "OUT.jsonl")
        values = [
            json.loads(line, parse_constant=refuse)
            for line in (tmp_path / "OUT.jsonl").read_bytes().decode("utf-8").splitlines()
        ]
        assert expected == values[1]["content"]


def test_b23_a_huge_line_is_named(memctl: Run, tmp_path: Path) -> None:
    """A line of 40 MB is named as too long for the Go reader and as a list; its neighbours count."""

    def message(number: int, role: str, name: str) -> str:
        return json.dumps({"role": role, "content": f"{name} {number}"}) + "\n"

    url = {"url": "data:image/png;base64," + "A" * 40_000_000}
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": url}]
    with open(tmp_path / INPUT, "w") as file:
        file.writelines(message(i, ("user", "assistant")[i % 2], "small") for i in range(100))
        file.write(json.dumps({"role": "user", "content": parts}) + "\n")
        file.writelines(message(i, ("assistant", "user")[i % 2], "late") for i in range(100))
    done = memctl("inspect", INPUT, "--json")
    (target,) = report_of(done)["targets"]
    assert (0, 201, 40_008_515) == (done.returncode, target["messages"], target["bytes"])
    assert [
        ("line-too-long", "warning", 101, 4240, 40_000_134),
        ("list-content", "info", 101, 4240, 40_000_134),
    ] == [
        tuple(row[key] for key in ("code", "severity", "line", "offset", "length"))
        for row in target["problems"]
    ]
    # Counting is asked for, and equals what `count` says.
    (counted,) = report_of(memctl("inspect", INPUT, "--tokens", "--json"))["targets"]
    assert 1490 == counted["tokens"]
    assert {"messages": 201, "tokens": 1490}.items() <= json.loads(
        memctl("count", INPUT, "--json").stdout
    ).items()


def test_b32_the_missing_result_is_put_in_its_place(memctl: Run, tmp_path: Path) -> None:
    """A result that says it was interrupted stands behind the last result of the group; all else stays."""
    (tmp_path / INPUT).write_bytes(case_bytes("B32", "midfile.jsonl"))
    memctl("repair", INPUT, "--apply", "-o", "OUT.jsonl")
    out = split((tmp_path / "OUT.jsonl").read_bytes())
    assert case_lines("B32", "midfile.jsonl") == out[:3] + out[4:]
    added = json.loads(out[3])
    assert ("tool", "c2") == (added["role"], added["tool_call_id"])
    assert "interrupted" in added["content"].lower()
    window = split(memctl("window", "OUT.jsonl", "-b", "0", "-f", "jsonl").stdout)
    assert out == window
