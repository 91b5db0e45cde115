"""Records found by their ids, however the ids are spelt, without parsing every line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import record
from memctl.store import lookup, tiers
from memctl.store.layout import Layout

TEXTS = st.text(st.sampled_from('ab"\\/<\n\x00é\u2028🙂\ud800'), min_size=1, max_size=4)


def write(root: Path, tier: str, *lines: bytes, user: str = "alice") -> Layout:
    """A tier file with these lines."""
    layout = Layout.of(str(root))
    path = Path(layout.tier(tier, user).path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return layout


def spelt(text: str, escaped: list[bool]) -> str:
    """A JSON string in which some characters are written as escapes that they do not need."""
    parts = []
    for char, escape in zip(text, escaped, strict=False):
        if char == "/" and escape:
            parts.append("\\/")
        elif escape:
            data = char.encode("utf-16-be", "surrogatepass")
            units = [data[at : at + 2].hex() for at in range(0, len(data), 2)]
            parts += [f"\\u{unit.upper()}" for unit in units]
        else:
            lone = "\ud800" <= char <= "\udfff"
            parts.append(json.dumps(char, ensure_ascii=lone)[1:-1])
    return f'"{"".join(parts)}"'


@given(st.data())
def test_every_spelling_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any id in any spelling of JSON is found, few or many of them, and nothing else."""
    ids = data.draw(st.lists(TEXTS, min_size=1, max_size=12, unique=True))
    lines = []
    for id in ids:
        escapes = data.draw(st.lists(st.booleans(), min_size=len(id), max_size=len(id)))
        key = data.draw(st.sampled_from(('"id"', '"\\u0069d"', ' "id" ')))
        first = data.draw(st.sampled_from(("", '"content":"a",', '"id":"other",')))
        lines.append(f'{{{first}{key}:{spelt(id, escapes)},"rev":1}}'.encode())
    root = tmp_path_factory.mktemp("lookup")
    layout = write(root, "hot", b'{"id":"else","content":"ab"}', b"no record", *lines, b"")
    for wanted in (ids, ids[:1], [*ids, *(f"absent {n}" for n in range(12))]):
        found = lookup.find(layout, "alice", wanted)
        assert {id: line for id, line in zip(ids, lines, strict=True) if id in wanted} == {
            id: one.raw for id, one in found.items()
        }


@pytest.mark.parametrize("count", [1, 100])
def test_the_newest_line_counts(tmp_path: Path, count: int) -> None:
    """Of several lines with one id, in several tiers, lookup and reader name the same one."""
    ids = [f"id {number}" for number in range(count)]
    for tier, rev in (("cold", 3), ("warm", 2), ("hot", 2)):
        write(tmp_path, tier, *(b'{"id":"%b","rev":%d}' % (id.encode(), rev) for id in ids))
    layout = write(tmp_path, "hot", *(b'{"id":"%b","rev":%d}' % (id.encode(), 3) for id in ids[1:]))
    found = lookup.find(layout, "alice", ids)
    assert tiers.read(layout, "alice").records == found
    assert ["cold", *["hot"] * (count - 1)] == [found[id].tier for id in ids]


def test_no_file_no_record(tmp_path: Path) -> None:
    """Without tier files, or without ids, nothing is found and nothing is made."""
    layout = Layout.of(str(tmp_path))
    assert {} == lookup.find(layout, "alice", ["x"])
    assert {} == lookup.find(layout, "alice", [])
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("ids", [["x"], [str(number) for number in range(40)] + ["x"]], ids=["few", "many"])
@pytest.mark.parametrize("ended", [b"\n", b""], ids=["LF", "no LF"])
def test_lines_over_several_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: list[str], ended: bytes
) -> None:
    """Lines longer than a block, at its edges, and a last line without LF are read whole."""
    monkeypatch.setattr(lookup, "_BLOCK_BYTES", 64)
    line = b'{"id":"x","content":"%b"}' % (b"y" * 300)
    layout = write(tmp_path, "warm")
    path = Path(layout.tier("warm", "alice").path)
    for before in range(0, 140, 7):
        path.write_bytes(b'{"id":"%b"}\n' % (b"z" * before) + line + ended)
        assert line == lookup.find(layout, "alice", ids)["x"].raw
        path.write_bytes(b'{"id":"%b"}\n' % (b"z" * before) + line + b'\n{"id":"other"}' + ended)
        assert line == lookup.find(layout, "alice", ids)["x"].raw


def test_a_line_beyond_the_limit_is_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What readers do not read is not found either."""
    monkeypatch.setattr("memctl.core.jsonl.LINE_MAX_BYTES", 1000)
    monkeypatch.setattr(lookup, "_BLOCK_BYTES", 64)
    layout = write(tmp_path, "hot", b'{"id":"x","content":"%b"}' % (b"y" * 1000), b'{"id":"z"}')
    assert ["z"] == list(lookup.find(layout, "alice", ["x", "z"]))
    many = [str(number) for number in range(40)]
    assert ["z"] == list(lookup.find(layout, "alice", ["x", "z", *many]))


def test_few_ids_parse_few_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines without the id are not parsed, also where they hold escapes of other characters."""
    lines = [b'{"id":"id %d","content":"\\u003ca\\u003e \\n"}' % number for number in range(1000)]
    layout = write(tmp_path, "hot", *lines)
    parsed: list[bytes] = []
    real = record.read

    def read(line: bytes, tier: str) -> Any:
        parsed.append(line)
        return real(line, tier)

    monkeypatch.setattr(record, "read", read)
    assert ["id 7"] == list(lookup.find(layout, "alice", ["id 7"]))
    assert [lines[7]] == parsed
    parsed.clear()
    wanted = [f"id {number}" for number in range(0, 1000, 50)]
    assert set(wanted) == set(lookup.find(layout, "alice", wanted))
    assert lines[::50] == parsed


def test_a_file_that_changes_meanwhile_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that moves up while the tiers are read is found all the same."""
    layout = write(tmp_path, "warm", b'{"id":"x","rev":1}')
    write(tmp_path, "hot")
    real = lookup.lines_with
    moved: list[str] = []

    def lines_with(place: Any, ids: set[str]) -> Any:
        if place.parts == ("tiers", "warm") and not moved:
            # Between cold and warm the record leaves warm; hot has it before that.
            moved.append("x")
            write(tmp_path, "hot", b'{"id":"x","rev":2}')
            os.unlink(tmp_path / "tiers" / "warm" / "alice.jsonl")
            write(tmp_path, "hot", b'{"id":"x","rev":3}')
        yield from real(place, ids)

    monkeypatch.setattr(lookup, "lines_with", lines_with)
    assert 3 == lookup.find(layout, "alice", ["x"])["x"].rev
