"""A store with something of everything in it, a terminal, and a holder of a conversation's lock."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memctl import Store

NOW_US = 1_772_614_800_000_000  # 2026-03-04T09:00:00Z
CALL = (
    '{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function",'
    '"function":{"name":"trains","arguments":"{}"}}]}\n'
    '{"role":"tool","content":"09:30","tool_call_id":"c1"}\n'
)

Terminal = Callable[..., tuple[int, str, str]]
Holder = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store: alice/trip with a call and its result, alice/gone in the trash, a torn tail in quarantine,
    the record `seat` in alice's memory.
    """
    root = tmp_path_factory.mktemp("sample") / "store"
    store = Store(root, now_us=NOW_US, settings={"heal.settle_ms": 0})
    store.conversation("alice", "trip").append("Is there a train?", id="q1")
    store.conversation("alice", "trip").append_jsonl(CALL.encode())
    store.conversation("alice", "gone").append("bye")
    store.conversation("alice", "gone").delete()
    store.conversation("alice", "torn").append("one")
    with open(root / "conversations" / "alice" / "torn.jsonl", "ab") as file:
        file.write(b'{"role":"user","con')
    store.conversation("alice", "torn").append("two")
    store.memory("alice").remember("She prefers the window seat", id="seat")
    return root


@pytest.fixture
def filled(sample_store: Path, root: Path) -> Path:
    """A copy of `sample_store`."""
    shutil.copytree(sample_store, root)
    return root


@pytest.fixture
def terminal(environment: dict[str, str], tmp_path: Path) -> Terminal:
    """Runs memctl with terminals of `width` columns as its outputs: exit code, what each shows."""

    def run(*args: str, width: int = 80, **env: str) -> tuple[int, str, str]:
        pairs = [pty.openpty(), pty.openpty()]
        for _, slave in pairs:
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-m", "memctl", *args],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=pairs[0][1],
            stderr=pairs[1][1],
            env=environment | {"TERM": "xterm-256color"} | env,
        )
        shown: list[bytes] = [b"", b""]
        readers = [
            threading.Thread(target=lambda at=at, master=master: shown.__setitem__(at, drain(master)))
            for at, (master, _) in enumerate(pairs)
        ]
        for reader in readers:
            reader.start()
        for _, slave in pairs:
            os.close(slave)
        exit_code = process.wait(60)
        for reader in readers:
            reader.join()
        out, err = (text.replace(b"\r\n", b"\n").decode() for text in shown)
        return exit_code, out, err

    return run


def drain(master: int) -> bytes:
    """All that a terminal shows until its other side is closed, which Linux tells as EIO."""
    chunks = []
    try:
        while chunk := os.read(master, 65536):
            chunks.append(chunk)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
    os.close(master)
    return b"".join(chunks)


@pytest.fixture
def holder(environment: dict[str, str], root: Path) -> Iterator[Holder]:
    """Starts a process that holds the lock of a conversation until it is killed."""
    started: list[subprocess.Popen[bytes]] = []
    program = (
        "import sys, time; from memctl import Reference, Store\n"
        "setup = Store(sys.argv[1]).setup; setup.ensure_store()\n"
        "with setup.lock(Reference(*sys.argv[2].split('/')), 'holding'):\n"
        "    print('held', flush=True); time.sleep(600)"
    )

    def start(reference: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(root), reference], stdout=subprocess.PIPE, env=environment
        )
        started.append(process)
        assert process.stdout is not None
        assert b"held\n" == process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
