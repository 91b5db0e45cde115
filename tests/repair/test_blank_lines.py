"""Blank lines in great numbers: read as one line where they follow one another, named one by one."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from memctl import Store
from memctl.core import diagnosis
from memctl.core.line_examination import DEFAULT
from memctl.store import scanning
from tests.repair import engine

MESSAGE = b'{"role":"user","content":"%d","extra":{"memctl":{"id":"m%d"}}}'
BLANK = (b"", b"", b"", b" ", b"\t", b"\r", b" \r\r", b"   ")


def _log(seed: int) -> list[bytes]:
    """Lines of messages with blank ones in runs between them."""
    rng = random.Random(f"blank {seed}")
    lines = []
    for number in range(rng.randint(0, 5)):
        lines += rng.choices(BLANK, k=rng.choice((0, 1, 2, 7)))
        lines.append(MESSAGE % (number, number))
    return lines + rng.choices(BLANK, k=rng.choice((0, 1, 3)))


@pytest.mark.parametrize("wanted", [DEFAULT, DEFAULT - {"blank-line"}], ids=["removed", "left"])
@pytest.mark.parametrize("block_bytes", [1, 5, 64, 1 << 18])
def test_each_is_named_where_it_stands(
    block_bytes: int, wanted: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line, offset and length of each are those of the file; the messages stand behind as they did."""
    monkeypatch.setattr(scanning, "BLOCK_BYTES", block_bytes)
    for seed in range(40):
        lines = _log(seed)
        outcome = engine.repaired(b"".join(line + b"\n" for line in lines), wanted)
        starts = [sum(len(before) + 1 for before in lines[:number]) for number in range(len(lines))]
        expected = [
            (number + 1, starts[number], len(line)) for number, line in enumerate(lines) if not line.strip()
        ]
        found = [row.problem for row in outcome.problems if row.problem.code == "blank-line"]
        assert expected == [(problem.line, problem.offset, problem.length) for problem in found]
        assert len(lines) == outcome.examination.lines
        kept = lines if "blank-line" not in wanted else [line for line in lines if line.strip()]
        assert b"".join(line + b"\n" for line in kept) == outcome.new
        engine.check(outcome, wanted)


def test_beyond_what_is_listed_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No listed one is missing, no counted one is lost, however the lines come together."""
    monkeypatch.setattr(diagnosis, "LISTED_MAX", 10)
    for before in range(14):
        data = b"\n" * before + MESSAGE % (1, 1) + b"\n" + b"\n" * 30
        found = engine.repaired(data).examination.diagnosis
        assert 10 == len(found.found)
        assert {("blank-line", "warning", "removed"): before + 30} == found.counts
        assert {"blank-line": before + 20} == found.unlisted()
        assert [*range(1, before + 1), *range(before + 2, 30)][:10] == [
            row.problem.line for row in found.found
        ]


def test_readers_see_the_messages_between_them(tmp_path: Path) -> None:
    """Windows and counts are those of the log without them, also when the log grows behind an index."""
    store = Store(tmp_path / "store")
    log = tmp_path / "store" / "conversations" / "u" / "c.jsonl"
    log.parent.mkdir(parents=True)
    said: list[bytes] = []
    for seed in range(12):
        lines = _log(seed)
        with log.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in lines))
        said += [line for line in lines if line.strip()]
        talk = store.conversation("u", "c", create=False)
        assert len(said) == talk.count("bytes4").messages
        assert said == [message.raw for message in talk.messages()]
        assert [json.loads(line) for line in said] == talk.window(0).messages


def test_millions_of_them_are_no_burden(tmp_path: Path) -> None:
    """Four million are found, and read past, in seconds of the processor."""
    data = b"\n" * 2_000_000 + MESSAGE % (1, 1) + b"\n" + b"\n" * 2_000_000
    path = tmp_path / "c.jsonl"
    path.write_bytes(data)
    started = time.process_time()
    outcome = engine.repaired(data)
    assert 1 == Store(tmp_path / "store").at(str(path)).count("bytes4").messages
    assert time.process_time() - started < 15
    assert MESSAGE % (1, 1) + b"\n" == outcome.new
    assert 4_000_000 == len(outcome.taken)
