"""The index of messages agrees with the logs: what counts as a document, its place, and what changes."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from memctl.store.search.catching_up import Report, differences, open_current
from memctl.store.search.messages import LogFile, Logs

from .conftest import USER, answers, lines

WORDS = ("cat", "dog", "tea", "box", "ssh", "port", "sun?", "2023", "July", "猫")
QUERIES = ("cat", "tea box", "when did the dog see the sun", "july 2023", "猫")


def places(memory: Any, query: str) -> list[tuple[str, int, int]]:
    """Conversation, offset and which of its line: the messages that answer."""
    with memory.open("messages") as index:
        return [(place.source, place.start, place.rev) for place, _ in answers(index, query)]


def message(chance: random.Random, number: int) -> dict[str, Any]:
    """A message that may meet others in text and time."""
    own = {"created_at": 1.6e9 + number * chance.choice([60, 9000])} if chance.random() < 0.7 else {}
    text = " ".join(chance.choices(WORDS, k=chance.randint(1, 6)))
    return {"role": "user", "name": chance.choice(["Anna", "Bo"]), "content": text, "extra": {"memctl": own}}


@pytest.mark.parametrize("seed", range(8))
def test_what_caught_up_answers_as_what_is_made_anew(memory: Any, seed: int) -> None:
    """After appends, rewrites and deletions the kept index gives the answers of a new one."""
    chance = random.Random(seed)
    logs: dict[str, list[dict[str, Any]]] = {}
    for step in range(20):
        name = chance.choice(["a", "b", "c d"])
        old = logs.get(name, [])
        kind = chance.choice(["append", "append", "append", "cut", "insert", "delete"])
        new = [message(chance, step * 10 + n) for n in range(4)]
        if kind == "append" or not old:
            logs[name] = old + new
            with memory.log(name).open("ab") as file:
                file.writelines(lines(new))
        elif kind == "delete":
            del logs[name]
            memory.log(name).unlink()
        else:
            at = chance.randrange(len(old))
            logs[name] = old[:at] + old[at + 2 :] if kind == "cut" else old[:at] + new + old[at:]
            memory.log(name).with_suffix(".x").write_bytes(b"".join(lines(logs[name])))
            os.replace(memory.log(name).with_suffix(".x"), memory.log(name))
        with memory.open("messages") as kept, memory.open("messages", kept=False) as fresh:
            assert sum(map(len, logs.values())) == kept.corpus.live
            for query in QUERIES:
                assert answers(fresh, query) == answers(kept, query), (step, kind, query)
        assert 0 == differences(memory.index_path("messages"), Logs(memory.layout, USER))


@pytest.mark.parametrize(
    ("given", "is_found"),
    [
        ({"content": "zebra"}, True),
        ({"content": [{"type": "text", "text": "a zebra"}, {"type": "image_url"}]}, True),
        ({"content": ["plain", "zebra"]}, True),
        ({"content": None, "user_input_multi_content": [{"type": "text", "text": "zebra"}]}, True),
        ({"content": "", "multi_content": [{"type": "text", "text": "zebra"}]}, True),
        ({"role": "tool", "content": "zebra", "tool_call_id": "1"}, True),
        ({"content": "zebra", "extra": {"__eino_ext_memory_summary": True}}, True),
        ({"content": "zebra", "extra": {"__eino_ext_memory_ephemeral": True}}, False),
        ({"content": None, "tool_calls": [{"function": {"name": "zebra"}}]}, False),
        ({"content": " \n"}, False),
        ({"content": [{"type": "text", "text": 7}, 8, None]}, False),
        ({"content": "zebra", "name": 5, "extra": {"memctl": {"created_at": "never"}}}, True),
    ],
)
def test_what_is_a_document(memory: Any, given: dict[str, Any], is_found: bool) -> None:
    """Text of a message, that of its parts too; ephemeral and empty messages are left out."""
    memory.say("c", **{"content": "other words", "role": "user"} | given)
    memory.say("c", "other words")
    assert ([("c", 0, 0)] if is_found else []) == places(memory, "zebra")[: 1 if is_found else None]


def test_a_line_with_two_messages(memory: Any) -> None:
    """Each message of a glued line is found; the place says which of the line it is."""
    line = json.dumps({"role": "user", "content": "cat"}) + json.dumps({"role": "user", "content": "dog"})
    memory.log("c").write_text(line + "\n")
    assert ("c", 0, 1) == places(memory, "dog")[0]
    assert ("c", 0, 0) == places(memory, "cat")[0]


def test_a_last_line_without_its_end(memory: Any) -> None:
    """A whole message counts without its LF, and once; a torn one counts when it is whole."""
    memory.say("c", "cat")
    end = memory.log("c").stat().st_size
    with memory.log("c").open("ab") as file:
        file.write(json.dumps({"role": "user", "content": "dog"}).encode())
    assert [("c", end, 0)] == places(memory, "dog")[:1]
    with memory.log("c").open("ab") as file:
        file.write(b'\n{"role":"user","con')
    with memory.open("messages") as index:
        assert 2 == index.corpus.live
    with memory.log("c").open("ab") as file:
        file.write(b'tent":"cow"}\n')
    assert 1 == len([place for place in places(memory, "cow") if place[1] > end])
    with memory.open("messages") as index:
        assert 3 == index.corpus.live


def test_only_logs_are_read(memory: Any) -> None:
    """Strays, directories, links and names that do not decode are no conversations."""
    memory.say("c", "cat")
    folder = memory.log("c").parent
    (folder / "index.json").write_text('{"role":"user","content":"cat"}')
    (folder / "x.jsonl.activities").write_text("[]")
    (folder / "folder.jsonl").mkdir()
    (folder / "%zz.jsonl").write_text('{"role":"user","content":"cat"}\n')
    (folder / "link.jsonl").symlink_to(memory.log("c"))
    assert [("c", 0, 0)] == places(memory, "cat")


def test_of_a_user_without_conversations_nothing_is_found(memory: Any) -> None:
    """A user who is not there has no messages, and no error."""
    assert [] == places(memory, "cat")


def test_one_file_by_its_path(tmp_path: Path) -> None:
    """A file outside of a store is searched as a conversation is, its index in memory."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b"".join(lines([{"role": "user", "content": text} for text in ("cat", "dog", "cow")])))
    fd = os.open(path, os.O_RDONLY)
    try:
        index, report = open_current(None, LogFile(fd, "talk"))
        with index:
            place, _ = answers(index, "dog")[0]
            line = LogFile(fd, "talk").line(place, index.marks["talk"])
    finally:
        os.close(fd)
    assert Report(rebuilt=True, added=3, saved=False) == report
    assert line is not None
    assert "dog" == json.loads(line)["content"]


def test_a_log_that_is_another_has_no_line(memory: Any) -> None:
    """Where a log was replaced or removed since it was read, its places give nothing."""
    memory.say("c", "cat")
    truth = Logs(memory.layout, USER)
    with memory.open("messages") as index:
        place, _ = answers(index, "cat")[0]
        mark = index.marks["c"]
    assert truth.line(place, mark) == memory.log("c").read_bytes().rstrip(b"\n")
    data = memory.log("c").read_bytes()
    memory.log("c").with_suffix(".x").write_bytes(data)
    os.replace(memory.log("c").with_suffix(".x"), memory.log("c"))
    assert truth.line(place, mark) is None
    memory.log("c").unlink()
    assert truth.line(place, mark) is None


def test_turns_follow_the_log_not_the_times(memory: Any) -> None:
    """The neighbours of a message are those of its log, whatever their times say."""
    for number, time in enumerate((500, 400, 300, None, 100)):
        more = {} if time is None else {"extra": {"memctl": {"created_at": 1.6e9 + time}}}
        memory.say("c", f"word{number}", **more)
    with memory.open("messages") as index:
        assert [0, 1, 2, 3, 4] == index.corpus.order.tolist()
        assert [1] * 5 == index.corpus.session.tolist()
