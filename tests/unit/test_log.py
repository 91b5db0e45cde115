"""The tail of a log: what is kept, what is set aside, and how long another program is waited for."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from memctl import Store
from memctl.store import log, scanning
from memctl.store.scanning import scan

LINES = [
    b'{"role":"user","content":"one"}\n',
    '{"role":"assistant","content":"zwei \u2028 \U0001f642"}\n'.encode(),
    b'{"role":"user","content":"three {\\"role\\":1}","extra":{"n":[1,{"x":2}]}}\n',
]
WHOLE = b"".join(LINES)
NEW = "the new one"


def store(root: Path, settle_ms: int = 0) -> Store:
    return Store(root, settings={"durability": "none", "heal.settle_ms": settle_ms})


def log_of(root: Path, data: bytes = b"") -> Path:
    path = root / "conversations" / "a" / "b.jsonl"
    if not path.exists():
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    return path


def aside(root: Path) -> list[tuple[bytes, dict[str, Any]]]:
    found = store(root).quarantine()
    return [(store(root).quarantined(note["id"]), note) for note in found]


@pytest.mark.parametrize("size_bytes", range(len(WHOLE) + 1))
def test_cut_at_every_byte(size_bytes: int, tmp_path: Path) -> None:
    """B07, B08: a log cut anywhere keeps all whole messages; the torn bytes are set aside exactly."""
    path = log_of(tmp_path, WHOLE[:size_bytes])
    ends = [sum(map(len, LINES[: n + 1])) for n in range(len(LINES))]
    whole = sum(end - 1 <= size_bytes for end in ends)
    kept = b"".join(LINES[:whole])
    torn = WHOLE[len(kept) : size_bytes]

    done = store(tmp_path).conversation("a", "b").append(NEW)

    data = path.read_bytes()
    assert kept == data[: len(kept)]
    assert len(kept) == done.offset
    assert NEW == json.loads(data[len(kept) :])["content"]
    assert [torn] * bool(torn) == [item for item, _ in aside(tmp_path)]
    expected = []
    if torn:
        expected.append(("torn-tail", whole + 1, len(kept), len(torn)))
    elif size_bytes == len(kept) - 1:
        length = len(LINES[whole - 1]) - 1
        expected.append(("no-final-newline", whole, len(kept) - 1 - length, length))
    assert expected == [(h["code"], h["line"], h["offset"], h["length"]) for h in done.healed]
    for _, note in aside(tmp_path):
        assert ("a/b", whole + 1, len(kept), len(torn)) == tuple(
            note[key] for key in ("conversation", "line", "offset", "length")
        )


@pytest.mark.parametrize(
    ("tail", "kept"),
    [
        pytest.param(b'{"role":"user","content":"x"}', None, id="whole"),
        pytest.param(b'{"role":"user","content":"x"}\r', None, id="whole with CR"),
        pytest.param(b'{"role":"user","content":"x"}\0\0\0', None, id="whole and zeros"),
        pytest.param(b"\0\0\0\0", b"", id="zeros alone"),
        pytest.param(b"  ", b"", id="white space"),
        pytest.param(b"[1,2]", None, id="JSON that is no message"),
        pytest.param(b'{"role":"user","content":"caf\xc3', b"", id="cut inside a character"),
        pytest.param(b'{"role":"user","content":NaN}', None, id="a number that is none"),
        pytest.param(
            b'{"role":"user","content":"x"}{"role":"us',
            b'{"role":"user","content":"x"}',
            id="whole, then torn",
        ),
        pytest.param(b'{"role":"us{"role":"user","content":"x"}', None, id="torn, then whole"),
        pytest.param(
            b'{"role":"user","content":"x"}{"role":"user","content":"y"}', None, id="two whole ones"
        ),
    ],
)
def test_tails(tail: bytes, kept: bytes | None, tmp_path: Path) -> None:
    """A tail that readers can use is ended with LF and stays; of any other only what they can use stays."""
    path = log_of(tmp_path, LINES[0] + tail)
    kept = tail if kept is None else kept
    done = store(tmp_path).conversation("a", "b").append(NEW)
    stays = LINES[0] + kept + b"\n" * bool(kept)
    assert (stays, len(stays)) == (path.read_bytes()[: len(stays)], done.offset)
    rest = tail[len(kept) :]
    assert [rest] * bool(rest) == [item for item, _ in aside(tmp_path)]


def test_a_tail_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    """A line that another program writes in pieces over half a second is neither cut nor set aside."""
    path = log_of(tmp_path, LINES[0])
    line = b'{"role":"user","content":"slowly"}\n'

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            for place in range(0, len(line), 4):
                file.write(line[place : place + 4])
                time.sleep(0.06)

    writer = threading.Thread(target=write)
    writer.start()
    while path.stat().st_size == len(LINES[0]):
        time.sleep(0.001)
    done = store(tmp_path, settle_ms=400).conversation("a", "b").append(NEW)
    writer.join()
    assert LINES[0] + line == path.read_bytes()[: done.offset]
    assert ([], []) == (done.healed, aside(tmp_path))


@pytest.mark.parametrize("settle_ms", [0, 150, 400])
def test_settle_time(settle_ms: int, tmp_path: Path) -> None:
    """A fresh tail is healed after the settle time, not before."""
    log_of(tmp_path, LINES[0] + b'{"torn')
    chat = store(tmp_path, settle_ms=settle_ms).conversation("a", "b")
    start = time.monotonic()
    assert ["torn-tail"] == [item["code"] for item in chat.append(NEW).healed]
    assert settle_ms / 1000 - 0.02 <= time.monotonic() - start


def test_an_old_tail_is_not_waited_for(tmp_path: Path) -> None:
    """A tail that has stood still for longer than the settle time is healed at once."""
    log_of(tmp_path, LINES[0] + b'{"torn')
    time.sleep(0.3)
    start = time.monotonic()
    store(tmp_path, settle_ms=250).conversation("a", "b").append(NEW)
    assert time.monotonic() - start < 0.2


def test_a_tail_with_a_time_in_the_future_is_waited_for(tmp_path: Path) -> None:
    """A modification time ahead of the clock says nothing: the tail is watched for the settle time."""
    path = log_of(tmp_path, LINES[0] + b'{"torn')
    os.utime(path, (time.time() + 9_000, time.time() + 9_000))
    start = time.monotonic()
    store(tmp_path, settle_ms=200).conversation("a", "b").append(NEW)
    assert 0.18 <= time.monotonic() - start < 5


def test_a_tail_that_goes_on_while_it_is_set_aside_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another program adds between the look at the tail and the cut is not cut off."""
    from memctl.store import quarantine

    path = log_of(tmp_path, LINES[0] + b'{"role":"user","con')
    put = quarantine.put

    def slow_put(*args: Any, **more: Any) -> str:
        id = put(*args, **more)
        if not path.read_bytes().endswith(b"\n"):
            with path.open("ab") as file:
                file.write(b'tent":"late"}\n')
        return id

    monkeypatch.setattr(quarantine, "put", slow_put)
    done = store(tmp_path).conversation("a", "b").append(NEW)
    assert LINES[0] + b'{"role":"user","content":"late"}\n' == path.read_bytes()[: done.offset]
    assert ([], []) == (done.healed, aside(tmp_path))


@pytest.mark.parametrize("block_bytes", [1, 2, 7, 64, 1 << 18])
def test_scan(block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines come with offsets and sizes that add up to the file, whatever the size of a read."""
    monkeypatch.setattr(log, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(scanning, "BLOCK_BYTES", block_bytes)
    data = b"\n" + WHOLE + b"\n\nlast"
    path = log_of(tmp_path, data)
    with path.open("rb") as file:
        lines = list(scan(file.fileno(), 0, len(data)))
        ends = [log.last_newline(file.fileno(), size) for size in range(len(data) + 1)]
    assert data.split(b"\n") == [line.data for line in lines]
    assert data == b"".join(data[line.offset : line.offset + line.size_bytes] for line in lines)
    assert [True] * (len(lines) - 1) + [False] == [line.terminated for line in lines]
    assert [data[:size].rfind(b"\n") + 1 for size in range(len(data) + 1)] == ends


@pytest.mark.parametrize("block_bytes", [1, 2, 5, 7, 64, 1 << 18])
def test_blank_lines_that_follow_one_another_are_joined(
    block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Joined lines are the lines: the same bytes at the same places, in one block as few as can be."""
    monkeypatch.setattr(scanning, "BLOCK_BYTES", block_bytes)
    message = LINES[0][:-1]
    data = b"\n \n\t\r\n" + message + b"\n\n" + message + b"\n\n\n\r\n" + message + b"\n \n  "
    with log_of(tmp_path, data).open("rb") as file:
        lines = list(scan(file.fileno(), 0, len(data), join_blank=True))
        apart = list(scan(file.fileno(), 0, len(data)))
    assert data == b"".join(line.data + b"\n" * line.terminated for line in lines)
    assert data == b"".join(data[line.offset : line.offset + line.size_bytes] for line in lines)
    assert apart == [
        whole for line in lines for whole in ([line] if b"\n" not in line.data else _parted(line))
    ]
    assert all(not line.data.strip() for line in lines if b"\n" in line.data)
    if block_bytes > len(data):
        assert [3, 1, 1, 1, 3, 1, 1, 1] == [line.data.count(b"\n") + 1 for line in lines]


def _parted(line: scanning.Line) -> list[scanning.Line]:
    parts, offset = [], line.offset
    for data in line.data.split(b"\n"):
        parts.append(scanning.Line(offset, len(data) + 1, data, True))
        offset += len(data) + 1
    return parts
