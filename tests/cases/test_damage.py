"""Damaged files: what is served, what is left out, and that it is said. B01 to B24, as far as they read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memctl import Store, errors

from .inputs import Printed, Put, Run, Write, case_bytes, case_lines

B05 = case_lines("B05")
B18_MENDED = (
    case_lines("B18")[1].decode("latin-1").replace("\xe9", "\ufffd").replace("\x97", "\ufffd").encode()
)
B19_MENDED = case_lines("B19")[1].replace(b"NaN", b"null").replace(b"-Infinity", b"null")


def pick(case: str, *numbers: int) -> list[bytes]:
    """Lines of a case's input, counted from 1."""
    lines = case_lines(case)
    return [lines[number - 1] for number in numbers]


# case, size of its input, what is printed, what is left out, the code of what is mended
CASES: list[Any] = [
    ("B01", 162, pick("B01", 1, 2, 3), [(4, "torn-tail")], ""),
    ("B02", 210, pick("B02", 1, 2, 4, 5, 6), [(3, "bad-json")], ""),
    ("B05", 178, [B05[0], B05[1][:71] + b"\n", B05[1][71:], B05[2]], [], "glued-lines"),
    ("B10", 143, pick("B10", 1, 3), [(2, "bad-json")], ""),
    ("B11", 112, [case_bytes("B11")[3:].split(b"\n")[0] + b"\n", *pick("B11", 2, 3)], [], "bom"),
    ("B13", 132, pick("B13", 1, 2, 3), [], ""),
    ("B14", 89, pick("B14", 1, 4), [(5, "bad-json")], ""),
    ("B16", 286, pick("B16", 1, 2, 3, 4), [], ""),
    ("B18", 105, [*pick("B18", 1), B18_MENDED, *pick("B18", 3)], [], "bad-utf8"),
    ("B19", 239, [*pick("B19", 1), B19_MENDED], [], "bad-number"),
    ("B20", 154, pick("B20", 1), [(2, "torn-tail")], ""),
    ("B22", 111, pick("B22", 1, 2), [], ""),
    ("B24", 120, pick("B24", 1, 7), [(line, "not-a-message") for line in range(2, 7)], ""),
]


@pytest.mark.parametrize(
    ("case", "size_bytes", "expected", "left_out", "mended"), CASES, ids=[row[0] for row in CASES]
)
def test_what_can_be_read_is_served_and_the_rest_named(
    printed: Callable[..., Printed],
    store: Store,
    tmp_path: Path,
    case: str,
    size_bytes: int,
    expected: list[bytes],
    left_out: list[tuple[int, str]],
    mended: str,
) -> None:
    """The window has every message that the file holds, byte for byte or mended, and names all else."""
    data = case_bytes(case)
    assert size_bytes == len(data)
    window = printed(data)
    assert expected == window.lines
    assert left_out == window.left_out
    assert {code for _, code in left_out} | ({mended} if mended else set()) == window.named
    for line, code in left_out:
        assert any(code in phrase and _names(phrase, line) for phrase in window.talk)
    talk = store.at(str(tmp_path / "input.jsonl"))
    assert len(expected) == talk.count("bytes4").messages
    assert expected == [message.raw + b"\n" for message in talk.messages()]
    if left_out:
        with pytest.raises(errors.StrictFinding) as refused:
            talk.window(0, strict=True)
        assert 65 == refused.value.exit_code


def _names(phrase: str, line: int) -> bool:
    numbers = phrase[phrase.rindex("(line") :].strip("(lines)").replace(" ", "").split(",")
    spans = [tuple(map(int, (number.split("-") * 2)[:2])) for number in numbers]
    return any(first <= line <= last for first, last in spans)


def test_b05_the_same_messages_everywhere(store: Store, put: Put) -> None:
    """Two objects on one line are two messages to list, count, show and window, braces in text or not."""
    put("b05", case_bytes("B05"))
    contents = ["first", 'brace pair in text: }{ and a quote \\" end', "answer", "last"]
    talk = store.conversation("alice", "b05")
    assert 4 == store.conversations("alice").conversations[0].messages
    assert 4 == talk.count().messages
    assert contents == [message.content for message in talk.messages()]
    assert contents == [json.loads(line)["content"] for line in talk.window(0).lines]


def test_b11_a_bom_does_not_hide_the_system_message(store: Store, put: Put) -> None:
    """A byte-order mark at the start goes in what is printed; the head behind it is a head."""
    put("b11", case_bytes("B11"))
    assert [(3, "assistant")] == [
        (row.messages, row.last_role) for row in store.conversations("alice").conversations
    ]
    window = store.conversation("alice", "b11").window(1)
    assert ["be brief", "hi", "hello"] == [json.loads(line)["content"] for line in window.lines]


def test_b13_separators_do_not_end_lines(memctl: Run, root: Path, put: Put) -> None:
    """U+2028, U+2029 and U+0085 are text: what has them is read, appended to and shown as text."""
    path = put("b13", case_bytes("B13"))
    assert 0 == memctl("--root", str(root), "append", "alice/b13", "a\u2028b").returncode
    assert 0 == memctl("--root", str(root), "append", "alice/b13", "c").returncode
    lines = path.read_bytes().split(b"\n")
    assert (6, case_bytes("B13")) == (len(lines), path.read_bytes()[:132])
    contents = [json.loads(line)["content"] for line in lines[:-1]]
    assert ["a\u2028b", "c"] == contents[3:]
    assert {"\u2028", "\u2029", "\x85"} <= set("".join(contents[:3]))
    for command in ("window", "show"):
        text = memctl("--root", str(root), command, "alice/b13", "-f", "text").stdout
        assert "\x85".encode() not in text and b"\\x85" in text


@pytest.mark.parametrize("form", ["json", "openai", "anthropic"])
def test_b16_lone_halves_become_replacement_characters(memctl: Run, file: Write, form: str) -> None:
    """What is made for services is strict UTF-8 without half a pair, in any locale."""
    file(case_bytes("B16"))
    done = memctl("window", "./input.jsonl", "-f", form, env={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"})
    assert (0, b"") == (done.returncode, done.stderr)
    assert "done \ufffd… tail" in done.stdout.decode("utf-8")
    assert b"\\ud83d" not in done.stdout
    json.loads(done.stdout)


def test_b19_a_result_with_bad_numbers_answers_its_call(printed: Callable[..., Printed]) -> None:
    """Everything printed is strict JSON, and no other number of the line is touched."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    window = printed(case_bytes("B19"))
    for line in window.lines:
        json.loads(line, parse_constant=refuse)
    assert b'"extra":{"score":null,"max":null,"n":1e400}}\n' in window.lines[1]


def test_b20_digits_survive(memctl: Run, root: Path, put: Put) -> None:
    """Large integers and the spelling of numbers survive append, rebuild, show and the JSON form."""
    path = put("b20", case_bytes("B20"))
    first = case_lines("B20")[0]
    done = memctl("--root", str(root), "append", "alice/b20", "z", "--json")
    assert [("torn-tail", 2, 121, 33)] == [
        (item["code"], item["line"], item["offset"], item["length"])
        for item in json.loads(done.stdout)["healed"]
    ]
    assert 0 == memctl("--root", str(root), "rebuild-index", "alice/b20").returncode
    assert path.read_bytes().startswith(first)
    for command in ("window", "show"):
        assert memctl("--root", str(root), command, "alice/b20", "-f", "jsonl").stdout.startswith(first)
    array = memctl("--root", str(root), "window", "alice/b20", "-f", "json").stdout
    assert b'"id":2512292042121000001,"h":123456789012345678901234567890' in array


def test_b22_the_last_of_two_keys_counts(memctl: Run, file: Write) -> None:
    """Of a repeated key the last value is what services, people and counters are given."""
    file(case_bytes("B22"))
    assert "second" == json.loads(memctl("window", "./input.jsonl", "-f", "openai").stdout)[0]["content"]
    text = memctl("window", "./input.jsonl", "-f", "text").stdout
    assert b"second" in text and b"first" not in text
    alone = case_lines("B22")[0]
    file(alone)
    twice = memctl("count", "./input.jsonl", "--counter", "bytes4").stdout
    file(b'{"role":"user","content":"second"}\n')
    assert memctl("count", "./input.jsonl", "--counter", "bytes4").stdout == twice


def test_strict_prints_nothing_and_exits_65(memctl: Run, file: Write) -> None:
    """With --strict a file that holds what has to be left out gives no window."""
    file(case_bytes("B02"))
    done = memctl("window", "./input.jsonl", "-b", "0", "--strict")
    assert (65, b"") == (done.returncode, done.stdout)
    assert b"bad-json (line 3)" in done.stderr
