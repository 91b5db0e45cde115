"""repair --apply, killed, raced and out of room: the file is the old or the new one, and no byte is lost."""

from __future__ import annotations

import os
import random
import shutil
import signal
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memctl import Store
from memctl.cli import guard
from memctl.errors import Changing
from memctl.ops.repaired import Repairs
from memctl.store import beside, disk, files

from . import harness
from .invariants import CONVERSATION, SETTINGS, USER
from .test_concurrent import append_all, assert_each_once_in_order, fork, go_append, go_line, texts, wait
from .test_durability import unsynced

TORN = b'{"role":"user","content":"torn he'
FIRST, SECOND, THIRD = (b'{"role":"user","content":"%b"}' % text for text in (b"one", b"two", b"three"))
BOM, BAD = b"\xef\xbb\xbf", b"not json\n"
OLD = BOM + FIRST + b"\n" + BAD + SECOND + THIRD + b"\n" + TORN
NEW = FIRST + b"\n" + SECOND + b"\n" + THIRD + b"\n"
TAKEN = BOM + BAD + TORN
ACTIVITIES = b'{"no":"array"}'

IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root may give files away")


class Kind(NamedTuple):
    """A way to repair: what is given to it, and where input, result and what was taken out are."""

    target: str
    input: str
    result: str
    output: str | None
    settings: dict[str, Any]

    def repair(self, root: Path, **more: Any) -> Repairs:
        """Repair below `root`, durably."""
        settings = SETTINGS | {"durability": "fsync"} | self.settings | more.pop("settings", {})
        output = None if self.output is None else f"{root}/{self.output}"
        target = self.target.replace("ROOT", str(root))
        return Store(root, settings=settings).repair(target, output=output, **more)

    def put(self, root: Path, data: bytes = OLD, mode: int = 0o600) -> Path:
        path = root / self.input
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(data)
        path.chmod(mode)
        return path


STORED = f"conversations/{USER}/{CONVERSATION}.jsonl"
KINDS = {
    "in the store": Kind(f"{USER}/{CONVERSATION}", STORED, STORED, None, {}),
    "in a directory of its own": Kind(
        f"{USER}/{CONVERSATION}",
        f"go/{USER}/{CONVERSATION}.jsonl",
        f"go/{USER}/{CONVERSATION}.jsonl",
        None,
        {"conversations.dir": "go"},
    ),
    "in place": Kind("ROOT/out/x.jsonl", "out/x.jsonl", "out/x.jsonl", None, {}),
    "as a copy": Kind("ROOT/out/x.jsonl", "out/x.jsonl", "out/y.jsonl", "out/y.jsonl", {}),
}
IN_PLACE = [name for name in KINDS if name != "as a copy"]


@pytest.fixture
def directory(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory / "cache"))
    return directory


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture(params=IN_PLACE, ids=str)
def replaced(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def aside(root: Path) -> list[bytes]:
    """The bytes of each item and of each section of quarantine."""
    found = [path.read_bytes() for path in sorted(root.glob("quarantine/*/*.bytes"))]
    for path in sorted(root.glob("out/*.quarantine")):
        data = path.read_bytes()
        found += [data[row.start : row.start + row.length] for row in beside.sections(str(path))]
    return found


def unfinished(root: Path) -> list[Path]:
    """Temporary files, wherever they are."""
    return [path for path in root.rglob("*") if path.name.startswith(".memctl-") and path.is_file()]


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of each file that is no lock, and of no use in a crash."""
    return {
        str(path.relative_to(root)): (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".memctl/" not in f"{path.relative_to(root)}/"
    }


# -- killed ---------------------------------------------------------------------------------------------


def test_stopped_at_each_call(kind: Kind, directory: Path) -> None:
    """Stopped anywhere, the file is the old or the new one, with it what it lacks; a rerun finishes it."""
    template = directory / "template"
    kind.put(template)
    if "conversations.dir" in kind.settings:
        # Else the store's own directory is made, too.
        Store(template, settings=SETTINGS).setup.ensure_store()
    shutil.copytree(template, directory / "warm")
    kind.repair(directory / "warm")

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        kind.repair(root)
        acknowledge("repaired")

    outcomes: Counter[str] = Counter()
    for crash in harness.sweep(action, template, directory):
        print(crash.place)
        result = crash.root / kind.result
        now = result.read_bytes() if result.exists() else None
        assert OLD == (crash.root / kind.input).read_bytes() or kind.output is None
        before = OLD if kind.output is None else None
        assert now in ({NEW} if crash.acknowledged else {before, NEW})
        if now == NEW:
            assert [TAKEN] == aside(crash.root)
        outcomes["new" if now == NEW else "old"] += 1
        check_rerun(kind, crash.root)
    assert min(outcomes["old"], outcomes["new"]) >= 2


def check_rerun(kind: Kind, root: Path) -> None:
    """The same command leaves what it would have left without the crash, and then nothing is to do."""
    done = kind.repair(root)
    assert [] == done.failed
    assert NEW == (root / kind.result).read_bytes()
    assert [TAKEN] == aside(root)
    assert [] == unfinished(root)
    beside_it = {path.name for path in (root / kind.result).parent.iterdir() if path.is_file()}
    name = Path(kind.result).name
    if kind.output is not None:
        assert {"x.jsonl", name, f"{name}.quarantine"} == beside_it
    elif "out" in kind.result:
        assert {name, f"{name}.bak", f"{name}.quarantine"} == beside_it
        assert OLD == (root / f"{kind.result}.bak").read_bytes()
    else:
        assert {name} == beside_it
    plan = KINDS["in place"]._replace(target=f"ROOT/{kind.result}") if kind.output else kind
    assert 0 == plan.repair(root, apply=False).fixed


def test_what_leaves_is_durable_before_the_file_changes(kind: Kind, directory: Path) -> None:
    """Quarantine and backup are synced, with their entries, before the rename; in the end all is."""
    root = directory / "store"
    kind.put(root)
    calls = harness.run(lambda root, acknowledge: acknowledge(str(kind.repair(root).fixed)), root).calls
    renames = [n for n, call in enumerate(calls) if call.name == "rename" and "/.memctl/" not in call.path]
    assert str(root / kind.result) == calls[renames[-1]].path
    assert (3 if kind.output is None else 2) == len(renames)
    for end in (renames[-1], len(calls)):
        assert [] == changed(directory, calls[:end])


def changed(directory: Path, calls: list[harness.Call]) -> list[str]:
    """Files and directories that were changed after their last sync; caches may be."""
    entries = [call for call in calls if "/.memctl-" not in call.path]
    data = [call for call in calls if call.name in ("write", "fsync")]
    waiting = {**unsynced(directory / "store", entries), **unsynced(directory / "store", data)}
    return [path for path in waiting if not path.startswith(f"{directory}/cache")]


def test_activities_stopped_at_each_call(directory: Path) -> None:
    """Activities that are none are in their place or in quarantine; a rerun sets them aside, once."""
    kind = KINDS["in the store"]
    template = directory / "template"
    kind.put(template, NEW)
    name = f"{STORED}.activities"
    kind._replace(input=name).put(template, ACTIVITIES)
    Store(template, settings=SETTINGS).setup.ensure_store()

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        kind.repair(root)
        acknowledge("repaired")

    places = 0
    for crash in harness.sweep(action, template, directory):
        places += 1
        path = crash.root / name
        if path.exists():
            assert not crash.acknowledged
            assert ACTIVITIES == path.read_bytes()
        else:
            assert [ACTIVITIES] == aside(crash.root)
        kind.repair(crash.root)
        assert not path.exists()
        assert [ACTIVITIES] == aside(crash.root)
        assert [] == unfinished(crash.root)
        assert NEW == (crash.root / STORED).read_bytes()
    assert places > 10


def test_a_crash_with_caches_leaves_no_cache_of_the_old_log(directory: Path) -> None:
    """Stopped behind the new log's rename, an old index is found out; after a rerun nothing is to do."""
    kind = KINDS["in the store"]
    template, root = directory / "template", directory / "store"
    kind.put(template)
    Store(template, settings=SETTINGS).setup.ensure_store()
    expected = Store(template, settings=SETTINGS).conversation(USER, CONVERSATION).window(0).lines
    assert [FIRST, SECOND, THIRD] == expected

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        kind.repair(root)

    shutil.copytree(template, root)
    calls = harness.run(action, root).calls
    renamed = next(
        n for n, call in enumerate(calls, 1) if call.name == "rename" and root / STORED == Path(call.path)
    )
    for number in count(renamed):
        shutil.rmtree(root)
        shutil.copytree(template, root)
        if harness.run(action, root, number, "after").finished:
            break
        assert NEW == (root / STORED).read_bytes()
        store = Store(root, settings=SETTINGS)
        assert expected == store.conversation(USER, CONVERSATION).window(0).lines
        kind.repair(root)
        assert 0 == kind.repair(root, apply=False).fixed
        assert "stale-cache" not in {row.code for row in store.inspect().targets[0].problems}
        assert expected == store.conversation(USER, CONVERSATION).window(0).lines
    assert number > renamed + 4


def test_sweep_takes_what_nobody_holds_and_nothing_else(tmp_path: Path) -> None:
    """Unfinished files of killed processes go at once; one that is held, or has another name, stays."""
    killed = tmp_path / ".memctl-123-0123456789ab"
    killed.write_bytes(b"half")
    others = [".memctl-x-0123456789ab", ".memctl-1-short", ".memctl", "x.jsonl", ".memctl-1-0123456789ab.bak"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    dir_fd = os.open(tmp_path, os.O_RDONLY)

    def chunks() -> Iterator[bytes]:
        yield b"new"
        files.sweep(dir_fd)
        assert 1 == len(unfinished(tmp_path)) - 3
        yield b"er"

    files.replace_at(dir_fd, "y.jsonl", dir_fd, chunks())
    os.close(dir_fd)
    assert {*others, "y.jsonl"} == set(os.listdir(tmp_path))
    assert b"newer" == (tmp_path / "y.jsonl").read_bytes()


def test_a_file_that_is_swept_before_it_is_held_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between making and holding a file another process may sweep: the replacement is made all the same."""
    real = disk.create
    dir_fd = os.open(tmp_path, os.O_RDONLY)
    made: list[str] = []

    def create(name: str, *args: Any, **more: Any) -> int:
        fd = real(name, *args, **more)
        made.append(name)
        if len(made) == 1:
            files.sweep(dir_fd)
        return fd

    monkeypatch.setattr(disk, "create", create)
    files.replace_at(dir_fd, "y.jsonl", dir_fd, [b"new"])
    os.close(dir_fd)
    assert 2 == len(made)
    assert ["y.jsonl"] == os.listdir(tmp_path)
    assert b"new" == (tmp_path / "y.jsonl").read_bytes()


#: With MEMCTL_TEST_SOAK=1 as many as promised.
KILLS = 50 if os.environ.get("MEMCTL_TEST_SOAK") else 20
TAIL = b'{"role":'


def line_of(size_bytes: int) -> bytes:
    empty = b'{"role":"user","content":"%b"}\n'
    return empty % (b"x" * (size_bytes - len(empty % b"")))


def command(*arguments: str) -> None:
    """The command, in a forked child: what a fresh process would only import is there already."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (1, 2):
        os.dup2(null, fd)
    os._exit(guard.main(arguments))


def test_kills_of_the_command(directory: Path) -> None:
    """Killed at random moments, the command leaves the old 11,848 bytes or the new 11,840, never others."""
    new = b"".join(line_of(236) for _ in range(49)) + line_of(276)
    old = new + TAIL
    assert (11840, 11848) == (len(new), len(old))
    path = directory / "out" / "input.jsonl"
    path.parent.mkdir()

    def start() -> int:
        for kept in (f"{path}.bak", f"{path}.quarantine"):
            Path(kept).unlink(missing_ok=True)
        path.write_bytes(old)
        os.utime(path, (0, 0))
        return fork(lambda: command("repair", str(path), "--apply", "--exit-zero", "--json"))

    assert [0] == wait(start())
    begun = time.monotonic()
    assert [0] == wait(start())
    aim_s = time.monotonic() - begun
    assert new == path.read_bytes()
    spread = random.Random(1)
    outcomes: Counter[str] = Counter()
    for _ in range(KILLS):
        pid = start()
        time.sleep(aim_s * spread.uniform(0.7, 1.3))
        os.kill(pid, signal.SIGKILL)
        wait(pid)
        now = path.read_bytes()
        assert now in (old, new)
        if now == new:
            assert [TAIL] == aside(directory)
            assert old == Path(f"{path}.bak").read_bytes()
        outcomes["new" if now == new else "old"] += 1
        # The next one earlier or later: so most of them fall where it matters.
        aim_s *= 0.9 if now == new else 1.1
    assert min(outcomes["old"], outcomes["new"]) >= KILLS // 10, outcomes
    assert [0] == wait(start())
    assert new == path.read_bytes()
    assert {"input.jsonl", "input.jsonl.bak", "input.jsonl.quarantine"} == set(os.listdir(path.parent))
    assert [TAIL] == aside(directory)


# -- raced ----------------------------------------------------------------------------------------------

LATE = b'{"role":"user","content":"late"}\n'
WHOLE = OLD.removesuffix(TORN)
REST = b'llo"}\n'


class Moment:
    """Lets something happen once: while the new log is written, right before its rename, or right after."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.steps: dict[str, Callable[[], object]] = {}
        write, rename = disk.write, disk.rename

        def writing(fd: int, data: bytes) -> int:
            # Only the new log begins in this way: backup and quarantine have more in front.
            if data.startswith(FIRST):
                self._do("written")
            return write(fd, data)

        def renaming(src: str, dst: str, **more: Any) -> None:
            if dst == path.name:
                self._do("before")
            rename(src, dst, **more)
            if dst == path.name:
                self._do("after")

        monkeypatch.setattr(disk, "write", writing)
        monkeypatch.setattr(disk, "rename", renaming)

    def _do(self, name: str) -> None:
        self.steps.pop(name, lambda: None)()


class Late:
    """A program without a lock that opens the log, writes, and writes the rest 50 ms after it is told to."""

    def __init__(self, path: Path, begin: bytes, rest: bytes) -> None:
        self._told, self._tell = os.pipe()
        opened, ready = os.pipe()

        def write() -> None:
            fd = os.open(path, os.O_WRONLY | os.O_APPEND)
            os.write(fd, begin)
            os.write(ready, b".")
            os.read(self._told, 1)
            time.sleep(0.05)
            for at in range(0, len(rest), 7):
                os.write(fd, rest[at : at + 7])

        self._pid = fork(write)
        os.read(opened, 1)
        os.close(opened)
        os.close(ready)

    def go_on(self) -> None:
        os.write(self._tell, b".")

    def end(self) -> None:
        assert [0] == wait(self._pid)
        os.close(self._told)
        os.close(self._tell)


@pytest.mark.parametrize("kind", [KINDS["in the store"], KINDS["in place"]], ids=["store", "file"])
@pytest.mark.parametrize(
    ("old", "begin", "rest", "new", "taken"),
    [
        pytest.param(WHOLE, LATE, b"", NEW + LATE, BOM + BAD, id="a line before the rename"),
        pytest.param(WHOLE, b"", LATE * 3, NEW + LATE * 3, BOM + BAD, id="lines after the rename"),
        pytest.param(WHOLE, LATE[:9], LATE[9:], NEW + LATE, BOM + BAD, id="half a line before, half after"),
        pytest.param(WHOLE, LATE + LATE[:-1], b"\n", NEW + LATE * 2, BOM + BAD, id="the LF after"),
        pytest.param(WHOLE, LATE, LATE[:9], NEW + LATE + LATE[:9], BOM + BAD, id="half a line, no more"),
        pytest.param(OLD, REST, b"", NEW + TORN + REST, TAKEN, id="what was torn goes on before"),
        pytest.param(
            OLD, b"", REST + LATE, NEW + TORN + REST + LATE, TAKEN, id="what was torn goes on after"
        ),
        pytest.param(OLD, b"", LATE, NEW + LATE, TAKEN, id="what was torn stays so"),
        pytest.param(BOM + FIRST, b"", b"\n" + LATE, FIRST + b"\n" + LATE, BOM, id="the LF that was added"),
    ],
)
def test_late_lines(
    kind: Kind,
    old: bytes,
    begin: bytes,
    rest: bytes,
    new: bytes,
    taken: bytes,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a program without a lock appends around the rename is in the new log, whole, and reported."""
    path = kind.put(directory, old)
    moment = Moment(path, monkeypatch)
    writers: list[Late] = []
    moment.steps["before"] = lambda: writers.append(Late(path, begin, rest))
    moment.steps["after"] = lambda: writers[0].go_on()
    (done,) = kind.repair(directory).targets
    writers[0].end()
    assert new == path.read_bytes()
    assert len(begin) + len(rest) == done.late_bytes
    assert [taken] == aside(directory)


def test_a_line_that_repair_leaves_open_goes_on(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `only`, a torn end stays where it is, and its rest comes right behind it."""
    kind = KINDS["in place"]
    path = kind.put(directory, BOM + FIRST + b"\n" + TORN)
    moment = Moment(path, monkeypatch)
    writers: list[Late] = []
    moment.steps["before"] = lambda: writers.append(Late(path, b"", REST + LATE))
    moment.steps["after"] = lambda: writers[0].go_on()
    (done,) = kind.repair(directory, only=["bom"]).targets
    writers[0].end()
    assert FIRST + b"\n" + TORN + REST + LATE == path.read_bytes()
    assert len(REST + LATE) == done.late_bytes


@pytest.mark.parametrize("kind", [KINDS["in the store"], KINDS["in place"]], ids=["store", "file"])
@pytest.mark.parametrize(
    ("old", "now", "new", "taken"),
    [
        pytest.param(OLD, OLD + REST, NEW + TORN + REST, BOM + BAD, id="the torn line is finished"),
        pytest.param(WHOLE, BOM + FIRST, FIRST + b"\n", BOM, id="it is cut and rewritten"),
        pytest.param(
            WHOLE, WHOLE.replace(b"two", b"TWO"), NEW.replace(b"two", b"TWO"), BOM + BAD, id="a word"
        ),
    ],
)
@pytest.mark.parametrize("replaces", [False, True], ids=["in place", "replaced"])
def test_changed_between_plan_and_deed(
    kind: Kind,
    old: bytes,
    now: bytes,
    new: bytes,
    taken: bytes,
    replaces: bool,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What another program makes of the file meanwhile is what is repaired; of before there is no trace."""
    path = kind.put(directory, old)
    os.utime(path, (0, 0))
    moment = Moment(path, monkeypatch)

    def change() -> None:
        if replaces:
            other = directory / "other"
            other.write_bytes(now)
            other.rename(path)
        else:
            path.write_bytes(now)

    moment.steps["written"] = change
    (done,) = kind.repair(directory).targets
    assert new == path.read_bytes()
    assert 0 == done.late_bytes
    assert [taken] == aside(directory)
    if "out" in kind.result:
        assert {path.name, f"{path.name}.bak", f"{path.name}.quarantine"} == set(os.listdir(path.parent))
        assert now == Path(f"{path}.bak").read_bytes()


@pytest.mark.parametrize("kind", [KINDS["in the store"], KINDS["in place"]], ids=["store", "file"])
def test_changed_all_the_time(kind: Kind, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another program replaces each time is left as that left it, and nothing lies beside it."""
    path = kind.put(directory)
    moment = Moment(path, monkeypatch)

    def replace() -> None:
        moment.steps["written"] = replace
        (directory / "other").write_bytes(OLD)
        (directory / "other").rename(path)

    replace()
    with pytest.raises(Changing, match="was changed by another program meanwhile"):
        kind.repair(directory)
    assert OLD == path.read_bytes()
    assert [path.name] == os.listdir(path.parent)
    assert [] == aside(directory)
    assert [] == unfinished(directory)


@pytest.mark.parametrize("kind", [KINDS["in the store"], KINDS["in place"]], ids=["store", "file"])
def test_repairs_at_once(kind: Kind, directory: Path) -> None:
    """Four processes that repair one file, each something else: all is mended, each byte set aside once."""
    codes = (["bom"], ["bad-json"], ["torn-tail"], ["glued-lines"])
    for _ in range(5):
        shutil.rmtree(directory / "s", ignore_errors=True)
        path = kind.put(directory / "s")
        pids = [fork(lambda only=only: kind.repair(directory / "s", only=only)) for only in codes]  # type: ignore[misc]
        assert [0] * len(codes) == wait(*pids)
        assert NEW == path.read_bytes()
        assert Counter([BOM, BAD, TORN]) == Counter(data for data in aside(directory / "s") if data)


DAMAGES = 60


@pytest.mark.parametrize("kind", [KINDS["in the store"], KINDS["in place"]], ids=["store", "file"])
def test_repairs_beside_writers(kind: Kind, directory: Path) -> None:
    """Beside a program without lock that writes sound and bad lines, repairs lose and double nothing."""
    path = kind.put(directory, b"")

    def go() -> None:
        for number in range(DAMAGES * 5):
            go_append(path, go_line(number), 0.001 if number % 10 == 0 else 0.0)
            if number % 5 == 0:
                go_append(path, b"bad %d" % number)

    pid = fork(go)
    rounds = mended = 0
    while not rounds or not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        mended += kind.repair(directory, settings={"heal.settle_ms": 200}).fixed
        rounds += 1
    assert [0] == wait(pid)
    mended += kind.repair(directory).fixed
    assert 1 < rounds
    # A line that arrived in the old file stands behind those that were in the new one already.
    assert sorted(go_line(number) for number in range(DAMAGES * 5)) == sorted(path.read_bytes().splitlines())
    assert DAMAGES == mended
    lines = b"".join(aside(directory)).splitlines()
    assert Counter(b"bad %d" % number for number in range(0, DAMAGES * 5, 5)) == Counter(lines)


def test_repairs_beside_eight_appenders(directory: Path) -> None:
    """Eight processes append through memctl, one writes bad lines without a lock: each message stays once."""
    kind = KINDS["in the store"]
    path = kind.put(directory, b"")

    def damage() -> None:
        for number in range(DAMAGES):
            go_append(path, b"bad %d" % number)
            time.sleep(0.005)

    pids = [fork(lambda i=i: append_all(directory, i, 40)) for i in range(8)]  # type: ignore[misc]
    pids.append(fork(damage))
    mended = rounds = 0
    while not all(os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) for pid in pids):
        mended += kind.repair(directory, settings={"lock.timeout_s": 120}).fixed
        rounds += 1
    assert [0] * len(pids) == wait(*pids)
    mended += kind.repair(directory).fixed
    assert 1 < rounds
    assert DAMAGES == mended
    assert_each_once_in_order(texts(directory), 8, 40)
    assert Counter(b"bad %d" % number for number in range(DAMAGES)) == Counter(
        b"".join(aside(directory)).splitlines()
    )
