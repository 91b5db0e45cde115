"""Untouched lines are untouched: every byte of them is in the result, in the order of the file."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from memctl import Store

LINES = 10_000
NUMBERS = (
    "1.10",
    "1E5",
    "1e-400",
    "-0.0",
    "-0",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
    "18446744073709551616",
    "1e999",
    "2.50E+07",
)
TEXTS = (
    r"\u00e9",
    r"\/",
    r"\ud83d\ude00",
    r"\uD83D\uDE00",
    r"\ud83d",
    r"\udc00 \ud800",
    r"\u0000\b\f\"\\",
    "é 日本語 🙂",
    "\u2028\u2029\x85\x7f",
    "\ufeff",
    r"}{\"role\":\"user\"}",
)
SPACES = ("", "", " ", "\t", "  ", " \t ")

#: What happens to a line, and what stands there after the repair; None: it leaves.
DAMAGED = {
    "cut": (lambda line: line[: len(line) // 2], lambda line: None),
    "zeros": (lambda line: line + b"\0\0", lambda line: line),
    "mark": (lambda line: b"\xef\xbb\xbf" + line, lambda line: line),
    "CR": (lambda line: line + b"\r", lambda line: line),
    "NaN": (lambda line: line[:-1] + b',"n":NaN}', lambda line: line[:-1] + b',"n":null}'),
    "Latin-1": (lambda line: line[:-1] + b',"t":"\xe9"}', lambda line: line[:-1] + b',"t":"\xef\xbf\xbd"}'),
    "glued": (lambda line: line + b'{"role":"function"}', lambda line: line + b'\n{"role":"function"}'),
    "torn in front": (lambda line: b'{"role":"us' + line, lambda line: line),
    "array": (lambda line: b"[" + line + b"]", lambda line: None),
}


class _Writer:
    """Messages as no encoder writes them all, but each valid JSON."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"odd {seed}")

    def line(self, number: int) -> bytes:
        rng = self.rng
        members = [
            ("role", f'"{rng.choice(("user", "assistant", "function"))}"'),
            ("content", self._text(number)),
            ("n", rng.choice(NUMBERS)),
            *((f"k{at}", self._value(2)) for at in range(rng.randint(0, 3))),
        ]
        if rng.random() < 0.2:
            members.append(("n", rng.choice(NUMBERS)))
        rng.shuffle(members)
        # The last of two roles counts.
        role = next(value for key, value in members if key == "role")
        if rng.random() < 0.1:
            members.append(("role", role))
        return (self._object(members) + rng.choice(("", "", " ", " \t"))).encode()

    def _text(self, number: int) -> str:
        return f'"{number} {"".join(self.rng.choice(TEXTS) for _ in range(self.rng.randint(0, 3)))}"'

    def _value(self, depth: int) -> str:
        rng = self.rng
        kind = rng.choice(("number", "text", "word", "list", "object")) if depth else "number"
        if kind == "number":
            return rng.choice(NUMBERS)
        if kind == "text":
            return self._text(0)
        if kind == "word":
            return rng.choice(("true", "false", "null"))
        if kind == "list":
            return f"[{self._gap()}{','.join(self._value(depth - 1) for _ in range(rng.randint(1, 3)))}]"
        key = rng.choice(("a", "a", r"\u0061", ""))
        return self._object([(key, self._value(depth - 1)) for _ in range(rng.randint(1, 2))])

    def _object(self, members: list[tuple[str, str]]) -> str:
        gap = self._gap
        inner = ",".join(f'{gap()}"{key}"{gap()}:{gap()}{value}{gap()}' for key, value in members)
        return f"{{{inner}}}"

    def _gap(self) -> str:
        return self.rng.choice(SPACES)


@pytest.mark.parametrize("every", [2, 7, 100])
def test_untouched_lines_are_untouched(tmp_path: Path, every: int) -> None:
    """Each k-th line is damaged and repaired; the others are byte for byte what they were, in order."""
    writer = _Writer(every)
    kinds = list(DAMAGED)
    lines: list[bytes] = []
    expected: list[bytes] = []
    hurt = 0
    for number in range(LINES):
        line = writer.line(number)
        if number % every:
            lines.append(line)
            expected.append(line)
            continue
        stripped = line.rstrip()
        before, after = DAMAGED[kinds[hurt % len(kinds)]]
        hurt += 1
        lines.append(before(stripped))
        mended = after(stripped)
        if mended is not None:
            expected.append(mended)
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    store = Store(tmp_path / "store", settings={"durability": "none"})
    done = store.repair(str(path))
    assert hurt == done.fixed
    assert b"\n".join([*expected, b""]).split(b"\n") == path.read_bytes().split(b"\n")
    assert 0 == store.repair(str(path)).fixed


def test_the_lines_are_as_odd_as_they_are_said_to_be() -> None:
    """Each odd number and text occurs, most lines are not what an encoder writes, and all can be read."""
    writer = _Writer(0)
    lines = [writer.line(number) for number in range(1_000)]
    data = b"\n".join(lines)
    for odd in (*NUMBERS, *TEXTS):
        assert odd.encode() in data
    again = [json.dumps(json.loads(line), separators=(",", ":"), ensure_ascii=False) for line in lines]
    assert 900 < sum(
        line != text.encode("utf-8", "surrogatepass") for line, text in zip(lines, again, strict=True)
    )
