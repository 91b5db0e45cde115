"""The one module that writes: undone writes, modes, owners, links, and what stands in the way."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memctl import Store
from memctl.errors import AccessDenied, StorageError
from memctl.store import directories, disk, files, rewrite

SETTINGS = {"durability": "none", "heal.settle_ms": 0, "window.counter": "bytes4"}
IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")


def store(root: Path) -> Store:
    return Store(root, settings=SETTINGS)


def in_child(action: Callable[[], None]) -> None:
    """Run `action` in a forked child; what it raises fails the test."""
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            action()
            status = 0
        except BaseException as error:
            os.write(write_fd, repr(error).encode()[:4000])
        finally:
            os._exit(status)
    os.close(write_fd)
    with open(read_fd, "rb") as pipe:
        said = pipe.read().decode()
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


# -- writing --------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "log"
    path.write_bytes(b"old\n")
    fd = os.open(path, os.O_RDWR | os.O_APPEND)
    yield fd
    os.close(fd)


def content(fd: int) -> bytes:
    return os.pread(fd, 1 << 20, 0)


def short(count: int, then: int | None) -> Callable[[int, bytes], int]:
    """A write that takes `count` bytes, and then fails with the error `then`, or goes on."""
    calls = 0

    def write(fd: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            return os.write(fd, data[:count])
        if then is not None:
            raise OSError(then, os.strerror(then))
        return os.write(fd, data)

    return write


def test_append_gives_the_offset_of_its_first_byte(log: int) -> None:
    """What is appended stands behind what was there."""
    assert 4 == files.append(log, [b"new\n"], fsync=True)
    assert b"old\nnew\n" == content(log)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EDQUOT])
def test_a_short_write_is_undone(number: int, log: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a write that fails midway nothing stays."""
    monkeypatch.setattr(disk, "write", short(2, number))
    with pytest.raises(StorageError, match="nothing was stored"):
        files.append(log, [b"new\n"], fsync=True)
    assert b"old\n" == content(log)


def test_a_short_write_that_can_go_on_is_completed(log: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write cut short without a reason is continued."""
    monkeypatch.setattr(disk, "write", short(2, None))
    assert 4 == files.append(log, [b"new\n"], fsync=True)
    assert b"old\nnew\n" == content(log)


def test_a_failed_second_write_takes_the_first_back(log: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several chunks all or none are stored."""
    monkeypatch.setattr(disk, "write", short(100, errno.ENOSPC))
    with pytest.raises(StorageError, match="nothing was stored"):
        files.append(log, [b"one\n", b"two\n"], fsync=True)
    assert b"old\n" == content(log)


def test_a_foreign_line_behind_ours_is_never_cut(log: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """When another program wrote behind or between, nothing is undone, and the error says so."""

    def write(fd: int, data: bytes) -> int:
        if data != b"new\n":
            raise OSError(errno.ENOSPC, "full")
        count = os.write(fd, data[:2])
        os.write(fd, b"foreign\n")
        os.lseek(fd, -8, os.SEEK_CUR)
        return count

    monkeypatch.setattr(disk, "write", write)
    with pytest.raises(StorageError, match="could not be taken back"):
        files.append(log, [b"new\n"], fsync=True)
    assert b"old\nneforeign\n" == content(log)


def test_a_foreign_line_inside_ours_is_an_error(log: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """When another program wrote between the two halves of a line, that line does not count as stored."""
    write = short(2, None)

    def interrupted(fd: int, data: bytes) -> int:
        if data != b"new\n":
            os.write(fd, b"foreign\n")
        return write(fd, data)

    monkeypatch.setattr(disk, "write", interrupted)
    with pytest.raises(StorageError, match="could not be taken back"):
        files.append(log, [b"new\n"], fsync=True)
    assert b"foreign\n" in content(log)


def test_a_failed_fsync_is_undone(log: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the disk did not take is not reported as stored, and is not there."""
    calls: list[int] = []

    def fsync(fd: int) -> None:
        calls.append(fd)
        if len(calls) == 1:
            raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(disk, "fsync", fsync)
    with pytest.raises(StorageError, match="nothing was stored"):
        files.append(log, [b"new\n"], fsync=True)
    assert b"old\n" == content(log)


def test_replace_leaves_no_temporary_file_when_it_fails(tmp_path: Path) -> None:
    """A replacement that fails midway leaves the old file and nothing else."""
    (tmp_path / "f").write_bytes(b"old")

    def chunks() -> Iterator[bytes]:
        yield b"new"
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        files.replace(str(tmp_path / "f"), chunks())
    assert [("f", b"old")] == [(path.name, path.read_bytes()) for path in tmp_path.iterdir()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="leases are a Linux thing")
def test_open_for_writing(tmp_path: Path) -> None:
    """A writer is seen as long as it holds the file open, also behind another name."""
    path = tmp_path / "f"
    path.touch()
    fd = os.open(path, os.O_RDONLY)
    writer = os.open(path, os.O_WRONLY)
    path.rename(tmp_path / "g")
    assert rewrite.is_open_for_writing(fd) is True
    os.close(writer)
    assert rewrite.is_open_for_writing(fd) is False
    os.close(fd)


# -- no room --------------------------------------------------------------------------------------------


def limited(size_bytes: int) -> Callable[[], None]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))

    return limit


@pytest.mark.parametrize("lines", [1, 5])
@pytest.mark.parametrize("room", [0, 1, 40, 99])
def test_no_room(lines: int, room: int, memctl: Any, root: Path) -> None:
    """Where the file may not grow, append exits 74 with code io, and the log is as before to the byte."""
    assert 0 == memctl("--root", str(root), "append", "a/b", "x" * 5000).returncode
    log = root / "conversations" / "a" / "b.jsonl"
    before = log.read_bytes()
    given = b'{"role":"user","content":"%b"}\n' % (b"y" * 30) * lines
    done = memctl(
        "--root",
        str(root),
        "append",
        "a/b",
        "--json",
        input=given,
        preexec_fn=limited(len(before) + room),
    )
    assert (74, b"") == (done.returncode, done.stdout)
    assert b'"code":"io","exit":74' in done.stderr
    assert before == log.read_bytes()
    assert 0 == memctl("--root", str(root), "append", "a/b", "afterwards").returncode
    assert before == log.read_bytes()[: len(before)]


@as_root
def test_full_disk(memctl: Any, tmp_path: Path) -> None:
    """On a full disk append exits 74 and leaves the log as it was; with room again it goes on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting is not possible here: {mounted.stderr.decode(errors='replace')}")
    try:
        root = str(disk / "store")
        assert 0 == memctl("--root", root, "append", "a/b", "first").returncode
        log = disk / "store" / "conversations" / "a" / "b.jsonl"
        ballast = disk / "ballast"
        with pytest.raises(OSError, match="space"), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        before = log.read_bytes()
        done = memctl(
            "--root",
            root,
            "append",
            "a/b",
            "--json",
            input=b'{"role":"user","content":"%b"}\n' % (b"y" * 9000),
        )
        assert 74 == done.returncode, done.stderr
        assert b'"code":"io"' in done.stderr
        assert before == log.read_bytes()
        ballast.unlink()
        assert 0 == memctl("--root", root, "append", "a/b", "second").returncode
        assert 2 == len(log.read_bytes().splitlines())
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# -- modes and owners -----------------------------------------------------------------------------------


def everything(root: Path) -> None:
    """All that appends, windows, drops and deletions make."""
    chat = store(root).conversation("a", "b")
    chat.append("first", id="1")
    chat.append("second", id="2")
    chat.set_activities(b"[]")
    chat.window(100)
    with (root / "conversations" / "a" / "b.jsonl").open("ab") as log:
        log.write(b'{"torn')
    chat.append("third")
    chat.drop(["2"])
    chat.window(100)
    chat.delete()
    store(root).restore("a", "b")
    chat.delete()
    store(root).conversation("a", "c").append("other", id="x")
    store(root).conversation("a", "c").window(100)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_modes(umask: int, tmp_path: Path) -> None:
    """New directories have mode 0700 and new files 0600 under any umask."""
    root = tmp_path / "store"

    def action() -> None:
        os.umask(umask)
        everything(root)

    in_child(action)
    found = {(path.is_dir(), oct(stat.S_IMODE(path.lstat().st_mode))) for path in [root, *root.rglob("*")]}
    assert {(True, "0o700"), (False, "0o600")} == found
    assert len(list(root.rglob("*"))) > 20


@as_root
def test_owner(tmp_path: Path) -> None:
    """Run as root in another's store, all that is new belongs to the owner of its directory."""
    root = tmp_path / "store"
    root.mkdir()
    os.chown(root, 12345, 23456)
    everything(root)
    owners = {(path.lstat().st_uid, path.lstat().st_gid) for path in root.rglob("*")}
    assert {(12345, 23456)} == owners


def test_what_cannot_be_given_to_its_owner_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file or directory that cannot be given to the owner of its directory is 77, named, and not there."""

    def refuse(dir_fd: int, fd: int, mode: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(disk, "make_ours", refuse)
    said = "cannot be given to the owner of its directory: Operation not permitted"
    for name, make in (
        ("file", lambda: files.create(str(tmp_path / "file"), b"x")),
        ("directory", lambda: directories.make(str(tmp_path / "directory"))),
    ):
        with pytest.raises(AccessDenied) as caught:
            make()
        assert (77, f"{tmp_path / name} {said}") == (caught.value.exit_code, str(caught.value))
    assert [] == list(tmp_path.iterdir())


def test_replace_keeps_mode(tmp_path: Path) -> None:
    """A log that is replaced keeps the mode that somebody gave it."""
    chat = store(tmp_path).conversation("a", "b")
    chat.append("first", id="1")
    log = tmp_path / "conversations" / "a" / "b.jsonl"
    log.chmod(0o640)
    chat.drop(["1"])
    assert 0o640 == stat.S_IMODE(log.stat().st_mode)


@as_root
def test_replace_keeps_owner(tmp_path: Path) -> None:
    """A log that root replaces keeps its owner and group."""
    chat = store(tmp_path).conversation("a", "b")
    chat.append("first", id="1")
    log = tmp_path / "conversations" / "a" / "b.jsonl"
    os.chown(log, 12345, 23456)
    chat.drop(["1"])
    assert (12345, 23456) == (log.stat().st_uid, log.stat().st_gid)


@as_root
def test_read_only_store() -> None:
    """Where nothing may be written, window, show, list and count answer, and append is refused."""
    with tempfile.TemporaryDirectory() as directory:
        # Not below the tests' own directory, into which only its owner may look.
        os.chmod(directory, 0o755)
        check_read_only_store(Path(directory))


def check_read_only_store(directory: Path) -> None:
    root = directory / "store"
    chat = store(root).conversation("a", "b")
    chat.append("first")
    everything_readable = [root, *root.rglob("*")]
    for path in everything_readable:
        path.chmod(0o755 if path.is_dir() else 0o644)

    def action() -> None:
        os.setgid(54321)
        os.setuid(54321)
        os.environ["XDG_CACHE_HOME"] = str(directory / "nowhere")
        there = store(root).conversation("a", "b")
        assert [b"first"] == [line[26:31] for line in there.window(100).lines]
        assert ["first"] == [message.content for message in there.messages()]
        assert 1 == len(store(root).conversations("a").conversations)
        assert there.count("bytes4").tokens > 0
        with pytest.raises(AccessDenied):
            there.append("second")
        with pytest.raises(AccessDenied):
            store(root).conversation("new", "one").append("second")

    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    in_child(action)
    assert before == {path: path.stat().st_mtime_ns for path in root.rglob("*")}


# -- links and special files ----------------------------------------------------------------------------

LINKED = [
    "conversations",
    "conversations/a",
    "conversations/a/b.jsonl",
    ".memctl",
    ".memctl/locks",
    ".memctl/locks/conversations/a",
    ".memctl/locks/conversations/a/b.log",
    "quarantine",
    "quarantine/a",
    ".memctl/cache",
    ".memctl/cache/conversations",
    ".memctl/cache/conversations/a",
    ".memctl/cache/conversations/a/b.ids",
    ".memctl/cache/conversations/a/b.index",
]


def snapshot(directory: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }


@pytest.mark.parametrize("place", LINKED)
def test_links_below_the_root(place: str, tmp_path: Path) -> None:
    """A link below the root is refused, or ignored where a cache is; what it leads to is never touched."""
    root, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    chat = store(root).conversation("a", "b")
    chat.append("first", id="1")
    with (root / "conversations" / "a" / "b.jsonl").open("ab") as log:
        log.write(b'{"torn')
    chat.append("second", id="2")
    chat.window(100)
    with (root / "conversations" / "a" / "b.jsonl").open("ab") as log:
        log.write(b'{"torn again')
    target = root / place
    target.rename(elsewhere)
    target.symlink_to(elsewhere)
    outside = snapshot(elsewhere) if elsewhere.is_dir() else elsewhere.read_bytes()
    if "cache" in place:
        chat.append("third", id="3")
        chat.append("third", id="3")
        assert ["first", "second", "third"] == [m["content"] for m in chat.window(100).messages]
        chat.append("fourth")
        assert 4 == len(chat.window(0).messages)
    else:
        with pytest.raises(AccessDenied, match=r"link"):
            chat.append("third", id="3")
    assert outside == (snapshot(elsewhere) if elsewhere.is_dir() else elsewhere.read_bytes())


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "directory"])
@pytest.mark.parametrize("command", ["append", "window", "show", "count", "drop", "delete", "activities"])
def test_special_files(make: Callable[[Path], None], command: str, memctl: Any, root: Path) -> None:
    """A pipe or a directory with the name of a log is refused without waiting for it."""
    (root / "conversations" / "a").mkdir(parents=True)
    make(root / "conversations" / "a" / "b.jsonl")
    more = {"append": ["text"], "drop": ["1", "--yes"], "delete": ["--yes"]}.get(command, [])
    done = memctl("--root", str(root), command, "a/b", *more, timeout=20)
    assert 77 == done.returncode, done.stderr
    assert not stat.S_ISREG((root / "conversations" / "a" / "b.jsonl").stat().st_mode)
