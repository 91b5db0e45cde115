"""quarantine restore, stopped at each of its changes to the disk: nothing is lost, a rerun finishes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memctl import Store
from memctl.core import covers, marker
from memctl.errors import BadInput, NotFound

from . import harness
from .invariants import CONVERSATION, USER, log_bytes, log_path, store

REFERENCE = f"{USER}/{CONVERSATION}"
LINES = [json.dumps({"role": "user", "content": text}).encode() + b"\n" for text in ("one", "two", "three")]
TORN = b'{"role":"user","content":"torn'


def summary(lines: list[bytes], kept: int) -> bytes:
    """A summary of these lines but the last `kept`."""
    stated = covers.stating(len(lines), len(lines) - kept, lambda first, end: lines[first:end])
    extra = {marker.SUMMARY: True, marker.OWN: {"covers": stated}}
    return json.dumps({"role": "assistant", "content": "short", "extra": extra}).encode() + b"\n"


def fill(root: Path, data: bytes) -> None:
    log_path(root).parent.mkdir(parents=True, exist_ok=True)
    log_path(root).write_bytes(data)


def append(root: Path, data: bytes) -> None:
    with log_path(root).open("ab") as log:
        log.write(data)


def ids(root: Path) -> list[str]:
    return [str(note["id"]) for note in store(root).quarantine()]


def durable(root: Path) -> Store:
    """The store as a user has it: with fsync, which is counted among the calls."""
    return store(root, durability="fsync")


@pytest.fixture
def template(directory: Path) -> Path:
    # What is imported before the fork need not be imported in each child.
    fill(directory / "warm", LINES[0] + b"garbage\n")
    store(directory / "warm").repair()
    append(directory / "warm", summary([LINES[0][:-1]], 0))
    store(directory / "warm").quarantine_restore(ids(directory / "warm")[0])
    return directory / "template"


def crashes(action: harness.Action, template: Path, directory: Path) -> Iterator[harness.Crash]:
    """All crashes; the last one named in the output of a test that fails is the one it failed for."""
    places = []
    for crash in harness.sweep(action, template, directory):
        print(crash.place)
        places.append(crash.place)
        yield crash
    assert len(places) > 5, "so few calls cannot be all"


def repaired(root: Path) -> None:
    """A repaired log to which a message and a summary were appended."""
    fill(root, LINES[0] + b"garbage\n" + LINES[1] + TORN)
    store(root).repair(REFERENCE)
    append(root, LINES[2] + summary([line[:-1] for line in LINES], 2))


def dropped(root: Path) -> None:
    """A log out of which a message was dropped, in front of a summary."""
    line = json.dumps({"role": "user", "content": "d", "extra": {marker.OWN: {"id": "d"}}}).encode() + b"\n"
    fill(root, LINES[0] + line + LINES[1] + summary([LINES[0][:-1], line[:-1], LINES[1][:-1]], 1))
    store(root).conversation(USER, CONVERSATION).drop(["d"])
    append(root, LINES[2])


@pytest.mark.parametrize("prepare", [repaired, dropped])
def test_what_edits_took_out(prepare: Callable[[Path], None], template: Path, directory: Path) -> None:
    """The log is the old or the new one; with the old one the item is whole; the same command finishes."""
    prepare(template)
    old = log_bytes(template)
    (id,) = ids(template)
    kept = store(template).quarantined(id)
    shutil.copytree(template, directory / "done")
    store(directory / "done").quarantine_restore(id)
    new = log_bytes(directory / "done")
    assert old != new

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        durable(root).quarantine_restore(id)
        acknowledge("restored")

    for crash in crashes(action, template, directory):
        now = log_bytes(crash.root)
        assert now in ({new} if crash.acknowledged else {old, new})
        assert [f"{CONVERSATION}.jsonl"] == [path.name for path in log_path(crash.root).parent.iterdir()]
        if now == old:
            assert kept == store(crash.root).quarantined(id)
        if ids(crash.root):
            assert (now == old) == store(crash.root).quarantine_restore(id).restored
        else:
            with pytest.raises(NotFound):
                action(crash.root, lambda text: None)
        assert new == log_bytes(crash.root)
        assert [] == ids(crash.root)


def test_a_healed_tail(template: Path, directory: Path) -> None:
    """A torn tail is in the log once or in quarantine; once it is in the log, it is not put in again."""
    fill(template, LINES[0] + TORN)
    store(template).conversation(USER, CONVERSATION).append("later")
    old = log_bytes(template)
    new = LINES[0] + TORN + b"\n" + old.removeprefix(LINES[0])
    (id,) = ids(template)

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        durable(root).quarantine_restore(id)
        acknowledge("restored")

    for crash in crashes(action, template, directory):
        now = log_bytes(crash.root)
        assert now in ({new} if crash.acknowledged else {old, new})
        if now == old:
            assert TORN == store(crash.root).quarantined(id)
        with suppress(NotFound, BadInput):
            action(crash.root, lambda text: None)
        assert new == log_bytes(crash.root)


def test_activities(template: Path, directory: Path) -> None:
    """Activities are absent or whole; while they are absent, the item is there; a rerun finishes."""
    fill(template, LINES[0])
    path = Path(f"{log_path(template)}.activities")
    path.write_bytes(b"[1, 2")
    store(template).repair()
    (id,) = ids(template)

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        durable(root).quarantine_restore(id)
        acknowledge("restored")

    for crash in crashes(action, template, directory):
        there = Path(f"{log_path(crash.root)}.activities")
        if crash.acknowledged or not ids(crash.root):
            assert b"[1, 2" == there.read_bytes()
            continue
        whole = there.exists()
        assert not whole or there.read_bytes() == b"[1, 2"
        assert whole != store(crash.root).quarantine_restore(id).restored
        assert (b"[1, 2", []) == (there.read_bytes(), ids(crash.root))


@pytest.mark.parametrize("repairs", [1, 2])
def test_a_file_outside(repairs: int, template: Path, directory: Path) -> None:
    """The file is the old or the new one; until it is the new one its section is there; a rerun finishes."""
    template.mkdir()
    path = template / "f.jsonl"
    path.write_bytes(LINES[0] + TORN)
    states = []
    for _ in range(repairs):
        path.write_bytes(path.read_bytes() + b"garbage\n" + LINES[1])
        states.append(path.read_bytes())
        store(template / "store").repair(str(path))
    old, new = path.read_bytes(), states[-1]

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        durable(root / "store").quarantine_restore(None, f"{root}/f.jsonl.quarantine")
        acknowledge("restored")

    def sections(root: Path) -> int:
        aside = root / "f.jsonl.quarantine"
        return len(store(root / "store").quarantine(str(aside))) if aside.exists() else 0

    for crash in crashes(action, template, directory):
        there = crash.root / "f.jsonl"
        now = there.read_bytes()
        assert now in ({new} if crash.acknowledged else {old, new})
        assert sections(crash.root) in ({repairs - 1} if crash.acknowledged else {repairs, repairs - 1})
        if sections(crash.root) == repairs:
            action(crash.root, lambda text: None)
        assert (new, repairs - 1) == (there.read_bytes(), sections(crash.root))
