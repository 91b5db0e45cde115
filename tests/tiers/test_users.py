"""`memctl reconcile` for one user, several and all: what is skipped, what fails, what is said, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memctl import NotFound
from memctl.ops import parallel
from memctl.ops import reconcile as ops
from tests.conftest import Memctl

from .stored import DAY, ago, file, places, put, store, tree, value

NOW = ("--now", ago(0))
#: With MEMCTL_TEST_SOAK=1 1,000, which takes half a minute.
MANY = 1_000 if os.environ.get("MEMCTL_TEST_SOAK") else 200
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def run(memctl: Memctl, root: Path) -> Run:
    """`memctl reconcile` in the store, at the present of these tests."""

    def call(*args: str, start: tuple[str, ...] = ()) -> subprocess.CompletedProcess[bytes]:
        return memctl("--root", str(root), *NOW, *start, "reconcile", *args)

    return call


@pytest.fixture
def locked(environment: dict[str, str], root: Path) -> Iterator[Callable[[str], None]]:
    """Starts a process that holds the lock of a user's records to the end of the test."""
    started: list[subprocess.Popen[bytes]] = []
    program = (
        "import sys, time; from memctl import Store\n"
        "setup = Store(sys.argv[1]).setup; setup.ensure_store()\n"
        "with setup.records_lock(sys.argv[2], 'holding'):\n"
        "    print('held', flush=True); time.sleep(600)"
    )

    def hold(user: str) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(root), user], stdout=subprocess.PIPE, env=environment
        )
        started.append(process)
        assert process.stdout is not None
        assert b"held\n" == process.stdout.readline()

    yield hold
    for process in started:
        process.kill()
        process.communicate()


def old(root: Path, *users: str) -> None:
    """Each user has a record that the next pass moves to warm."""
    for user in users:
        put(root, value("x", age=2 * DAY), user=user)


def test_users_that_are_named(root: Path, run: Run) -> None:
    """Those that are named are done, each once; others are left alone."""
    old(root, "alice", "bob", "a%2Fb c")
    done = run("a%2Fb c", "alice", "alice", "--json")
    report = json.loads(done.stdout)
    assert (0, 2, 2, b"") == (done.returncode, report["demoted"], report["users"], done.stderr)
    assert ({"warm": ["x"]}, {"hot": ["x"]}) == (places(root, "a%2Fb c"), places(root, "bob"))


def test_all_users(root: Path, run: Run) -> None:
    """--all does every user that has a file in any tier."""
    old(root, "alice", "bob")
    put(root, value("x", "cold"), user="carol")
    report = json.loads(run("--all", "--explain", "--json").stdout)
    assert (2, 3) == (report["demoted"], report["users"])
    move = {"id": "x", "from": "hot", "to": "warm", "reason": "hot_ttl"}
    assert [{"user": user, **move} for user in ("alice", "bob")] == report["moves"]


def test_the_page_for_people(root: Path, run: Run) -> None:
    """What was done stands in one line; --explain has a line for every move."""
    old(root, "alice")
    put(root, value("y", "cold", 9))
    line = b"1 user: %b0 promoted, 1 demoted, 1 evicted (1 to the archive)\n"
    done = run("alice", "--dry-run", start=("--config", _config(root, "policy.cold_ttl = 5\n")))
    assert (0, line % b"would be: ") == (done.returncode, done.stdout)
    done = run("alice", "--explain", start=("--config", _config(root, "policy.cold_ttl = 5\n")))
    moves = b"alice: x: hot to warm (hot_ttl)\nalice: y: cold to the archive (cold_ttl)\n"
    assert (0, moves + line % b"") == (done.returncode, done.stdout)
    assert b"1 user: 0 promoted, 0 demoted, 0 evicted\n" == run("alice").stdout


def _config(root: Path, text: str) -> str:
    path = root.parent / "given.toml"
    path.write_text(text)
    return str(path)


def test_deleted_records_are_named(root: Path, run: Run) -> None:
    """With `policy.evict = delete` each record that is gone has its line."""
    put(root, value("y", "cold", 9))
    config = _config(root, 'policy.cold_ttl = 5\npolicy.evict = "delete"\n')
    done = run("alice", start=("--config", config))
    assert (
        b"alice: y is deleted\n1 user: 0 promoted, 0 demoted, 1 evicted (0 to the archive)\n" == done.stdout
    )


@pytest.mark.parametrize(
    ("code", "args", "said"),
    [
        (2, (), b"a user is expected, or --all"),
        (2, ("--all", "alice"), b"exclude each other"),
        (2, ("alice", "--jobs", "0"), b"--jobs"),
        (2, ("alice/chat",), b"alice/chat"),
        (65, (" ",), b"blank"),
        (66, ("nobody",), b"no user nobody"),
        (66, ("alice", "nobody"), b"no user nobody"),
    ],
)
def test_what_is_refused(root: Path, run: Run, code: int, args: tuple[str, ...], said: bytes) -> None:
    """A mistake is found before anything is changed."""
    old(root, "alice")
    done = run(*args)
    assert (code, b"", {"hot": ["x"]}) == (done.returncode, done.stdout, places(root))
    assert said in done.stderr


def test_users_without_records(root: Path, run: Run) -> None:
    """A user with a conversation, or with nothing but an archive, is known."""
    store(root).conversation("talker", "chat").append("hello")
    (root / "archive").mkdir()
    (root / "archive" / "gone.jsonl").write_bytes(b'{"id":"x"}\n')
    assert 2 == json.loads(run("talker", "gone", "--json").stdout)["users"]
    with pytest.raises(NotFound):
        store(root).reconcile("other")


def test_quiet(root: Path, run: Run) -> None:
    """-q prints nothing where all went well: silence for cron."""
    old(root, "alice")
    done = run("--all", start=("-q",))
    assert (0, b"", b"", {"warm": ["x"]}) == (done.returncode, done.stdout, done.stderr, places(root))


def test_lines_that_are_no_records_are_said(root: Path, run: Run) -> None:
    """Each is said on standard error, many of them by their number; the exit code is 0."""
    put(root, b"no json\n" * 23, tier="warm")
    done = run("alice", "--json")
    lines = done.stderr.decode().splitlines()
    assert (0, 21) == (done.returncode, len(lines))
    assert "memctl: alice: line 1 of warm is no record; it stays where it is" == lines[0]
    assert "memctl: and 3 more of these; --json names all" == lines[-1]
    assert 23 == len(json.loads(done.stdout)["left_out"])


def test_a_locked_user(root: Path, run: Run, locked: Callable[[str], None]) -> None:
    """A single user's lock is waited for, then the call fails with 75 and nothing is changed."""
    old(root, "alice")
    locked("alice")
    done = run("alice", start=("--lock-timeout", "0.1"))
    assert (75, b"") == (done.returncode, done.stdout)
    assert b"the memory of alice is busy" in done.stderr and b"holding" in done.stderr
    skipped = run("alice", "--skip-locked", "--json")
    assert (0, ["alice"], 0) == (
        skipped.returncode,
        json.loads(skipped.stdout)["skipped"],
        json.loads(skipped.stdout)["users"],
    )
    assert {"hot": ["x"]} == places(root)


def test_a_locked_user_with_nothing_to_do(root: Path, run: Run, locked: Callable[[str], None]) -> None:
    """A settled user is not waited for, whoever holds the lock; a dry run waits for nobody."""
    put(root, value("x"), user="settled")
    old(root, "alice")
    for user in ("settled", "alice"):
        locked(user)
    done = run("settled", start=("--lock-timeout", "0"))
    assert (0, b"1 user: 0 promoted, 0 demoted, 0 evicted\n") == (done.returncode, done.stdout)
    assert b"1 demoted" in run("alice", "--dry-run", start=("--lock-timeout", "0")).stdout


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_many_users(root: Path, run: Run, locked: Callable[[str], None], jobs: str) -> None:
    """Of many users, one damaged, one locked, one with bad lines: the others are done, all is reported."""
    users = [f"u{number:03}" for number in range(MANY)]
    old(root, *users)
    (root / "tiers" / "warm" / "u050.jsonl").mkdir(parents=True)
    put(root, b"no json\n", tier="hot", user="u150")
    locked("u100")
    done = run("--all", "--skip-locked", "--jobs", jobs, "--json")
    report = json.loads(done.stdout)
    assert (1, MANY - 2, MANY - 2) == (done.returncode, report["demoted"], report["users"])
    assert (["u100"], ["u050"]) == (report["skipped"], [row["user"] for row in report["failed"]])
    assert ("permission", True) == (
        report["failed"][0]["code"],
        "not a regular file" in report["failed"][0]["message"],
    )
    assert [{"user": "u150", "where": "hot", "line": 2}] == report["left_out"]
    for user in users:
        moved = user not in ("u050", "u100")
        assert (b'"tier":"warm"' in (file(root, "warm", user) if moved else b"")) is moved
        assert (b'"x"' in file(root, "hot", user)) is not moved
    said = done.stderr.decode()
    assert "u100: skipped" in said and "u050: " in said and "u150: line 2" in said
    assert 1 == run("--all", "--skip-locked", start=("-q",)).returncode


def test_failures_of_many_are_in_the_report(root: Path, run: Run, locked: Callable[[str], None]) -> None:
    """Without --skip-locked a locked user of several is a failure, and the others are done."""
    old(root, "alice", "bob")
    locked("alice")
    done = run("alice", "bob", "--json", start=("--lock-timeout", "0.1"))
    report = json.loads(done.stdout)
    assert (1, 1, ["lock-timeout"]) == (
        done.returncode,
        report["demoted"],
        [row["code"] for row in report["failed"]],
    )


def test_processes_do_the_same(root: Path) -> None:
    """Several processes do what one does, and observers in this process hear of all of it."""
    users = [f"u{number}" for number in range(7)]
    old(root, *users)
    told: list[str] = []

    class Watcher:
        def promoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None: ...

        def evicted(self, user: str, id: str, from_tier: str) -> None: ...

        def demoted(self, user: str, id: str, from_tier: str, to_tier: str) -> None:
            told.append(user)

    planned = store(root).reconcile(everybody=True, dry_run=True)
    done = store(root).reconcile(everybody=True, jobs=3, observers=[Watcher()])
    assert planned.report(explain=True) == done.report(explain=True)
    assert users == told
    before = tree(root)
    assert [] == store(root).reconcile(everybody=True, jobs=3).moves
    assert before == tree(root)


def _ends(task: object, user: str) -> Any:
    if user == "u1":
        os._exit(1)
    return user


def test_a_process_that_ends(root: Path) -> None:
    """Users whose process ended before it answered are failures; nothing hangs."""
    results = dict(parallel.shared(_ends, None, ["u1", "u2"], 2))
    assert "ended before its time" in str(results["u1"])
    assert isinstance(results["u1"], ops.MemctlError)


def test_tenants_are_named(root: Path, run: Run) -> None:
    """--all says that tenants were not looked at; with --tenant theirs are done."""
    old(root, "alice")
    put(root / "tenants" / "t", value("x", age=2 * DAY))
    done = run("--all")
    assert b"1 tenant of the store was not looked at" in done.stderr
    assert b"1 demoted" in run("--all", start=("--tenant", "t")).stdout


def test_a_tier_that_cannot_be_entered_is_an_error(root: Path, tmp_path: Path, run: Run) -> None:
    """With a link in the place of a tier nobody is passed over silently: exit code 77, the path is named."""
    old(root, "alice")
    (tmp_path / "elsewhere").mkdir()
    (root / "tiers" / "hot").rename(tmp_path / "elsewhere" / "hot")
    (root / "tiers" / "hot").symlink_to(tmp_path / "elsewhere" / "hot")
    done = run("--all")
    assert 77 == done.returncode
    assert b"tiers/hot" in done.stderr
    assert b"" == done.stdout
