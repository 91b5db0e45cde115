"""events: what happened, of one user or of all, in the order of time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memctl import Store, UsageError
from memctl.cli import shapes
from memctl.core.event_types import TYPES
from tests.cli.conftest import Terminal
from tests.conftest import Memctl

from .stored import NOW_US

DAY_US = 86_400_000_000
MANUAL = Path(shapes.__file__).parent.parent / "manual" / "events.md"


def note(root: Path, user: str | None, days_ago: float, type: str, **facts: Any) -> None:
    now_us = NOW_US - round(days_ago * DAY_US)
    Store(root, now_us=now_us, run_id="run-1").setup.event(user, type, **facts)


@pytest.fixture
def store(root: Path) -> Store:
    note(root, "alice", 3, "tier.promoted", record_id="a", from_tier="cold", to_tier="warm")
    note(root, "alice", 1, "tier.demoted", record_id="a", from_tier="warm", to_tier="cold")
    note(root, "bob", 2, "memory.deleted", conversation="trip", bytes=3, trash=None)
    note(root, None, 0, "memory.identity_rejected", name="\x1b[31m", reason="blank")
    return Store(root, now_us=NOW_US)


def types(found: Any) -> list[str]:
    return [event.value["type"] for event in found.events]


def test_all_users_by_time(store: Store) -> None:
    """The events of all users come in one order of time, those of refused names too."""
    wanted = ["tier.promoted", "memory.deleted", "tier.demoted", "memory.identity_rejected"]
    assert wanted == types(store.events())


def test_one_user(store: Store) -> None:
    """With a user only theirs; a user without events has none."""
    assert ["tier.promoted", "tier.demoted"] == types(store.events("alice"))
    assert [] == types(store.events("nobody"))


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({"types": ["tier.demoted"]}, ["tier.demoted"]),
        ({"types": ["tier.demoted", "memory.deleted"]}, ["memory.deleted", "tier.demoted"]),
        ({"since": "2026-02-27T00:00:00Z"}, ["memory.deleted", "tier.demoted", "memory.identity_rejected"]),
        ({"since": "2026-02-27T00:00:00.000001Z"}, ["tier.demoted", "memory.identity_rejected"]),
        ({"since": "2026-02-27T00:00:00.000001Z", "types": ["tier.demoted"]}, ["tier.demoted"]),
        ({"since": "2027-01-01T00:00:00Z"}, []),
    ],
    ids=str,
)
def test_types_and_since(store: Store, asked: dict[str, Any], wanted: list[str]) -> None:
    """--type and --since leave out what is of another type or before."""
    assert wanted == types(store.events(**asked))


def test_unknown_type(store: Store) -> None:
    """A type that is none is refused with the nearest one."""
    with pytest.raises(UsageError) as refused:
        store.events(types=["tier.promote"])
    assert "the nearest is tier.promoted" == refused.value.hint


def test_damaged_lines(root: Path, store: Store) -> None:
    """Lines that are no events are passed over and named by file and line; the others are there."""
    path = root / ".memctl" / "events" / "alice.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b'{"time":"20\n\n[1]\n{"type":7}\n' + second + b'{"torn')
    found = store.events("alice")
    assert ["tier.promoted", "tier.demoted"] == types(found)
    assert [(str(path), 2), (str(path), 4), (str(path), 5), (str(path), 7)] == found.odd


def test_events_without_a_time(root: Path, store: Store) -> None:
    """An event without a readable time comes first; --since passes it over and counts it."""
    with open(root / ".memctl" / "events" / "bob.jsonl", "ab") as file:
        file.write(b'{"type":"memory.restored","time":"once"}\n')
    assert ["memory.restored", "memory.deleted"] == types(store.events("bob"))
    found = store.events("bob", since=0)
    assert (["memory.deleted"], 1) == (types(found), found.undated)


def test_one_time_keeps_the_order_of_the_file(root: Path) -> None:
    """Events of one moment stay in the order in which they were written."""
    for number in range(20):
        note(root, "alice", 0, "tier.demoted", record_id=str(number))
    found = Store(root).events()
    assert list(map(str, range(20))) == [event.value["record_id"] for event in found.events]


def test_odd_files_are_no_users(root: Path, store: Store) -> None:
    """Files whose names are none of ours are not read."""
    directory = root / ".memctl" / "events"
    for name in ("a%2fb.jsonl", "notes.txt", ".hidden.jsonl"):
        (directory / name).write_bytes((directory / "bob.jsonl").read_bytes())
    assert 4 == len(store.events().events)


def test_jsonl_is_the_stored_lines(memctl: Memctl, root: Path, store: Store) -> None:
    """jsonl prints each line as it is stored; json is one array; without a terminal jsonl is the default."""
    lines = (root / ".memctl" / "events" / "alice.jsonl").read_bytes()
    start = ("--root", str(root), "events", "alice")
    assert lines == memctl(*start, "-f", "jsonl").stdout
    assert lines == memctl(*start).stdout
    assert list(map(json.loads, lines.splitlines())) == json.loads(memctl(*start, "--json").stdout)
    keys = shapes.keys("events -f jsonl")
    assert {"time", "type", "user", "run_id"} == set(keys) & set(json.loads(lines.splitlines()[0]))


def test_command(memctl: Memctl, root: Path, store: Store) -> None:
    """--since takes how long ago; what is passed over is named on standard error, the exit code is 0."""
    with open(root / ".memctl" / "events" / "alice.jsonl", "ab") as file:
        file.write(b'{"type":"memory.restored"}\nno json\n')
    done = memctl("--root", str(root), "--now", "2026-03-01T00:00:00Z", "events", "--since", "36h")
    assert (0, 2) == (done.returncode, done.stdout.count(b"\n"))
    assert b"alice.jsonl, line 4: no event, passed over" in done.stderr
    assert b"1 without a readable time" in done.stderr


@pytest.mark.parametrize(
    "arguments", [("--type", "tier.gone"), ("--since", "soon"), ("-f", "text"), ("--json", "-f", "jsonl")]
)
def test_command_refuses(memctl: Memctl, root: Path, arguments: tuple[str, ...]) -> None:
    """What cannot be meant is 2, with empty output."""
    done = memctl("--root", str(root), "events", *arguments)
    assert (2, b"") == (done.returncode, done.stdout)


def test_a_table_on_a_terminal(terminal: Terminal, root: Path, store: Store) -> None:
    """A terminal gets a table; nothing in it moves the cursor."""
    code, out, _ = terminal("--root", str(root), "events", width=200, NO_COLOR="1")
    assert 0 == code
    assert "record_id a, from_tier cold, to_tier warm" in out
    assert "\x1b" not in out


def test_the_manual_lists_every_type() -> None:
    """Each type is on the page of the manual, and no other."""
    shown = {line.split()[0] for line in MANUAL.read_text().splitlines() if line.startswith("    ")}
    assert set(TYPES) == {word for word in shown if word.startswith(("memory.", "tier."))}


def test_a_torn_line_takes_no_event_with_it(root: Path, store: Store) -> None:
    """Behind what a crash left of an event, the next one is a line of its own; the torn one is named."""
    path = root / ".memctl" / "events" / "bob.jsonl"
    with open(path, "ab") as file:
        file.write(b'{"time":"2026-03-0')
    note(root, "bob", 0, "memory.restored", conversation="trip")
    found = store.events("bob")
    assert ["memory.deleted", "memory.restored"] == types(found)
    assert [2] == [odd.line for odd in found.odd]


def test_the_first_event_of_two_processes(root: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event of a process that finds no file, and then that another one has made it, is not lost."""
    from memctl.store import files

    path = root / ".memctl" / "events" / "carol.jsonl"
    real = files.create_file

    def create_file(dir_fd: int, name: str, **more: Any) -> int:
        if name == path.name and not path.exists():
            path.write_bytes(b'{"time":"2026-03-01T00:00:00Z","type":"tier.demoted","user":"carol"}\n')
        return real(dir_fd, name, **more)

    monkeypatch.setattr(files, "create_file", create_file)
    note(root, "carol", 0, "tier.promoted", record_id="a")
    assert {"tier.demoted", "tier.promoted"} == set(types(store.events("carol")))
