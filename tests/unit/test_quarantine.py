"""quarantine restore: the log is what it was before, and what was appended since stands behind it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl import Store
from memctl.core import covers, marker
from memctl.core.lines import Piece, read_line
from memctl.errors import AlreadyExists, BadInput, LockTimeout, NotFound, UsageError
from memctl.ops import undo
from memctl.store import revision, rewrite
from tests.conftest import Memctl

NOW_US = 1_772_614_800_000_000


def store(root: Path, **more: Any) -> Store:
    return Store(root, settings={"durability": "none", "heal.settle_ms": 0}, **more)


def log_of(root: Path, user: str = "a", name: str = "b.jsonl") -> Path:
    return root / "conversations" / user / name


def fill(root: Path, data: bytes) -> Path:
    path = log_of(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def only_id(root: Path) -> str:
    (note,) = store(root).quarantine()
    return str(note["id"])


# -- generated logs ---------------------------------------------------------------------------------------


def message(role: str, content: str, **more: Any) -> bytes:
    return json.dumps({"role": role, "content": content, **more}).encode()


def summary(before: list[bytes], kept: int, text: str) -> bytes:
    """A summary of all messages before it but the last `kept`."""
    stated = covers.stating(len(before), len(before) - kept, lambda first, end: before[first:end])
    return message("assistant", text, extra={marker.SUMMARY: True, marker.OWN: {"covers": stated}})


def generated(chance: random.Random) -> list[bytes]:
    """Lines of a sound log: turns with calls, some with a summary."""
    lines: list[bytes] = []
    for turn in range(chance.randint(2, 7)):
        lines.append(message("user", f"question {turn}"))
        if chance.random() < 0.5:
            ids = [f"c{turn}.{n}" for n in range(chance.randint(1, 2))]
            calls = [
                {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids
            ]
            lines.append(message("assistant", "", tool_calls=calls))
            lines += [message("tool", f"result of {id}", tool_call_id=id) for id in ids]
        lines.append(message("assistant", f"answer {turn}"))
        if chance.random() < 0.3:
            lines.append(summary(lines, chance.randint(0, len(lines)), f"summary {turn}"))
    return lines


Damage = Callable[[random.Random, bytes], bytes]
DAMAGES: tuple[Damage, ...] = (
    lambda chance, line: line[: chance.randrange(1, len(line))],
    lambda chance, line: line[:-1] + b',"n":NaN}',
    lambda chance, line: line + b"\0" * chance.randint(1, 9),
    lambda chance, line: b"\0\0" + line,
    lambda chance, line: line.replace(b"n", b"\xe9", 1) if b"question" in line else line,
    lambda chance, line: line + b"\r",
    lambda chance, line: b"\xef\xbb\xbf" + line,
    lambda chance, line: line + line.replace(b"question", b"glued").replace(b"answer", b"glued"),
    lambda chance, line: b'{"role":"user","content":"torn' + line,
    lambda chance, line: b"null\n" + line,
    lambda chance, line: b"\n" + line,
    lambda chance, line: message("tool", "orphan", tool_call_id="none") + b"\n" + line,
    lambda chance, line: line + b"\n" + message("user", "e", extra={marker.EPHEMERAL: True}),
    lambda chance, line: b"garbage" if b"tool_call_id" in line else line,
)


def damaged(chance: random.Random) -> bytes:
    """A log with one to four damages, perhaps with a torn tail or without its last LF."""
    lines = generated(chance)
    for _ in range(chance.randint(1, 4)):
        number = chance.randrange(len(lines))
        lines[number] = chance.choice(DAMAGES)(chance, lines[number])
    return b"\n".join(lines) + chance.choice([b"\n", b"\n", b"", b'\n{"role":"us'])


def messages(data: bytes) -> list[Piece]:
    """The messages of a log as readers see them."""
    return [piece for line in data.split(b"\n") for piece in read_line(line) if piece.message is not None]


def hidden(found: list[Piece]) -> dict[str, set[bytes]]:
    """Of each summary by its text: the messages that it hides, summaries and interrupted results left out."""
    boundary = 0
    hides: dict[str, set[bytes]] = {}
    for number, piece in enumerate(found):
        assert piece.message is not None
        if not marker.is_summary(piece.message):
            continue
        boundary = covers.boundary(
            piece.message, number, boundary, lambda first, end: [p.stored for p in found[first:end]]
        )
        hides[piece.message["content"]] = {
            other.printed
            for other in found[:boundary]
            if not marker.is_summary(other.message or {})
            and not marker.own(other.message or {}).get("repair")
        }
    return hides


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_repair_is_undone(seed: int) -> None:
    """Whatever was damaged, the log is byte for byte what it was; nothing is left in quarantine."""
    before = damaged(random.Random(seed))
    with tempfile.TemporaryDirectory() as directory:
        path = fill(Path(directory), before)
        done = store(Path(directory)).repair("a/b")
        after = path.read_bytes()
        if after == before:
            assert [] == store(Path(directory)).quarantine()
            return
        restored = store(Path(directory)).quarantine_restore(only_id(Path(directory)))
        assert before == path.read_bytes()
        assert done.targets[0].quarantined_bytes == restored.restored_bytes
        assert len(before) - len(after) == restored.restored_bytes - restored.removed_bytes
        assert [] == store(Path(directory)).quarantine()


@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_what_was_appended_since_stays_behind(seed: int) -> None:
    """Lines appended after the repair follow, but for summaries, which hide what they hid and say so anew."""
    chance = random.Random(seed)
    before = damaged(chance)
    with tempfile.TemporaryDirectory() as directory:
        path = fill(Path(directory), before)
        store(Path(directory)).repair("a/b")
        after = path.read_bytes()
        if after == before:
            return
        appended: list[bytes] = []
        for n in range(chance.randint(1, 4)):
            appended.append(message("user", f"later {n}"))
            so_far = [piece.stored for piece in messages(after + b"\n".join(appended))]
            if chance.random() < 0.7:
                appended.append(summary(so_far, chance.randint(0, len(so_far)), f"later summary {n}"))
        with path.open("ab") as log:
            log.write(b"".join(line + b"\n" for line in appended))
        present = messages(path.read_bytes())
        done = store(Path(directory)).quarantine_restore(only_id(Path(directory)))
        now = path.read_bytes()

    lead = b"" if before.endswith(b"\n") else b"\n"
    assert bool(lead) == done.newline_added
    assert before + lead == now[: len(before + lead)]
    behind = now[len(before + lead) :].splitlines()
    assert len(appended) == len(behind)
    changed = [new for old, new in zip(appended, behind, strict=True) if old != new]
    assert [True] * len(changed) == [b"later summary" in line for line in changed]
    assert len(changed) == done.summaries_rewritten
    restored = messages(now)
    both = {piece.printed for piece in present} & {piece.printed for piece in restored}
    hid, hides = hidden(present), hidden(restored)
    later = [text for text in hid if text.startswith("later")]
    assert {text: hid[text] & both for text in later} == {text: hides[text] & both for text in later}


# -- by hand ----------------------------------------------------------------------------------------------

ONE, TWO, THREE = (message("user", text) + b"\n" for text in ("one", "two", "three"))
LATER = message("user", "later") + b"\n"
TORN = b'{"role":"user","content":"torn'


@pytest.mark.parametrize(
    ("before", "edge"),
    [
        pytest.param(ONE + b"garbage\n" + TWO, b"", id="garbage"),
        pytest.param(ONE + TORN, b"\n", id="torn tail"),
        pytest.param(TORN, b"\n", id="nothing else"),
        pytest.param(ONE + TWO[:-1], b"\n", id="no final newline"),
        pytest.param(ONE + TWO[:-1] + ONE, b"", id="glued"),
        pytest.param(ONE[:-1] + b"\r\n\r\n" + b"\xef\xbb\xbf" + TWO, b"", id="crlf, blank and bom"),
    ],
)
def test_a_lf_parts_what_is_restored_from_what_follows(before: bytes, edge: bytes, tmp_path: Path) -> None:
    """What was appended since begins on a line of its own, also behind a torn tail; the report says so."""
    path = fill(tmp_path, before)
    store(tmp_path).repair("a/b")
    chat = store(tmp_path).conversation("a", "b")
    offset = chat.append("later").offset
    later = path.read_bytes()[offset:]
    done = store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert before + edge + later == path.read_bytes()
    assert (bool(edge), len(later)) == (done.newline_added, done.appended_bytes)


def test_a_line_that_is_still_being_written_goes_on(tmp_path: Path) -> None:
    """A last line that had no LF before, and has none after, is not cut in two by what completes it."""
    path = fill(tmp_path, ONE + b"garbage\n" + TWO[:-1])
    store(tmp_path).repair("a/b", only=["bad-json"])
    assert ONE + TWO[:-1] == path.read_bytes()
    with path.open("ab") as log:
        log.write(b"\n" + THREE)
    done = store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert ONE + b"garbage\n" + TWO + THREE == path.read_bytes()
    assert not done.newline_added


def test_restored_messages_at_the_edge_are_shown(tmp_path: Path) -> None:
    """What comes back between what a later summary hides and what it shows is shown; in front, hidden."""
    path = fill(tmp_path, b"")
    chat = store(tmp_path).conversation("a", "b")
    for name in "stuvwx":
        chat.append(f"text {name}", id=name)
    chat.drop(["t", "v"])
    with path.open("ab") as log:
        log.write(summary(path.read_bytes().splitlines(), 2, "short") + b"\n")
    shown = [value["content"] for value in chat.window(0).messages]
    assert ["short", "text w", "text x"] == shown
    done = store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert ["short", "text v", "text w", "text x"] == [v["content"] for v in chat.window(0).messages]
    assert 1 == done.summaries_rewritten
    assert "text t" in [json.loads(line)["content"] for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("dropped", ["q", "call", "s1", "late"])
def test_a_drop_is_undone(dropped: str, tmp_path: Path) -> None:
    """Messages and the summaries behind them are what they were, whatever was appended since."""
    path = fill(tmp_path, b"")
    chat = store(tmp_path).conversation("a", "b")
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    chat.append("question", id="q")
    own = {marker.OWN: {"id": "call"}}
    chat.append({"role": "assistant", "content": "", "tool_calls": calls, "extra": own})
    chat.append({"role": "tool", "content": "result", "tool_call_id": "c"})
    for id in ("s1", "s2"):
        made = json.loads(summary(path.read_bytes().splitlines(), 1, id))
        made["extra"][marker.OWN]["id"] = id
        chat.append(made)
        chat.append("late", id=f"late{'' if id == 's1' else id}")
    before = path.read_bytes()
    done = chat.drop([dropped])
    (note,) = store(tmp_path).quarantine()
    assert ("dropped", done.quarantined_bytes) == (note["reason"], note["length"])
    chat.append("appended since")
    appended = path.read_bytes().splitlines(keepends=True)[-1]
    restored = store(tmp_path).quarantine_restore(note["id"])
    assert before + appended == path.read_bytes()
    assert done.quarantined_bytes == restored.restored_bytes
    assert [] == store(tmp_path).quarantine()


def test_drops_of_the_same_message_are_two_items(tmp_path: Path) -> None:
    """Dropped, appended, and dropped again at one moment of the clock: both copies are kept."""
    line = message("user", "one", extra={marker.OWN: {"id": "m1"}}) + b"\n"
    for _ in range(2):
        fill(tmp_path, line)
        store(tmp_path, now_us=NOW_US).conversation("a", "b").drop(["m1"])
    assert [line, line] == [store(tmp_path).quarantined(n["id"]) for n in store(tmp_path).quarantine()]


def test_two_changes_are_undone_newest_first(tmp_path: Path) -> None:
    """The older item is refused, naming the newer one, until that is restored."""
    path = fill(tmp_path, ONE + b"garbage\n" + TWO + b"\0\0\n" + THREE)
    first = path.read_bytes()
    store(tmp_path, now_us=NOW_US).repair("a/b", only=["nul-bytes"])
    with path.open("ab") as log:
        log.write(LATER)
    second = path.read_bytes()
    store(tmp_path, now_us=NOW_US + 1).repair("a/b")
    repaired = path.read_bytes()
    older, newer = (note["id"] for note in store(tmp_path).quarantine())
    with pytest.raises(BadInput, match=f"changed since {older} .*{newer}") as caught:
        store(tmp_path).quarantine_restore(older)
    assert f"memctl quarantine show {older}" == caught.value.hint
    assert repaired == path.read_bytes()
    store(tmp_path).quarantine_restore(newer)
    assert second == path.read_bytes()
    store(tmp_path).quarantine_restore(older)
    assert first + LATER == path.read_bytes()


def test_a_log_that_was_changed_is_left(tmp_path: Path) -> None:
    """A log that is not what the repair made of it stays as it is, and so does the item."""
    path = fill(tmp_path, ONE + b"garbage\n" + TWO)
    store(tmp_path).repair("a/b")
    for changed in (ONE, ONE + THREE, ONE + TWO.replace(b"two", b"2wo"), b""):
        path.write_bytes(changed)
        with pytest.raises(BadInput, match="was changed since"):
            store(tmp_path).quarantine_restore(only_id(tmp_path))
        assert changed == path.read_bytes()


def test_a_conversation_that_is_gone(tmp_path: Path) -> None:
    """Without the conversation nothing is restored; the hint is the trash, where it may be."""
    fill(tmp_path, ONE + b"garbage\n" + TWO)
    store(tmp_path).repair("a/b")
    store(tmp_path).conversation("a", "b").delete()
    with pytest.raises(NotFound) as caught:
        store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert "memctl trash list" in caught.value.hint
    store(tmp_path).restore("a", "b")
    store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert ONE + b"garbage\n" + TWO == log_of(tmp_path).read_bytes()


@pytest.mark.parametrize("id", ["", "none", "../a/x", "a/../x"])
def test_an_unknown_id(id: str, tmp_path: Path) -> None:
    """An id that no item has is not found, be it a way out of the directory."""
    fill(tmp_path, ONE + b"garbage\n")
    store(tmp_path).repair("a/b")
    (tmp_path / "quarantine" / "x.bytes").write_bytes(b"")
    with pytest.raises(NotFound):
        store(tmp_path).quarantine_restore(id)
    with pytest.raises(NotFound):
        store(tmp_path).quarantined(id)


def with_note(root: Path, **facts: Any) -> str:
    """Change the note of the only item; its id."""
    id = only_id(root)
    path = root / "quarantine" / "a" / f"{id}.json"
    note = json.loads(path.read_bytes()) | facts
    path.write_text(json.dumps({key: value for key, value in note.items() if value is not None}))
    return id


PIECE = {"line": 2, "offset": len(ONE), "length": 8, "code": "bad-json", "inserted": 0}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        pytest.param({"sha256": "0" * 64}, "not those that its note was written for", id="other bytes"),
        pytest.param({"sha256": None}, "not those that its note was written for", id="no digest of bytes"),
        pytest.param({"sha256_after": "x"}, "sha256_after is no digest", id="digest"),
        pytest.param({"sha256_before": "0" * 64}, "is not what was there", id="another log"),
        pytest.param({"size_before": None}, "it has no size_before", id="no size"),
        pytest.param({"size_after": "5"}, "no number of bytes", id="size"),
        pytest.param({"size_after": 5}, "sizes contradict", id="sizes"),
        pytest.param({"pieces": {}}, "pieces is no list", id="pieces"),
        pytest.param({"pieces": [7]}, "is damaged", id="no pieces in it"),
        pytest.param({"pieces": [PIECE | {"offset": -1}]}, "no number of bytes", id="before the start"),
        pytest.param({"pieces": [PIECE | {"offset": 1 << 62}]}, "does not fit in", id="behind the end"),
        pytest.param({"pieces": [PIECE | {"offset": 1 << 63}]}, "no number of bytes", id="offset beyond"),
        pytest.param({"pieces": [PIECE | {"length": 10**30}]}, "no number of bytes", id="length beyond"),
        pytest.param({"pieces": [PIECE | {"inserted": 10**30}]}, "no number of bytes", id="inserted beyond"),
        pytest.param({"size_before": 10**30}, "no number of bytes", id="size beyond"),
        pytest.param({"pieces": [PIECE | {"line": "z"}]}, "no number of bytes or lines", id="line a text"),
        pytest.param({"pieces": [PIECE | {"line": -1}]}, "no number of bytes or lines", id="line below 0"),
        pytest.param({"pieces": [PIECE | {"line": 10**30}]}, "no number of bytes or lines", id="line beyond"),
        pytest.param({"pieces": [PIECE | {"line": True}]}, "no number of bytes or lines", id="line a truth"),
        pytest.param({"pieces": [PIECE, PIECE]}, "does not fit in", id="twice"),
        pytest.param({"pieces": []}, "sizes contradict", id="too few"),
        pytest.param({"pieces": [{"offset": 0}]}, "it has no length", id="half a piece"),
        pytest.param({"conversation": None}, "names no conversation", id="no conversation"),
        pytest.param({"conversation": "a"}, "is damaged", id="a user alone"),
        pytest.param({"conversation": "x/y"}, "lies in the quarantine of a", id="of somebody else"),
        pytest.param({"conversation": "a/b/c"}, "is damaged", id="no reference"),
        pytest.param({"pieces": None, "offset": None}, "does not say where", id="no place"),
        pytest.param({"pieces": None, "offset": "z"}, "does not say where", id="place a text"),
        pytest.param({"pieces": None, "offset": -1}, "does not say where", id="place below 0"),
        pytest.param({"pieces": None, "offset": 10**30}, "does not say where", id="place beyond any file"),
        pytest.param(
            {"pieces": None, "offset": (1 << 63) - 1},
            "no line begins at its byte",
            id="place behind it",
        ),
    ],
)
def test_a_damaged_note(facts: dict[str, Any], words: str, tmp_path: Path) -> None:
    """A note that contradicts itself, its bytes or the log is refused in words; nothing is changed."""
    path = fill(tmp_path, ONE + b"garbage\n" + TWO)
    store(tmp_path).repair("a/b")
    id = with_note(tmp_path, **facts)
    with pytest.raises(BadInput, match=words):
        store(tmp_path).quarantine_restore(id)
    assert (ONE + TWO, b"garbage\n") == (path.read_bytes(), store(tmp_path).quarantined(id))


@pytest.mark.parametrize("text", [None, b"", b"{", b"[1]", b"\xff"])
def test_a_missing_note(text: bytes | None, tmp_path: Path) -> None:
    """An item without a note that can be read is listed and shown, and refused in words."""
    fill(tmp_path, ONE + b"garbage\n" + TWO)
    store(tmp_path).repair("a/b")
    id = only_id(tmp_path)
    note = tmp_path / "quarantine" / "a" / f"{id}.json"
    note.unlink() if text is None else note.write_bytes(text)
    (listed,) = store(tmp_path).quarantine()
    assert (id, "the note is missing or cannot be read") == (listed["id"], listed["reason"])
    assert b"garbage\n" == store(tmp_path).quarantined(id)
    with pytest.raises(BadInput, match=r"the note of .* is (missing|damaged)"):
        store(tmp_path).quarantine_restore(id)


# -- the list ---------------------------------------------------------------------------------------------


def test_the_list_is_in_the_order_of_time(tmp_path: Path) -> None:
    """The oldest first, whatever the ids are; where each piece was is in the note of one item only."""
    ids = []
    for moment in (30, 10, 20):
        fill(tmp_path, ONE + b"garbage %d\n" % moment)
        store(tmp_path, now_us=NOW_US + moment).repair("a/b")
        ids.append(next(n["id"] for n in store(tmp_path).quarantine() if n["id"] not in ids))
    listed = store(tmp_path).quarantine()
    assert [ids[1], ids[2], ids[0]] == [note["id"] for note in listed]
    assert [False] * 3 == ["pieces" in note for note in listed]
    whole = store(tmp_path).quarantine_note(ids[0])
    assert listed[2] == {key: value for key, value in whole.items() if key != "pieces"}
    assert [PIECE | {"length": 11}] == whole["pieces"]


def test_a_long_note_is_listed_by_its_facts(tmp_path: Path) -> None:
    """The facts are read wherever the pieces begin, and a value that looks like them is no end."""
    fill(tmp_path, ONE + b"garbage\n")
    store(tmp_path).repair("a/b")
    for length in range(65_400, 65_600, 7):
        text = "x" * length + ',"pieces":['
        id = with_note(tmp_path, padding=text, pieces=None)
        path = tmp_path / "quarantine" / "a" / f"{id}.json"
        path.write_bytes(path.read_bytes().rstrip()[:-1] + b',"pieces":[' + b"{}," * 9_000 + b"{}]}")
        (note,) = store(tmp_path).quarantine()
        assert (text, False) == (note["padding"], "pieces" in note)


# -- single items -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tail", "before", "after"),
    [
        pytest.param(TORN, ONE + TWO, TORN + b"\n", id="torn tail"),
        pytest.param(b"\0\0\0", ONE + TWO, b"\0\0\0\n", id="zero bytes"),
        pytest.param(TWO[:-1] + TORN, ONE + TWO, TORN + b"\n", id="behind a whole message"),
        pytest.param(TORN, b"", TORN + b"\n", id="nothing else"),
    ],
)
def test_a_healed_tail_comes_back_as_a_line(tail: bytes, before: bytes, after: bytes, tmp_path: Path) -> None:
    """What append set aside is put back where it was, as a line of its own."""
    path = fill(tmp_path, before.removesuffix(TWO if tail.startswith(TWO[:-1]) else b"-") + tail)
    chat = store(tmp_path).conversation("a", "b")
    chat.append("later")
    later = path.read_bytes()[len(before) :]
    done = store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert before + after + later == path.read_bytes()
    assert (len(after), None) == (done.restored_bytes, done.appended_bytes)
    assert [] == store(tmp_path).quarantine()


def test_a_healed_tail_without_its_place(tmp_path: Path) -> None:
    """Where no line begins any more at that byte, or the bytes stand there again, nothing is put in."""
    path = fill(tmp_path, ONE + TORN)
    store(tmp_path).conversation("a", "b").append("later")
    for data, words in (
        (b"{}" + ONE, "no line begins"),
        (ONE[1:], "no line begins"),
        (ONE[:-1], "no line begins"),
        (ONE + TORN + b"\n", "already"),
    ):
        path.write_bytes(data)
        with pytest.raises(BadInput, match=words):
            store(tmp_path).quarantine_restore(only_id(tmp_path))
        assert data == path.read_bytes()


def test_summaries_behind_a_single_item(tmp_path: Path) -> None:
    """A message that an older memctl dropped comes back, and later summaries hide what they hid."""
    path = fill(tmp_path, ONE + THREE)
    with path.open("ab") as log:
        log.write(summary([ONE[:-1], THREE[:-1]], 1, "short") + b"\n" + LATER)
    chat = store(tmp_path).conversation("a", "b")
    item = tmp_path / "quarantine" / "a" / "20260304T090000Z-00000001"
    item.parent.mkdir(parents=True)
    item.with_suffix(".bytes").write_bytes(TWO)
    digest = hashlib.sha256(TWO).hexdigest()
    facts = {"conversation": "a/b", "reason": "dropped", "line": 2, "offset": len(ONE), "sha256": digest}
    item.with_suffix(".json").write_text(json.dumps(facts))
    done = store(tmp_path).quarantine_restore(item.name)
    assert ONE + TWO + THREE == path.read_bytes()[: len(ONE + TWO + THREE)]
    assert ["short", "two", "three", "later"] == [value["content"] for value in chat.window(0).messages]
    assert (1, None) == (done.summaries_rewritten, done.appended_bytes)


@pytest.mark.parametrize("has_pieces", [True, False])
def test_only_what_is_known_to_be_appended_is_said_to_be(
    has_pieces: bool, root: Path, memctl: Memctl
) -> None:
    """With the sizes of before in its note a restore says what was appended since, without them nothing."""
    path = fill(root, ONE + b"garbage\n" + TWO)
    store(root).repair("a/b")
    with path.open("ab") as log:
        log.write(LATER)
    id = only_id(root) if has_pieces else with_note(root, pieces=None)
    done = memctl("--root", str(root), "quarantine", "restore", id)
    assert (0, b"") == (done.returncode, done.stderr)
    assert ONE + b"garbage\n" + TWO + LATER == path.read_bytes()
    lines = [b"a/b has 8 bytes back; %s is no longer in quarantine" % id.encode()]
    if has_pieces:
        lines.append(b"kept behind it: %d bytes appended since" % len(LATER))
    assert lines == done.stdout.splitlines()


# -- activities -------------------------------------------------------------------------------------------


def test_bad_activities_come_back(tmp_path: Path) -> None:
    """Activities that repair took away are put back; not in the place of others."""
    fill(tmp_path, ONE)
    path = log_of(tmp_path, name="b.jsonl.activities")
    path.write_bytes(b"[1, 2")
    store(tmp_path).repair("a")
    assert not path.exists()
    path.write_bytes(b"[3]")
    with pytest.raises(AlreadyExists):
        store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert b"[3]" == path.read_bytes()
    path.unlink()
    done = store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert (b"[1, 2", 5, True) == (path.read_bytes(), done.restored_bytes, done.restored)
    assert (0o600, []) == (stat.S_IMODE(path.stat().st_mode), store(tmp_path).quarantine())


def test_stray_activities_come_back(tmp_path: Path) -> None:
    """Activities that a restored conversation replaced are put back once its own are away."""
    fill(tmp_path, ONE)
    chat = store(tmp_path).conversation("a", "b")
    chat.set_activities(b"[1]")
    chat.delete()
    path = log_of(tmp_path, name="b.jsonl.activities")
    path.write_bytes(b'["stray"]')
    store(tmp_path).restore("a", "b")
    with pytest.raises(AlreadyExists):
        store(tmp_path).quarantine_restore(only_id(tmp_path))
    path.unlink()
    store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert b'["stray"]' == chat.activities()


# -- names, modes, events ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a/b", "100%", ".hidden", "ü ü", "x.gz", "\x1b[31m", "-", "ID.json"])
def test_odd_names(name: str, tmp_path: Path) -> None:
    """Users and conversations with any name get back what is theirs."""
    chat = store(tmp_path).conversation(name, name)
    chat.append("one", id="m1")
    chat.append("two", id="m2")
    (path,) = (tmp_path / "conversations").glob("*/*")
    before = path.read_bytes()
    chat.drop(["m1"])
    done = store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert (before, chat.reference.written()) == (path.read_bytes(), done.conversation)


def test_mode_caches_and_event(tmp_path: Path) -> None:
    """The log keeps its mode, readers see it at once, and an event tells what happened."""
    path = fill(tmp_path, ONE + b"garbage\n" + TWO)
    path.chmod(0o640)
    chat = store(tmp_path).conversation("a", "b")
    store(tmp_path).repair("a/b")
    assert [] == chat.window(0).left_out
    id = only_id(tmp_path)
    store(tmp_path, run_id="r1").quarantine_restore(id)
    assert 0o640 == stat.S_IMODE(path.stat().st_mode)
    assert ["bad-json"] == [code for _, code in chat.window(0).left_out]
    event = json.loads((tmp_path / ".memctl" / "events" / "a.jsonl").read_bytes().splitlines()[-1])
    facts = {key: value for key, value in event.items() if key != "time"}
    wanted = {"type": "memory.restored", "user": "a", "run_id": "r1", "conversation": "b"}
    assert wanted | {"quarantine": id, "restored_bytes": 8} == facts
    assert {path.name} == set(os.listdir(path.parent))


# -- outside of a store -----------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A damaged file outside of any store."""
    path = tmp_path / "out" / "f.jsonl"
    path.parent.mkdir()
    path.write_bytes(ONE + b"garbage\n" + TWO + TORN)
    path.chmod(0o640)
    return path


def aside(path: Path) -> str:
    return f"{path}.quarantine"


def test_a_file_is_restored_in_place(outside: Path, tmp_path: Path) -> None:
    """The file is byte for byte what it was, with its mode; the file of quarantine goes."""
    before = outside.read_bytes()
    ours = store(tmp_path / "store")
    ours.repair(str(outside))
    assert ONE + TWO == outside.read_bytes()
    done = ours.quarantine_restore(None, aside(outside))
    assert (before, 0o640) == (outside.read_bytes(), stat.S_IMODE(outside.stat().st_mode))
    assert (None, str(outside), True) == (done.conversation, done.file, done.restored)
    assert {"f.jsonl", "f.jsonl.bak"} == set(os.listdir(outside.parent))
    assert not (tmp_path / "store").exists()


def test_repairs_of_a_file_are_undone_one_by_one(outside: Path, tmp_path: Path) -> None:
    """Without an id the newest repair is undone, then the one before it; that one alone is refused."""
    states = [outside.read_bytes()]
    ours = store(tmp_path / "store")
    ours.repair(str(outside), only=["torn-tail"])
    with outside.open("ab") as file:
        file.write(THREE)
    states.append(outside.read_bytes())
    ours.repair(str(outside))
    older, newer = (note["id"] for note in ours.quarantine(aside(outside)))
    assert b"garbage\n" == ours.quarantined(None, aside(outside))
    assert TORN == ours.quarantined(older, aside(outside))
    with pytest.raises(BadInput, match=newer):
        ours.quarantine_restore(older, aside(outside))
    assert newer == ours.quarantine_restore(None, aside(outside)).id
    assert states[1] == outside.read_bytes()
    assert 0o600 == stat.S_IMODE(os.stat(aside(outside)).st_mode)
    assert older == ours.quarantine_restore(None, aside(outside)).id
    assert states[0] + b"\n" + THREE == outside.read_bytes()
    assert not os.path.exists(aside(outside))


def test_a_repaired_copy_becomes_the_input(outside: Path, tmp_path: Path) -> None:
    """Beside a copy written with -o lies what makes the input's bytes of it."""
    copy = tmp_path / "out" / "copy.jsonl"
    ours = store(tmp_path / "store")
    ours.repair(str(outside), output=str(copy))
    assert ONE + TWO == copy.read_bytes()
    ours.quarantine_restore(None, aside(copy))
    assert outside.read_bytes() == copy.read_bytes()


def test_a_link_is_followed_to_the_file(outside: Path, tmp_path: Path) -> None:
    """The quarantine of a file is found by the name of a link to it; the link stays."""
    before = outside.read_bytes()
    link = tmp_path / "link.jsonl"
    link.symlink_to(outside)
    ours = store(tmp_path / "store")
    ours.repair(str(link))
    ours.quarantine_restore(None, aside(link))
    assert (before, True) == (outside.read_bytes(), link.is_symlink())


def test_files_that_are_refused(outside: Path, tmp_path: Path) -> None:
    """What is no file of quarantine, has no file, was changed, or has hard links is refused in words."""
    ours = store(tmp_path / "store")
    with pytest.raises(UsageError):
        ours.quarantine(str(outside))
    with pytest.raises(NotFound):
        ours.quarantine_restore(None, aside(outside))
    ours.repair(str(outside))
    with pytest.raises(NotFound):
        ours.quarantine_restore("none", aside(outside))
    os.link(outside, tmp_path / "other.jsonl")
    with pytest.raises(UsageError, match="hard links"):
        ours.quarantine_restore(None, aside(outside))
    os.unlink(tmp_path / "other.jsonl")
    outside.write_bytes(ONE)
    with pytest.raises(BadInput, match="was changed since"):
        ours.quarantine_restore(None, aside(outside))
    assert ONE == outside.read_bytes()
    outside.unlink()
    with pytest.raises(NotFound, match=r"no file .*f\.jsonl, "):
        ours.quarantine_restore(None, aside(outside))
    assert 1 == len(ours.quarantine(aside(outside)))


@pytest.mark.parametrize(
    "data",
    [
        b"text\n",
        b'{"id":"x","length":-5}\n',
        b'{"length":1}\nx\n',
        b'{"id":"x","length":1%s}\nx\n' % (b"0" * 30),
        b'{"id":"x","length":9223372036854775807}\nx\n',
        b'{"id":"x","length":1e400}\nx\n',
        b'{"id":"x","length":"1"}\nx\n',
        b'{"id":"x","length":9}\n1\n',
        b"[]\n",
        b"\n",
    ],
)
def test_a_damaged_file_of_quarantine(data: bytes, outside: Path, tmp_path: Path) -> None:
    """A file that is no quarantine, or that is damaged, is refused in words."""
    Path(aside(outside)).write_bytes(data)
    with pytest.raises(BadInput, match="is not a file of quarantine"):
        store(tmp_path / "store").quarantine(aside(outside))
    with pytest.raises(BadInput, match="is not a file of quarantine"):
        store(tmp_path / "store").quarantine_restore(None, aside(outside))


def put_text(at: Path) -> None:
    at.write_bytes(b"text\n")


def put_dangling_link(at: Path) -> None:
    at.symlink_to(at.parent / "nothing")


@pytest.mark.parametrize("put", [put_text, os.mkfifo, Path.mkdir, put_dangling_link])
def test_a_plan_is_refused_as_its_deed(put: Callable[[Path], None], outside: Path, tmp_path: Path) -> None:
    """What lies where the bytes would be kept and is no quarantine stops plan and deed in the same words."""
    before = outside.read_bytes()
    put(Path(aside(outside)))
    there = set(os.listdir(outside.parent))
    said = []
    for apply in (False, True):
        with pytest.raises(BadInput, match="is not a file of quarantine") as caught:
            store(tmp_path / "store").repair(str(outside), apply=apply)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert (before, there) == (outside.read_bytes(), set(os.listdir(outside.parent)))


def test_the_report_of_a_restore_shows_names(tmp_path: Path, memctl: Memctl) -> None:
    """A LF in the name of a file is an escape in the report, also where that is no terminal."""
    path = tmp_path / "two\nlines.jsonl"
    path.write_bytes(ONE + b"garbage\n")
    store(tmp_path / "store").repair(str(path))
    done = memctl("quarantine", "restore", "./two\nlines.jsonl.quarantine")
    assert (0, b"") == (done.returncode, done.stderr)
    (line,) = done.stdout.splitlines()
    assert line.startswith(b"./two\\nlines.jsonl has 8 bytes back; ")


# -- others at work ---------------------------------------------------------------------------------------


def test_a_held_lock_is_waited_for(tmp_path: Path) -> None:
    """While another process has the log's lock, or holds the file, nothing is restored."""
    root = tmp_path / "store"
    path = fill(root, ONE + b"garbage\n" + TWO)
    ours = Store(root, settings={"durability": "none", "lock.timeout_s": 0.05})
    ours.repair("a/b")
    file = tmp_path / "f.jsonl"
    file.write_bytes(ONE + b"garbage\n")
    ours.repair(str(file))
    held = file.open("rb")
    fcntl.flock(held, fcntl.LOCK_EX)
    with held, ours.setup.lock(ours.conversation("a", "b").reference, "test"):
        for restore in (
            lambda: ours.quarantine_restore(only_id(root)),
            lambda: ours.quarantine_restore(None, aside(file)),
        ):
            with pytest.raises(LockTimeout):
                restore()
    assert (ONE + TWO, ONE) == (path.read_bytes(), file.read_bytes())
    ours.quarantine_restore(only_id(root))
    ours.quarantine_restore(None, aside(file))
    assert (ONE + b"garbage\n" + TWO, ONE + b"garbage\n") == (path.read_bytes(), file.read_bytes())


@pytest.mark.parametrize("moment", ["while the new file is written", "after the rename"])
def test_a_writer_without_lock_loses_nothing(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a program without lock writes into the old file meanwhile is in the new one, once."""
    path = fill(tmp_path, ONE + b"garbage\n" + TWO)
    store(tmp_path).repair("a/b")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)

    def write_late() -> None:
        nonlocal fd
        if fd >= 0:
            os.write(fd, LATER)
            os.close(fd)
            fd = -1

    def sleep(_seconds: float) -> None:
        write_late()

    def edited(*given: Any) -> Iterator[bytes]:
        yield from real(*given)
        write_late()

    real = revision.edited
    if moment == "after the rename":
        monkeypatch.setattr(rewrite.time, "sleep", sleep)
    else:
        monkeypatch.setattr(undo.revision, "edited", edited)
    done = store(tmp_path).quarantine_restore(only_id(tmp_path))
    assert -1 == fd, "without a late line the test shows nothing"
    assert ONE + b"garbage\n" + TWO + LATER == path.read_bytes()
    assert len(LATER) == done.late_bytes + done.appended_bytes
