"""Real SIGKILLs of a process that appends, before, inside and after its write."""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from memctl.core.message import Incoming, accept
from memctl.ops.append import Appended
from memctl.store import disk

from .invariants import CONVERSATION, USER, assert_heals, log_bytes, log_path, set_aside, store

#: With MEMCTL_TEST_SOAK=1 300, which takes a minute of both cores.
KILLS = 300 if os.environ.get("MEMCTL_TEST_SOAK") else 45
#: So long that a kill can fall inside the write.
TEXT_BYTES = 3 << 20
TEXT = b"x" * TEXT_BYTES
PHASES = ("before", "inside", "after")
BEFORE, WRITING, WRITTEN, ACKNOWLEDGED = range(4)

pytestmark = pytest.mark.xdist_group("machine")


def message_of(number: int) -> Incoming:
    """A large message with an id of its own, checked before the fork: the child has only to write it."""
    return accept(b'{"role":"user","content":"%b","extra":{"memctl":{"id":"id %d"}}}' % (TEXT, number))


def append(root: Path, message: Incoming) -> Appended:
    return store(root).conversation(USER, CONVERSATION).append_messages([message])


class Delays:
    """How long to wait before the kill, learned: for each phase what led to it, starting from a guess."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._write_s = 0.005
        self.counts: Counter[str] = Counter()

    def next(self) -> tuple[str, float]:
        """The phase that is rarest so far, and the delay from the moment it can begin."""
        aim = min(PHASES, key=lambda phase: self.counts[phase])
        if aim == "before":
            return aim, 0.0
        low, high = (0.05, 0.8) if aim == "inside" else (1.0, 3.0)
        return aim, self._random.uniform(low, high) * self._write_s

    def learn(self, aim: str, phase: str) -> None:
        self.counts[phase] += 1
        if aim == "inside" and phase != "inside":
            self._write_s *= 1.3 if phase == "before" else 0.75
        if aim == "after" and phase != "after":
            self._write_s *= 1.3


def child(root: Path, message: Incoming, phase: mmap.mmap) -> None:
    """Append one large message, telling its phase in a byte that the parent sees."""
    write = os.write

    def told(fd: int, data: bytes) -> int:
        if len(data) < TEXT_BYTES:
            return write(fd, data)
        phase[0] = WRITING
        count = write(fd, data)
        phase[0] = WRITTEN
        return count

    disk.write = told  # type: ignore[assignment]
    append(root, message)
    phase[0] = ACKNOWLEDGED
    signal.pause()


def kill_one(root: Path, message: Incoming, aim: str, delay_s: float) -> int:
    """Start an append, kill it; the phase byte at its end."""
    phase = mmap.mmap(-1, 1)
    pid = os.fork()
    if pid == 0:
        try:
            child(root, message, phase)
        finally:
            os._exit(1)
    try:
        if aim != "before":
            while phase[0] == BEFORE:
                pass
            end = time.perf_counter() + delay_s
            while time.perf_counter() < end:
                pass
            while aim == "after" and phase[0] < WRITTEN:
                pass
        os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert -signal.SIGKILL == status
        return phase[0]
    finally:
        phase.close()


def phase_of(mark: int, grown_bytes: int) -> str:
    """Inside: part of the data, or all of it in a write that had not returned."""
    if mark in (WRITTEN, ACKNOWLEDGED):
        return "after"
    return "before" if mark == BEFORE or not grown_bytes else "inside"


def test_kills(directory: Path) -> None:
    """Nothing acknowledged is lost or doubled, what is cut off goes to quarantine, a retry succeeds."""
    root = directory / "store"
    store(root).conversation(USER, CONVERSATION).append("earlier")
    delays = Delays(seed=1)
    torn_ones = 0
    for number in range(KILLS):
        before = log_bytes(root)
        aim, delay_s = delays.next()
        message = message_of(number)
        mark = kill_one(root, message, aim, delay_s)
        after = log_bytes(root)
        delays.learn(aim, phase_of(mark, len(after) - len(before)))
        assert before == after[: len(before)]
        new = after[len(before) :]
        if mark >= WRITTEN:
            assert_whole(new, number)
        torn_ones += bool(new) and not new.endswith(b"\n")
        assert_retry_completes(root, number, before, new)
        make_small(root)
    print(f"{KILLS} kills: {dict(delays.counts)}, {torn_ones} torn tails")
    assert all(delays.counts[phase] >= KILLS // 10 for phase in PHASES), delays.counts
    assert torn_ones >= KILLS // 10


def assert_whole(line: bytes, number: int) -> None:
    """The line is that message and nothing else."""
    assert b"\n" == line[-1:]
    value = json.loads(line)
    assert f"id {number}" == value["extra"]["memctl"]["id"]
    assert TEXT.decode() == value["content"]


def assert_retry_completes(root: Path, number: int, before: bytes, new: bytes) -> None:
    """A retry with the id leaves the message exactly once, behind what was there; what was torn is aside."""
    is_whole = new.endswith(b"\n")
    done = append(root, message_of(number))
    now = log_bytes(root)
    assert before == now[: len(before)]
    assert_whole(now[len(before) :], number)
    assert ((0, 1) if is_whole else (1, 0)) == (done.appended, done.duplicates)
    assert ([new] if new and not is_whole else []) == set_aside(root)


def make_small(root: Path) -> None:
    """So that 300 large messages need not be kept: a log with little in it, a quarantine with nothing."""
    log_path(root).write_bytes(b"")
    assert_heals(root)
    for path in root.glob("quarantine/*/*"):
        path.unlink()
