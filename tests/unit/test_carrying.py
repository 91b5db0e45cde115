"""Carrying a repair out: where it may go, what modes and owners stay, what is left when it cannot be done."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memctl import Store
from memctl.errors import (
    AccessDenied,
    BadInput,
    CannotCreate,
    LockTimeout,
    NotFound,
    StorageError,
    UsageError,
)
from memctl.store import beside, disk

SETTINGS: dict[str, Any] = {"heal.settle_ms": 0, "durability": "none", "window.counter": "bytes4"}
LINE = b'{"role":"user","content":"a"}\n'
TORN = b'{"role":'
OLD = LINE + TORN
STORED = "conversations/alice/chat.jsonl"
IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A torn file outside of any store, alone in a directory."""
    path = tmp_path / "out" / "x.jsonl"
    path.parent.mkdir()
    path.write_bytes(OLD)
    path.chmod(0o600)
    return path


@pytest.fixture
def stored(root: Path) -> Path:
    """A torn conversation alice/chat of the store."""
    Store(root, settings=SETTINGS).setup.ensure_store()
    path = root / STORED
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_bytes(OLD)
    path.chmod(0o600)
    return path


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory into which everybody may look; the tests' own lets only its owner."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        yield Path(path)


def repair(root: Path, *targets: str | Path, **more: Any) -> Any:
    settings = SETTINGS | more.pop("settings", {})
    return Store(root, settings=settings).repair(*map(str, targets), **more)


def files_in(directory: Path) -> dict[str, bytes]:
    """Names and bytes of the files below a directory, without locks and caches."""
    return {
        name: path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
        and not {"locks", "cache", "nowhere"} & set((name := str(path.relative_to(directory))).split("/"))
    }


def taken(path: Path) -> list[bytes]:
    """What the sections of a file of quarantine hold."""
    data = path.read_bytes()
    return [data[row.start : row.start + row.length] for row in beside.sections(str(path))]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def as_other(action: Callable[[], None]) -> None:
    """Run `action` in a forked child as a user of no rights; what it raises fails the test."""
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)
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


# -- modes and owners -----------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o022])
@pytest.mark.parametrize("before", [0o600, 0o640, 0o644])
def test_modes_of_files(before: int, umask: int, file: Path, root: Path) -> None:
    """The mode of before is the mode after; quarantine, backup and copy are their owner's alone."""
    file.chmod(before)
    old = os.umask(umask)
    try:
        repair(root, file, output=str(file.with_name("y.jsonl")))
        repair(root, file)
    finally:
        os.umask(old)
    assert LINE == file.read_bytes()
    assert before == mode(file)
    others = {path.name: mode(path) for path in file.parent.iterdir() if path != file}
    names = ("x.jsonl.bak", "x.jsonl.quarantine", "y.jsonl", "y.jsonl.quarantine")
    assert dict.fromkeys(names, 0o600) == others


@pytest.mark.parametrize(("before", "after"), [(0o600, 0o600), (0o640, 0o640), (0o644, 0o640)])
def test_modes_in_a_store(before: int, after: int, stored: Path, root: Path) -> None:
    """A conversation keeps its mode, but for what others may do; items of quarantine are 0600."""
    stored.chmod(before)
    old = os.umask(0)
    try:
        (done,) = repair(root, "alice/chat").targets
    finally:
        os.umask(old)
    assert LINE == stored.read_bytes()
    assert after == mode(stored)
    assert (before != after) == ("mode" in [row["code"] for row in done.fixed])
    items = list(root.glob("quarantine/alice/*"))
    assert {0o600} == {mode(path) for path in items}
    assert 2 == len(items)


@pytest.mark.parametrize("target", ["file", "copy", "stored"])
@pytest.mark.parametrize("before", [0o600, 0o640])
def test_no_moment_at_which_others_read(
    before: int, target: str, file: Path, stored: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each change of the disk no file that is there gives others any right, under umask 0."""
    file.chmod(before)
    stored.chmod(before)
    looked = 0

    def look() -> None:
        nonlocal looked
        for path in (*file.parent.rglob("*"), *root.rglob("*")):
            if path.is_file():
                looked += 1
                assert 0 == mode(path) & 0o007, path

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            look()
            try:
                return real(*args, **more)
            finally:
                look()

        return call

    for name in disk.PRIMITIVES:
        monkeypatch.setattr(disk, name, wrapped(getattr(disk, name)))
    old = os.umask(0)
    try:
        output = str(file.with_name("y.jsonl")) if target == "copy" else None
        done = repair(root, "alice/chat" if target == "stored" else file, output=output)
    finally:
        os.umask(old)
    assert 1 == done.fixed
    assert looked > 20


@as_root
@pytest.mark.parametrize("in_store", [False, True])
def test_owner_and_group_stay(in_store: bool, file: Path, stored: Path, root: Path) -> None:
    """A file that root repairs keeps its owner and its group."""
    path = stored if in_store else file
    os.chown(path, 12345, 23456)
    repair(root, "alice/chat" if in_store else path)
    assert LINE == path.read_bytes()
    assert (12345, 23456, 0o600) == (path.stat().st_uid, path.stat().st_gid, mode(path))


@as_root
@pytest.mark.parametrize("owner", [(12345, 54321), (54321, 23456)], ids=["owner", "group"])
@pytest.mark.parametrize("in_store", [False, True])
def test_owner_or_group_that_cannot_stay(
    in_store: bool, owner: tuple[int, int], open_directory: Path
) -> None:
    """Where owner or group would change, nothing does: exit 77, and nothing lies beside the file."""
    root = open_directory / "store"
    Store(root, settings=SETTINGS).setup.ensure_store()
    path = root / STORED if in_store else open_directory / "out" / "x.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(OLD)
    for each in (open_directory, *open_directory.rglob("*")):
        os.chown(each, 54321, 54321)
    os.chown(path, *owner)
    path.chmod(0o644 if owner[0] != 54321 else 0o600)
    before = files_in(open_directory)

    def action() -> None:
        os.environ["XDG_CACHE_HOME"] = str(open_directory / "nowhere")
        with pytest.raises(AccessDenied, match="belongs to another owner or group"):
            repair(root, "alice/chat" if in_store else path)

    as_other(action)
    assert before == files_in(open_directory)
    assert owner == (path.stat().st_uid, path.stat().st_gid)


# -- no room, no right ----------------------------------------------------------------------------------


def limited(size_bytes: int) -> Callable[[], None]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))

    return limit


BIG = LINE.replace(b"user", b"assistant") * 400
TARGETS = ["file", "copy", "stored"]


def arguments(target: str, file: Path) -> list[str]:
    if target == "stored":
        return ["repair", "alice/chat", "--apply"]
    output = ["-o", str(file.with_name("y.jsonl"))] if target == "copy" else []
    return ["repair", str(file), "--apply", *output]


@pytest.mark.parametrize("size_bytes", [0, 8192])
@pytest.mark.parametrize("target", TARGETS)
def test_a_limit_on_sizes(
    target: str, size_bytes: int, memctl: Any, file: Path, stored: Path, root: Path, tmp_path: Path
) -> None:
    """Where no file may grow so large, the exit code is 74, with one message, and all is as before."""
    for path in (file, stored):
        path.write_bytes(BIG + TORN)
        os.utime(path, (0, 0))
    before = files_in(file.parent), files_in(root)
    done = memctl("--root", str(root), *arguments(target, file), preexec_fn=limited(size_bytes))
    assert (74, b"", 1) == (done.returncode, done.stdout, done.stderr.count(b"\n"))
    assert done.stderr.startswith(b"memctl: ")
    assert before == (files_in(file.parent), files_in(root))
    again = memctl("--root", str(root), *arguments(target, file), "--json")
    assert (0, 1) == (again.returncode, json.loads(again.stdout)["fixed"])


@as_root
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("room_bytes", [0, 8192])
def test_a_full_disk(target: str, room_bytes: int, memctl: Any, tmp_path: Path) -> None:
    """On a full disk the exit code is 74, with one message, and all is as before; with room it goes on."""
    mount = tmp_path / "disk"
    mount.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting is not possible here: {mounted.stderr.decode(errors='replace')}")
    try:
        root, file = mount / "store", mount / "out" / "x.jsonl"
        Store(root, settings=SETTINGS).conversation("alice", "chat").append("a")
        file.parent.mkdir()
        for path in (file, root / STORED):
            path.write_bytes(BIG * 2 + TORN)
            os.utime(path, (0, 0))
        with (mount / "ballast").open("wb", buffering=0) as ballast:
            with pytest.raises(OSError, match="space"):
                while True:
                    ballast.write(bytes(4096))
            ballast.truncate((mount / "ballast").stat().st_size - room_bytes)
        before = files_in(mount)
        done = memctl("--root", str(root), *arguments(target, file))
        assert (74, b"", 1) == (done.returncode, done.stdout, done.stderr.count(b"\n")), done.stderr
        assert before == files_in(mount)
        (mount / "ballast").unlink()
        again = memctl("--root", str(root), *arguments(target, file), "--json")
        assert (0, 1) == (again.returncode, json.loads(again.stdout)["fixed"])
    finally:
        subprocess.run(["umount", str(mount)], check=True)


@as_root
def test_a_directory_that_cannot_be_written(open_directory: Path) -> None:
    """In a directory that is only readable the plan works, and the deed is refused."""
    path = open_directory / "x.jsonl"
    path.write_bytes(OLD)
    path.chmod(0o666)
    before = files_in(open_directory)

    def action() -> None:
        os.environ["XDG_CACHE_HOME"] = str(open_directory / "nowhere")
        assert 1 == repair(open_directory / "none", path, apply=False).fixed
        for output in (None, str(open_directory / "y.jsonl")):
            with pytest.raises((AccessDenied, OSError), match="denied"):
                repair(open_directory / "none", path, output=output)

    as_other(action)
    assert before == files_in(open_directory)


@as_root
def test_a_store_that_cannot_be_written(open_directory: Path) -> None:
    """In a store that is only readable inspect and the plan work, and the deed is refused."""
    root = open_directory / "store"
    Store(root, settings=SETTINGS).conversation("alice", "chat").append("a")
    with (root / STORED).open("ab") as log:
        log.write(TORN)
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = files_in(root)

    def action() -> None:
        os.environ["XDG_CACHE_HOME"] = str(open_directory / "nowhere")
        (found,) = Store(root, settings=SETTINGS).inspect("alice/chat").targets
        assert {"torn-tail", "mode"} <= {problem.code for problem in found.problems}
        assert 2 == repair(root, "alice/chat", apply=False).fixed
        with pytest.raises(AccessDenied):
            repair(root, "alice/chat")

    as_other(action)
    assert before == files_in(root)


def test_what_arrives_late_and_has_no_room(file: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When late bytes cannot be added, the error says how many; what was taken out stays in quarantine."""
    rename = disk.rename

    def renaming(src: str, dst: str, **more: Any) -> None:
        with file.open("ab") as late:
            rename(src, dst, **more)
            if dst == file.name:
                late.write(b"\n" + LINE)

                def full(fd: int, data: bytes) -> int:
                    raise OSError(28, "No space left on device")

                monkeypatch.setattr(disk, "write", full)

    monkeypatch.setattr(disk, "rename", renaming)
    with pytest.raises(StorageError, match=rf"{len(LINE)} bytes that another program appended .* No space"):
        repair(root, file)
    assert LINE == file.read_bytes()
    assert [TORN] == taken(Path(f"{file}.quarantine"))
    assert OLD == Path(f"{file}.bak").read_bytes()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("repaired_before", [False, True])
def test_interrupted(
    repaired_before: bool,
    target: str,
    error: type[BaseException],
    file: Path,
    stored: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Interrupted or failed right before the new file is in its place, nothing is left beside the old one."""
    rename = disk.rename
    output = str(file.with_name("y.jsonl")) if target == "copy" else None
    name = "alice/chat" if target == "stored" else file
    if repaired_before:
        assert 1 == repair(root, name, output=output).fixed
        for path in (file, stored):
            path.write_bytes(LINE + b"bad\n" + LINE)

    def renaming(src: str, dst: str, **more: Any) -> None:
        if dst in (file.name, stored.name, "y.jsonl"):
            raise error
        rename(src, dst, **more)

    before = files_in(file.parent), files_in(root)
    monkeypatch.setattr(disk, "rename", renaming)
    with pytest.raises((error, StorageError)):
        repair(root, name, output=output)
    assert before == (files_in(file.parent), files_in(root))


@pytest.mark.parametrize("target", TARGETS)
def test_a_failure_behind_the_rename(
    target: str, file: Path, stored: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the new file is in its place, what was taken out stays in quarantine whatever fails."""
    renamed = False
    rename, fsync = disk.rename, disk.fsync

    def renaming(src: str, dst: str, **more: Any) -> None:
        nonlocal renamed
        rename(src, dst, **more)
        renamed = dst in (file.name, stored.name, "y.jsonl")

    def syncing(fd: int) -> None:
        if renamed:
            raise OSError(5, "Input/output error")
        fsync(fd)

    monkeypatch.setattr(disk, "rename", renaming)
    monkeypatch.setattr(disk, "fsync", syncing)
    output = file.with_name("y.jsonl") if target == "copy" else None
    with pytest.raises((StorageError, OSError), match="Input/output"):
        repair(
            root,
            "alice/chat" if target == "stored" else file,
            output=None if output is None else str(output),
            settings={"durability": "fsync"},
        )
    result = {"file": file, "copy": output, "stored": stored}[target]
    assert result is not None
    assert LINE == result.read_bytes()
    if target == "stored":
        assert [TORN] == [path.read_bytes() for path in root.glob("quarantine/alice/*.bytes")]
    else:
        assert [TORN] == taken(Path(f"{result}.quarantine"))


# -- locks ----------------------------------------------------------------------------------------------


def test_a_held_lock(stored: Path, root: Path) -> None:
    """While the log's lock is held the plan works, the deed is refused after the time limit."""
    waiting = {"settings": {"lock.timeout_s": 0.05}}
    store = Store(root, settings=SETTINGS)
    with store.setup.lock(store.setup.reference("alice/chat"), "holding"):
        assert 1 == repair(root, "alice/chat", apply=False, **waiting).fixed
        with pytest.raises(LockTimeout, match=r"holding.* holds its lock.*waited 0.05 s"):
            repair(root, "alice/chat", **waiting)
    assert OLD == stored.read_bytes()
    assert 1 == repair(root, "alice/chat").fixed


def test_a_file_that_another_repair_holds(file: Path, root: Path) -> None:
    """A file outside of a store that is held by another repair is busy, too; a copy of it is possible."""
    from memctl.store import locks

    with file.open("rb") as other:
        locks.hold_file(other.fileno(), "", timeout_s=0)
        with pytest.raises(LockTimeout, match=r"x.jsonl is busy.*waited 0.05 s"):
            repair(root, file, settings={"lock.timeout_s": 0.05})
        assert 1 == repair(root, file, apply=False).fixed
        assert 1 == repair(root, file, output=str(file.with_name("y.jsonl"))).fixed
    assert [OLD, LINE] == [file.read_bytes(), file.with_name("y.jsonl").read_bytes()]
    assert 1 == repair(root, file).fixed


# -- where it goes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("relative", [False, True])
def test_a_link_is_followed_to_the_file(
    relative: bool, file: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link stays a link; what is kept lies beside the file, where the report says, in plan and deed."""
    link = tmp_path / "link.jsonl"
    link.symlink_to("out/x.jsonl")
    monkeypatch.chdir(tmp_path)
    name = "./link.jsonl" if relative else str(link)
    (plan,) = repair(root, name, apply=False).targets
    (done,) = repair(root, name).targets
    assert plan._replace(applied=True) == done
    assert link.is_symlink()
    assert LINE == file.read_bytes()
    assert (f"{file}.quarantine", f"{file}.bak") == (done.quarantine, done.backup)
    assert [TORN] == taken(Path(f"{file}.quarantine"))
    assert OLD == Path(f"{file}.bak").read_bytes()
    assert {"link.jsonl", "out"} == {path.name for path in tmp_path.iterdir()} - {"cache", "store"}


def test_by_link_and_by_name_it_is_one_repair(file: Path, root: Path, tmp_path: Path) -> None:
    """A repair that was killed can be finished under the file's other name: its bytes are kept once."""
    (tmp_path / "link.jsonl").symlink_to(file)
    repair(root, tmp_path / "link.jsonl")
    file.write_bytes(OLD)
    repair(root, file)
    assert [TORN] == taken(Path(f"{file}.quarantine"))
    assert {"x.jsonl", "x.jsonl.bak", "x.jsonl.quarantine"} == set(os.listdir(file.parent))


def test_names_as_they_are_typed(file: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a relative path the report names what is kept relatively."""
    monkeypatch.chdir(file.parent)
    (done,) = repair(root, "./x.jsonl").targets
    assert ("./x.jsonl.quarantine", "./x.jsonl.bak") == (done.quarantine, done.backup)
    (done,) = repair(root, "./x.jsonl.bak", output="y.jsonl").targets
    assert ("y.jsonl.quarantine", None) == (done.quarantine, done.backup)


def test_hard_links(file: Path, root: Path) -> None:
    """A file with a second name is repaired into a copy only."""
    os.link(file, file.with_name("second.jsonl"))
    before = files_in(file.parent)
    with pytest.raises(UsageError, match="2 hard links"):
        repair(root, file)
    assert before == files_in(file.parent)
    assert 1 == repair(root, file, output=str(file.with_name("y.jsonl"))).fixed
    assert LINE == file.with_name("y.jsonl").read_bytes()
    assert OLD == file.read_bytes()


def test_backups_with_other_bytes_stay(file: Path, root: Path) -> None:
    """A backup that is there stays: another one gets the next free number, the same bytes none."""
    file.with_name("x.jsonl.bak").write_bytes(b"mine")
    file.with_name("x.jsonl.2.bak").mkdir()
    (done,) = repair(root, file).targets
    assert f"{file}.3.bak" == done.backup
    file.write_bytes(OLD)
    (done,) = repair(root, file).targets
    assert f"{file}.3.bak" == done.backup
    file.write_bytes(LINE + OLD)
    (done,) = repair(root, file).targets
    assert f"{file}.4.bak" == done.backup
    kept = [Path(f"{file}{end}").read_bytes() for end in (".bak", ".3.bak", ".4.bak")]
    assert [b"mine", OLD, LINE + OLD] == kept


def test_what_was_in_quarantine_stays(file: Path, root: Path) -> None:
    """Each repair adds a section to the file of quarantine that is there."""
    output = file.with_name("y.jsonl")
    repair(root, file, output=str(output))
    file.write_bytes(LINE + b"bad\n")
    repair(root, file, output=str(output))
    assert [TORN, b"bad\n"] == taken(Path(f"{output}.quarantine"))
    repair(root, file, output=str(output))
    assert [TORN, b"bad\n"] == taken(Path(f"{output}.quarantine"))


def test_the_same_damage_in_another_file_has_a_note_of_its_own(file: Path, root: Path) -> None:
    """Each note in quarantine speaks of the file that was repaired then, not of one damaged alike."""
    import hashlib

    digests = []
    for data in (OLD, OLD.replace(b'"a"', b'"b"')):
        file.write_bytes(data)
        repair(root, file)
        digests.append(hashlib.sha256(file.read_bytes()).hexdigest())
    assert digests == [section.note["sha256_after"] for section in beside.sections(f"{file}.quarantine")]


@pytest.mark.parametrize("inside", [True, False], ids=["store", "file"])
def test_a_failed_repair_leaves_what_was_kept_before(
    inside: bool, file: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same damage in a longer file, whose repair fails, takes nothing from quarantine."""
    target: str | Path = file
    if inside:
        Store(root).conversation("u", "c").append("one")
        file = root / "conversations" / "u" / "c.jsonl"
        target = "u/c"
    file.write_bytes(b'{"role": \n' + LINE)
    repair(root, target)
    before = {
        path: path.read_bytes()
        for path in file.parent.parent.parent.rglob("*")
        if "quarantine" in str(path) and path.is_file()
    }
    assert before
    file.write_bytes(b'{"role": \n' + LINE * 9)

    def fails(*_: Any, **__: Any) -> int:
        raise StorageError("the disk is full")

    monkeypatch.setattr("memctl.ops.carrying.replace_log", fails)
    with pytest.raises(StorageError):
        repair(root, target)
    assert before == {path: path.read_bytes() for path in before}


def test_a_file_of_quarantine_that_is_none(file: Path, root: Path) -> None:
    """What is no file of quarantine is not written to, and the file stays as it is."""
    file.with_name("x.jsonl.quarantine").write_bytes(b"a letter\n")
    before = files_in(file.parent)
    with pytest.raises(Exception, match="is not a file of quarantine"):
        repair(root, file)
    assert before == files_in(file.parent)


def test_standard_input(memctl: Any, tmp_path: Path) -> None:
    """Standard input is planned, repaired into a file, and not in place."""
    plan = memctl("repair", "-", "--json", input=OLD)
    (target,) = json.loads(plan.stdout)["targets"]
    assert (1, False, None, None) == (
        plan.returncode,
        target["applied"],
        target["quarantine"],
        target["backup"],
    )
    done = memctl("repair", "-", "--apply", input=OLD)
    assert (2, b"") == (done.returncode, done.stdout)
    assert b"give -o FILE" in done.stderr
    assert 0 == memctl("repair", "-", "-o", "y.jsonl", input=OLD).returncode
    assert LINE == (tmp_path / "y.jsonl").read_bytes()
    assert [TORN] == taken(tmp_path / "y.jsonl.quarantine")
    with (tmp_path / "z.jsonl").open("w+b") as given:
        given.write(OLD)
        given.seek(0)
        assert 0 == memctl("repair", "-", "-o", "y.jsonl", stdin=given).returncode


def test_a_path_in_this_store_is_the_conversation(stored: Path, root: Path) -> None:
    """A path that leads to a conversation of the store is repaired as that, under its lock."""
    store = Store(root, settings=SETTINGS)
    with (
        store.setup.lock(store.setup.reference("alice/chat"), "holding"),
        pytest.raises(LockTimeout, match="holds its lock"),
    ):
        repair(root, stored, settings={"lock.timeout_s": 0.05})
    (done,) = repair(root, stored).targets
    assert "alice/chat" == done.target
    assert [done.quarantine] == [item["id"] for item in store.quarantine()]
    assert ["chat.jsonl"] == os.listdir(stored.parent)


def test_a_path_in_another_store(stored: Path, root: Path, tmp_path: Path) -> None:
    """A conversation of another store has a lock there: it is planned and copied, not replaced."""
    other = tmp_path / "other"
    assert 1 == repair(other, stored, apply=False).fixed
    with pytest.raises(UsageError, match=r"lies in the store") as caught:
        repair(other, stored)
    assert f"--root {root}" in caught.value.hint
    assert 1 == repair(other, stored, output=str(tmp_path / "y.jsonl")).fixed
    assert [OLD, LINE] == [stored.read_bytes(), (tmp_path / "y.jsonl").read_bytes()]


def linked(path: Path, to: Path) -> Path:
    path.symlink_to(to)
    return path


REFUSED: dict[str, tuple[Callable[[Path], str | Path], type[Exception], str]] = {
    "the input": (lambda d: d / "x.jsonl", UsageError, "names the input itself"),
    "the input by another way": (lambda d: f"{d}/../{d.name}/x.jsonl", UsageError, "names the input itself"),
    "a link to the input": (
        lambda d: linked(d / "l.jsonl", d / "x.jsonl"),
        UsageError,
        "names the input itself",
    ),
    "a directory": (lambda d: d, UsageError, "is a directory"),
    "a device": (lambda d: os.devnull, UsageError, "not a regular file"),
    "standard output": (lambda d: "-", UsageError, "-o wants a file"),
    "a missing directory": (lambda d: d / "none" / "y.jsonl", CannotCreate, "there is no directory"),
    "a link to nowhere": (
        lambda d: linked(d / "l.jsonl", d / "none" / "y.jsonl"),
        CannotCreate,
        "there is no directory",
    ),
    "a store": (lambda d: d.parent / "store" / STORED, UsageError, "lies in a store"),
    "a place in a store": (lambda d: d.parent / "store" / "y.jsonl", UsageError, "lies in a store"),
    "a link into a store": (
        lambda d: linked(d / "l.jsonl", d.parent / "store" / STORED),
        UsageError,
        "in a store",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("apply", [False, True])
def test_outputs_that_are_refused(apply: bool, case: str, file: Path, stored: Path, root: Path) -> None:
    """An output that is the input, no file, or in a store is refused before anything is written."""
    output, error, said = REFUSED[case]
    path = str(output(file.parent))
    before = files_in(file.parent), files_in(root)
    with pytest.raises(error, match=said):
        repair(root, file, output=path, apply=apply)
    assert before == (files_in(file.parent), files_in(root))
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_an_output_in_a_store_that_has_no_marks_yet(file: Path, root: Path) -> None:
    """A directory of conversations that memctl never wrote to is a store all the same."""
    (root / "conversations" / "alice").mkdir(parents=True)
    with pytest.raises(UsageError, match="lies in a store"):
        repair(root, file, output=str(root / STORED))


def test_a_quarantine_that_would_be_the_input(file: Path, root: Path) -> None:
    """A file that is named as the copy's quarantine is not written to."""
    source = file.with_name("y.jsonl.quarantine")
    source.write_bytes(OLD)
    with pytest.raises(UsageError, match="the input itself"):
        repair(root, source, output=str(file.with_name("y.jsonl")))
    assert OLD == source.read_bytes()


def test_an_output_that_is_there(file: Path, root: Path) -> None:
    """A file that is there is kept, then replaced with its mode; a link leads to the file."""
    real = file.with_name("real.jsonl")
    real.write_bytes(b"before")
    real.chmod(0o640)
    link = linked(file.with_name("y.jsonl"), real)
    (done,) = repair(root, file, output=str(link)).targets
    assert (True, LINE, 0o640) == (link.is_symlink(), real.read_bytes(), mode(real))
    assert f"{real}.quarantine" == done.quarantine
    assert [TORN] == taken(Path(f"{real}.quarantine"))
    assert (f"{real}.bak", b"before") == (done.backup, Path(f"{real}.bak").read_bytes())
    (again,) = repair(root, file, output=str(link)).targets
    assert (None, LINE) == (again.backup, real.read_bytes())


STRANGE = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"print('hello')\n", b"null\n", b'{"type":"x"}\n', b"[1,\n2]\n"]


@pytest.mark.parametrize("data", STRANGE, ids=["picture", "program", "null", "record", "array"])
def test_a_file_of_something_else_is_left(data: bytes, file: Path, root: Path) -> None:
    """A file in which nothing is or was a message is not emptied, unless its format is named."""
    file.write_bytes(data)
    for options in ({}, {"output": str(file.with_name("y.jsonl"))}):
        with pytest.raises(BadInput, match="holds no message of a conversation"):
            repair(root, file, **options)
    assert {"x.jsonl": data} == files_in(file.parent)
    assert [None] == [row.format for row in Store(root).inspect(str(file)).targets]
    assert 0 < repair(root, file, input_format="memctl").fixed


@pytest.mark.parametrize("data", [b'{"role":"user","con', b"\0" * 9, b"\n\n", b""], ids=repr)
def test_a_file_without_a_whole_message_may_be_ours(data: bytes, file: Path, root: Path) -> None:
    """What a crash left of a message, zero bytes and blank lines are set aside; nothing stays."""
    file.write_bytes(data)
    (done,) = repair(root, file).targets
    assert (len(data), 0, b"") == (done.quarantined_bytes, done.kept, file.read_bytes())


@pytest.mark.parametrize("output", [None, "y.jsonl"])
def test_a_copy_of_a_sound_file(output: str | None, file: Path, root: Path) -> None:
    """With nothing to repair the copy is the file, and there is nothing beside it."""
    file.write_bytes(LINE)
    (done,) = repair(root, file, output=output and str(file.with_name(output))).targets
    assert (0, 0, None, None) == (done.fixed_count, done.quarantined_bytes, done.quarantine, done.backup)
    expected = {name: LINE for name in ("x.jsonl", output) if name}
    assert expected == files_in(file.parent)


def test_a_pipe_in_the_place_of_a_file(file: Path, root: Path) -> None:
    """A pipe is not repaired in place; nobody waits for what comes out of it."""
    pipe = file.with_name("p.jsonl")
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="not a regular file"):
        repair(root, pipe)


@pytest.mark.parametrize("name", ["x.jsonl.quarantine", "x.jsonl.bak"])
def test_a_pipe_where_things_are_kept(name: str, file: Path, root: Path) -> None:
    """Nobody waits for a pipe that has the name of a file of quarantine or a backup."""
    os.mkfifo(file.with_name(name))
    if name.endswith(".bak"):
        assert f"{file}.2.bak" == repair(root, file).targets[0].backup
        return
    with pytest.raises(Exception, match="is not a file of quarantine"):
        repair(root, file)
    assert {"x.jsonl", name} == set(os.listdir(file.parent))


def test_a_directory_named_as_a_log(file: Path, root: Path) -> None:
    """A directory is the files in it, whatever its name."""
    directory = file.with_name("d.jsonl")
    directory.mkdir()
    shutil.move(file, directory / "x.jsonl")
    assert 1 == repair(root, directory).fixed
    assert LINE == (directory / "x.jsonl").read_bytes()


def test_a_file_that_is_not_there(root: Path, tmp_path: Path) -> None:
    """A path that leads to nothing is not found, and nothing is made."""
    with pytest.raises(NotFound):
        repair(root, tmp_path / "none.jsonl")
    assert [] == os.listdir(tmp_path)


def test_an_old_index_is_made_anew_of_the_new_log(stored: Path, root: Path) -> None:
    """A cache that belongs to another log is replaced by one of the log as it is after the repair."""
    chat = Store(root, settings=SETTINGS).conversation("alice", "chat")
    stored.write_bytes(LINE.replace(b"a", b"b", 1) * 50)
    chat.window(0)
    stored.write_bytes(LINE * 3 + TORN)
    (done,) = repair(root, "alice/chat").targets
    assert ["stale-cache", "torn-tail"] == sorted(row["code"] for row in done.fixed)
    assert 0 == repair(root, "alice/chat", apply=False).fixed
    assert 3 == len(chat.window(0).lines)


def test_activities_of_no_byte_are_removed(root: Path) -> None:
    """An empty file of activities is none: it goes, and there is nothing to keep of it."""
    Store(root).conversation("u", "c").append("one")
    path = root / "conversations" / "u" / "c.jsonl.activities"
    path.touch(mode=0o600)
    done = repair(root, "u/c")
    assert (1, False, []) == (done.fixed, path.exists(), Store(root).quarantine())
    assert b"[]" == Store(root).conversation("u", "c").activities()
