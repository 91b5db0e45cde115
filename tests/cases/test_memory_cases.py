"""Cases on the side of remember, records, get and pin: B02, B46, B62, B64, B68, B71, B80."""

from __future__ import annotations

import hashlib
import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memctl import Store
from memctl.core import times

from .inputs import Put, Run, case_bytes, case_lines


def rows(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    """The JSON lines on standard output; the command ended with 0."""
    assert 0 == done.returncode, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_b02_a_bad_line_does_not_stop_remember(memctl: Run, root: Path, put: Put) -> None:
    """B02: five records of the five messages; line 3 is named on standard error and in the report."""
    put("b02", case_bytes("B02"))
    done = memctl("--root", str(root), "remember", "alice", "--from", "b02")
    assert (0, 5) == (done.returncode, len(done.stdout.splitlines()))
    assert b"memctl: alice/b02: no message: bad-json (line 3)\n" == done.stderr
    report = json.loads(memctl("--root", str(root), "remember", "alice", "--from", "b02", "--json").stdout)
    assert [{"conversation": "alice/b02", "line": 3, "code": "bad-json"}] == report["damaged"]
    assert (0, 5) == (report["remembered"], report["skipped"]["stored"])
    found = rows(memctl("--root", str(root), "records", "alice"))
    assert {"one", "two", "four", "five", "six"} == {row["content"] for row in found}
    recalled = rows(memctl("--root", str(root), "recall", "alice", "six", "--no-touch"))
    assert "six" == max(recalled, key=lambda row: row["score"])["content"]


def test_b46_copied_history_is_remembered_once(memctl: Run, root: Path) -> None:
    """B46: a fork keeps its copies in its conversation; the memory has each message once, c1 too."""
    store = Store(root)
    files = {"s1": "orig.jsonl", "s2": "fork.jsonl", "s3": "again.jsonl"}
    for name, file in files.items():
        for value in map(json.loads, case_lines("B46", file)):
            own = {"memctl": {"id": value["uuid"], "created_at": value["timestamp"]}}
            store.conversation("alice", name).append({**value["message"], "extra": own})
    done = memctl("--root", str(root), "remember", "alice", "--from", "s1", "--from", "s2", "--from", "s3")
    assert b"memctl: left out: copy of another one 2\n" == done.stderr
    found = rows(memctl("--root", str(root), "records", "alice"))
    expected = {
        "s1#a1": "how do I rotate the key",
        "s1#a2": "like so",
        "s2#b3": "and on the spare box",
        "s3#c1": "how do I rotate the key",
    }
    assert expected == {row["id"]: row["content"] for row in found}
    recalled = rows(memctl("--root", str(root), "recall", "alice", "rotate key", "--no-touch"))
    assert 1 == [row["content"] for row in recalled].count(expected["s1#a1"])
    again = memctl("--root", str(root), "remember", "alice", "--from", "s2", "--json")
    assert (0, {"stored": 1, "copy": 2}) == (
        json.loads(again.stdout)["remembered"],
        {key: number for key, number in json.loads(again.stdout)["skipped"].items() if number},
    )


def test_b62_modes_of_what_remember_makes(memctl: Run, root: Path) -> None:
    """B62: under umask 022 each new file is 0600 and each new directory 0700, tiers and locks too."""
    store = Store(root)
    store.conversation("alice", "trip").append("hello")
    for arguments in (
        ("remember", "alice", "text", "--id", "x"),
        ("remember", "alice", "cold", "--tier", "cold"),
        ("remember", "alice", "--from", "trip"),
        ("pin", "alice", "x"),
    ):
        assert 0 == memctl("--root", str(root), *arguments, umask=0o022).returncode
    assert {"hot", "cold"} == {path.name for path in (root / "tiers").iterdir()}
    for path in root.rglob("*"):
        assert (0o700 if path.is_dir() else 0o600) == stat.S_IMODE(path.stat().st_mode), path


def tree(root: Path) -> dict[str, str]:
    """Every file of the truth with its hash."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and ".memctl" not in path.parts
    }


def test_b64_an_old_message_is_never_deleted_for_its_age(memctl: Run, root: Path, put: Put) -> None:
    """B64: seeded from 2024, its clock starts at entry; it goes down step by step and stays in cold."""
    put("old", case_bytes("B64", "old.jsonl"))
    conversation = tree(root)
    done = memctl("--root", str(root), "--now", "2026-03-01T00:00:00Z", "remember", "alice", "--from", "old")
    (id,) = done.stdout.decode().split()
    for now, tier, moved in (
        ("2026-03-01", "hot", 0),
        ("2026-04-01", "warm", 1),
        ("2026-06-01", "cold", 1),
        ("2027-01-01", "cold", 0),
    ):
        pass_at = ("--root", str(root), "--now", f"{now}T00:00:00Z", "reconcile", "alice", "--json")
        before = tree(root)
        plan = json.loads(memctl(*pass_at, "--dry-run").stdout)
        assert before == tree(root)
        report = json.loads(memctl(*pass_at).stdout)
        numbers = ("promoted", "demoted", "evicted")
        assert [0, moved, 0] == [report[key] for key in numbers] == [plan[key] for key in numbers]
        settled = tree(root)
        again = json.loads(memctl(*pass_at).stdout)
        assert [0, 0, 0] == [again[key] for key in numbers]
        assert settled == tree(root)
        (record,) = rows(memctl("--root", str(root), "get", "alice", id))
        assert ("old", tier) == (record["content"], record["tier"])
        assert times.stored("2024-01-01T00:00:00Z") == times.stored(record["created_at"])
    assert conversation.items() <= tree(root).items()
    events = rows(memctl("--root", str(root), "events", "alice", "-f", "jsonl"))
    assert [id, id] == [event["record_id"] for event in events if event["type"] == "tier.demoted"]


B68 = [name for name in json.loads(case_bytes("B68", "ids.json")) if name]


@pytest.mark.parametrize("name", B68, ids=lambda name: repr(name[:10]))
def test_b68_an_id_that_looks_like_a_path_is_an_id(
    memctl: Run, root: Path, tmp_path: Path, name: str
) -> None:
    """B68: a record with such an id comes back, can be pinned, and makes no file of its own."""

    def outside() -> list[Path]:
        return sorted(path for path in tmp_path.rglob("*") if root not in (path, *path.parents))

    before = outside()
    data = json.dumps({"id": name, "content": "text"}).encode()
    assert 0 == memctl("--root", str(root), "remember", "alice", input=data).returncode
    if "\0" not in name:
        (record,) = rows(memctl("--root", str(root), "get", "alice", name))
        assert (name, "text") == (record["id"], record["content"])
        assert 0 == memctl("--root", str(root), "pin", "alice", name).returncode
    found = Store(root).memory("alice").get(name)
    assert (name, "text", "\0" not in name) == (found.id, found.content, found.pinned)
    assert ["alice.jsonl"] == [path.name for path in (root / "tiers").rglob("*") if path.is_file()]
    assert before == outside()


def test_b71_times_in_every_form(memctl: Run, root: Path, put: Put) -> None:
    """B71: eight records; the six times that can be read are those of the records, recalled oldest first."""
    put("b71", case_bytes("B71"))
    now = "2026-03-02T00:00:00Z"
    done = memctl("--root", str(root), "--now", now, "remember", "alice", "--from", "b71")
    assert (0, 8, b"") == (done.returncode, len(done.stdout.split()), done.stderr)
    by_text = {row["content"]: row for row in rows(memctl("--root", str(root), "records", "alice"))}
    assert {f"t{number}" for number in range(1, 9)} == set(by_text)
    assert [times.stored(f"2026-03-01T09:00:0{second}Z") for second in ("0", "1", "2", "3", "4", "5.5")] == [
        times.stored(by_text[f"t{number}"]["created_at"]) for number in range(1, 7)
    ]
    # The two without a time keep their order.
    assert ["2026-03-02T00:00:00.000000Z", "2026-03-02T00:00:00.000001Z"] == [
        by_text[text]["created_at"] for text in ("t7", "t8")
    ]
    recalled = rows(memctl("--root", str(root), "--now", now, "recall", "alice", "-k", "8", "--no-touch"))
    assert ["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"] == [row["content"] for row in recalled]


@pytest.mark.parametrize(
    "arguments",
    [
        ("remember", "alice", "🙂 text", "--json"),
        ("remember", "alice", "--from", "trip", "--json"),
        ("records", "alice", "--json"),
        ("get", "alice", "x", "--json"),
        ("pin", "alice", "x", "--json"),
        ("unpin", "alice", "x", "--json"),
    ],
    ids=lambda arguments: " ".join(arguments[:1]),
)
def test_b80_one_json_value_and_nothing_else(memctl: Run, root: Path, arguments: tuple[str, ...]) -> None:
    """B80: with --json standard output is one value in UTF-8, whatever the locale."""
    store = Store(root)
    store.memory("alice").remember("🙂", id="x")
    store.conversation("alice", "trip").append("🙂")
    env = {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"}
    done = memctl("--root", str(root), *arguments, env=env)
    assert (0, 1) == (done.returncode, done.stdout.count(b"\n"))
    json.loads(done.stdout.decode("utf-8"))


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        (("remember", "alice", "text", "--tier", "x", "--json"), 2),
        (("remember", "alice", "--from", "nothing", "--json"), 66),
        (("remember", "alice", "--json"), 65),
        (("records", "alice", "-f", "jsonl", "--tier", "x"), 2),
        (("get", "alice", "nothing", "-f", "jsonl"), 66),
        (("pin", "alice", "nothing", "--json"), 66),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, tuple) else None,
)
def test_b80_a_failure_is_one_object(
    memctl: Run, root: Path, arguments: tuple[str, ...], exit_code: int
) -> None:
    """B80: on a failure standard output is empty and standard error one object."""
    done = memctl("--root", str(root), *arguments, input=b"no json\n")
    assert (exit_code, b"") == (done.returncode, done.stdout)
    assert exit_code == json.loads(done.stderr)["error"]["exit"]


def test_b80_a_reader_that_goes_away(memctl: Run, root: Path, environment: dict[str, str]) -> None:
    """B80: a closed pipe ends records quietly; what remember was to store is stored by then."""
    store = Store(root, settings={"durability": "none"})
    store.memory("alice").remember([{"content": "x" * 200} for _ in range(3000)])
    script = (
        f"'{sys.executable}' -m memctl --root '{root}' %s | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    )
    for command in ("records alice", "remember alice --input many.jsonl"):
        (root.parent / "many.jsonl").write_bytes(b'{"content":"y"}\n' * 20_000)
        done = subprocess.run(
            ["bash", "-c", script % command],
            capture_output=True,
            env=environment,
            cwd=root.parent,
            check=True,
        )
        assert b"" == done.stderr
        assert done.stdout.strip() in (b"141", b"0")
    assert 23_000 == len(store.memory("alice").list_all())
