"""`memctl recall`: its flags, its formats, and how it looks in a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memctl import Store
from memctl.cli import shapes
from memctl.cli.cells import width
from tests.conftest import Memctl

from .conftest import Terminal

NOW_US = 1_772_323_200_000_000
NOW = "2026-03-01T00:00:00Z"
DAY_US = 86_400_000_000
LONG = "The spare key hangs behind the third door of the cellar. " * 30 + "Or not."


@pytest.fixture(scope="module")
def recalled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with six records of alice's about keys, r0 the oldest, in all tiers, and one of no key."""
    root = tmp_path_factory.mktemp("recall") / "store"
    texts = [
        "old key",
        "work key",
        "key 鍵は三番目の扉の後ろ",
        "key \x1b[31m red\u202e [b]x[/b]",
        LONG,
        "newest key",
    ]
    fields: list[dict[str, Any]] = [
        {"tier": "cold", "importance": 1.0},
        {"tier": "warm", "categories": ["work"], "scope": "office"},
        {"metadata": {"lang": "ja", "kind": "fact"}},
        {},
        {"tier": "cold", "metadata": {"summary": "behind the cellar door"}},
        {"pinned": True},
    ]
    for number, (text, more) in enumerate(zip(texts, fields, strict=True)):
        store = Store(root, now_us=NOW_US - (6 - number) * DAY_US)
        store.memory("alice").remember(text, id=f"r{number}", **more)
    store.memory("alice").remember("a train", id="none")
    return root


def ids(memctl: Memctl, root: Path, *arguments: str) -> list[str]:
    """The ids that a recall prints, nothing touched."""
    done = memctl("--root", str(root), "--now", NOW, "recall", "alice", *arguments, "--no-touch")
    assert (0, b"") == (done.returncode, done.stderr)
    return [json.loads(line)["id"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("key", "r0 r1 r2 r3 r4 r5"),
        ("key -k 0", ""),
        ("zebra", ""),
        ("key --max-hot 0 --max-cold 1 --weight-semantic 0", "r0 r1"),
        ("key --max-warm 0 --max-cold 0", "r2 r3 r5"),
        ("key --tier warm --tier cold", "r0 r1 r4"),
        ("key --category work", "r1"),
        ("key --category work --category home", ""),
        ("key --scope office", "r1"),
        ("key --meta lang=ja --meta kind=fact", "r2"),
        ("key --conversation trip", ""),
        ("key --since 2026-02-27", "r4 r5"),
        ("key --since 72h --until 2026-02-27T00:00:00Z", "r3"),
        ("key --weight-semantic 0 --weight-recency 0 -k 1", "r0"),
        ("key --weight-semantic 0 --weight-importance 0 -k 1", "r5"),
        ("key --ranker recent -k 2", "r4 r5"),
        ("--ranker recent -k 3", "r4 none r5"),
        ("key --ranker overlap --order score -k 2", "r5 r0"),
        ("key --order score --weight-semantic 0 --weight-importance 0", "r5 r4 r3 r2 r1 r0"),
        ("key --order time -k 2 --weight-semantic 0 --weight-importance 0", "r4 r5"),
    ],
)
def test_flags(memctl: Memctl, recalled: Path, arguments: str, expected: str) -> None:
    """Each flag does what the help says; lines are oldest first if nothing else is asked."""
    assert expected.split() == ids(memctl, recalled, *arguments.split())


@pytest.mark.parametrize(
    "wrong",
    [
        *("-k -1", "-k x", "--max-hot -1", "--weight-recency -1", "--weight-semantic x", "--ranker best"),
        *("--order id", "--tier lukewarm", "--meta nothing", "--since yesterday", "--until 7x", "-f xml"),
        "--json -f jsonl",
    ],
)
def test_wrong_usage(memctl: Memctl, recalled: Path, wrong: str) -> None:
    """What cannot be is refused with 2, with a message and nothing on standard output."""
    done = memctl("--root", str(recalled), "recall", "alice", "key", *wrong.split())
    assert (2, b"") == (done.returncode, done.stdout)
    assert done.stderr.startswith((b"memctl: ", b'{"error"'))


def test_a_conversation_is_named_without_its_user(memctl: Memctl, recalled: Path) -> None:
    """`--conversation alice/trip` is refused: no record could be of a conversation of that name."""
    done = memctl("--root", str(recalled), "recall", "alice", "key", "--conversation", "alice/trip")
    assert (65, b"") == (done.returncode, done.stdout)
    assert [] == ids(memctl, recalled, "key", "--conversation", "alice%2Ftrip")


def test_formats(memctl: Memctl, recalled: Path) -> None:
    """jsonl is lines, json one array of the same, text what the records say; brief has summaries."""
    ask = ("--root", str(recalled), "--now", NOW, "recall", "alice", "key", "--no-touch", "--max-hot", "0")
    jsonl = memctl(*ask).stdout
    assert b"[" + b",".join(jsonl.splitlines()) + b"]\n" == memctl(*ask, "--json").stdout
    assert f"old key\n\nwork key\n\n{LONG}\n" == memctl(*ask, "-f", "text").stdout.decode()
    brief = memctl(*ask, "-f", "text", "--brief").stdout.decode()
    assert "old key\n\nwork key\n\nbehind the cellar door\n" == brief
    value = json.loads(memctl(*ask, "--brief").stdout.splitlines()[-1])
    assert ("behind the cellar door", True) == (value["content"], value["brief"])
    assert "score" in value


def test_explain(memctl: Memctl, recalled: Path) -> None:
    """--explain adds the parts to each line, and prints one object with the keys of the manual."""
    done = memctl(
        "--root", str(recalled), "--now", NOW, "recall", "alice", "key", "-k", "2", "--explain", "--no-touch"
    )
    (said,) = (json.loads(text) for text in done.stderr.splitlines() if text.startswith(b"{"))
    rows = [path for path, _, _ in shapes.SHAPES["recall --explain"]]
    assert [path for path in rows if "." not in path] == list(said)
    for name in ("weights", "left_out"):
        assert [path for path in rows if path.startswith(f"{name}.")] == [
            f"{name}.{key}" for key in said[name]
        ]
    assert (7, 6, 2, {"equal_text": 0, "tier_full": 0, "limit": 4}) == (
        said["records"],
        said["candidates"],
        said["found"],
        said["left_out"],
    )
    for row in map(json.loads, done.stdout.splitlines()):
        assert ["semantic", "recency", "importance", "signals"] == list(row["scores"])
        assert all(0 <= value <= 1 for value in row["scores"]["signals"].values())
    plain = memctl("--root", str(recalled), "--now", NOW, "recall", "alice", "key", "-k", "2", "--no-touch")
    assert all("scores" not in json.loads(text) for text in plain.stdout.splitlines())


def test_an_access_is_counted(memctl: Memctl, root: Path) -> None:
    """A recall counts as an access of what it prints, one with --no-touch does not."""
    assert 0 == memctl("--root", str(root), "remember", "alice", "a key", "--id", "r1").returncode
    counts = [
        json.loads(memctl("--root", str(root), "recall", "alice", "key", *more).stdout)["access_count"]
        for more in ((), ("--no-touch",), (), ("--no-touch",))
    ]
    assert [1, 1, 2, 2] == counts


def test_nobody(memctl: Memctl, root: Path) -> None:
    """An unknown user has no records: no lines, an empty array, exit 0; standard error says so."""
    assert (0, b"") == (lambda done: (done.returncode, done.stdout))(
        memctl("--root", str(root), "recall", "x")
    )
    assert b"[]\n" == memctl("--root", str(root), "recall", "x", "q", "--json").stdout
    said = memctl("--root", str(root), "recall", "x").stderr
    assert b"memctl: no records of x; memctl stats lists the users\n" == said
    assert b"" == memctl("--root", str(root), "-q", "recall", "x").stderr
    assert not root.exists()


def test_damaged_lines_are_named(memctl: Memctl, root: Path) -> None:
    """Lines that are no records are left out, and said on standard error, each time and in --explain."""
    assert 0 == memctl("--root", str(root), "remember", "alice", "a key").returncode
    with open(root / "tiers" / "hot" / "alice.jsonl", "ab") as file:
        file.write(b"{torn\n[]\n")
    for more in ((), (), ("--ranker", "overlap")):
        done = memctl("--root", str(root), "recall", "alice", "key", *more)
        assert (0, 1) == (done.returncode, done.stdout.count(b"\n"))
        assert b"memctl: alice: left out: 2 damaged lines of hot; memctl inspect\n" == done.stderr
    said = memctl("--root", str(root), "-q", "recall", "alice", "key", "--explain").stderr
    assert {"hot": 2} == json.loads(said)["damaged"]


def test_bytes_under_any_locale(memctl: Memctl, recalled: Path) -> None:
    """B80: with LANG=C and an ASCII encoding the stored bytes are printed."""
    env = {"LANG": "C", "PYTHONIOENCODING": "ascii"}
    done = memctl("--root", str(recalled), "recall", "alice", "鍵", "--no-touch", env=env)
    assert (0, b"") == (done.returncode, done.stderr)
    assert "鍵は三番目の扉の後ろ".encode() in done.stdout


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}])
def test_a_table_in_a_terminal(terminal: Terminal, recalled: Path, columns: int, env: dict[str, str]) -> None:
    """A table fits the terminal, has the best first, cuts long texts visibly and shows controls escaped."""
    code, out, err = terminal(
        "--root", str(recalled), "--now", NOW, "recall", "alice", "key", "--no-touch", width=columns, **env
    )
    assert (0, "") == (code, err)
    plain = out.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert ("\x1b" in out) == (not env)
    lines = plain.splitlines()
    assert ["score", "tier", "created", "id", "text"] == lines[0].split()
    assert columns >= max(map(width, lines))
    rows = [line.split() for line in lines if line[:1].isdigit()]
    scores = [float(row[0]) for row in rows]
    assert 6 == len(scores)
    assert sorted(scores, reverse=True) == scores
    # Folded lines put together again.
    text = "".join("".join(line.split()) for line in lines)
    assert "\\x1b[31mred\\u202e[b]x[/b]" in text
    assert "鍵は三番目の扉の後ろ" in text
    assert "…+" in text and "characters" in text
    assert ("2026-02-28 00:00" in plain) == (columns == 200)


def test_jsonl_in_a_terminal(terminal: Terminal, recalled: Path) -> None:
    """In a terminal jsonl has escapes for what would act there."""
    code, out, _ = terminal("--root", str(recalled), "recall", "alice", "red", "-f", "jsonl", "--no-touch")
    assert 0 == code
    assert "\x1b" not in out and "\u202e" not in out
    assert "key \x1b[31m red\u202e [b]x[/b]" == json.loads(out)["content"]
