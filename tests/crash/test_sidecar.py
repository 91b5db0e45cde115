"""Caches that lie: whatever happens to them, or to the log behind them, the window is a fresh look's."""

from __future__ import annotations

import os
import pickle
import random
import resource
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memctl.api import Store
from memctl.store import sidecar, totals
from memctl.store.entries import ENTRY_BYTES, HEADER_BYTES
from tests.window import logs

COUNTERS = ("bytes4", "o200k_base")
KINDS = ("index", *COUNTERS)
RECORD_BYTES = totals._RECORD.size
#: Whole windows, cut ones, with each rule and each counter.
REQUESTS: tuple[dict[str, Any], ...] = (
    {"counter": "bytes4"},
    {"budget": 40, "counter": "bytes4"},
    {"budget": 170, "counter": "bytes4", "no_incomplete": True, "keep_open": True},
    {"budget": 60, "counter": "bytes4", "plain": True},
    {"budget": 200, "counter": "o200k_base", "pending": "and now?"},
)
GLUED = b'{"role":"user","content":"one"}{"role":"user","content":"two"}{"role":"user","content":"three"}'


class Facts(NamedTuple):
    """What has to be the same with caches as without."""

    lines: list[bytes]
    tokens: int | None
    covered: int
    cut: int
    left_out: list[tuple[int, str]]


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.getbasetemp() / "user-cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))


class Bed:
    """A store with the conversation u/c, its caches at hand, and a way to look at the same log afresh."""

    def __init__(self, base: Path, lines: list[bytes]) -> None:
        self.base = base
        self.store = Store(base / "store", settings={"heal.settle_ms": 0, "durability": "none"})
        self.log = self._made(base / "store")
        self.log.write_bytes(b"".join(line + b"\n" for line in lines))
        self.cache_dir = base / "store" / ".memctl" / "cache" / "conversations" / "u"

    @staticmethod
    def _made(root: Path) -> Path:
        (root / ".memctl").mkdir(parents=True, exist_ok=True)
        directory = root / "conversations" / "u"
        directory.mkdir(parents=True, exist_ok=True)
        return directory / "c.jsonl"

    def cache(self, kind: str) -> Path:
        return self.cache_dir / f"c.{kind}"

    def look(self, **request: Any) -> Facts:
        return facts(self.store, request)

    def look_all(self, first: int = 0) -> list[Facts]:
        """The answers to all requests, which are made from the one numbered `first` on, round to it."""
        order = [(first + place) % len(REQUESTS) for place in range(len(REQUESTS))]
        answers = {number: self.look(**REQUESTS[number]) for number in order}
        return [answers[number] for number in range(len(REQUESTS))]

    def fresh(self, *requests: dict[str, Any]) -> list[Facts]:
        """The answers of a store that has only this log, each without any cache."""
        root = self.base / "fresh"
        shutil.copyfile(self.log, self._made(root))
        answers = []
        for request in requests or REQUESTS:
            shutil.rmtree(root / ".memctl" / "cache", ignore_errors=True)
            answers.append(facts(Store(root), request))
        return answers

    def caches(self) -> dict[str, bytes]:
        return {kind: self.cache(kind).read_bytes() for kind in KINDS if self.cache(kind).is_file()}

    def put_back(self, caches: dict[str, bytes]) -> None:
        for kind in KINDS:
            path = self.cache(kind)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.is_symlink() or path.exists():
                path.unlink()
            if kind in caches:
                path.write_bytes(caches[kind])


def facts(store: Store, request: dict[str, Any]) -> Facts:
    window = store.conversation("u", "c").window(**request)
    return Facts(
        window.lines, window.tokens, window.covered, window.cut, [tuple(item) for item in window.left_out]
    )


def mixed_lines(seed: int = 0) -> list[bytes]:
    """A log with everything: summaries with and without covers, calls, damage, lines of several messages."""
    lines: list[bytes] = []
    for number in range(seed * 10, seed * 10 + 3):
        lines += logs.make(number).lines[-8:]
    return [*lines, GLUED, *logs.make(seed + 5).lines[-5:], b"\xff\xfe torn", GLUED]


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    made = Bed(tmp_path, mixed_lines())
    made.look_all()
    assert {"index", *COUNTERS} == set(made.caches())
    return made


@pytest.fixture(params=["checked", "trusted"])
def trust(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether a cache is compared with the log although nothing seems to have changed."""
    if request.param == "trusted":
        monkeypatch.setattr(sidecar, "RACY_NS", -(1 << 62))
    return str(request.param)


def check_damage(bed: Bed, kind: str, damages: Iterator[tuple[str, bytes | None]]) -> None:
    """Each damaged content (None: no file) in the cache's place gives the fresh answers, twice."""
    pristine, expected = bed.caches(), bed.fresh()
    count = 0
    for what, content in damages:
        bed.put_back({key: data for key, data in pristine.items() if key != kind})
        if content is not None:
            bed.cache(kind).write_bytes(content)
        # Which request comes first, and so finds the damage, changes from one to the next.
        for place in range(count, count + 3):
            at = place % len(REQUESTS)
            assert expected[at] == bed.look(**REQUESTS[at]), f"{kind}: {what}, {REQUESTS[at]}"
        count += 1
    assert count


def parts_of(kind: str) -> tuple[int, int]:
    """The sizes of the header and of an entry."""
    return (HEADER_BYTES, ENTRY_BYTES) if kind == "index" else (totals._HEADER.size, RECORD_BYTES)


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_or_missing_cache_changes_nothing(bed: Bed, kind: str, trust: str) -> None:
    """Cut anywhere in its header, at each entry and beside it, or gone: the same windows."""
    data = bed.cache(kind).read_bytes()
    head, size = parts_of(kind)
    ends = {*range(head + 1), *random.Random(1).sample(range(len(data)), 20)}
    for entry in range(head, len(data) + 1, size):
        ends |= {entry - 1, entry, entry + 1}

    def damages() -> Iterator[tuple[str, bytes | None]]:
        yield "gone", None
        for end in sorted(ends):
            yield f"cut to {end} bytes", data[:end]

    check_damage(bed, kind, damages())


def test_an_index_cut_inside_a_line_of_several_messages_is_not_believed(tmp_path: Path, trust: str) -> None:
    """Not even where the line is far from all that is read: its other messages are part of the numbers."""
    bed = Bed(tmp_path, [MORE[0], GLUED, *MORE * 100])
    request = {"budget": 30, "counter": "bytes4"}
    bed.look(**request)
    pristine, expected = bed.caches(), bed.fresh(request)[0]
    for entries in (2, 3):
        cut = pristine["index"][: HEADER_BYTES + entries * ENTRY_BYTES]
        bed.put_back({**pristine, "index": cut})
        assert expected == bed.look(**request)


@pytest.mark.parametrize("kind", KINDS)
def test_a_scribbled_cache_changes_nothing(bed: Bed, kind: str, trust: str) -> None:
    """Each byte of the header turned over, noise in each entry, zeros, what follows the end."""
    data = bed.cache(kind).read_bytes()
    head, size = parts_of(kind)
    rng = random.Random(2)

    def with_bytes(at: int, new: bytes) -> bytes:
        return data[:at] + new + data[at + len(new) :]

    def damages() -> Iterator[tuple[str, bytes | None]]:
        for at in range(head):
            yield f"byte {at} turned over", with_bytes(at, bytes((data[at] ^ 0xFF,)))
        for start in range(head, len(data) - size + 1, size):
            yield f"noise at {start}", with_bytes(start + rng.randrange(size - 6), rng.randbytes(6))
            yield f"a bit at {start}", with_bytes(at := start + rng.randrange(size), bytes((data[at] ^ 1,)))
            yield f"an entry twice at {start}", with_bytes(start, data[head : head + size])
        yield "all zero", bytes(len(data))
        yield "entries zero", data[:head] + bytes(len(data) - head)
        yield "zeros behind", data + bytes(3 * size)
        yield "noise behind", data + rng.randbytes(2 * size + 5)
        yield "the last entry again", data + data[-size:]
        yield "noise", rng.randbytes(len(data))

    check_damage(bed, kind, damages())


def index_header(data: bytes, **changes: Any) -> bytes:
    """The index's bytes with other fields in its header, and the CRC that goes with them."""
    names = ("magic", "generation", "dev", "ino", "size", "mtime", "ctime", "stamped", "crc")
    fields = dict(zip(names, sidecar._HEADER.unpack_from(data), strict=True)) | changes
    body = sidecar._HEADER.pack(*fields.values())[:-4]
    return (body + zlib.crc32(body).to_bytes(4, "little")).ljust(HEADER_BYTES, b"\0") + data[HEADER_BYTES:]


def totals_header(data: bytes, **changes: Any) -> bytes:
    names = ("magic", "generation", "counter", "base", "end", "all", "sent", "clean", "log", "crc")
    fields = dict(zip(names, totals._HEADER.unpack_from(data), strict=True)) | changes
    body = totals._HEADER.pack(*fields.values())[:-4]
    return body + zlib.crc32(body).to_bytes(4, "little") + data[totals._HEADER.size :]


def test_headers_of_other_versions_generations_and_counters_change_nothing(bed: Bed, trust: str) -> None:
    """A well-formed header that belongs to something else is not believed."""
    index, counted = bed.cache("index").read_bytes(), bed.cache("bytes4").read_bytes()
    other = {"generation": b"\0" * 8}
    check_damage(
        bed,
        "index",
        iter(
            [
                ("another version", index_header(index, magic=b"memctl index 9\n\0")),
                ("another generation", index_header(index, **other)),
                ("another file", index_header(index, ino=1)),
                ("a smaller log", index_header(index, size=1)),
                ("a larger log", index_header(index, size=1 << 40)),
                ("from the future", index_header(index, stamped=(1 << 63) - 1)),
            ]
        ),
    )
    check_damage(
        bed,
        "bytes4",
        iter(
            [
                ("another version", totals_header(counted, magic=b"memctl totals 9\n")),
                ("another generation", totals_header(counted, **other)),
                ("another counter", totals_header(counted, counter=b"o200k_base")),
                ("beyond the end", totals_header(counted, end=1 << 40)),
                ("from the start", totals_header(counted, base=0)),
                ("of another log", totals_header(counted, log=1)),
            ]
        ),
    )


def test_caches_of_another_conversation_change_nothing(bed: Bed, tmp_path: Path, trust: str) -> None:
    """All or some of another conversation's caches in the place of ours: the same windows."""
    other = Bed(tmp_path / "other", mixed_lines(3))
    other.look_all()
    mine, theirs, expected = bed.caches(), other.caches(), bed.fresh()
    for taken in range(1, 8):
        mixed = {kind: (theirs if taken >> place & 1 else mine)[kind] for place, kind in enumerate(KINDS)}
        bed.put_back(mixed)
        assert expected == bed.look_all(taken), f"taken: {taken:03b}"
    bed.put_back({"index": mine["index"], "bytes4": mine["o200k_base"], "o200k_base": mine["bytes4"]})
    assert expected == bed.look_all()


def test_records_of_another_counter_change_nothing(bed: Bed, trust: str) -> None:
    """The header of one counter before the records of another: the records do not prove themselves."""
    size = totals._HEADER.size
    mixed = bed.cache("bytes4").read_bytes()[:size] + bed.cache("o200k_base").read_bytes()[size:]
    check_damage(bed, "bytes4", iter([("records of another counter", mixed)]))


def _as_directory(path: Path) -> None:
    path.mkdir()
    (path / "kept").write_bytes(b"x")


STRANGERS: dict[str, Callable[[Path], object]] = {
    "a directory": _as_directory,
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to a file": lambda path: (path.parent / "aim").write_bytes(b"aim") and path.symlink_to("aim"),
    "a pipe": lambda path: os.mkfifo(path),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", STRANGERS)
def test_something_else_in_the_place_of_a_cache_changes_nothing(bed: Bed, kind: str, what: str) -> None:
    """A directory, link or pipe there costs time only; what a link points at is left alone."""
    pristine, expected = bed.caches(), bed.fresh()
    bed.put_back({key: data for key, data in pristine.items() if key != kind})
    STRANGERS[what](bed.cache(kind))
    assert expected == bed.look_all()
    assert expected == bed.look_all()
    if what == "a link to a file":
        assert b"aim" == (bed.cache_dir / "aim").read_bytes()


# -- the log changes behind the caches ---------------------------------------------------------------------


def _rename_over(log: Path, data: bytes) -> None:
    new = log.with_name("new")
    new.write_bytes(data)
    new.replace(log)


def _keeping_times(write: Callable[[Path, bytes], object]) -> Callable[[Path, bytes], object]:
    def written(log: Path, data: bytes) -> None:
        status = log.stat()
        write(log, data)
        os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))

    return written


def _cut_and_regrow(log: Path, data: bytes) -> None:
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size // 3)
        file.truncate(0)
        file.write(data)


def _in_place(log: Path, data: bytes) -> None:
    with log.open("r+b") as file:
        file.write(data)
        file.truncate()


WRITERS: dict[str, Callable[[Path, bytes], object]] = {
    "in place": _in_place,
    "by rename": _rename_over,
    "in place, times restored": _keeping_times(_in_place),
    "by rename, times restored": _keeping_times(_rename_over),
    "truncated and regrown": _cut_and_regrow,
}


def _changed(line: bytes) -> bytes:
    """The same length, another message: a marker comes, or the text or the role is another."""
    return line.replace(b"a", b"e").replace(b"1", b"2").replace(b'"x', b'"y')


def _equal(lines: list[bytes], rng: random.Random) -> list[bytes]:
    edited = list(lines)
    for at in rng.sample(range(len(lines)), 3):
        edited[at] = _changed(edited[at])
    return edited


def _middle(lines: list[bytes], rng: random.Random) -> list[bytes]:
    edited = list(lines)
    at = rng.randrange(len(lines) // 4, len(lines) // 2)
    edited[at] = _changed(edited[at])
    return edited


def _become_summary(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """One line in the middle becomes a summary of the same length."""
    mark = b'{"role":"user","content":"","extra":{"__eino_ext_memory_summary":true}}'
    fitting = [at for at, line in enumerate(lines[:-1]) if len(line) >= len(mark)]
    at = rng.choice(fitting)
    return [*lines[:at], mark.ljust(len(lines[at])), *lines[at + 1 :]]


MORE = [b'{"role":"user","content":"one more"}', b'{"role":"assistant","content":"and an answer"}']
CHANGES: dict[str, Callable[[list[bytes], random.Random], list[bytes]]] = {
    "equal length": _equal,
    "equal length, grown": lambda lines, rng: [*_equal(lines, rng), *MORE],
    "one line in the middle, grown": lambda lines, rng: [*_middle(lines, rng), *MORE],
    "a summary in the middle": _become_summary,
    "a summary in the middle, grown": lambda lines, rng: [*_become_summary(lines, rng), *MORE],
    "shorter": lambda lines, rng: lines[: rng.randrange(len(lines))],
    "empty": lambda lines, rng: [],
    "shorter, then others": lambda lines, rng: lines[: len(lines) // 2] + MORE * 30,
    "others of equal size": lambda lines, rng: _of_size(sum(map(len, lines)) + len(lines)),
    "lines swapped": lambda lines, rng: [*lines[:3], lines[9], *lines[4:9], lines[3], *lines[10:]],
    "grown": lambda lines, rng: [*lines, *MORE],
}


def _of_size(size_bytes: int) -> list[bytes]:
    line = MORE[0]
    count = size_bytes // (len(line) + 1)
    rest = size_bytes - count * (len(line) + 1)
    return [*[line] * (count - 1), line.ljust(len(line) + rest)]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_log_changed_behind_its_caches_is_seen(tmp_path: Path, writer: str, change: str) -> None:
    """However another program rewrites, cuts, replaces or grows the log, the windows are a fresh look's."""
    for seed in range(5):
        rng = random.Random(f"{seed}{change}")
        lines = mixed_lines(seed)
        bed = Bed(tmp_path / str(seed), lines)
        bed.look_all()
        new = CHANGES[change](lines, rng)
        WRITERS[writer](bed.log, b"".join(line + b"\n" for line in new))
        # A window of all lines finds every lie by itself: others come first, too.
        expected = bed.fresh()
        assert expected == bed.look_all(seed), f"seed {seed}"
        assert expected == bed.look_all(seed), f"seed {seed}, a second time"


@pytest.mark.parametrize("writer", WRITERS)
def test_an_older_copy_in_the_place_of_the_log_is_seen(bed: Bed, writer: str) -> None:
    """A log that grew and is then put back from a copy gives the copy's windows."""
    old, expected = bed.log.read_bytes(), bed.fresh()
    with bed.log.open("ab") as file:
        file.write(b"".join(line + b"\n" for line in MORE))
    bed.look_all()
    WRITERS[writer](bed.log, old)
    assert expected == bed.look_all(len(writer))


def test_far_from_the_end_of_a_large_log_no_byte_and_no_total_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line changed in place, then growth: beyond what is compared, at worst a new summary stays unseen.

    What is printed are lines of the log, and the tokens are theirs.
    """
    monkeypatch.setattr(sidecar, "_RECENT_BYTES", 400)
    monkeypatch.setattr(sidecar, "_SAMPLE_BYTES", 1)
    unseen = 0
    for seed in range(60):
        rng = random.Random(seed)
        lines = [b'{"role":"user","content":"%0*d"}' % (rng.randint(60, 90), n) for n in range(60)]
        bed = Bed(tmp_path / str(seed), lines)
        request = {"budget": rng.choice((20, 300, 900)), "counter": "bytes4"}
        bed.look(**request)
        change = rng.choice((_middle, _become_summary))
        new = [*change(lines[:-8], rng), *lines[-8:], *MORE]
        _in_place(bed.log, b"".join(line + b"\n" for line in new))
        expected = bed.fresh(request)[0]
        found = bed.look(**request)
        contents = [line[line.index(b'content":"') + 10 :].split(b'"')[0] for line in found.lines]
        assert set(found.lines) <= set(new)
        assert sum(map(len, contents)) // 4 == found.tokens
        unseen += expected.covered != found.covered
    assert unseen, "every change was seen: the limits above are too generous to test anything"


def test_near_the_end_of_a_large_log_every_change_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies in the part that is compared whole may change as it likes."""
    lines = [b'{"role":"user","content":"%080d"}' % n for n in range(60)]
    size = len(lines[0]) + 1
    monkeypatch.setattr(sidecar, "_RECENT_BYTES", 20 * size)
    monkeypatch.setattr(sidecar, "_SAMPLE_BYTES", 1)
    for at in range(40, 60):
        bed = Bed(tmp_path / str(at), lines)
        bed.look_all()
        new = [*lines]
        new[at] = _become_summary([lines[at], b""], random.Random())[0]
        _in_place(bed.log, b"".join(line + b"\n" for line in [*new, *MORE]))
        assert bed.fresh() == bed.look_all(at), at


# -- several processes -------------------------------------------------------------------------------------

_READER = """
import pickle, sys
from memctl.api import Store
store, found = Store(sys.argv[1]), []
while not found or found[-1][2] < int(sys.argv[2]):
    window = store.conversation("u", "c").window(40, counter="bytes4")
    found.append((window.lines, window.tokens, window.cut + len(window.lines)))
pickle.dump(found, sys.stdout.buffer)
"""


def test_readers_beside_a_writer_see_the_log_of_one_moment(tmp_path: Path) -> None:
    """Two processes that extend the caches while a third appends: each window is that of some prefix."""
    count = 400
    lines = [b'{"role":"user","content":"%d"}' % (n * 7919) for n in range(count)]
    bed = Bed(tmp_path, [])
    bed.log.write_bytes(lines[0] + b"\n")
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    command = [sys.executable, "-c", _READER, str(tmp_path / "store"), str(count)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) for _ in range(2)]
    with bed.log.open("ab", buffering=0) as file:
        for number, line in enumerate(lines[1:], 1):
            file.write(line + b"\n")
            if number % 5 == 0:
                # So slow that the readers come in between.
                bed.look(budget=40, counter="bytes4")
    sizes = [len(str(n * 7919)) for n in range(count)]
    moments = set()
    for reader in readers:
        output, _ = reader.communicate(timeout=60)
        assert 0 == reader.returncode
        for found, tokens, end in pickle.loads(output):
            start = end
            while start and sum(sizes[start - 1 : end]) <= 40 * 4 + 3:
                start -= 1
            assert lines[start:end] == found
            assert sum(sizes[start:end]) // 4 == tokens
            moments.add(end)
    assert len(moments) > 3, "the readers were never in between"
    assert bed.fresh() == bed.look_all()
    assert 0 == bed.store.rebuild_index(check=True).differences


def in_child(prepare: Callable[[], object], answer: Callable[[], Any]) -> Any:
    """What `answer` gives in a forked process after `prepare`; it fails as the child fails."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            prepare()
            with open(writing, "wb") as file:
                pickle.dump(answer(), file)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as file:
        data = file.read()
    _, status = os.waitpid(child, 0)
    assert 0 == os.waitstatus_to_exitcode(status)
    return pickle.loads(data)


@pytest.mark.parametrize("limit", [0, 1, 95, 96, 97, 150, 400, 1500, 4096])
@pytest.mark.parametrize("kept", ["no caches", "caches", "caches, grown"])
def test_a_full_disk_costs_only_time(bed: Bed, limit: int, kept: str) -> None:
    """Where caches cannot be written any further, windows are the same, and so they are afterwards."""
    if kept == "no caches":
        bed.put_back({})
    if kept == "caches, grown":
        with bed.log.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in MORE * 10))
    expected = bed.fresh()

    def fill_the_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    assert expected == in_child(fill_the_disk, bed.look_all)
    assert expected == bed.look_all()


def without_privileges() -> None:
    """Let modes count for root too: drop CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH (Linux)."""
    if os.geteuid() != 0:
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    assert 0 == libc.capget(header, data)
    for word in range(3):
        data[word] &= ~0b110
    assert 0 == libc.capset(header, data)


@pytest.mark.skipif(sys.platform != "linux" and os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("kept", ["no caches", "caches", "caches, grown"])
@pytest.mark.parametrize("what", ["directory", "files", "unreadable files"])
def test_caches_that_cannot_be_written_cost_only_time(bed: Bed, what: str, kept: str) -> None:
    """In a read-only cache directory, or with read-only or unreadable cache files: the same windows."""
    if kept == "no caches":
        bed.put_back({})
    if kept == "caches, grown":
        with bed.log.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in MORE))
    expected = bed.fresh()
    places = [bed.cache_dir] if what == "directory" else list(bed.cache_dir.iterdir())
    mode = {"directory": 0o500, "files": 0o400, "unreadable files": 0}[what]
    for place in places:
        place.chmod(mode)
    before = bed.caches()
    try:
        assert expected == in_child(without_privileges, bed.look_all)
        if what == "directory" and kept == "no caches":
            assert before == bed.caches()
    finally:
        for place in places:
            if place.exists():
                place.chmod(0o700)
    assert expected == bed.look_all()


# -- all of it, in any order -------------------------------------------------------------------------------


class Life:
    """A conversation to which random things happen; after each of them windows have to be a fresh look's."""

    def __init__(self, base: Path, seed: int) -> None:
        self.rng = random.Random(f"life {seed}")
        self.bed = Bed(base, logs.make(seed).lines)
        self.snapshots: list[dict[str, bytes]] = []

    def step(self) -> str:
        happenings = (self.append, self.foreign, self.damage, self.rewrite, self.drop, self.snapshot)
        happening = self.rng.choices(happenings, (4, 4, 3, 2, 2, 2))[0]
        happening()
        return happening.__name__

    def append(self) -> None:
        texts = [f"appended {self.rng.random()}" for _ in range(self.rng.randint(1, 4))]
        messages: list[dict[str, Any]] = [{"role": "user", "content": text} for text in texts]
        if self.rng.random() < 0.2:
            messages[-1]["extra"] = {"__eino_ext_memory_summary": True}
        self.bed.store.conversation("u", "c").append(messages)

    def foreign(self) -> None:
        pieces = [*logs.make(self.rng.randrange(1000)).lines[:6], GLUED, b"\0\0", b'{"role":"us']
        chosen = self.rng.choices(pieces, k=self.rng.randint(1, 4))
        data = b"\n".join(chosen) + self.rng.choice((b"\n", b"\n", b""))
        with self.bed.log.open("ab") as file:
            file.write(data)

    def damage(self) -> None:
        kind = self.rng.choice(KINDS)
        path = self.bed.cache(kind)
        if not path.is_file():
            return
        data = bytearray(path.read_bytes())
        what = self.rng.choice(("gone", "cut", "noise", "zeros", "behind"))
        at = self.rng.randrange(len(data) + 1)
        if what == "gone":
            path.unlink()
            return
        if what == "cut":
            del data[at:]
        elif what == "behind":
            data += self.rng.randbytes(70)
        else:
            new = self.rng.randbytes(9) if what == "noise" else bytes(9)
            data[at : at + 9] = new[: len(data) - at]
        path.write_bytes(data)

    def rewrite(self) -> None:
        lines = self.bed.log.read_bytes().removesuffix(b"\n").split(b"\n")
        edited = self.rng.choice((_equal, _middle))(lines, self.rng) if len(lines) > 8 else lines
        if self.rng.random() < 0.6:
            edited = logs.damage(edited, self.rng.randrange(10_000))
        writer = self.rng.choice(list(WRITERS.values()))
        writer(self.bed.log, b"".join(line + b"\n" for line in edited))

    def drop(self) -> None:
        conversation = self.bed.store.conversation("u", "c")
        messages = conversation.messages()
        single = [m.id for m in messages if sum(m.line == other.line for other in messages) == 1]
        if single:
            from memctl.errors import BadInput

            try:
                conversation.drop([self.rng.choice(single)], apply=True)
            except BadInput:
                # Its group has a line that holds several messages, or damage beside one.
                pass

    def snapshot(self) -> None:
        """Keep the caches of now, or put back some of an earlier moment."""
        if self.snapshots and self.rng.random() < 0.6:
            old = self.rng.choice(self.snapshots)
            now = self.bed.caches()
            self.bed.cache_dir.mkdir(parents=True, exist_ok=True)
            self.bed.put_back({kind: self.rng.choice((old, now)).get(kind, b"") for kind in KINDS})
        else:
            self.snapshots.append(self.bed.caches())

    def request(self) -> dict[str, Any]:
        rng = self.rng
        return {
            "budget": rng.choice((0, 3, 20, 60, 200, 1000)),
            "counter": rng.choice(("bytes4", "bytes4", "o200k_base")),
            "plain": rng.random() < 0.2,
            "keep_open": rng.random() < 0.3,
            "no_incomplete": rng.random() < 0.3,
            "pending": rng.choice((None, None, "and now?")),
            "reserve": rng.choice((0, 0, 10)),
        }


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_windows_are_those_of_a_fresh_look(tmp_path: Path, seed: int) -> None:
    """Appends, foreign appends, rewrites, drops, damage to caches and old caches, in any order."""
    life = Life(tmp_path, seed)
    done = []
    for _ in range(25):
        done.append(life.step())
        for _ in range(life.rng.randint(0, 2)):
            request = life.request()
            assert life.bed.fresh(request)[0] == life.bed.look(**request), f"{done[-6:]} {request}"
    assert life.bed.fresh() == life.bed.look_all()


def test_totals_of_a_cut_index_are_not_believed(tmp_path: Path) -> None:
    """An index cut short and extended over another log takes no totals of the old one along."""
    store = Store(tmp_path / "store")
    there = store.conversation("a", "c")
    path = Path(store.root, "conversations", "a", "c.jsonl")
    for number in range(8):
        there.append(f"message {number} " + "x" * 20)
    there.window(1000, counter="bytes4")
    index = Path(store.root, ".memctl", "cache", "conversations", "a", "c.index")
    index.write_bytes(index.read_bytes()[: HEADER_BYTES + 3 * ENTRY_BYTES])
    lines = path.read_bytes().splitlines(keepends=True)
    with open(path, "r+b") as file:
        file.seek(sum(map(len, lines[:3])))
        for number in range(9):
            file.write(b'{"role":"user","content":"%s %d"}\n' % (b"y" * 200, number))
        file.truncate()
    window = there.window(200, counter="bytes4")
    fresh = Store(tmp_path / "other")
    copy = Path(fresh.root, "conversations", "a", "c.jsonl")
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path.read_bytes())
    expected = fresh.conversation("a", "c").window(200, counter="bytes4")
    assert (expected.lines, expected.tokens) == (window.lines, window.tokens)
