"""drop: single messages leave the log for quarantine; all other bytes and what summaries hide stay."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memctl import Conversation, Store
from memctl.core import covers
from memctl.errors import NotFound


def store(root: Path) -> Store:
    return Store(root, settings={"durability": "none", "heal.settle_ms": 0})


def log_of(root: Path) -> Path:
    return root / "conversations" / "a" / "b.jsonl"


def line(role: str, content: str, id: str, **more: Any) -> dict[str, Any]:
    own = {"id": id} | more.pop("own", {})
    return {"role": role, "content": content, **more, "extra": {**more.pop("extra", {}), "memctl": own}}


def chat_with(root: Path, *messages: dict[str, Any]) -> Conversation:
    chat = store(root).conversation("a", "b")
    chat.append(messages)
    return chat


def lines(root: Path) -> list[bytes]:
    return log_of(root).read_bytes().splitlines(keepends=True)


def aside(root: Path) -> list[bytes]:
    return sorted(store(root).quarantined(item["id"]) for item in store(root).quarantine())


CALL = {
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
}
GROUP = (
    line("user", "question", "q"),
    line("assistant", "", "call", **CALL),
    line("tool", "one", "r1", tool_call_id="c1"),
    line("tool", "two", "r2", tool_call_id="c2"),
    line("assistant", "answer", "a"),
)


@pytest.mark.parametrize("id", ["call", "r1", "r2"])
def test_a_call_goes_with_its_results(id: str, tmp_path: Path) -> None:
    """Whichever of a call and its results is named, all of them go, and all are in quarantine."""
    chat = chat_with(tmp_path, *GROUP)
    before = lines(tmp_path)
    done = chat.drop([id])
    assert ["call", "r1", "r2"] == [item["id"] for item in done.dropped]
    assert [before[0], before[4]] == lines(tmp_path)
    assert [b"".join(before[1:4])] == aside(tmp_path)
    assert sum(map(len, before[1:4])) == done.quarantined_bytes


def test_the_plan_changes_nothing(tmp_path: Path) -> None:
    """Without `apply` the same messages are named and nothing is changed."""
    chat = chat_with(tmp_path, *GROUP)
    before = log_of(tmp_path).read_bytes()
    plan = chat.drop(["r1"], apply=False)
    assert (before, []) == (log_of(tmp_path).read_bytes(), aside(tmp_path))
    assert plan._replace(applied=True) == chat.drop(["r1"])


def test_an_unknown_id_changes_nothing(tmp_path: Path) -> None:
    """If one of the ids is not there, none is dropped."""
    chat = chat_with(tmp_path, *GROUP)
    before = log_of(tmp_path).read_bytes()
    with pytest.raises(NotFound):
        chat.drop(["a", "nothing"])
    assert (before, []) == (log_of(tmp_path).read_bytes(), aside(tmp_path))


def summary(messages: list[bytes], kept: int, id: str) -> dict[str, Any]:
    """A summary that stands for all messages before itself except the `kept` directly before it."""
    boundary = len(messages) - kept
    own = {
        "covers": {
            "kept": kept,
            "last": covers.fingerprint(messages[max(0, boundary - 3) : boundary]),
            "next": covers.fingerprint(messages[boundary : boundary + 3]),
        }
    }
    return line("assistant", f"summary {id}", id, own=own, extra={"__eino_ext_memory_summary": True})


def shown(chat: Conversation) -> list[str]:
    return [value["extra"]["memctl"]["id"] for value in chat.window(0).messages]


@pytest.mark.parametrize("dropped", [f"m{n}" for n in range(12)] + ["s1"])
def test_windows_hide_the_same(dropped: str, tmp_path: Path) -> None:
    """After a drop, the window is what it was, without what was dropped: summaries are told anew."""
    chat = store(tmp_path).conversation("a", "b")
    for n in range(12):
        role = "user" if n % 2 == 0 else "assistant"
        chat.append(line(role, f"text {n}", f"m{n}"))
        for at, kept, id in ((7, 4, "s1"), (9, 4, "s2")):
            if n == at:
                chat.append(summary([raw.rstrip(b"\n") for raw in lines(tmp_path)], kept, id))
    before = shown(chat)
    others = [
        raw for raw in lines(tmp_path) if b"covers" not in raw and b'"%b"' % dropped.encode() not in raw
    ]
    # Both summaries have to be in force for this to show anything.
    assert ("s2" in before, "m0" in before, "m4" in before) == (True, False, False)
    chat.drop([dropped])
    assert [id for id in before if id != dropped] == shown(chat)
    assert others == [raw for raw in lines(tmp_path) if b"covers" not in raw]


def test_a_drop_is_one_item(tmp_path: Path) -> None:
    """All that a drop takes out is one item: the messages, and what later summaries said before."""
    chat = chat_with(tmp_path, *GROUP)
    chat.append(summary([raw.rstrip(b"\n") for raw in lines(tmp_path)], 1, "s"))
    before = lines(tmp_path)
    done = chat.drop(["q", "r1"])
    (note,) = store(tmp_path).quarantine()
    assert ("a/b", "dropped", 1, 0) == tuple(
        note[key] for key in ("conversation", "reason", "line", "offset")
    )
    pieces = store(tmp_path).quarantine_note(note["id"])["pieces"]
    assert [("dropped", 0, sum(map(len, before[:4]))), ("covers", sum(map(len, before[:5])))] == [
        (pieces[0]["code"], pieces[0]["offset"], pieces[0]["length"]),
        (pieces[1]["code"], pieces[1]["offset"]),
    ]
    assert [b"".join(before[:4]) + before[5][:-1]] == aside(tmp_path)
    assert (1, len(aside(tmp_path)[0])) == (done.summaries_rewritten, done.quarantined_bytes)


@pytest.mark.parametrize(
    ("front", "end"),
    [
        pytest.param(b"", b"\r\n", id="crlf"),
        pytest.param(b"\xef\xbb\xbf", b"\n", id="bom"),
        pytest.param(b'{"role":"user","content":"glued"}', b"\n", id="behind another message"),
        pytest.param(b"", b'{"role":"user","content":"glued"}\n', id="in front of another message"),
        pytest.param(b'{"role":"user","content":"to', b"\n", id="behind a torn one"),
        pytest.param(b"", b"", id="no newline"),
    ],
)
def test_only_the_summary_of_its_line_is_rewritten(front: bytes, end: bytes, tmp_path: Path) -> None:
    """What stands on the line of a summary beside it stays byte for byte; the summary hides what it hid."""
    chat = chat_with(tmp_path, *GROUP[:1], *GROUP[4:], line("user", "last", "last"))
    rows = [raw.rstrip(b"\n") for raw in lines(tmp_path)]
    glued = [front] if front.endswith(b"}") else []
    own = json.dumps(summary([*rows, *glued], 1 + len(glued), "s")).encode()
    with log_of(tmp_path).open("ab") as log:
        log.write(front + own + end)
    assert ["s", "last"] == contents(chat)[:2]
    done = chat.drop(["q"])
    now = log_of(tmp_path).read_bytes()
    kept = b"\n".join(rows[1:]) + b"\n" + front
    assert (kept, end) == (now[: len(kept)], now[len(now) - len(end) :])
    assert "s" == json.loads(now[len(kept) : len(now) - len(end)])["extra"]["memctl"]["id"]
    assert (1, ["s", "last"]) == (done.summaries_rewritten, contents(chat)[:2])


def contents(chat: Conversation) -> list[str]:
    """What the window shows, a summary by its id."""
    return [value["content"].removeprefix("summary ") for value in chat.window(0).messages]


def test_all_may_go(tmp_path: Path) -> None:
    """A log whose last message is dropped is empty, not gone."""
    chat = chat_with(tmp_path, line("user", "only", "x"))
    chat.drop(["x"])
    assert b"" == log_of(tmp_path).read_bytes()


@pytest.mark.parametrize("tail", [b'{"role":"us', b'{"role":"user","content":"no newline"}'])
def test_a_tail_stays(tail: bytes, tmp_path: Path) -> None:
    """What lies behind the last LF stays at the end, as it is."""
    chat = chat_with(tmp_path, *GROUP)
    with log_of(tmp_path).open("ab") as log:
        log.write(tail)
    before = log_of(tmp_path).read_bytes()
    answer = lines(tmp_path)[4]
    chat.drop(["a"])
    assert before.replace(answer, b"") == log_of(tmp_path).read_bytes()


def test_an_unterminated_message_can_be_dropped(tmp_path: Path) -> None:
    """The last message can be dropped although its LF is missing."""
    chat = chat_with(tmp_path, *GROUP)
    os.truncate(log_of(tmp_path), log_of(tmp_path).stat().st_size - 1)
    before = lines(tmp_path)
    chat.drop(["a"])
    assert (before[:4], [before[4]]) == (lines(tmp_path), aside(tmp_path))


def test_a_writer_without_lock_loses_nothing(tmp_path: Path) -> None:
    """What a program without lock appends while logs are replaced is all there in the end, once."""
    messages, drops = 3_000, 40
    chat = chat_with(tmp_path, *(line("user", f"old {n}", f"old {n}") for n in range(drops)))
    path = log_of(tmp_path)
    pid = os.fork()
    if pid == 0:
        try:
            for n in range(messages):
                fd = os.open(path, os.O_WRONLY | os.O_APPEND)
                os.write(fd, b'{"role":"user","content":"foreign %d"}' % n)
                os.write(fd, b"\n")
                os.close(fd)
        finally:
            os._exit(0)
    chat = Store(tmp_path, settings={"durability": "none"}).conversation("a", "b")
    late = sum(chat.drop([f"old {n}"]).late_bytes for n in range(drops))
    os.waitpid(pid, 0)
    found = [json.loads(raw)["content"] for raw in lines(tmp_path)]
    assert [f"foreign {n}" for n in range(messages)] == sorted(found, key=lambda text: int(text.split()[1]))
    # Without any the test would have shown nothing.
    assert late > 0


def test_a_line_written_through_an_old_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that opened the log before it was replaced, and writes after, is waited for."""
    from memctl.store import rewrite

    chat = chat_with(tmp_path, *GROUP)
    fd = os.open(log_of(tmp_path), os.O_WRONLY | os.O_APPEND)
    naps = 0

    def sleep(_seconds: float) -> None:
        nonlocal naps, fd
        naps += 1
        if naps == 3:
            os.write(fd, b'{"role":"user","content":"late"}\n')
            os.close(fd)

    monkeypatch.setattr(rewrite.time, "sleep", sleep)
    done = chat.drop(["q"])
    assert b'{"role":"user","content":"late"}\n' == lines(tmp_path)[-1]
    assert len(lines(tmp_path)[-1]) == done.late_bytes
