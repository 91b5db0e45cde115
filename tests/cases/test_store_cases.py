"""What a store does with tails, locks, modes and stray files: B07 to B09, B59 to B66."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from memctl import Store

from .inputs import Put, Run, case_bytes

# -- tails -------------------------------------------------------------------------------------------------


def test_b07_a_torn_tail_is_set_aside(memctl: Run, root: Path, put: Put) -> None:
    """An append behind a torn tail moves it to quarantine with a note, and says so."""
    before = case_bytes("B07", "before.jsonl")
    path = put("b07", before)
    done = memctl("--root", str(root), "append", "alice/b07", "new", "--json")
    report = json.loads(done.stdout)
    assert (0, "alice/b07", 1, 1) == (
        done.returncode,
        report["conversation"],
        report["appended"],
        len(report["ids"]),
    )
    assert b"line 3, 29 bytes" in done.stderr and b"quarantine" in done.stderr
    data = path.read_bytes()
    assert (94, before[:65]) == (len(before), data[:65])
    new = json.loads(data[65:])
    assert ("user", "new", b"\n", 3) == (new["role"], new["content"], data[-1:], data.count(b"\n"))
    shown = memctl("--root", str(root), "show", "alice/b07", "-f", "jsonl").stdout
    assert ["a", "b", "new"] == [json.loads(line)["content"] for line in shown.splitlines()]
    (item,) = json.loads(memctl("--root", str(root), "quarantine", "list", "--json").stdout)
    assert (65, 29, 3, "torn-tail") == (item["offset"], item["length"], item["line"], item["reason"])
    kept = memctl("--root", str(root), "quarantine", "show", item["id"])
    assert before[65:] == kept.stdout
    assert [before[65:]] == [file.read_bytes() for file in (root / "quarantine" / "alice").glob("*.bytes")]


def test_b08_a_missing_newline_is_added(store: Store, put: Put, root: Path) -> None:
    """A whole last line without its newline stays; nothing of it is torn."""
    before = case_bytes("B08", "before.jsonl")
    path = put("b08", before)
    done = store.conversation("alice", "b08").append("c")
    lines = path.read_bytes().split(b"\n")
    assert (64, before + b"\n") == (len(before), path.read_bytes()[:65])
    assert ["a", "b", "c"] == [json.loads(line)["content"] for line in lines[:-1]]
    assert ["no-final-newline"] == [item["code"] for item in done.healed]
    assert not (root / "quarantine").exists()


USER = b'{"role":"user","content":"a"}'
TORN_NUMBER = b'{"role":"user","content":"x","extra":{"n":' + b"9" * 5000


@pytest.mark.parametrize(
    ("kept", "set_aside", "tail"),
    [
        (b"", b'{"role":"us', b'{"role":"us'),
        (USER, b"", USER),
        (USER + b"\r", b"", USER + b"\r"),
        (USER, b'{"role":"us', USER + b'{"role":"us'),
        (USER + USER, b"", USER + USER),
        (b"", b"\0\0\0", b"\0\0\0"),
        (USER + b"\0\0\0", b"", USER + b"\0\0\0"),
        (b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf"),
        (b"", b'{"role":"user","content":"caf\xc3', b'{"role":"user","content":"caf\xc3'),
        (b"", b"{" * 501, b"{" * 501),
        (b"", TORN_NUMBER, TORN_NUMBER),
        (b"[" * 501 + b"]" * 501, b"", b"[" * 501 + b"]" * 501),
        (b'{"n":1}', b"", b'{"n":1}'),
    ],
    ids=[
        *("torn", "whole", "whole and CR", "whole and torn", "two whole", "NULs", "whole and NULs", "BOM"),
        *("torn character", "torn nesting", "torn number", "deep", "no message"),
    ],
)
def test_tails_of_every_kind(
    store: Store, put: Put, root: Path, kept: bytes, set_aside: bytes, tail: bytes
) -> None:
    """What is whole stays, what is torn is set aside, both byte for byte, and the new line stands alone."""
    before = USER + b"\n"
    path = put("t", before + tail)
    store.conversation("alice", "t").append("new")
    data = path.read_bytes()
    stays = before + (kept + b"\n" if kept else b"")
    assert stays == data[: len(stays)]
    assert "new" == json.loads(data[len(stays) :])["content"]
    found = [file.read_bytes() for file in (root / "quarantine" / "alice").glob("*.bytes")]
    assert ([set_aside] if set_aside else []) == found


@pytest.mark.xdist_group("measures")
def test_b09_processes_append_at_once(environment: dict[str, str], root: Path, tmp_path: Path) -> None:
    """Lines of many writers, small and large, are whole, each once, in the order of their writer."""
    script = (
        "import json, subprocess, sys\n"
        "i, size, calls = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])\n"
        "for n in range(calls):\n"
        "    line = json.dumps({'role': 'assistant', 'content': f'p{i}-{n}-' + 'x' * size})\n"
        "    done = subprocess.run([sys.executable, '-m', 'memctl', 'append', 'alice/b09', '--json'],\n"
        "                          input=line.encode(), capture_output=True)\n"
        "    assert done.returncode == 0 and json.loads(done.stdout)['appended'] == 1, done\n"
    )
    env = environment | {"MEMCTL_ROOT": str(root)}
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(i), size, "6"], env=env, cwd=tmp_path)
        for i, size in enumerate(["5000", "5000", "5000", "200000"])
    ]
    assert [0] * 4 == [writer.wait(timeout=120) for writer in writers]
    data = (root / "conversations" / "alice" / "b09.jsonl").read_bytes()
    assert data.endswith(b"\n")
    found = [json.loads(line)["content"].split("-")[:2] for line in data.splitlines()]
    assert sorted([f"p{i}", str(n)] for i in range(4) for n in range(6)) == sorted(found)
    for i in range(4):
        assert list(range(6)) == [int(n) for name, n in found if name == f"p{i}"]


# -- locks, modes, strays ------------------------------------------------------------------------------------

_HOLDER = """
import sys, time
from memctl import Store
store = Store(sys.argv[1])
setup = store.setup
with setup.lock(setup.reference("alice/session"), "holder"):
    print("held", flush=True)
    time.sleep(600)
"""


def _hold(environment: dict[str, str], root: Path) -> subprocess.Popen[bytes]:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(root)], env=environment, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert b"held\n" == holder.stdout.readline()
    return holder


def test_b59_only_a_living_holder_keeps_others_out(
    memctl: Run, environment: dict[str, str], root: Path, put: Put
) -> None:
    """Lock files that a killed process left, and another program's, are nobody's; a live lock is 75."""
    path = put("session", case_bytes("B59", "session.jsonl"))
    stray = path.with_name("session.jsonl.lock")
    stray.touch()
    dead = _hold(environment, root)
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    done = memctl("--root", str(root), "append", "alice/session", "x", "--json")
    assert (0, 1, 2) == (done.returncode, json.loads(done.stdout)["appended"], path.read_bytes().count(b"\n"))
    listed = memctl("--root", str(root), "list", "alice", "-f", "jsonl").stdout.splitlines()
    assert ["session"] == [json.loads(line)["conversation"] for line in listed]
    locks = [file for file in (root / ".memctl" / "locks").rglob("*") if file.is_file()]
    holder = _hold(environment, root)
    try:
        begin = time.monotonic()
        busy = memctl("--root", str(root), "--lock-timeout", "1", "append", "alice/session", "x", "--json")
        assert 1 <= time.monotonic() - begin < 10
    finally:
        holder.kill()
        holder.wait()
    assert (75, b"", 2) == (busy.returncode, busy.stdout, path.read_bytes().count(b"\n"))
    error = json.loads(busy.stderr)["error"]
    assert ("lock-timeout", 75) == (error["code"], error["exit"])
    assert f"{holder.pid}" in error["message"] and "since" in error["message"]
    assert stray.exists() and locks and all(lock.exists() for lock in locks)


def test_b62_modes_under_a_loose_umask(memctl: Run, root: Path, put: Put) -> None:
    """New files are 0600 and new directories 0700 under any umask; an append leaves a file's mode alone."""
    run = ["--root", str(root), "append"]
    for mask in (0o022, 0o000, 0o777):
        # A umask that takes everything away must not make our own directories unusable.
        assert 0 == memctl(*run, f"bob/c{mask}", "x", umask=mask).returncode
    path = put("b62", case_bytes("B62"))
    path.chmod(0o640)
    assert 0 == memctl(*run, "alice/b62", "y", umask=0o022).returncode
    assert 0o640 == stat.S_IMODE(path.stat().st_mode)
    for name in ("bob", "quarantine", ".memctl"):
        directory = root / "conversations" / name if name == "bob" else root / name
        for entry in (directory, *directory.rglob("*")):
            wanted = 0o700 if entry.is_dir() else 0o600
            assert wanted == stat.S_IMODE(entry.stat().st_mode), entry


def test_b66_files_speak_not_caches(memctl: Run, store: Store, root: Path, put: Put) -> None:
    """Whatever an index says, list, window and count show the files as they are."""
    store.conversation("bob", "c").append("makes the store")
    for name in ("s1", "s2", "s3"):
        path = put(name, case_bytes("B66", f"{name}.jsonl"))
    path.with_name("index.json").write_bytes(case_bytes("B66", "index.json"))

    def listed() -> dict[str, int]:
        return {row.conversation: row.messages for row in store.conversations("alice").conversations}

    def rebuild(*options: str) -> tuple[int, dict[str, Any]]:
        done = memctl("--root", str(root), "rebuild-index", "alice", "--json", *options)
        return done.returncode, json.loads(done.stdout)

    assert {"s1": 1, "s2": 1, "s3": 1} == listed()
    code, report = rebuild()
    assert (0, 3) == (code, report["conversations"])
    code, report = rebuild("--check")
    assert (0, 0) == (code, report["differences"])
    code, report = rebuild()
    assert (0, 0, 0, 0) == (code, report["added"], report["removed"], report["differences"])
    with path.with_name("s2.jsonl").open("ab") as file:
        file.write(USER + b"\n")
    path.unlink()
    assert {"s1": 1, "s2": 2} == listed()
    assert 2 == len(store.conversation("alice", "s2").window(0).lines)
    assert 2 == store.conversation("alice", "s2").count().messages
    assert rebuild()[0] == 0
    assert (0, 0) == (rebuild("--check")[0], rebuild("--check")[1]["differences"])
    tokens = store.conversation("alice", "s2").count().tokens
    subprocess.run(["rm", "-r", str(root / ".memctl" / "cache")], check=True)
    assert {"s1": 1, "s2": 2} == listed()
    assert tokens == store.conversation("alice", "s2").count().tokens
