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
        for text in (CRONTAB, cmd_help.page("inspect"), cmd_help.page("repair"))
        for line in _LINE.findall(text)
    }
)
INSPECT, PROBE, STRICT, REPAIR = (
    "memctl -q inspect",
    "memctl -q inspect --strict --probe",
    "memctl -q inspect --strict",
    "memctl -q repair --apply",
)

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
    assert sorted((INSPECT, PROBE, STRICT, REPAIR)) == LINES


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
