"""The lines for cron in the README and the manual: no output where nothing is wrong, else a report."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl import Store
from memctl.cli import cmd_help
from tests.docs.session import README, SAMPLES, installed

_LINE = re.compile(r"^ *(?:[\d*]+ +){5}(.+)$", re.MULTILINE)
_VARIABLE = re.compile(r"^([A-Z_]+)=(.+)$", re.MULTILINE)
(CRONTAB,) = re.findall(r"^```crontab\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.M)
LINES = sorted(
    {
        line
        for text in (CRONTAB, *map(cmd_help.page, ("inspect", "repair", "reconcile")))
        for line in _LINE.findall(text)
    }
)
INSPECT, PROBE, STRICT, REPAIR, RECONCILE = (
    "memctl -q inspect",
    "memctl -q inspect --strict --probe",
    "memctl -q inspect --strict",
    "memctl -q repair --apply",
    "memctl -q reconcile --all --skip-locked",
)
UNITS = re.findall(r"^```ini\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.M)

Cron = Callable[[str], tuple[int, bytes]]


@pytest.fixture
def store(root: Path) -> Path:
    """A store with a conversation of which nothing is to be said."""
    Store(root, settings={"heal.settle_ms": 0}).conversation("alice", "trip").append("Is there a train?")
    return root


@pytest.fixture
def cron(tmp_path: Path, store: Path, environment: dict[str, str]) -> Cron:
    """Runs a line as cron does: by sh, without a terminal, with the variables of the crontab and few others.

    Gives the exit code and what cron would mail: standard output and standard error.
    """
    tools = installed(tmp_path / "tools")
    given = dict(_VARIABLE.findall(CRONTAB))
    assert {"PATH", "MEMCTL_ROOT"} == set(given)
    variables = {
        "SHELL": "/bin/sh",
        "LOGNAME": "agents",
        "HOME": environment["HOME"],
        "PYTHONPATH": environment["PYTHONPATH"],
        "PATH": f"{tools}:{given['PATH']}",
        "MEMCTL_ROOT": str(store),
    }

    def run(line: str) -> tuple[int, bytes]:
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            env=variables,
            cwd=environment["HOME"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout

    return run


def add(store: Path, sample: str, name: str) -> Path:
    """A damaged sample as a conversation of the store."""
    path = store / "conversations" / "alice" / f"{name}.jsonl"
    shutil.copy(SAMPLES / "damaged" / sample, path)
    path.chmod(0o600)
    return path


def test_the_lines() -> None:
    """The pages have these lines for cron, and no other."""
    assert sorted((INSPECT, PROBE, STRICT, REPAIR, RECONCILE)) == LINES


@pytest.mark.parametrize("line", LINES)
def test_nothing_wrong_is_no_mail(cron: Cron, line: str) -> None:
    """With nothing wrong a line prints nothing at all and ends with 0."""
    assert (0, b"") == cron(line)


@pytest.mark.parametrize("line", [INSPECT, STRICT, PROBE])
def test_an_error_is_a_mail(cron: Cron, store: Path, line: str) -> None:
    """An error is a mail that names the conversation, the code and the place, and exit code 1."""
    add(store, "bad-json.jsonl", "pantry")
    exit_code, mail = cron(line)
    assert 1 == exit_code
    for word in (b"alice/pantry", b"bad-json", b"line 4", b"565"):
        assert word in mail


def test_a_warning_is_a_mail_with_strict(cron: Cron, store: Path) -> None:
    """A warning is a mail only where --strict asks for it."""
    add(store, "bom.jsonl", "books")
    assert (0, b"") == cron(INSPECT)
    exit_code, mail = cron(STRICT)
    assert 1 == exit_code
    assert b"alice/books" in mail
    assert b"bom" in mail


def test_a_repair_that_mends_all_is_no_mail(cron: Cron, store: Path) -> None:
    """What can be mended is mended without a word; the bytes are in quarantine, and a second run is quiet."""
    path = add(store, "torn-tail.jsonl", "hub")
    before = path.read_bytes()
    assert (0, b"") == cron(REPAIR)
    after = path.read_bytes()
    kept = [item.read_bytes() for item in (store / "quarantine" / "alice").glob("*.bytes")]
    assert before == after + b"".join(kept)
    assert 1 == len(kept)
    assert (0, b"") == cron(REPAIR)
    assert (0, b"") == cron(INSPECT)


def test_what_a_repair_leaves_is_a_mail(cron: Cron, store: Path) -> None:
    """What is left is a mail each time, and exit code 1; the rest is mended all the same."""
    add(store, "torn-tail.jsonl", "hub")
    add(store, "empty-message.jsonl", "paper")
    for _ in range(2):
        exit_code, mail = cron(REPAIR)
        assert 1 == exit_code
        assert b"alice/paper" in mail
        assert b"empty-message" in mail
    assert (0, b"") == cron(INSPECT)


def test_a_store_that_cannot_be_written_to_is_a_mail(cron: Cron, store: Path, tmp_path: Path) -> None:
    """--probe finds out before a message is lost: here a link stands where files are written."""
    tmp = store / ".memctl" / "tmp"
    shutil.rmtree(tmp, ignore_errors=True)
    tmp.symlink_to(tmp_path, target_is_directory=True)
    exit_code, mail = cron(PROBE)
    assert 77 == exit_code
    assert mail.startswith(b"memctl: ")
    assert b".memctl/tmp" in mail


def test_a_reconcile_that_works_is_no_mail(cron: Cron, store: Path) -> None:
    """Records move without a word; a user whose records are locked is left for the next time."""
    memory = Store(store, now_us=1_000_000_000_000_000).memory("alice")
    memory.remember("The bus leaves at 07:52.", id="bus")
    assert (0, b"") == cron(RECONCILE)
    assert "warm" == memory.get("bus").tier
    memory.remember("The tram leaves at 08:10.", id="tram")
    with Store(store).setup.records_lock("alice", "test"):
        assert (0, b"") == cron(RECONCILE)
    assert "hot" == memory.get("tram").tier


def test_trouble_with_one_user_is_a_mail(cron: Cron, store: Path, tmp_path: Path) -> None:
    """A user whose records cannot be moved is named, exit code 1; the others' are moved."""
    for user in ("alice", "bob"):
        Store(store, now_us=1_000_000_000_000_000).memory(user).remember("The bus leaves at 07:52.", id="bus")
    hot = store / "tiers" / "hot" / "alice.jsonl"
    hot.rename(tmp_path / "elsewhere")
    hot.symlink_to(tmp_path / "elsewhere")
    exit_code, mail = cron(RECONCILE)
    assert 1 == exit_code
    assert b"alice" in mail
    assert b"bob" not in mail
    assert "warm" == Store(store).memory("bob").get("bus").tier


def test_the_units_of_systemd(cron: Cron, store: Path, tmp_path: Path) -> None:
    """The service runs the line of the crontab, in its store; the timer is one; systemd takes both."""
    service, timer = UNITS
    (start,) = re.findall(r"^ExecStart=/opt/memctl/bin/(.+)$", service, re.MULTILINE)
    assert RECONCILE == start
    assert (0, b"") == cron(start)
    assert "MEMCTL_ROOT=/srv/agents" in CRONTAB
    assert "Environment=MEMCTL_ROOT=/srv/agents\n" in service
    assert "OnCalendar=" in timer
    assert "WantedBy=timers.target\n" in timer
    if shutil.which("systemd-analyze") is None:
        return
    names = ("memctl-reconcile.service", "memctl-reconcile.timer")
    (tmp_path / names[0]).write_text(service.replace("/opt/memctl/bin/memctl", "/bin/true"))
    (tmp_path / names[1]).write_text(timer)
    paths = [str(tmp_path / name) for name in names]
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True)
    assert [] == [line for line in (done.stdout + done.stderr).splitlines() if "memctl" in line]
