"""The cache of ids: whatever happens to it, nothing is stored twice and nothing new is refused."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl import Store
from memctl.errors import IdConflict
from memctl.store import ids

Harm = Callable[[Path, Path], None]


def store(root: Path) -> Store:
    return Store(root, settings={"durability": "none", "heal.settle_ms": 0})


def log_of(root: Path) -> Path:
    return root / "conversations" / "a" / "b.jsonl"


def cache_of(root: Path) -> Path:
    return root / ".memctl" / "cache" / "conversations" / "a" / "b.ids"


def append(root: Path, *names: str, content: str = "text of {}") -> tuple[int, int]:
    """Append a message for each id; how many were stored, and how many were there."""
    messages = [
        {"role": "user", "content": content.format(name), "extra": {"memctl": {"id": name}}} for name in names
    ]
    done = store(root).conversation("a", "b").append(messages)
    return done.appended, done.duplicates


def stored(root: Path) -> list[str]:
    return [json.loads(line)["content"] for line in log_of(root).read_bytes().splitlines()]


def gone(cache: Path, log: Path) -> None:
    cache.unlink()


def empty(cache: Path, log: Path) -> None:
    cache.write_bytes(b"")


def halved(cache: Path, log: Path) -> None:
    os.truncate(cache, cache.stat().st_size // 2)


def one_byte_short(cache: Path, log: Path) -> None:
    os.truncate(cache, cache.stat().st_size - 1)


def one_entry_short(cache: Path, log: Path) -> None:
    os.truncate(cache, cache.stat().st_size - 24)


def longer(cache: Path, log: Path) -> None:
    cache.write_bytes(cache.read_bytes() + bytes(24))


def other_header(cache: Path, log: Path) -> None:
    cache.write_bytes(b"x" + cache.read_bytes()[1:])


def noise(cache: Path, log: Path) -> None:
    cache.write_bytes(random.Random(3).randbytes(cache.stat().st_size))


def a_directory(cache: Path, log: Path) -> None:
    cache.unlink()
    cache.mkdir()


def a_pipe(cache: Path, log: Path) -> None:
    cache.unlink()
    os.mkfifo(cache)


NAMES = [f"id {n}" for n in range(10)]


@pytest.mark.parametrize(
    "harm",
    [gone, empty, halved, one_byte_short, one_entry_short, longer, other_header, noise, a_directory, a_pipe],
)
def test_harm_to_the_cache(harm: Harm, tmp_path: Path) -> None:
    """A retry stores nothing twice, and a new id is stored, whatever became of the cache."""
    append(tmp_path, *NAMES)
    append(tmp_path, "known")
    harm(cache_of(tmp_path), log_of(tmp_path))
    assert (0, 11) == append(tmp_path, *NAMES, "known")
    assert (1, 1) == append(tmp_path, "new", NAMES[3])
    assert [f"text of {name}" for name in (*NAMES, "known", "new")] == stored(tmp_path)


def test_each_flipped_byte_is_noticed(tmp_path: Path) -> None:
    """One wrong byte anywhere in the cache hides no id."""
    append(tmp_path, *NAMES)
    append(tmp_path, NAMES[0])
    good = cache_of(tmp_path).read_bytes()
    for place in range(len(good)):
        cache_of(tmp_path).write_bytes(good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :])
        assert (0, len(NAMES)) == append(tmp_path, *NAMES)


def rewritten_elsewhere(data: bytes) -> bytes:
    """Another program's file: other lines in front, some gone, the last one where it was."""
    lines = data.splitlines(keepends=True)
    return lines[1].replace(b"id 1", b"id x").replace(b"of 1", b"of x") + b"".join(lines[1:])


def cut(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:4])


def cut_and_grown(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return (
        b"".join(lines[:4])
        + b"".join(line.replace(b"id ", b"ix ").replace(b"of id", b"of ix") for line in lines[4:9])
        + lines[9]
    )


def in_reverse(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[::-1])


def emptied(data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("replaced", [False, True], ids=["in place", "by rename"])
@pytest.mark.parametrize("change", [rewritten_elsewhere, cut, cut_and_grown, in_reverse, emptied])
def test_the_log_changed_behind_the_cache(
    change: Callable[[bytes], bytes], replaced: bool, tmp_path: Path
) -> None:
    """For a log that another program rewrote, what counts is what stands there now."""
    append(tmp_path, *NAMES)
    append(tmp_path, NAMES[0])
    log = log_of(tmp_path)
    data = change(log.read_bytes())
    if replaced:
        (tmp_path / "new").write_bytes(data)
        (tmp_path / "new").rename(log)
    else:
        log.write_bytes(data)
    present = [json.loads(line)["extra"]["memctl"]["id"] for line in data.splitlines()]
    candidates = [*NAMES, *(f"ix {n}" for n in range(10)), "id x"]
    for name in candidates:
        content = "text of {}"
        for line in data.splitlines():
            value = json.loads(line)
            if value["extra"]["memctl"]["id"] == name:
                content = value["content"]
        expected = (0, 1) if name in present else (1, 0)
        assert expected == append(tmp_path, name, content=content)
    now = [json.loads(line)["extra"]["memctl"]["id"] for line in log.read_bytes().splitlines()]
    assert sorted(set(present) | set(candidates)) == sorted(now)


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the cache cannot be written, or only in part, nothing is stored twice all the same."""
    from memctl.store import caches

    append(tmp_path, *NAMES)

    def write_cache(fd: int, data: bytes) -> None:
        os.write(fd, data[:7])
        raise OSError(28, "full")

    for _ in range(3):
        cache_of(tmp_path).unlink()
        with monkeypatch.context() as patch:
            patch.setattr(caches, "append", write_cache)
            patch.setattr(ids, "_BATCH_BYTES", 48)
            assert (0, 10) == append(tmp_path, *NAMES)
    assert (0, 10) == append(tmp_path, *NAMES)


def test_ids_with_one_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids whose hashes are equal are told apart by the lines themselves."""
    monkeypatch.setattr(ids, "_hash", lambda id: 7)
    assert (10, 0) == append(tmp_path, *NAMES)
    assert (0, 10) == append(tmp_path, *NAMES)
    assert (1, 2) == append(tmp_path, NAMES[4], "new", NAMES[2])
    assert (0, 1) == append(tmp_path, "new")


def test_an_id_with_two_contents_in_the_log(tmp_path: Path) -> None:
    """Where another program stored an id twice, either is a duplicate, a third a conflict."""
    append(tmp_path, "one")
    line = log_of(tmp_path).read_bytes()
    log_of(tmp_path).write_bytes(line + line.replace(b"text of", b"other"))
    assert (0, 1) == append(tmp_path, "one")
    assert (0, 1) == append(tmp_path, "one", content="other {}")
    with pytest.raises(IdConflict):
        append(tmp_path, "one", content="third {}")


def test_an_id_with_escapes(tmp_path: Path) -> None:
    """An id that another program wrote with escapes is the same id."""
    append(tmp_path, "start")
    with log_of(tmp_path).open("ab") as log:
        log.write(
            b'{"role":"user","content":"text of \\u0078","extra":{"\\u006demctl":{"i\\u0064":"\\u0078"}}}\n'
        )
    assert (0, 1) == append(tmp_path, "x")


def test_ids_of_a_log_without_any(tmp_path: Path) -> None:
    """Lines without ids are passed over, once."""
    log = log_of(tmp_path)
    log.parent.mkdir(parents=True)
    log.write_bytes(b'{"role":"user","content":"plain"}\n' * 1000)
    assert (1, 0) == append(tmp_path, "x")
    assert (0, 1) == append(tmp_path, "x")
    # One entry for the thousand, one for x.
    assert 24 + 2 * 24 == cache_of(tmp_path).stat().st_size
