"""Summaries of large records in cold: when, what, by whom; the text stays, whatever happens."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from memctl import BadConfig
from memctl.core import cold_summary
from memctl.core import record as records

from .stored import DAY, put, store, stored, value

LONG = "word " * 1000


def entering(id: str = "a", **more: Any) -> dict[str, Any]:
    """A record that the next pass moves from warm to cold."""
    return value(id, "warm", 8 * DAY, content=LONG, **more)


def cold(root: Path, **settings: Any) -> tuple[dict[str, Any], Any]:
    """The record that a pass brought to cold, and the pass."""
    given = {"enabled": True, **settings}
    done = store(root, **{f"cold_summary__{name}": set_to for name, set_to in given.items()})
    report = done.memory("alice").reconcile()
    (row,) = stored(root, "cold")
    return row, report.passed[0]


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "summarize.py"
    path.write_text(text)
    return f"cmd:{sys.executable} {path}"


@pytest.mark.parametrize(
    ("expected", "text", "max_chars"),
    [
        ("short", "  short \n", 512),
        ("abcdefghij…", "  abcdefghijklmnop  ", 10),
        ("猫猫…", "猫猫猫", 2),
        ("é" * 512 + "…", "é" * 600, 0),
        ("", "   ", 10),
    ],
)
def test_truncation(expected: str, text: str, max_chars: int) -> None:
    """The beginning of the text without white space around it; a cut is marked; 0 is the default."""
    assert expected == cold_summary.truncated(text, max_chars)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (False, {"content": "x" * 4095}),
        (True, {"content": "x" * 4096}),
        (True, {"content": "é" * 2048}),
        (True, {"content": "x", "size_bytes": 9999}),
        (False, {"content": "x" * 5000, "size_bytes": 1}),
        (True, {"content": "x" * 5000, "size_bytes": 0}),
    ],
    ids=lambda given: str(given)[:40],
)
def test_large_records(expected: bool, value: dict[str, Any]) -> None:
    """From `min_bytes` on, by `size_bytes` where that is set, else by the bytes of the text."""
    record = records.read(json.dumps({"id": "x", **value}, ensure_ascii=False).encode(), "warm")
    assert record is not None
    assert expected is cold_summary.is_large(record, 4096)


def test_the_text_stays(root: Path) -> None:
    """A summary stands in the metadata, of 512 characters; text, other metadata and size are as before."""
    put(root, entering(metadata={"z": "1", "role": "user"}, size_bytes=5000))
    row, done = cold(root)
    summary = row["metadata"].pop("summary")
    assert (LONG[:512] + "…", 1, {}) == (summary, done.summaries, done.troubles)
    assert ({"z": "1", "role": "user"}, LONG, 5000) == (row["metadata"], row["content"], row["size_bytes"])


def test_the_searchable_text_is_summarized(root: Path) -> None:
    """Where a record has a text to be searched by, that is what the summary is made of."""
    put(root, entering(metadata={"searchable": "what it is about"}))
    assert "what it is about" == cold(root)[0]["metadata"]["summary"]


@pytest.mark.parametrize("settings", [{"enabled": False}, {"min_bytes": 5001}], ids=str)
def test_no_summary(root: Path, settings: dict[str, Any]) -> None:
    """Without the setting, and for a small record, there is none."""
    put(root, entering())
    row, done = cold(root, **settings)
    assert ("metadata" in row, done.summaries) == (False, 0)


def test_only_from_above(root: Path) -> None:
    """A record that was in cold already gets no summary."""
    put(root, value("a", "cold", content=LONG), entering("b"))
    store(root, cold_summary__enabled=True).memory("alice").reconcile()
    assert [False, True] == ["metadata" in row for row in stored(root, "cold")]


@pytest.mark.parametrize("given", ["text", 7, ["a"]])
def test_odd_metadata(root: Path, given: object) -> None:
    """Metadata that is no object stays as it is; the record has no summary, and the report says so."""
    put(root, entering(metadata=given))
    row, done = cold(root)
    assert (given, 0, ["a"]) == (row["metadata"], done.summaries, list(done.troubles))


def test_a_command(root: Path, tmp_path: Path) -> None:
    """A command is given the text and prints the summary, which is cut like any other."""
    command = script(tmp_path, "import sys; print(' ', len(sys.stdin.read()), 'characters of text')")
    put(root, entering())
    row, done = cold(root, summarizer=command, max_chars=10)
    assert ("5000 chara…", {}) == (row["metadata"]["summary"], done.troubles)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import sys; sys.exit('no model')", "no model"),
        ("print('  ')", "prints nothing"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "not UTF-8"),
        ("import time; time.sleep(60)", "longer than"),
    ],
)
def test_a_command_that_fails(root: Path, tmp_path: Path, program: str, said: str) -> None:
    """The record moves all the same; the beginning of its text stands in, and the report says why."""
    put(root, entering())
    row, done = cold(root, summarizer=script(tmp_path, program), timeout=0.3 if "sleep" in program else 60)
    assert LONG[:512] + "…" == row["metadata"]["summary"]
    assert said in done.troubles["a"] and "beginning" in done.troubles["a"]
    assert 1 == done.summaries


def test_one_text_is_summarized_once(root: Path, tmp_path: Path) -> None:
    """The same text is given to the command once."""
    command = script(tmp_path, f"open({str(tmp_path / 'calls')!r}, 'a').write('x'); print('short')")
    put(root, entering("a"), entering("b"))
    asked = store(root, cold_summary__enabled=True, cold_summary__summarizer=command)
    asked.memory("alice").reconcile()
    assert ["short", "short"] == [row["metadata"]["summary"] for row in stored(root, "cold")]
    assert "x" == (tmp_path / "calls").read_text()


def test_a_dry_run_starts_no_command(root: Path, tmp_path: Path) -> None:
    """A dry run counts the summaries and starts nothing."""
    command = script(tmp_path, f"open({str(tmp_path / 'calls')!r}, 'a')")
    put(root, entering())
    asked = store(root, cold_summary__enabled=True, cold_summary__summarizer=command)
    assert 1 == asked.memory("alice").reconcile(dry_run=True).passed[0].summaries
    assert not (tmp_path / "calls").exists()


@pytest.mark.parametrize("given", ["llm", "cmd:", "cmd:'"])
def test_a_summarizer_that_is_none(root: Path, given: str) -> None:
    """What names no command is a mistake in the settings, found before anything is changed."""
    put(root, entering())
    with pytest.raises(BadConfig, match=r"cold_summary\.summarizer"):
        cold(root, summarizer=given)
    assert 1 == len(stored(root, "warm"))
