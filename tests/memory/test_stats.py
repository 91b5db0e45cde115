"""stats: what each user's memory holds, for people, for scripts and for Prometheus."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import AlreadyExists, NotFound, Store, UsageError
from memctl.cli.cells import width
from memctl.core import metrics
from memctl.core.names import encode
from tests.cli.conftest import Terminal
from tests.conftest import Memctl

from .stored import NOW_US, line, put

SETTINGS: dict[str, Any] = {"heal.settle_ms": 0, "durability": "none"}
MESSAGE = '{"role":"user","content":"%s","extra":{"memctl":{"id":"%s"}}}\n'


@pytest.fixture
def store(root: Path) -> Store:
    return Store(root, now_us=NOW_US, settings=SETTINGS)


def talk(root: Path, user: str, name: str, *lines: str) -> int:
    """A conversation of these lines; its size."""
    directory = root / "conversations" / user
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    data = "".join(lines).encode()
    (directory / f"{name}.jsonl").write_bytes(data)
    return len(data)


def only(store: Store, user: str = "alice") -> dict[str, Any]:
    (row,) = store.stats(user).users
    return row._asdict()


def test_tiers(root: Path, store: Store) -> None:
    """Records count once by id, in the tier of their newest version; bytes are those of the files."""
    hot = put(root, line("a", "x"), line("a", "y", rev=2, pinned=True), line("b", "z"), b"no json\n")
    cold = put(root, line("b", "old", rev=0), line("c", "w"), tier="cold")
    (root / "archive").mkdir()
    (root / "archive" / "alice.jsonl").write_bytes(line("d", "v") + line("d", "v"))
    row = only(store)
    assert {"records": 2, "bytes": hot.stat().st_size, "pinned": 1} == row["tiers"]["hot"]
    assert {"records": 0, "bytes": 0, "pinned": 0} == row["tiers"]["warm"]
    assert {"records": 1, "bytes": cold.stat().st_size, "pinned": 0} == row["tiers"]["cold"]
    assert (1, 1, 0, 0, 0) == tuple(
        row[key] for key in ("archived", "damaged_lines", "conversations", "messages", "bytes")
    )


def test_an_id_counts_once_a_user(root: Path, store: Store) -> None:
    """B46: copied history counts once: the same id, role and content; everything else counts."""
    a1, a2 = MESSAGE % ("rotate key", "a1"), MESSAGE % ("done", "a2")
    size = talk(root, "alice", "s1", a1, a2)
    size += talk(root, "alice", "s2", a1, a2, MESSAGE % ("more", "b3"))
    size += talk(root, "alice", "s3", MESSAGE % ("rotate key", "c1"))
    row = only(store)
    assert (3, 4, size) == (row["conversations"], row["messages"], row["bytes"])
    talk(root, "alice", "s4", MESSAGE % ("other content", "a1"), a1.replace("user", "assistant"))
    talk(root, "alice", "s5", *['{"role":"user","content":"no id"}\n'] * 3)
    assert 4 + 2 + 3 == only(store)["messages"]
    talk(root, "bob", "s1", a1)
    assert 1 == only(store, "bob")["messages"]


def test_damaged_conversations(root: Path, store: Store) -> None:
    """Messages on damaged lines that can be read count; what is no message does not."""
    talk(root, "alice", "s", MESSAGE % ("x", "a"), "no json\n", '{"a":1}{"role":"user","content":"g"}\n')
    assert 2 == only(store)["messages"]


def test_tokens_are_never_counted(root: Path, store: Store) -> None:
    """Tokens are null until every conversation of the user was counted, and after one grew."""
    talk(root, "alice", "one", MESSAGE % ("some words", "a"))
    talk(root, "alice", "two", MESSAGE % ("other words", "b"))
    store.setup.ensure_store()
    assert only(store)["tokens"] is None
    first = store.conversation("alice", "one").count().tokens
    assert only(store)["tokens"] is None
    both = first + store.conversation("alice", "two").count().tokens
    assert both == only(store)["tokens"]
    store.conversation("alice", "two").append("more")
    assert only(store)["tokens"] is None
    put(root, line("a", "x"), user="bob")
    assert 0 == only(store, "bob")["tokens"]


def test_users(root: Path, store: Store) -> None:
    """All who have conversations, records or an archive are there, in order; nobody else is."""
    talk(root, "carol", "s", MESSAGE % ("x", "a"))
    put(root, line("a", "x"), user="bob")
    (root / "archive").mkdir()
    (root / "archive" / "a%2Fb.jsonl").write_bytes(line("d", "v"))
    assert ["a/b", "bob", "carol"] == [row.user for row in store.stats().users]
    with pytest.raises(NotFound):
        store.stats("dave")


def test_an_empty_store(store: Store) -> None:
    """A store that is not there has no users."""
    assert ([], []) == store.stats()


def test_one_user_does_not_stop_the_next(root: Path, store: Store) -> None:
    """A user whose files cannot be read is named, and the others are there."""
    put(root, line("a", "x"), user="bob")
    (root / "tiers" / "hot" / "alice.jsonl").symlink_to("bob.jsonl")
    found = store.stats()
    assert (["bob"], [("alice", "permission")]) == (
        [row.user for row in found.users],
        [(row["user"], row["code"]) for row in found.failed],
    )


# -- metrics ----------------------------------------------------------------------------------------------

SAMPLE = re.compile(r'^([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\d+)$')


def samples(text: str) -> dict[tuple[str, str], int]:
    """Each sample of a text in the format of Prometheus; a line that is none fails."""
    found = {}
    for row in text.splitlines():
        if row.startswith("# "):
            assert re.match(r"# (HELP [a-z_]+ .+|TYPE [a-z_]+ (gauge|counter))$", row)
            continue
        matched = SAMPLE.match(row)
        assert matched, row
        found[matched[1], matched[2]] = int(matched[3])
    return found


def test_metrics(root: Path, store: Store, tmp_path: Path) -> None:
    """The file has each number with its labels, and the moves by the events."""
    put(root, line("a", "x", pinned=True), line("b", "y"))
    size = talk(root, "alice", "s", MESSAGE % ("x", "a"))
    for number in range(3):
        store.setup.event("alice", "tier.demoted", record_id=str(number), from_tier="hot", to_tier="warm")
    store.setup.event("bob", "tier.evicted", record_id="z", from_tier="cold")
    path = tmp_path / "m.prom"
    store.stats(metrics=str(path))
    found = samples(path.read_text())
    wanted = {
        ("memctl_records", 'user="alice",tier="hot"'): 2,
        ("memctl_records_pinned", 'user="alice",tier="hot"'): 1,
        ("memctl_records", 'user="alice",tier="cold"'): 0,
        ("memctl_conversations", 'user="alice"'): 1,
        ("memctl_messages", 'user="alice"'): 1,
        ("memctl_conversation_bytes", 'user="alice"'): size,
        ("memctl_tier_migrations_total", 'from="hot",to="warm"'): 3,
        ("memctl_tier_migrations_total", 'from="cold",to="evicted"'): 1,
    }
    assert wanted == {key: found.get(key) for key in wanted}
    assert not [key for key in found if key[0] == "memctl_conversation_tokens"]
    assert [path] == list(tmp_path.glob("*.prom*"))


@given(st.text())
def test_labels_are_escaped(name: str) -> None:
    """Whatever is in a name, a sample is one line of the format and tells the name back."""
    row = {"user": name, "tiers": {}, "archived": 7, "conversations": 0, "messages": 0, "bytes": 0}
    text = metrics.text([row | {"tokens": None}], {})
    (line,) = [line for line in text.split("\n") if line.startswith("memctl_records_archived{")]
    start, end = 'memctl_records_archived{user="', '"} 7'
    assert line.startswith(start)
    assert line.endswith(end)
    value = line[len(start) : -len(end)]
    back = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), value)
    assert name == back


def test_a_metrics_file_keeps_its_mode(root: Path, store: Store, tmp_path: Path) -> None:
    """A new file is for its owner; one that is there, empty or ours, is replaced and keeps its mode."""
    put(root, line("a", "x"))
    path = tmp_path / "m.prom"
    store.stats(metrics=str(path))
    assert 0o600 == path.stat().st_mode & 0o777
    path.write_bytes(b"")
    path.chmod(0o644)
    for _ in range(2):
        store.stats(metrics=str(path))
    assert 0o644 == path.stat().st_mode & 0o777
    assert samples(path.read_text())


@pytest.mark.parametrize(
    ("name", "error"), [("other.txt", AlreadyExists), ("no/m.prom", NotFound), ("", UsageError)]
)
def test_metrics_refuse(root: Path, store: Store, tmp_path: Path, name: str, error: Any) -> None:
    """Another file is not written over, and neither directory nor store is a place for metrics."""
    put(root, line("a", "x"))
    store.setup.ensure_store()
    (tmp_path / "other.txt").write_text("mine")
    for path in (str(tmp_path / name), str(root / "m.prom")):
        with pytest.raises(error if path.startswith(str(tmp_path / name)) else UsageError):
            store.stats(metrics=path)
    assert "mine" == (tmp_path / "other.txt").read_text()


def test_a_tenant_is_a_label(memctl: Memctl, root: Path, tmp_path: Path) -> None:
    """With --tenant each sample has it; -q prints nothing beside the file."""
    Store(root, tenant="t1", settings=SETTINGS).memory("alice").remember("x", id="a")
    done = memctl("--root", str(root), "--tenant", "t1", "-q", "stats", "--metrics", "m.prom")
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    text = (tmp_path / "m.prom").read_text()
    assert 1 == samples(text)["memctl_records", 'tenant="t1",user="alice",tier="hot"']
    told = memctl("--root", str(root), "stats").stderr
    assert b"1 tenant of the store was not looked at" in told


# -- for people -------------------------------------------------------------------------------------------


def test_command(memctl: Memctl, root: Path) -> None:
    """--json is one object; an unknown user is 66."""
    put(root, line("a", "x"))
    report = json.loads(memctl("--root", str(root), "stats", "alice", "--json").stdout)
    assert ["users", "failed"] == list(report)
    assert 1 == report["users"][0]["tiers"]["hot"]["records"]
    assert 66 == memctl("--root", str(root), "stats", "bob").returncode
    assert b"no users\n" == memctl("--root", str(root / "none"), "stats").stdout


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_table_fits(terminal: Terminal, root: Path, columns: int) -> None:
    """Lines fit, names are whole, bars are in proportion, and nothing moves the cursor."""
    names = ["alice", "株式会社メモリー", "evil\x1b[31m", "a" * 30]
    for number, name in enumerate(names):
        lines = [line(str(at), "text", pinned=at < 2) for at in range(10 ** (number % 3))]
        put(root, *lines, user=encode(name))
        talk(root, encode(name), "s", MESSAGE % ("x", "a"))
    code, out, _ = terminal("--root", str(root), "stats", width=columns, NO_COLOR="1")
    assert 0 == code
    assert "\x1b" not in out
    assert [] == [row for row in out.splitlines() if width(row) > max(columns, 48)]
    assert set() == {name for name in ("alice", "株式会社メモリー", "evil", "a" * 30) if name not in out}
    bars = [row.count("█") for row in out.splitlines() if row.startswith("  hot")]
    assert max(bars) == bars[sorted(names).index("evil\x1b[31m")]


@pytest.mark.parametrize(
    ("value", "most", "columns", "wanted"),
    [
        (0, 10, 8, ""),
        (10, 10, 8, "████████"),
        (5, 10, 8, "████"),
        (1, 1000, 8, "▏"),
        (1, 16, 8, "▌"),
        (3, 0, 8, ""),
        (3, 10, 0, ""),
    ],
)
def test_bars(value: int, most: int, columns: int, wanted: str) -> None:
    """A bar is in proportion, to an eighth of a column; anything is seen, nothing is not."""
    assert wanted == metrics.bar(value, most, columns)


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (("stats", "bob"), "user bob"),
        (("reconcile", "bob"), "user bob"),
        (("rebuild-index", "bob"), "user bob"),
        (("forget", "bob", "tea", "--yes"), "records of bob"),
    ],
)
def test_an_unknown_user_is_said_alike(
    memctl: Memctl, root: Path, command: tuple[str, ...], what: str
) -> None:
    """Every command names the user and the store, and the command that lists the users."""
    put(root, line("a", "text"))
    done = memctl("--root", str(root), *command)
    said = f"memctl: no {what} in {root}\nmemctl: hint: memctl stats lists the users\n"
    assert (66, b"", said) == (done.returncode, done.stdout, done.stderr.decode())
