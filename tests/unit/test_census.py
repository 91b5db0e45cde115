"""The files of stores, users and directories: what is found there, and what belongs to nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from memctl import Store
from memctl.store import census, whole
from memctl.store.census import ACTIVITIES, CACHE, LOG, OTHER, UNREAD, Listed
from memctl.store.layout import Layout

Nested = Callable[[Path, int], None]
MESSAGE = b'{"role":"user","content":"a"}\n'


def write(path: Path, data: bytes = MESSAGE, mode: int = 0o600) -> Path:
    """A file and its directories, closed to others."""
    missing = [path.parent]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for directory in reversed(missing):
        directory.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store with alice/x and its activities, and nothing wrong with it."""
    path = tmp_path / "store"
    write(path / "conversations" / "alice" / "x.jsonl")
    write(path / "conversations" / "alice" / "x.jsonl.activities", b"[]")
    return path


def found(rows: Iterable[Listed], root: Path) -> list[tuple[str, str, list[str]]]:
    """Kind, path below the root and codes of what has something wrong."""
    return [
        (row.kind, os.path.relpath(row.path, root), [problem.code for problem in row.problems])
        for row in rows
        if row.problems
    ]


def whole_store(root: Path) -> list[tuple[str, str, list[str]]]:
    return found(whole.rows(Layout.of(str(root))), root)


def test_a_store_with_nothing_wrong(root: Path) -> None:
    """Logs and activities are named with their references; a directory is not named for being there."""
    rows = list(whole.rows(Layout.of(str(root))))
    assert [(LOG, "alice/x"), (ACTIVITIES, "alice/x")] == [
        (row.kind, row.reference.written() if row.reference else "") for row in rows
    ]
    assert [] == whole_store(root)


@pytest.mark.parametrize(
    ("below", "codes"),
    [
        ("conversations/notes.txt", ["stray-file"]),
        ("conversations/alice/index.json", ["stray-file"]),
        ("conversations/alice/y.jsonl.lock", ["stray-file"]),
        ("conversations/alice/y.jsonl.activities", ["stray-file"]),
        ("conversations/alice/x%2.jsonl", ["odd-name"]),
        ("conversations/alice/.x.jsonl", ["odd-name"]),
        ("conversations/alice/x.jsonl.jsonl", ["odd-name"]),
        ("notes.txt", ["stray-file"]),
        ("quarantine/notes.txt", ["stray-file"]),
        ("quarantine/alice/notes.txt", ["stray-file"]),
        ("trash/alice/notes.txt", ["stray-file"]),
        ("trash/alice/20260304T091231Z-0001/notes.txt", ["stray-file"]),
        ("archive/alice.txt", ["stray-file"]),
        ("forgotten/alice.txt", ["stray-file"]),
        ("tiers/alice.jsonl", ["stray-file"]),
        ("tiers/hot/alice.txt", ["stray-file"]),
        ("tenants/notes.txt", ["stray-file"]),
    ],
)
def test_what_belongs_to_nothing_is_named(root: Path, below: str, codes: list[str]) -> None:
    """A stray file or an odd name is found wherever it lies, once, and the rest of the store is fine."""
    path = write(root / below)
    assert codes == [code for *_, row in whole_store(root) for code in row]
    path.chmod(0o604)
    assert {*codes, "mode"} == {code for *_, row in whole_store(root) for code in row}


@pytest.mark.parametrize(
    "below",
    [
        "memctl.toml",
        "conversations/bob/Caf\u00e9 %2F%25 {a}.jsonl",
        "quarantine/alice/20260304T091231Z-0a0a0a0a.bytes",
        "quarantine/alice/20260304T091231Z-0a0a0a0a.json",
        "trash/alice/20260304T091231Z-0001/x.jsonl",
        "trash/alice/20260304T091231Z-0001/x.jsonl.activities",
        "archive/alice.jsonl",
        "forgotten/alice.jsonl",
        "tiers/hot/alice.jsonl",
        "tenants/T/conversations/alice/x.jsonl",
        ".memctl/events/alice.jsonl",
        ".memctl/state/anything",
    ],
)
def test_what_belongs_is_named_only_if_others_may_use_it(root: Path, below: str) -> None:
    """A file of the store is fine where it belongs, 0640 too; any permission for others is not."""
    path = write(root / below, mode=0o640)
    assert [] == whole_store(root)
    if below.startswith("tenants"):
        # What is in a tenant is looked at with --tenant.
        path = root / "tenants" / "T"
    path.chmod(path.stat().st_mode | 0o001)
    assert [(str(path.relative_to(root)), ["mode"])] == [row[1:] for row in whole_store(root)]


@pytest.mark.parametrize(
    "below",
    [
        *("conversations/alice/y.jsonl", "conversations/bob", "conversations/alice/x.jsonl.activities"),
        *("tiers", "tiers/hot", "trash/alice", "quarantine/alice/a.bytes", ".memctl/cache", "anything"),
        *("tenants/T", "archive/alice.jsonl", "memctl.toml"),
    ],
)
def test_a_link_is_an_error_wherever_it_lies(root: Path, tmp_path: Path, below: str) -> None:
    """A link in the store is named with where it leads, once, and is not followed."""
    path = root / below
    path.unlink(missing_ok=True)
    if not path.parent.exists():
        write(path.parent / "x").unlink()
    path.symlink_to(tmp_path)
    assert [(OTHER, below, ["symlink"])] == whole_store(root)
    (row,) = (row for row in whole.rows(Layout.of(str(root))) if row.problems)
    assert ("error", f"to {tmp_path}") == (row.problems[0].severity, row.problems[0].detail)


def test_conversations_that_are_a_link_are_named_once(root: Path, tmp_path: Path) -> None:
    """The store, a user and a conversation below the link all name the link."""
    (root / "conversations").rename(tmp_path / "elsewhere")
    (root / "conversations").symlink_to(tmp_path / "elsewhere")
    assert [(OTHER, "conversations", ["symlink"])] == whole_store(root)
    layout = Layout.of(str(root))
    assert [(OTHER, "conversations", ["symlink"])] == found(census.user(layout, "alice"), root)
    reference = Store(root).setup.reference("alice/x")
    assert [(OTHER, "conversations", ["symlink"])] == found(census.conversation(layout, reference), root)


def test_directories_and_pipes_are_no_files(root: Path) -> None:
    """What is named as a log but is none is a stray, and is not opened."""
    (root / "conversations" / "alice" / "d.jsonl").mkdir(mode=0o700)
    os.mkfifo(root / "conversations" / "alice" / "p.jsonl", 0o600)
    assert [
        ("conversations/alice/d.jsonl", ["stray-file"]),
        ("conversations/alice/p.jsonl", ["stray-file"]),
    ] == [row[1:] for row in whole_store(root)]


def test_an_odd_user_is_named_and_its_files_are_looked_at(root: Path) -> None:
    """A directory that no user is written as is odd; what is in it has a path instead of a reference."""
    path = write(root / "conversations" / "al%zz" / "x.jsonl")
    assert [(OTHER, "conversations/al%zz", ["odd-name"])] == whole_store(root)
    (row,) = (row for row in whole.rows(Layout.of(str(root))) if row.path == str(path))
    assert (LOG, None, str(path)) == (row.kind, row.reference, row.name)


@pytest.mark.parametrize("inside", [True, False])
def test_a_directory_of_conversations_elsewhere_is_no_stray(root: Path, tmp_path: Path, inside: bool) -> None:
    """With `conversations.dir` set, that directory is looked at, and its own mode too."""
    directory = (root if inside else tmp_path) / "talks"
    (root / "conversations").rename(directory)
    layout = Layout.of(str(root), conversations_dir=str(directory))
    assert [LOG, ACTIVITIES] == [row.kind for row in whole.rows(layout)]
    directory.chmod(0o755)
    assert [(str(directory), ["mode"])] == [
        (row.path, [problem.code for problem in row.problems]) for row in whole.rows(layout) if row.problems
    ]


def test_a_store_without_conversations_has_none(tmp_path: Path) -> None:
    """A root with nothing in it is fine, also one whose conversations are set to a missing directory."""
    tmp_path.chmod(0o700)
    assert [] == list(whole.rows(Layout.of(str(tmp_path))))
    assert [] == list(whole.rows(Layout.of(str(tmp_path), conversations_dir="missing")))


def test_caches_of_nothing(root: Path) -> None:
    """Caches whose conversation is gone are named each; one that is being written is not."""
    caches = root / ".memctl" / "cache" / "conversations"
    for name in ("alice/x.index", "alice/gone.index", "alice/gone.o200k_base", "bob/x.ids", "alice/.1-ab"):
        write(caches / name, b"")
    gone = ["alice/gone.index", "alice/gone.o200k_base", "bob/x.ids"]
    assert [(CACHE, f".memctl/cache/conversations/{name}", ["stale-cache"]) for name in gone] == whole_store(
        root
    )
    layout = Layout.of(str(root))
    assert [f"{caches}/bob/x.ids"] == list(whole.caches_of_nothing(layout, "bob"))
    assert f"{caches}/alice/.1-ab" in list(whole.caches_of_nothing(layout, unfinished=True))


def test_the_logs_below_a_directory(tmp_path: Path) -> None:
    """Files of lines at any depth, activities beside a log; no links, pipes, or what else a store keeps."""
    for name in ("b/c.jsonl", "a.jsonl", "a.jsonl.activities", "z.jsonl.activities", "n.json", "b/s/x.jsonl"):
        write(tmp_path / name)
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "a.jsonl")
    os.mkfifo(tmp_path / "p.jsonl")
    write(tmp_path / "s" / "conversations" / "u" / "c.jsonl")
    for name in ("trash/u/1/t.jsonl", ".memctl/events/u.jsonl", "tiers/hot/u.jsonl"):
        write(tmp_path / "s" / name)
    assert [
        (LOG, "a.jsonl"),
        (ACTIVITIES, "a.jsonl.activities"),
        (LOG, "b/c.jsonl"),
        (LOG, "b/s/x.jsonl"),
        (LOG, "s/conversations/u/c.jsonl"),
        (LOG, "s/tiers/hot/u.jsonl"),
    ] == [(row.kind, os.path.relpath(row.path, tmp_path)) for row in census.below(str(tmp_path))]


@pytest.fixture
def nested() -> Iterator[Nested]:
    """Makes so many directories below each other, each named d, with a log in the lowest."""
    made: list[Path] = []

    def make(directory: Path, depth: int) -> None:
        made.append(directory / "d")
        at = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        for _ in range(depth):
            os.mkdir("d", 0o700, dir_fd=at)
            below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        fd = os.open("x.jsonl", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=at)
        os.fchmod(fd, 0o606)
        os.close(fd)
        os.close(at)

    yield make
    # The library's own removal of a tree is recursive.
    for path in made:
        subprocess.run(["rm", "-rf", str(path)], check=True)


@pytest.mark.parametrize(("depth", "kind"), [(1500, OTHER), (3000, UNREAD)])
def test_deep_directories_of_a_store(depth: int, kind: str, root: Path, nested: Nested) -> None:
    """Directories may be nested deeper than calls; where a path is too long it ends as not looked at."""
    (root / ".memctl").mkdir(mode=0o700)
    nested(root / ".memctl", depth)
    rows = [row for row in whole.rows(Layout.of(str(root))) if "/.memctl" in row.path]
    assert [kind] == [row.kind for row in rows]
    assert (kind == OTHER) is rows[0].path.endswith("/d" * depth + "/x.jsonl")


@pytest.mark.parametrize(("depth", "kind"), [(1500, LOG), (3000, UNREAD)])
def test_deep_directories_outside(depth: int, kind: str, tmp_path: Path, nested: Nested) -> None:
    """The same outside of a store: the lowest log is found, or its directory is not looked at."""
    write(tmp_path / "z.jsonl")
    nested(tmp_path, depth)
    rows = list(census.below(str(tmp_path)))
    assert [(LOG, True), (kind, False)] == [(row.kind, row.path == f"{tmp_path}/z.jsonl") for row in rows]
    assert (kind == LOG) is rows[1].path.endswith("/d" * depth + "/x.jsonl")


def test_a_log_whose_path_is_too_long(tmp_path: Path, nested: Nested) -> None:
    """A log in a directory that can be listed is named, though its own path is too long to open it."""
    limit = os.pathconf("/", "PC_PATH_MAX") - 1
    nested(tmp_path, (limit - len(str(tmp_path))) // 2)
    rows = list(census.below(str(tmp_path)))
    assert [LOG] == [row.kind for row in rows]
    with pytest.raises(OSError, match="too long"):
        os.stat(rows[0].path)


@pytest.mark.parametrize("tenants", [[], ["a"], ["a", "Acme%2F1"]])
def test_tenants_are_counted(tenants: list[str], root: Path) -> None:
    """Each directory below `tenants` is a tenant; a file there is none."""
    for name in tenants:
        write(root / "tenants" / name / "conversations" / "u" / "x.jsonl")
        write(root / "tenants" / "stray")
    assert len(tenants) == Store(root).tenants()
