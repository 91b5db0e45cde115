"""Each row of the table that concerns records: made, named at its place, mended or left; brought back."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memctl import Store
from memctl.core.problems import ACTIONS, TABLE
from memctl.errors import BadInput, LockTimeout, NotFound, UsageError
from memctl.store import locks
from memctl.store.layout import Layout

from .named import Named

FAST = {"durability": "none", "heal.settle_ms": 0, "lock.timeout_s": 0.2}
SET_ASIDE = "set aside"


def record(id: str, content: str = "x", **rest: Any) -> bytes:
    """The line of a record, without LF."""
    value = {"id": id, "content": content, "scope": "", "importance": 0.5, "tier": "hot", "rev": 1, **rest}
    return json.dumps(value, separators=(",", ":")).encode()


A, B = record("a", "one"), record("b", "two", metadata={"role": "user"})
NEWER = record("a", "one, newer", rev=2)
OTHER = record("a", "another", rev=1)
TORN = record("t", "cut off")[:24]
DEEP = A[:-1] + b',"d":' + b"[" * 501 + b"]" * 501 + b"}"
LATIN = b'{"id":"l","content":"caf\xe9"}'
HALF = rb'{"id":"h","content":"\ud83d\ude00 \ud83d"}'


class Row(NamedTuple):
    """Lines with something wrong, what is named, and the lines after repair."""

    name: str
    before: bytes
    problems: list[Named]
    after: bytes
    at_end: bool = False


def one(name: str, line: bytes, *problems: Named, after: bytes | None = None) -> Row:
    """A row of one line, which leaves unless `after` is given."""
    return Row(name, line + b"\n", list(problems), b"" if after is None else after + b"\n")


def gone(code: str, line: bytes, name: str = "") -> Row:
    return one(name or code, line, Named(code, 1, 0, len(line), ACTIONS[code]))


def left(code: str, line: bytes, name: str = "", severity: str = "") -> Row:
    return one(name or code, line, Named(code, 1, 0, len(line), "", severity), after=line)


def lines(*given: bytes) -> bytes:
    return b"".join(line + b"\n" for line in given)


ROWS = [
    Row("torn-tail", TORN, [Named("torn-tail", 1, 0, len(TORN), SET_ASIDE)], b"", at_end=True),
    Row(
        "no-final-newline",
        NEWER,
        [Named("no-final-newline", 1, len(NEWER), 0, "newline added")],
        NEWER + b"\n",
        at_end=True,
    ),
    gone("bad-json", b"# restarted"),
    gone("bad-json", TORN, "bad-json, a torn record"),
    left("unreadable-json", DEEP),
    one(
        "bad-number",
        b'{"id":"n","content":"x","importance":NaN}',
        Named("bad-number", 1, 37, 3, "null put in its place"),
        after=b'{"id":"n","content":"x","importance":null}',
    ),
    one(
        "bad-number, beyond a double",
        b'{"id":"n","content":"x","n":1e999}',
        Named("bad-number", 1, 28, 5, "", "warning"),
        after=b'{"id":"n","content":"x","n":1e999}',
    ),
    one(
        "glued-lines, two records",
        record("g1") + record("g2"),
        Named("glued-lines", 1, 0, len(record("g1") + record("g2")), "split"),
        after=record("g1") + b"\n" + record("g2"),
    ),
    one(
        "glued-lines, a torn piece and a record",
        TORN + record("g2"),
        Named("glued-lines", 1, 0, len(TORN + record("g2")), "split"),
        after=record("g2"),
    ),
    gone("bad-json", b'{"id":"t","content":"x","m":{"id":"inner"}', "bad-json, an inner object with an id"),
    one(
        "nul-bytes",
        record("z")[:9] + b"\0\0" + record("z")[9:],
        Named("nul-bytes", 1, 9, 2, "cut out"),
        after=record("z"),
    ),
    gone("nul-bytes", b"\0" * 20, "nul-bytes, nothing else"),
    one(
        "bad-utf8",
        LATIN,
        Named("bad-utf8", 1, 24, 1, "U+FFFD put in"),
        after=LATIN.replace(b"\xe9", "\ufffd".encode()),
    ),
    one("bad-text", HALF, Named("bad-text", 1, 34, 6), after=HALF),
    *[
        gone("not-a-record", line, f"not-a-record, {line.decode()}")
        for line in (
            *(b"[1]", b"42", b"null", b'"text"', b'{"content":"x"}', b'{"id":1,"content":"x"}'),
            *(b'{"id":"","content":"x"}', b'{"role":"user","content":"x"}'),
        )
    ],
    gone("blank-line", b""),
    gone("blank-line", b" \t", "blank-line, white"),
    one("bom", b"\xef\xbb\xbf" + record("m"), Named("bom", 1, 0, 3, "removed"), after=record("m")),
    one("crlf", record("c") + b"\r", Named("crlf", 1, len(record("c")), 1, "CR removed"), after=record("c")),
    left("duplicate-key", b'{"id":"k","content":"x","n":1,"n":2}'),
    *[
        left("bad-time", record("t", **{key: "noon"}), f"bad-time, {key}")
        for key in ("created_at", "last_access_at", "promoted_at")
    ],
    Row(
        "duplicate-message",
        lines(record("d"), record("e"), record("d")),
        [Named("duplicate-message", 3, len(lines(record("d"), record("e"))), len(record("d")), SET_ASIDE)],
        lines(record("d"), record("e")),
    ),
    Row(
        "duplicate-message, but for its end",
        record("d") + b"\n" + record("d") + b"\r\n",
        [
            Named("crlf", 2, len(record("d")) * 2 + 1, 1, SET_ASIDE),
            Named("duplicate-message", 2, len(record("d")) + 1, len(record("d")) + 1, SET_ASIDE),
        ],
        record("d") + b"\n",
    ),
    Row(
        "duplicate-id",
        lines(record("d"), record("d", "other")),
        [Named("duplicate-id", 2, len(record("d")) + 1, len(record("d", "other")))],
        lines(record("d"), record("d", "other")),
    ),
    Row(
        "duplicate-id, and back again",
        lines(record("d"), record("d", "other"), record("d")),
        [
            Named("duplicate-id", 2, len(record("d")) + 1, len(record("d", "other"))),
            Named("duplicate-id", 3, len(lines(record("d"), record("d", "other"))), len(record("d"))),
        ],
        lines(record("d"), record("d", "other"), record("d")),
    ),
    Row("nothing: a newer version", lines(A, NEWER), [], lines(A, NEWER)),
    Row("nothing: an older version", lines(NEWER, A), [], lines(NEWER, A)),
    Row("nothing: without rev", lines(b'{"id":"r"}', record("r")), [], lines(b'{"id":"r"}', record("r"))),
    Row(
        "nothing: a long line, parts for content, a role",
        lines(record("w", "x" * 70_000), b'{"id":"p","content":[1],"role":"user"}'),
        [],
        lines(record("w", "x" * 70_000), b'{"id":"p","content":[1],"role":"user"}'),
    ),
]
#: What stands before and behind the lines of a row.
CONTEXTS = {
    "only": (b"", b""),
    "first": (b"", lines(B)),
    "last": (lines(B), b""),
    "between": (lines(B, record("f")), lines(record("q"), record("r2"))),
}
#: A file of nothing but another program's objects is left as it is.
CASES = [
    pytest.param(row, *CONTEXTS[context], id=f"{row.name}: {context}")
    for row in ROWS
    for context in CONTEXTS
    if not (row.at_end and CONTEXTS[context][1])
    and not (context == "only" and row.name.startswith("not-a-record, {"))
]


class Disk:
    """A store of which one file of records, of the user alice, holds some bytes."""

    def __init__(self, root: Path, folder: str = "hot", **settings: Any) -> None:
        self.root = root
        self.store = Store(root, settings={**FAST, **settings})
        at = settings.get(f"tiers.{folder}", f"tiers/{folder}")
        at = at if folder in ("hot", "warm", "cold") else folder
        self.path = Path(os.path.abspath(root / at), "alice.jsonl")

    def write(self, data: bytes, mode: int = 0o600) -> str:
        missing = [path for path in (self.path.parent, *self.path.parent.parents) if not path.exists()]
        for directory in (self.root, *reversed(missing)):
            directory.mkdir(mode=0o700, exist_ok=True)
        self.path.write_bytes(data)
        self.path.chmod(mode)
        return str(self.path)

    def named(self, *targets: str) -> list[tuple[str, str, Any]]:
        return [
            (problem.code, problem.severity, problem.line)
            for target in self.store.inspect(*targets).targets
            for problem in target.problems
        ]


def test_the_rows_are_the_codes_of_records() -> None:
    """Each code of the table is here, or is one of conversations or of files alone."""
    of_messages = {
        *("not-a-message", "unknown-role", "orphan-result", "open-call", "duplicate-result", "dangling-user"),
        *("empty-message", "incomplete", "ephemeral-stored", "bad-summary", "line-too-long", "list-content"),
        *("time-order", "bad-activities", "stale-cache"),
    }
    of_files = {"mode", "symlink", "stray-file", "odd-name"}
    assert set(TABLE) - of_messages - of_files == {p.code for row in ROWS for p in row.problems}


@pytest.mark.parametrize(("row", "front", "behind"), CASES)
def test_a_row_is_named_repaired_and_brought_back(root: Path, row: Row, front: bytes, behind: bytes) -> None:
    """At the right line and byte; mended or left as stated; plan and deed are equal; restore undoes it."""
    disk = Disk(root)
    data = front + row.before + behind
    name = disk.write(data)
    first = front.count(b"\n")
    expected = [
        (p.code, p.severity or TABLE[p.code].severity, first + p.line, len(front) + p.offset, p.length)
        for p in row.problems
    ]
    (found,) = disk.store.inspect(name).targets
    assert (name, "records", 0) == (found.target, found.format, found.messages)
    assert sorted(expected) == sorted(
        (p.code, p.severity, p.line, p.offset, p.length) for p in found.problems
    )

    (plan,) = disk.store.repair(name, apply=False).targets
    assert data == disk.path.read_bytes()
    (done,) = disk.store.repair(name).targets
    assert front + row.after + behind == disk.path.read_bytes()
    assert {**plan.report(), "applied": True} == done.report()
    fixed = [(p.code, first + p.line, p.action) for p in row.problems if p.action]
    assert sorted(fixed) == sorted((item["code"], item["line"], item["action"]) for item in done.fixed)
    stays = [
        (code, severity)
        for p, (code, severity, *_) in zip(row.problems, expected, strict=True)
        if not p.action
    ]
    assert sorted(stays) == sorted((item["code"], item["severity"]) for item in done.left)
    added = sum(p.code in ("no-final-newline",) for p in row.problems)
    added += sum(max(0, row.after.count(b"\n") - 1) for p in row.problems if p.code == "glued-lines")
    assert len(data) + added == done.kept + done.quarantined_bytes

    again = disk.store.repair(name)
    assert (0, []) == (again.fixed, again.targets[0].fixed)
    assert sorted(stays) == sorted((code, severity) for code, severity, _ in disk.named(name))
    assert disk.store.inspect(name).targets[0].records == done.records
    if done.quarantine is None:
        assert data == disk.path.read_bytes()
        return
    restored = disk.store.quarantine_restore(done.quarantine)
    assert (None, name, True) == (restored.conversation, restored.file, restored.restored)
    assert (data, []) == (disk.path.read_bytes(), disk.store.quarantine())


# -- several damages -----------------------------------------------------------------------------------------

Damage = Callable[[random.Random, bytes], bytes]
#: Name -> what becomes of one line, given with its LF.
DAMAGES: dict[str, Damage] = {
    "cut": lambda rng, line: line[: rng.randrange(1, len(line) - 2)] + b"\n",
    "torn into the next": lambda rng, line: line[: rng.randrange(1, len(line) - 2)],
    "glued to the next": lambda rng, line: line[:-1],
    "zeros": lambda rng, line: line[: (at := rng.randrange(len(line)))] + b"\0\0" + line[at:],
    "Latin-1": lambda rng, line: line.replace(b'"content":"', b'"content":"\xe9'),
    "NaN": lambda rng, line: line.replace(b'"scope":', b'"n":NaN,"scope":'),
    "mark": lambda rng, line: b"\xef\xbb\xbf" + line,
    "CR": lambda rng, line: line[:-1] + b"\r\n",
    "half a pair": lambda rng, line: line.replace(b'"content":"', b'"content":"\\ud83d'),
    "key twice": lambda rng, line: line.replace(b'"scope":', b'"k":1,"k":1,"scope":'),
    "bad time": lambda rng, line: line.replace(b'"scope":', b'"created_at":"noon","scope":'),
    "no id": lambda rng, line: line.replace(b'"id":', b'"ids":'),
    "again": lambda rng, line: line + line,
    "other bytes": lambda rng, line: line + line.replace(b'"importance":0.5', b'"importance":0.6'),
    "newer": lambda rng, line: line + line.replace(b'"rev":1', b'"rev":7'),
    "blank": lambda rng, line: line + b"\n \n",
    "no JSON": lambda rng, line: line + b"}{\n",
    "no record": lambda rng, line: b"[]\n" + line,
}


def damaged(seed: int) -> tuple[list[str], bytes]:
    """A file of records with two to four damages, its end perhaps torn, and their names."""
    rng = random.Random(f"records {seed}")
    given = [
        record(f"r{n}", rng.choice(("ä 日本", "plain", '{"id":"q","content":"c"}'))) + b"\n" for n in range(6)
    ]
    chosen = [rng.choice(sorted(DAMAGES)) for _ in range(rng.randint(2, 4))]
    for name in chosen:
        at = rng.randrange(len(given))
        if len(given[at]) > 8:
            given[at] = DAMAGES[name](rng, given[at])
    data = b"".join(given)
    return chosen, data[: len(data) - rng.choice((0, 0, 1, 9))]


@pytest.mark.parametrize("folder", ["hot", "cold", "archive"])
def test_combined_damages(root: Path, folder: str) -> None:
    """The plan tells the deed, bytes are accounted for, a second repair fixes none, restore undoes it."""
    disk = Disk(root, folder)
    for seed in range(60):
        names, data = damaged(seed)
        name = disk.write(data)
        (plan,) = disk.store.repair(name, apply=False).targets
        assert data == disk.path.read_bytes(), names
        (done,) = disk.store.repair(name).targets
        new = disk.path.read_bytes()
        assert {**plan.report(), "applied": True} == done.report(), names
        assert done.kept + done.added_bytes == len(new), names
        newlines = done.kept + done.quarantined_bytes - len(data)
        assert 0 <= newlines <= new.count(b"\n"), names
        again = disk.store.repair(name)
        assert (0, new) == (again.fixed, disk.path.read_bytes()), names
        assert {item["code"] for item in done.left} == {code for code, _, _ in disk.named(name)}, names
        for line in new.splitlines():
            assert "id" in json.loads(line), names
        if done.quarantine is None:
            assert data == new
        else:
            disk.store.quarantine_restore(done.quarantine)
            assert data == disk.path.read_bytes(), names


@pytest.mark.parametrize("code", sorted({p.code for row in ROWS for p in row.problems if p.action}))
def test_only_one_code_changes_nothing_else(root: Path, code: str) -> None:
    """With one code wanted, nothing else is mended but on a line that leaves, or is split."""
    disk = Disk(root)
    for seed in range(100, 130):
        _, data = damaged(seed)
        name = disk.write(data)
        (done,) = disk.store.repair(name, only=[code]).targets
        named = {item["line"] for item in done.fixed if item["code"] == code}
        assert {item["line"] for item in done.fixed} <= named
        assert named or data == disk.path.read_bytes()


# -- the store ----------------------------------------------------------------------------------------------


def test_a_user_and_the_whole_store_include_all_files_of_records(root: Path) -> None:
    """Tiers, archive and the forgotten ids, of users without a conversation too."""
    expected = []
    for folder in ("hot", "warm", "cold", "archive"):
        expected.append((Disk(root, folder).write(lines(A)), "records", 1))
    disk = Disk(root, "forgotten")
    expected.append((disk.write(lines(b'{"id":"a","time":"2026-01-01T00:00:00Z"}')), "forgotten", 1))
    for targets in (["alice"], []):
        found = disk.store.inspect(*targets).targets
        assert expected == [(target.target, target.format, target.records) for target in found]
    assert expected[:1] == [
        (t.target, t.format, t.records) for t in disk.store.inspect(str(root / "tiers" / "hot")).targets
    ]
    with pytest.raises(NotFound, match="bob"):
        disk.store.inspect("bob")
    disk.store.conversation("alice", "talk").append("hi")
    assert ["alice/talk", *(name for name, _, _ in expected)] == [
        t.target for t in disk.store.inspect("alice").targets
    ]
    assert [] == disk.named()


@pytest.mark.parametrize("at", ["../slow/cold", "data/cold"])
def test_a_tier_that_lies_elsewhere(root: Path, at: str) -> None:
    """It is looked at and repaired where it is, and so is a path to it."""
    disk = Disk(root, "cold", **{"tiers.cold": at})
    name = os.path.realpath(disk.write(lines(A) + b"oops\n"))
    for targets in ([], ["alice"], [str(disk.path)]):
        assert [(name, 1)] == [(t.target, t.records) for t in disk.store.inspect(*targets).targets]
    (done,) = disk.store.repair().targets
    assert ([("bad-json", 2)], lines(A)) == (
        [(i["code"], i["line"]) for i in done.fixed],
        disk.path.read_bytes(),
    )
    assert done.quarantine is not None
    disk.store.quarantine_restore(done.quarantine)
    assert lines(A) + b"oops\n" == disk.path.read_bytes()
    assert [("bad-json", "error", 2)] == disk.named()


def test_a_tier_left_behind_is_a_stray(root: Path) -> None:
    """Records where the settings do not look any more are named, for nobody finds them."""
    disk = Disk(root)
    disk.write(lines(A))
    moved = Store(root, settings={**FAST, "tiers.hot": "elsewhere"})
    named = [(t.target, p.code) for t in moved.inspect().targets for p in t.problems]
    assert [(str(root / "tiers" / "hot"), "stray-file")] == named


@pytest.mark.parametrize("folder", ["hot", "warm", "archive", "forgotten"])
def test_mode(root: Path, folder: str) -> None:
    """Any permission for others is taken away, those of the group stay."""
    disk = Disk(root, folder)
    disk.write(lines(A), mode=0o644)
    assert [("mode", "warning", None)] == disk.named()
    assert 1 == disk.store.repair().fixed
    assert (0o640, []) == (disk.path.stat().st_mode & 0o7777, disk.named())
    disk.path.parent.chmod(0o755)
    assert [("mode", "warning", None)] == disk.named()
    assert 1 == disk.store.repair().fixed
    assert 0o750 == disk.path.parent.stat().st_mode & 0o7777


def test_mode_with_damage(root: Path) -> None:
    """A file that is replaced has the mode that repair gives it, and the damage is mended too."""
    disk = Disk(root)
    disk.write(lines(A) + b"oops\n", mode=0o604)
    assert 2 == disk.store.repair().fixed
    assert (lines(A), 0o600) == (disk.path.read_bytes(), disk.path.stat().st_mode & 0o7777)


@pytest.mark.parametrize("folder", ["hot", "archive", "forgotten"])
def test_links_strays_and_odd_names(root: Path, tmp_path: Path, folder: str) -> None:
    """They are named, not followed, and left; a file under an odd name is looked at all the same."""
    disk = Disk(root, folder)
    disk.write(lines(A))
    (tmp_path / "outside.jsonl").write_bytes(b"oops\n")
    place = disk.path.parent
    (place / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    (place / "notes.txt").write_bytes(b"mine")
    (place / "%61.jsonl").write_bytes(lines(B))
    (place / "folder.jsonl").mkdir(mode=0o700)
    for made in (place / "notes.txt", place / "%61.jsonl"):
        made.chmod(0o600)
    named = {
        (os.path.basename(target.target), problem.code)
        for target in disk.store.inspect().targets
        for problem in target.problems
    }
    assert {
        ("link.jsonl", "symlink"),
        ("notes.txt", "stray-file"),
        ("%61.jsonl", "odd-name"),
        ("folder.jsonl", "stray-file"),
    } == named
    done = disk.store.repair(apply=False)
    assert (0, 4) == (done.fixed, done.left)
    with pytest.raises(UsageError, match="no lock"):
        disk.store.repair(str(place / "%61.jsonl"))
    assert (b"oops\n", lines(A)) == ((tmp_path / "outside.jsonl").read_bytes(), disk.path.read_bytes())


def test_a_link_in_place_of_the_tiers(root: Path, tmp_path: Path) -> None:
    """The records behind it are not looked at; the link is named once, of a user too."""
    disk = Disk(root)
    disk.store.conversation("alice", "talk").append("hi")
    (tmp_path / "tiers" / "hot").mkdir(parents=True)
    (tmp_path / "tiers" / "hot" / "alice.jsonl").write_bytes(b"oops\n")
    (root / "tiers").symlink_to(tmp_path / "tiers")
    assert [("symlink", "error", None)] == disk.named()
    assert ("symlink", "error", None) in disk.named("alice")


def test_the_repair_waits_for_the_lock_of_the_records(root: Path) -> None:
    """While another command writes the records of the user, nothing is changed; then it is."""
    disk = Disk(root)
    name = disk.write(lines(A) + b"oops\n")
    disk.store.conversation("alice", "talk").append("hi")
    lock = locks.Lock(Layout.of(str(root)).records_lock("alice"), "records", timeout_s=1, command="remember")
    with lock:
        with pytest.raises(LockTimeout):
            disk.store.repair(name)
        assert 1 == disk.store.repair(name, apply=False).fixed
        assert lines(A) + b"oops\n" == disk.path.read_bytes()
    assert 1 == disk.store.repair(name).fixed


def test_records_that_were_changed_since_are_not_put_back(root: Path) -> None:
    """What was set aside stays in quarantine; what was only appended since stays behind it."""
    disk = Disk(root)
    name = disk.write(lines(A) + b"oops\n")
    item = disk.store.repair(name).targets[0].quarantine or ""
    (note,) = disk.store.quarantine()
    assert ("hot", "hot/alice.jsonl", "alice") == (note["records"], note["file"], note["user"])
    disk.path.write_bytes(lines(B))
    with pytest.raises(BadInput, match="changed since"):
        disk.store.quarantine_restore(item)
    disk.path.write_bytes(lines(A, B))
    restored = disk.store.quarantine_restore(item)
    assert (len(lines(B)), lines(A) + b"oops\n" + lines(B)) == (
        restored.appended_bytes,
        disk.path.read_bytes(),
    )
    disk.path.unlink()
    item = disk_item(disk)
    with pytest.raises(NotFound, match="stays in quarantine"):
        disk.store.quarantine_restore(item)


def disk_item(disk: Disk) -> str:
    """An item of records whose file is gone."""
    name = disk.write(b"oops\n" + lines(A))
    item = disk.store.repair(name).targets[0].quarantine or ""
    disk.path.unlink()
    return item


def test_a_repair_is_an_event(root: Path) -> None:
    """The events of the user tell what was repaired and restored, and in which folder."""
    disk = Disk(root, "archive")
    item = disk.store.repair(disk.write(lines(A) + b"oops\n")).targets[0].quarantine or ""
    disk.store.quarantine_restore(item)
    events = [
        json.loads(line) for line in (root / ".memctl" / "events" / "alice.jsonl").read_bytes().splitlines()
    ]
    assert [("memory.repaired", "archive"), ("memory.restored", "archive")] == [
        (event["type"], event["records"]) for event in events
    ]


def test_an_archive_has_a_record_as_often_as_it_left(root: Path) -> None:
    """Lines of one id are no problem there, nor are ids that were forgotten twice; each id counts once."""
    for folder in ("archive", "forgotten"):
        disk = Disk(root, folder)
        disk.write(lines(A, A, OTHER))
        (found,) = disk.store.inspect(str(disk.path)).targets
        assert ([], 1, 2) == (found.problems, found.records, found.older_versions)


def test_forgotten_ids_on_one_line_are_split(root: Path) -> None:
    """They have no content, and none of them is lost."""
    disk = Disk(root, "forgotten")
    ids = [b'{"id":"%d","time":"2026-01-01T00:00:00Z"}' % number for number in (1, 2)]
    disk.write(b"".join(ids) + b"\n")
    assert [("glued-lines", "error", 1)] == disk.named("alice")
    disk.store.repair("alice")
    assert lines(*ids) == disk.path.read_bytes()


@pytest.mark.parametrize(
    "data", [lines(b'{"role":"user","content":"hi"}'), lines(b'{"type":"x"}'), lines(b"[", b'{"a":1}', b"]")]
)
def test_what_is_none_of_ours_is_left(root: Path, data: bytes) -> None:
    """A file of a tier without any record, but with another program's objects, is no file of records."""
    disk = Disk(root)
    name = disk.write(data)
    assert None is disk.store.inspect(name).targets[0].format
    with pytest.raises(BadInput, match="holds no record"):
        disk.store.repair(name)
    assert data == disk.path.read_bytes()


# -- files anywhere -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "format", "counts"),
    [
        (lines(A, B), "records", (0, 2)),
        (lines(A, NEWER), "records", (0, 1)),
        (b"oops\n" + lines(A), "records", (0, 1)),
        (lines(record("a", "x" * 200_000)), "records", (0, 1)),
        (lines(A, b'{"role":"user","content":"hi"}'), "memctl", (1, 0)),
        (lines(b'{"id":"m","role":"user","content":"hi"}'), "memctl", (1, 0)),
        (b"", "memctl", (0, 0)),
        (lines(b'{"id":"a"}', b'{"id":"b"}'), None, (0, 0)),
        (lines(A, b'{"type":"x"}', b'{"type":"y"}'), None, (0, 0)),
    ],
)
def test_a_file_is_told_by_its_shape(
    tmp_path: Path, data: bytes, format: str | None, counts: tuple[int, int]
) -> None:
    """Objects with id and content and no role are records; a mixed or an empty file is a conversation."""
    path = tmp_path / "file.jsonl"
    path.write_bytes(data)
    (found,) = Store(tmp_path / "store", settings=FAST).inspect(str(path), tokens=True).targets
    assert (format, counts) == (found.format, (found.messages, found.records))
    assert (format == "memctl") == (found.tokens is not None) or format is None


def test_a_format_that_was_asked_for(tmp_path: Path) -> None:
    """`records` takes a file for records; in a store the place of a file decides, whatever was asked for."""
    path = tmp_path / "file.jsonl"
    path.write_bytes(lines(b'{"id":"a"}', b'{"id":"b"}'))
    store = Store(tmp_path / "store", settings=FAST)
    (found,) = store.inspect(str(path), input_format="records").targets
    assert ("records", 2, []) == (found.format, found.records, found.problems)
    (as_memctl,) = store.inspect(str(path), input_format="memctl").targets
    assert ("memctl", ["not-a-message"] * 2) == (as_memctl.format, [p.code for p in as_memctl.problems])
    store.conversation("alice", "talk").append("hi")
    Disk(tmp_path / "store").write(lines(A))
    for format in ("records", "memctl"):
        found_in_store = store.inspect(input_format=format).targets
        assert ["memctl", "records"] == [target.format for target in found_in_store]
        assert (0, 0) == (store.repair(input_format=format).fixed, store.repair(input_format=format).left)
    with pytest.raises(UsageError, match="no format nonsense; there are memctl, records"):
        store.inspect(str(path), input_format="nonsense")


def test_a_file_outside_is_repaired_like_any_other(tmp_path: Path) -> None:
    """With a backup and a file of quarantine, or as a copy; both bring the input back."""
    path, copy = tmp_path / "file.jsonl", tmp_path / "copy.jsonl"
    data = lines(A) + TORN + lines(B) + b"\r\n" + TORN
    path.write_bytes(data)
    store = Store(tmp_path / "store", settings=FAST)
    store.repair(str(path), output=str(copy))
    assert (data, lines(A, B)) == (path.read_bytes(), copy.read_bytes())
    done = store.repair(str(path)).targets[0]
    assert (lines(A, B), data) == (path.read_bytes(), Path(done.backup or "").read_bytes())
    assert (2, 0) == (done.records, done.messages)
    store.quarantine_restore(None, f"{path}.quarantine")
    assert data == path.read_bytes()


def test_a_copy_of_a_tier_is_written_elsewhere_only(root: Path, tmp_path: Path) -> None:
    """-o gives a repaired copy of a file of the store, and writes into no directory of records."""
    disk = Disk(root, "cold", **{"tiers.cold": "../slow"})
    name = disk.write(lines(A) + b"oops\n")
    copy = tmp_path / "copy.jsonl"
    disk.store.repair(name, output=str(copy))
    assert (lines(A), lines(A) + b"oops\n") == (copy.read_bytes(), disk.path.read_bytes())
    with pytest.raises(UsageError, match="lies in a store"):
        disk.store.repair(name, output=str(disk.path.parent / "bob.jsonl"))
    assert not (disk.path.parent / "bob.jsonl").exists()
