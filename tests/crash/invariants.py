"""What holds after any crash, whatever the command and wherever it was stopped."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from conformance import go_reader

from memctl import Store

USER, CONVERSATION = "alice", "chat"
#: A tail in a test is as old as the test: it is not waited for.
SETTINGS: dict[str, Any] = {"heal.settle_ms": 0, "window.counter": "bytes4", "durability": "none"}
HEALED = "after the crash"


def store(root: Path, **settings: object) -> Store:
    """The store, with the settings of these tests."""
    return Store(root, settings=SETTINGS | settings)


def log_path(root: Path) -> Path:
    """The log of the one conversation."""
    return root / "conversations" / USER / f"{CONVERSATION}.jsonl"


def log_bytes(root: Path) -> bytes:
    """The bytes of the log; none without it."""
    path = log_path(root)
    return path.read_bytes() if path.exists() else b""


def split(data: bytes) -> tuple[list[bytes], bytes]:
    """The whole lines of a log, without LF, and what is torn; a whole object without its LF is a line."""
    *lines, tail = data.split(b"\n")
    text = tail.decode("utf-8", "surrogateescape")
    try:
        end = json.JSONDecoder().raw_decode(text)[1]
    except ValueError:
        return lines, tail
    whole = text[:end].encode("utf-8", "surrogateescape")
    return [*lines, whole], tail[len(whole) :]


def contents(data: bytes) -> list[str]:
    """The contents of the messages in a log's whole lines."""
    return [json.loads(line)["content"] for line in split(data)[0]]


def set_aside(root: Path) -> list[bytes]:
    """The bytes of each item in quarantine."""
    return [path.read_bytes() for path in sorted(root.glob("quarantine/*/*.bytes"))]


def assert_kept(now: bytes, before: bytes, acknowledged: list[str], attempted: list[str]) -> None:
    """Earlier lines stand unchanged; what was acknowledged is there once, what was attempted at most once."""
    assert before == now[: len(before)]
    found = Counter(contents(now))
    assert dict.fromkeys(acknowledged, 1) == {text: found[text] for text in acknowledged}
    assert {text: found[text] for text in attempted if found[text] > 1} == {}


def assert_heals(root: Path) -> None:
    """The next append succeeds and mends the tail; what it sets aside is in quarantine, bit for bit."""
    lines, torn = split(log_bytes(root))
    before = set_aside(root)
    done = store(root).conversation(USER, CONVERSATION).append(HEALED)
    assert 1 == done.appended
    new = log_bytes(root)[done.offset :]
    assert b"".join(line + b"\n" for line in lines) + new == log_bytes(root)
    assert [HEALED] == contents(new)
    assert Counter([torn] if torn else []) == Counter(set_aside(root)) - Counter(before)
    assert_reads(root)


def assert_reads(root: Path) -> None:
    """The Go reader reads to the end, and the window is the same with caches and without."""
    data = log_bytes(root)
    loaded = go_reader.read(data)
    assert loaded.stopped_at_line is None
    assert len(loaded.messages) == data.count(b"\n")
    for budget in (0, 60, 200):
        with_cache = store(root).conversation(USER, CONVERSATION).window(budget)
        shutil.rmtree(root / ".memctl" / "cache", ignore_errors=True)
        without = store(root).conversation(USER, CONVERSATION).window(budget)
        assert without == with_cache
