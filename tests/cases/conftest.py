"""Ways to look at the inputs of the cases: through the command and through the library."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl import Store

from .inputs import Printed, Put, Run, Write, split


@pytest.fixture
def file(tmp_path: Path) -> Write:
    """A file outside any store with the given bytes."""

    def write(data: bytes) -> Path:
        path = tmp_path / "input.jsonl"
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def printed(memctl: Run, file: Write) -> Callable[..., Printed]:
    """`window ./input.jsonl -b 0 -f jsonl --explain` on the given bytes, with more options; exit 0."""

    def run(data: bytes, *options: str) -> Printed:
        file(data)
        budget = () if "-b" in options else ("-b", "0")
        done = memctl("window", "./input.jsonl", *budget, "-f", "jsonl", "--explain", *options)
        assert 0 == done.returncode, done.stderr
        said = done.stderr.decode().splitlines()
        (report,) = (line for line in said if line.startswith("{"))
        return Printed(split(done.stdout), json.loads(report), [line for line in said if line != report])

    return run


@pytest.fixture
def store(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    """A store, caches of files below `tmp_path`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Store(root)


@pytest.fixture
def put(root: Path) -> Put:
    """Stores bytes as alice's conversation NAME, mode 0600."""

    def write(name: str, data: bytes) -> Path:
        directory = root / "conversations" / "alice"
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = directory / f"{name}.jsonl"
        path.touch(mode=0o600)
        path.write_bytes(data)
        return path

    return write
