"""Stops a process at the k-th change it makes to the disk, for every k.

Every change passes through the primitives of `memctl.store.disk`. A forked child runs an action with these
wrapped, and ends without any clean-up before a call, after it, or, for a write, with only part of its data
written. What the child acknowledged before reaches the parent over a pipe.

A child that ends is no power cut: the system keeps what was written. So the wrapped fsync does nothing but
be counted; whether each is in its place is read off a trace (`test_durability`).
"""

from __future__ import annotations

import json
import os
import shutil
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from memctl.store import disk

Acknowledge = Callable[[str], None]
Action = Callable[[Path, Acknowledge], None]

#: What a stopped call did: of a write also half of it; with MEMCTL_TEST_SOAK=1 its first byte, and all but
#: the last one, too.
WHOLE_CALL = ("before", "after")
WRITES = ("one byte", "half", "all but one byte") if os.environ.get("MEMCTL_TEST_SOAK") else ("half",)
_STOPPED = 77
_FAILED = 78


class Call(NamedTuple):
    """A primitive that was called: its name, the path it changed or the new one, bytes to be written."""

    name: str
    path: str
    size_bytes: int


class Outcome(NamedTuple):
    """How a child ended: whether it ran to its end, what it acknowledged, the calls it began."""

    finished: bool
    acknowledged: list[str]
    calls: list[Call]


class Crash(NamedTuple):
    """A store after a crash: where it lies, where the child was stopped, what it had acknowledged."""

    root: Path
    place: str
    acknowledged: list[str]


def run(action: Action, root: Path, stop_at: int = 0, how: str = "before") -> Outcome:
    """Run `action` in a forked child that ends in its call number `stop_at`, counted from 1; 0: never."""
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = _FAILED
        try:
            os.close(read_fd)
            _wrap(write_fd, stop_at, how)
            action(root, lambda text: _tell(write_fd, ["acknowledged", text]))
            status = 0
        except BaseException:
            _tell(write_fd, ["failed", traceback.format_exc()])
        finally:
            os._exit(status)
    os.close(write_fd)
    with open(read_fd, "rb") as pipe:
        told = [json.loads(line) for line in pipe]
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    failures = [text for kind, text in told if kind == "failed"]
    assert status in (0, _STOPPED), f"call {stop_at}, {how}: status {status}\n{''.join(failures)}"
    return Outcome(
        finished=status == 0,
        acknowledged=[text for kind, text in told if kind == "acknowledged"],
        calls=[Call(*call) for kind, call in told if kind == "call"],
    )


def sweep(action: Action, template: Path, directory: Path) -> Iterator[Crash]:
    """A copy of the store `template` for each place where a process that runs `action` can be stopped.

    The last one ran to its end.
    """
    number = 0
    while True:
        number += 1
        for how in (*WHOLE_CALL, *WRITES):
            root = directory / "store"
            shutil.rmtree(root, ignore_errors=True)
            if template.exists():
                shutil.copytree(template, root, symlinks=True)
            outcome = run(action, root, number, how)
            if outcome.finished:
                yield Crash(root, "finished", outcome.acknowledged)
                return
            last = outcome.calls[-1]
            yield Crash(root, f"{how} call {number}, {last.name} {last.path}", outcome.acknowledged)
            if how == WHOLE_CALL[-1] and (last.name not in ("write", "pwrite") or last.size_bytes < 2):
                break


def _tell(fd: int, message: list[Any]) -> None:
    os.write(fd, json.dumps(message).encode() + b"\n")


def _wrap(report_fd: int, stop_at: int, how: str) -> None:
    count = 0

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal count
            count += 1
            size_bytes = len(args[1]) if name in ("write", "pwrite") else 0
            _tell(report_fd, ["call", [name, _path(args, more), size_bytes]])
            stops = count == stop_at
            if stops and how in WRITES:
                length = {"one byte": 1, "half": size_bytes // 2, "all but one byte": size_bytes - 1}[how]
                real(args[0], args[1][:length], *args[2:])
            elif not stops or how == "after":
                try:
                    answer = None if name == "fsync" else real(*args, **more)
                finally:
                    # Also behind a call that failed: the command may go on after that.
                    if stops:
                        os._exit(_STOPPED)
                return answer
            os._exit(_STOPPED)

        return call

    for name in disk.PRIMITIVES:
        setattr(disk, name, wrapped(name, getattr(disk, name)))


def _path(args: tuple[Any, ...], more: dict[str, Any]) -> str:
    """The path that a primitive is given, by its descriptor or its directory's; of a rename the new one."""
    if isinstance(args[0], int):
        return os.readlink(f"/proc/self/fd/{args[0]}")
    name = args[1] if "dst_dir_fd" in more else args[0]
    dir_fd = more.get("dst_dir_fd", more.get("dir_fd"))
    return str(name) if dir_fd is None else os.path.join(os.readlink(f"/proc/self/fd/{dir_fd}"), name)
