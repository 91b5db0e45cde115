"""`memctl records` and `get`: the stored lines, in their order, with the waiting accesses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from memctl import Store
from memctl.api.memory import Memory
from memctl.cli.cells import width
from memctl.errors import NotFound
from memctl.store import archive, forgotten, journal
from tests.cli.conftest import Terminal
from tests.conftest import Memctl

NOW = "2026-03-04T09:00:00.000000Z"
LATER = "2026-03-05T09:00:00.000000Z"


@pytest.fixture
def memory(root: Path) -> Memory:
    """Alice's memory, empty."""
    return Store(root).memory("alice")


def put(root: Path, tier: str, *lines: bytes) -> None:
    """A tier file of alice's with these lines."""
    path = root / "tiers" / tier / "alice.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def line(id: str, last: Any = NOW, **more: Any) -> bytes:
    """A line as another program may have written it."""
    return json.dumps({"id": id, "content": f"text {id}", "last_access_at": last, **more}).encode()


def printed(done: Any) -> list[bytes]:
    """The lines on standard output; the command ended well and said nothing."""
    assert (0, b"") == (done.returncode, done.stderr)
    data: bytes = done.stdout
    return data.splitlines()


# -- records -----------------------------------------------------------------------------------------------


def test_the_stored_lines_in_their_order(memctl: Memctl, root: Path) -> None:
    """The hottest first, in a tier the newest access, then by id; the bytes are those of the file."""
    cold = line("c", big=10**30)
    warm = [b'{ "id" : "w1", "last_access_at" : 1772614800 }', line("w0"), line("w2", LATER)]
    hot = [line("h2"), line("h1"), line("h3", "never"), line("h4", LATER)]
    put(root, "cold", cold)
    put(root, "warm", *warm)
    put(root, "hot", *hot)
    expected = [hot[3], hot[1], hot[0], hot[2], warm[2], warm[1], warm[0], cold]
    assert expected == printed(memctl("--root", str(root), "records", "alice"))
    assert expected[:3] == printed(memctl("--root", str(root), "records", "alice", "-k", "3"))
    assert [] == printed(memctl("--root", str(root), "records", "alice", "-k", "0"))
    found = memctl("--root", str(root), "records", "alice", "--json")
    assert [json.loads(one) for one in expected] == json.loads(found.stdout)


def test_only_some(memctl: Memctl, memory: Memory, root: Path) -> None:
    """--tier and --scope choose; an unknown user, or nothing that fits, is no lines."""
    memory.remember(
        [
            {"id": "a", "content": "A", "scope": "s"},
            {"id": "b", "content": "B", "tier": "cold", "scope": "s"},
            {"id": "c", "content": "C", "tier": "cold"},
        ]
    )

    def ids(*options: str) -> list[str]:
        return [json.loads(one)["id"] for one in printed(memctl("--root", str(root), "records", *options))]

    assert ["a", "b"] == ids("alice", "--scope", "s")
    assert ["c"] == ids("alice", "--scope", "")
    assert ["b"] == ids("alice", "--scope", "s", "--tier", "cold")
    assert [] == ids("alice", "--tier", "warm")
    unknown = memctl("--root", str(root), "records", "bob")
    assert (0, b"") == (unknown.returncode, unknown.stdout)
    assert b"memctl: no records of bob; memctl stats lists the users\n" == unknown.stderr
    assert b"[]\n" == memctl("--root", str(root), "records", "bob", "--json").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("alice -k -1", "-k"),
        ("alice --tier archive", "no tier archive"),
        ("alice --archived --tier cold", "in no tier"),
        ("alice -f xml", "no format xml"),
        ("alice -f jsonl --json", "contradict"),
        ("alice/trip", "a user alone"),
    ],
)
def test_usage(memctl: Memctl, root: Path, arguments: str, said: str) -> None:
    """Mistakes are 2; nothing is made."""
    done = memctl("--root", str(root), "records", *arguments.split())
    assert (2, b"") == (done.returncode, done.stdout)
    assert said in done.stderr.decode()
    assert not root.exists()


def test_waiting_accesses_are_shown(memctl: Memctl, root: Path) -> None:
    """What the journal has is added to what is printed, in the order too; the file stays as it is."""
    put(root, "hot", line("a"), line("b", access_count=2, rev=1))
    layout = Store(root).setup.layout
    before = (root / "tiers" / "hot" / "alice.jsonl").read_bytes()
    assert journal.note(layout, "alice", ["b", "gone"], LATER, 1)
    assert journal.note(layout, "alice", ["b"], NOW, 1)
    b, a = map(json.loads, printed(memctl("--root", str(root), "records", "alice")))
    assert ("b", 4, LATER) == (b["id"], b["access_count"], b["last_access_at"])
    assert json.loads(line("a")) == a
    assert b == json.loads(memctl("--root", str(root), "get", "alice", "b").stdout)
    assert line("a") + b"\n" == memctl("--root", str(root), "get", "alice", "a").stdout
    assert before == (root / "tiers" / "hot" / "alice.jsonl").read_bytes()


def test_lines_that_are_no_records_are_named(memctl: Memctl, root: Path) -> None:
    """The others are printed; tier and line of each bad one are said, and a cut one is called so."""
    put(root, "hot", line("a"), b"", b'{"no":"id"}', line("b"))
    put(root, "cold", b"x")
    with open(root / "tiers" / "cold" / "alice.jsonl", "ab") as file:
        file.write(b'{"id":"cut')
    done = memctl("--root", str(root), "records", "alice")
    assert (0, [line("a"), line("b")]) == (done.returncode, done.stdout.splitlines())
    assert [
        "memctl: line 1 of alice in cold is no record: memctl inspect alice",
        "memctl: line 2 of alice in cold is no record, cut off: memctl inspect alice",
        "memctl: line 3 of alice in hot is no record: memctl inspect alice",
    ] == done.stderr.decode().splitlines()
    assert b"cold" not in memctl("--root", str(root), "records", "alice", "--tier", "hot").stderr


def test_the_archive(memctl: Memctl, root: Path) -> None:
    """Archived records, the newest first, with when and why; bad lines there are named."""
    layout = Store(root).setup.layout
    stored = [archive.line(line(id), NOW, "cold_capacity") for id in ("a", "b", "a")]
    archive.append(layout, "alice", [*stored, b"x"], fsync=False)
    done = memctl("--root", str(root), "records", "alice", "--archived")
    assert [stored[2], stored[1]] == done.stdout.splitlines()
    assert b'"archived_for":"cold_capacity"' in stored[1]
    assert b"memctl: line 4 of alice in archive is no record: memctl inspect alice\n" == done.stderr
    assert b"" == memctl("--root", str(root), "records", "alice").stdout


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("table", "2026-03-04 09:00  cold_capacity  0.5  -        b   the text of b"),
        ("text", "b  cold  0.5  -  archived 2026-03-04 09:00 for cold_capacity"),
    ],
)
def test_the_archive_for_people(memctl: Memctl, root: Path, form: str, expected: str) -> None:
    """A table and a text of the archive say since when and why a record is there."""
    stored = archive.line(line("b", content="the text of b"), NOW, "cold_capacity")
    archive.append(Store(root).setup.layout, "alice", [stored], fsync=False)
    out = memctl("--root", str(root), "records", "alice", "--archived", "-f", form).stdout.decode()
    assert expected in out.splitlines()


def test_what_comes_out_of_the_archive_is_not_evicted_at_once(
    memctl: Memctl, memory: Memory, root: Path
) -> None:
    """The lines of --archived, given to remember, are records of hot, which the next pass leaves there."""
    memory.remember("the oldest", id="old", tier="cold")
    memory.remember("the newest", id="new", tier="cold")
    (root / "memctl.toml").write_text("policy.cold_capacity = 1\n")
    command = ("--root", str(root))
    assert 0 == memctl(*command, "reconcile", "alice").returncode
    lines = memctl(*command, "records", "alice", "--archived").stdout
    assert b"archived_for" in lines
    assert b"old\n" == memctl(*command, "remember", "alice", input=lines).stdout
    assert b"0 demoted, 0 evicted" in memctl(*command, "reconcile", "alice").stdout
    found = json.loads(memctl(*command, "get", "alice", "old").stdout)
    assert ("hot", "the oldest") == (found["tier"], found["content"])
    assert not {"archived_at", "archived_for"} & found.keys()


def test_text(memctl: Memctl, memory: Memory, root: Path) -> None:
    """A line about each record and its whole text, indented; what could act on a terminal is made visible."""
    memory.remember(
        "one\n\ntwo \x1b[31m", id="i\nd", categories=["c"], scope="s", pinned=True, created_at=NOW
    )
    memory.remember("three", id="x", tier="cold", importance=0.25, created_at="1772355605")
    assert (
        "i\\nd  hot  0.5  2026-03-04 09:00  pinned  c  scope s\n    one\n\n    two \\x1b[31m\n"
        "\nx  cold  0.25  2026-03-01 09:00\n    three\n"
    ) == memctl("--root", str(root), "records", "alice", "-f", "text").stdout.decode()
    done = memctl("--root", str(root), "get", "alice", "x", "-f", "text")
    assert b"x  cold  0.25  2026-03-01 09:00\n    three\n" == done.stdout


@pytest.mark.parametrize("columns", [80, 200])
def test_the_table_fits(memory: Memory, terminal: Terminal, root: Path, columns: int) -> None:
    """On a terminal no line is wider than it is, wide characters count two, and a cut says how much it is."""
    memory.remember("short", id="a", pinned=True)
    memory.remember("記憶は薄れる" * 200, id="wide")
    memory.remember("word " * 400, id="conversation-with-a-long-name#0123456789abcdef")
    exit_code, out, err = terminal("--root", str(root), "records", "alice", width=columns)
    assert (0, "") == (exit_code, err)
    shown = out.splitlines()
    assert "id" in shown[0] and "text" in shown[0]
    assert columns >= max(map(width, map(plain, shown)))
    assert 2 == out.count(" characters")
    assert 1 == out.count("*")


def plain(text: str) -> str:
    """Text without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# -- get ---------------------------------------------------------------------------------------------------


def test_get_is_the_stored_line(memctl: Memctl, root: Path) -> None:
    """jsonl and --json are the bytes of the newest line, whatever tier it lies in."""
    put(root, "hot", line("x", rev=1))
    put(root, "cold", b'{ "id":"x", "big":123456789012345678901234567890, "rev":2 }')
    stored = b'{ "id":"x", "big":123456789012345678901234567890, "rev":2 }\n'
    for options in ((), ("--json",), ("-f", "json"), ("-f", "jsonl")):
        done = memctl("--root", str(root), "get", "alice", "x", *options)
        assert (0, stored, b"") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("id", "said", "hint"),
    [
        ("nope", "no record nope of alice", "memctl records alice"),
        ("old", "the record old of alice was archived", "memctl records alice --archived"),
        ("gone", "the record gone of alice was forgotten", ""),
    ],
)
def test_get_of_what_is_not_there(
    memctl: Memctl, memory: Memory, root: Path, id: str, said: str, hint: str
) -> None:
    """66, and where it is instead."""
    layout = memory.setup.layout
    archive.append(layout, "alice", [archive.line(line("old"), NOW, "x")], fsync=False)
    forgotten.add(layout, "alice", ["gone"], NOW, False)
    done = memctl("--root", str(root), "get", "alice", id, "--json")
    error = json.loads(done.stderr)["error"]
    assert (66, b"", said) == (done.returncode, done.stdout, error["message"])
    assert hint in error["hint"]
    with pytest.raises(NotFound):
        memory.get(id)


def test_a_store_of_a_later_layout(memctl: Memctl, memory: Memory, root: Path) -> None:
    """Readers refuse a layout that they do not know, as writers do."""
    memory.remember("text", id="x")
    (root / ".memctl" / "format").write_text("99\n")
    for arguments in (
        ("records", "alice"),
        ("get", "alice", "x"),
        ("pin", "alice", "x"),
        ("remember", "alice", "y"),
    ):
        assert 78 == memctl("--root", str(root), *arguments).returncode
