"""What inspect and repair do in stores, with modes, with full disks and when killed: B59 to B66."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .damaged import INPUT
from .inputs import Put, Run, case_bytes, pairs, report_of


def in_store(memctl: Run, root: Path, *line: str, **more: Any) -> tuple[int, dict[str, Any]]:
    done = memctl("--root", str(root), *line, "--json", **more)
    return done.returncode, report_of(done)


def test_b59_a_lock_file_of_another_program_is_a_stray(memctl: Run, root: Path, put: Put) -> None:
    """Somebody's lock file among the conversations is named and left; it is no conversation."""
    path = put("session", case_bytes("B59", "session.jsonl"))
    stray = path.with_name("session.jsonl.lock")
    stray.write_bytes(case_bytes("B59", "session.jsonl.lock"))
    stray.chmod(0o600)
    assert 0 == memctl("--root", str(root), "append", "alice/session", "x").returncode
    code, report = in_store(memctl, root, "inspect", "alice")
    found = [(row["target"], problem["code"]) for row in report["targets"] for problem in row["problems"]]
    assert (0, 0, 2) == (code, report["errors"], report["warnings"])
    assert {("alice/session", "dangling-user"), (str(stray), "stray-file")} == set(found)
    in_store(memctl, root, "repair", "alice", "--apply")
    assert stray.exists()


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_b62_a_repair_in_place_keeps_the_mode(memctl: Run, tmp_path: Path, mode: int) -> None:
    """The file keeps its mode under any umask; all that is new is the owner's alone."""
    path = tmp_path / INPUT
    path.write_bytes(case_bytes("B62"))
    path.chmod(mode)
    done = memctl("repair", INPUT, "-o", "OUT.jsonl", umask=0o022)
    assert 0 == done.returncode
    done = memctl("repair", INPUT, "--apply", "--json", umask=0o022)
    (target,) = report_of(done)["targets"]
    assert (0, [("torn-tail", 2)]) == (done.returncode, pairs(target["fixed"]))
    assert tmp_path / f"{INPUT}.bak" == tmp_path / target["backup"]
    assert case_bytes("B62")[:30] == path.read_bytes()
    assert case_bytes("B62") == (tmp_path / f"{INPUT}.bak").read_bytes()
    assert mode == stat.S_IMODE(path.stat().st_mode)
    for name in (f"{INPUT}.bak", f"{INPUT}.quarantine", "OUT.jsonl", "OUT.jsonl.quarantine"):
        assert 0o600 == stat.S_IMODE((tmp_path / name).stat().st_mode), name


def test_b62_what_others_may_read_is_taken_from_them(memctl: Run, root: Path, put: Put) -> None:
    """A conversation at 0644 is a warning that repair mends to 0640; 0640 itself is none."""
    path = put("b62", case_bytes("B62")[:30])
    path.chmod(0o640)
    code, report = in_store(memctl, root, "inspect", "alice/b62")
    assert (0, 0) == (code, report["warnings"])
    path.chmod(0o644)
    code, report = in_store(memctl, root, "inspect", "alice/b62")
    (target,) = report["targets"]
    assert (0, [("mode", "warning", "0644")]) == (
        code,
        [(row["code"], row["severity"], row["detail"]) for row in target["problems"]],
    )
    assert 1 == in_store(memctl, root, "inspect", "alice/b62", "--strict")[0]
    code, report = in_store(memctl, root, "repair", "alice/b62", "--apply")
    assert (0, 1) == (code, report["fixed"])
    assert 0o640 == stat.S_IMODE(path.stat().st_mode)
    code, report = in_store(memctl, root, "repair", "alice/b62")
    assert (0, 0) == (code, report["fixed"])


def test_b66_an_index_of_another_program_is_a_stray(memctl: Run, root: Path, put: Put) -> None:
    """A file that is no conversation is the only thing that is named, as a warning."""
    for name in ("s1", "s2", "s3"):
        path = put(name, case_bytes("B66", f"{name}.jsonl"))
    index = path.with_name("index.json")
    index.write_bytes(case_bytes("B66", "index.json"))
    index.chmod(0o600)
    code, report = in_store(memctl, root, "inspect", "alice")
    assert (0, 0, 1) == (code, report["errors"], report["warnings"])
    assert [(str(index), ["stray-file"])] == [
        (row["target"], [problem["code"] for problem in row["problems"]])
        for row in report["targets"]
        if row["problems"]
    ]


B61_OLD = case_bytes("B61") + b'{"role":'


def test_b61_a_full_disk_changes_nothing(memctl: Run, tmp_path: Path) -> None:
    """With too little room for the new file the old one stays, byte for byte, and one message says so."""
    path = tmp_path / INPUT
    path.write_bytes(B61_OLD)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    done = memctl("repair", INPUT, "--apply", preexec_fn=limit)
    assert (74, b"") == (done.returncode, done.stdout)
    assert [b"memctl: "] == [line[:8] for line in done.stderr.splitlines() if b"hint: " not in line]
    assert B61_OLD == path.read_bytes()
    done = memctl("repair", INPUT, "--apply", "--json")
    assert 1 == report_of(done)["fixed"]
    assert case_bytes("B61") == path.read_bytes()


def test_b61_a_killed_repair_leaves_the_old_file_or_the_new_one(
    environment: dict[str, str], memctl: Run, tmp_path: Path
) -> None:
    """Killed after any time, the file is whole, the torn bytes are kept, and the next repair finishes."""
    path = tmp_path / INPUT
    begin = time.monotonic()
    path.write_bytes(B61_OLD)
    memctl("repair", INPUT, "--apply")
    took_s = time.monotonic() - begin
    outcomes = set()
    for number in range(12):
        path.write_bytes(B61_OLD)
        process = subprocess.Popen(
            [sys.executable, "-m", "memctl", "repair", INPUT, "--apply"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        try:
            process.wait(took_s * (0.5 + number / 16))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        found = path.read_bytes()
        outcomes.add(found)
        assert found in (B61_OLD, case_bytes("B61"))
        if found != B61_OLD:
            assert any(other.read_bytes() == B61_OLD for other in tmp_path.glob(f"{INPUT}*.bak"))
            assert b'{"role":\n' in (tmp_path / f"{INPUT}.quarantine").read_bytes()
    path.write_bytes(B61_OLD)
    assert 1 == memctl("repair", INPUT, "--apply").returncode
    assert case_bytes("B61") == path.read_bytes()
    assert {INPUT, f"{INPUT}.bak", f"{INPUT}.quarantine", "home"} == set(os.listdir(tmp_path))
    assert case_bytes("B61") in outcomes
