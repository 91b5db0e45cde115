"""Many writers at once: every line whole, each message once, each writer's own in its order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from memctl import Store
from tests.processes import fork, wait

WRITERS = 8
#: With MEMCTL_TEST_SOAK=1 more, which takes a minute of both cores.
MESSAGES, COMMANDS = (2_000, 50) if os.environ.get("MEMCTL_TEST_SOAK") else (500, 6)

pytestmark = pytest.mark.xdist_group("machine")


def texts(root: Path) -> list[str]:
    """The contents of all lines; each has to be one whole message."""
    data = log_of(root).read_bytes()
    assert data.endswith(b"\n")
    return [json.loads(line)["content"] for line in data[:-1].split(b"\n")]


def log_of(root: Path) -> Path:
    return root / "conversations" / "alice" / "chat.jsonl"


def assert_each_once_in_order(found: list[str], writers: int, messages: int) -> None:
    """Texts are `p<i>-<n>` and what else may follow a blank."""
    names = [text.split(" ", 1)[0] for text in found]
    expected = [f"p{i}-{n}" for i in range(writers) for n in range(messages)]
    assert Counter(expected) == Counter(names)
    for i in range(writers):
        own = [int(name.partition("-")[2]) for name in names if name.startswith(f"p{i}-")]
        assert list(range(messages)) == own


def append_all(root: Path, i: int, messages: int, padding: str = "", durability: str = "none") -> None:
    settings = {"durability": durability, "lock.timeout_s": 120}
    chat = Store(root, settings=settings).conversation("alice", "chat")
    for n in range(messages):
        chat.append(f"p{i}-{n}{padding}")


def test_library_from_eight_processes(tmp_path: Path) -> None:
    """8 processes append 500 messages each through the library, 2,000 on request."""
    root = tmp_path / "store"
    Store(root, settings={"durability": "none"}).conversation("alice", "other").append("imports")
    pids = [fork(lambda i=i: append_all(root, i, MESSAGES)) for i in range(WRITERS)]  # type: ignore[misc]
    assert [0] * WRITERS == wait(*pids)
    assert_each_once_in_order(texts(root), WRITERS, MESSAGES)


def test_library_with_fsync(tmp_path: Path) -> None:
    """The same with fsync, which holds the lock for longer, for 25 messages each."""
    root = tmp_path / "store"
    pids = [
        fork(lambda i=i: append_all(root, i, 25, durability="fsync"))  # type: ignore[misc]
        for i in range(WRITERS)
    ]
    assert [0] * WRITERS == wait(*pids)
    assert_each_once_in_order(texts(root), WRITERS, 25)


def test_large_messages(tmp_path: Path) -> None:
    """8 processes append 20 messages of 200 KB each: none is interleaved with another."""
    root = tmp_path / "store"
    paddings = [" " + chr(ord("a") + i) * 200_000 for i in range(WRITERS)]
    pids = [fork(lambda i=i: append_all(root, i, 20, paddings[i])) for i in range(WRITERS)]  # type: ignore[misc]
    assert [0] * WRITERS == wait(*pids)
    found = texts(root)
    assert_each_once_in_order(found, WRITERS, 20)
    assert all(text.endswith(paddings[int(text[1])]) for text in found)


def test_command_from_eight_loops(environment: dict[str, str], tmp_path: Path) -> None:
    """8 loops of 6 calls of the command each, as in a shell, 50 on request."""
    root = tmp_path / "store"
    command = [sys.executable, "-m", "memctl", "--root", str(root), "--lock-timeout", "120"]

    def loop(i: int) -> None:
        for n in range(COMMANDS):
            subprocess.run(
                [*command, "append", "alice/chat", f"p{i}-{n}"],
                env=environment,
                cwd=tmp_path,
                stdout=subprocess.DEVNULL,
                check=True,
            )

    pids = [fork(lambda i=i: loop(i)) for i in range(WRITERS)]  # type: ignore[misc]
    assert [0] * WRITERS == wait(*pids)
    assert_each_once_in_order(texts(root), WRITERS, COMMANDS)


def go_append(path: Path, line: bytes, pause_s: float = 0.0) -> None:
    """Append as the Go program does: without a lock, the line and its LF in two writes."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, line)
    if pause_s:
        time.sleep(pause_s)
    os.write(fd, b"\n")
    os.close(fd)


def go_line(n: int) -> bytes:
    return b'{"role":"user","content":"p1-%d"}' % n


@pytest.mark.parametrize(
    ("messages", "pause_every", "pause_s"),
    [
        pytest.param(2_000, 0, 0.0, id="at full speed"),
        pytest.param(300, 10, 0.001, id="1 ms between its two writes"),
        pytest.param(60, 3, 0.05, id="50 ms between its two writes"),
    ],
)
def test_beside_the_go_program(messages: int, pause_every: int, pause_s: float, tmp_path: Path) -> None:
    """Beside a program without lock, which writes line and LF apart, all lines are whole, none is blank."""
    root = tmp_path / "store"
    append_all(root, 9, 1)

    def go() -> None:
        for n in range(messages):
            go_append(log_of(root), go_line(n), pause_s if pause_every and n % pause_every == 0 else 0.0)

    assert [0, 0] == wait(fork(go), fork(lambda: append_all(root, 0, messages)))
    found = texts(root)
    assert "p9-0" == found.pop(0)
    assert_each_once_in_order(found, 2, messages)


def go_is_killed(root: Path, n: int) -> None:
    """The Go program ends between its two writes."""

    def action() -> None:
        os.write(os.open(log_of(root), os.O_WRONLY | os.O_APPEND), go_line(n))
        os.kill(os.getpid(), signal.SIGKILL)

    assert [-signal.SIGKILL] == wait(fork(action))


def test_beside_a_go_program_that_is_killed_between_its_writes(tmp_path: Path) -> None:
    """A line whose LF never came is ended by us, once; nothing before or behind it suffers."""
    root = tmp_path / "store"
    append_all(root, 9, 1)
    writer = fork(lambda: append_all(root, 0, 1_000))
    for n in range(5):
        go_is_killed(root, n)
        deadline = time.monotonic() + 30
        while go_line(n) + b"\n" not in log_of(root).read_bytes() and time.monotonic() < deadline:
            time.sleep(0.01)
            if os.waitid(os.P_PID, writer, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                append_all(root, 8, 1)
    assert [0] == wait(writer)
    found = [text for text in texts(root) if not text.startswith(("p8", "p9"))]
    assert_each_once_in_order([text for text in found if text.startswith("p0")], 1, 1_000)
    assert [f"p1-{n}" for n in range(5)] == [text for text in found if text.startswith("p1")]


def test_two_lines_cut_off_in_a_row(tmp_path: Path) -> None:
    """When the Go program is killed again before its first line was ended, memctl reads all messages."""
    root = tmp_path / "store"
    append_all(root, 9, 1)
    writer = fork(lambda: append_all(root, 0, 200))
    for n in range(20):
        go_is_killed(root, n)
        time.sleep(0.005)
    assert [0] == wait(writer)
    append_all(root, 8, 1)
    found = [str(message.content) for message in Store(root).conversation("alice", "chat").messages()]
    assert Counter(
        ["p9-0", "p8-0"] + [f"p0-{n}" for n in range(200)] + [f"p1-{n}" for n in range(20)]
    ) == Counter(found)
