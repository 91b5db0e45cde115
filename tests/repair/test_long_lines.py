"""Long lines are looked at in another way than short ones, and come out the same."""

from __future__ import annotations

import random

import pytest

from memctl.core import faults, jsonl, long_lines, mending, utf8
from memctl.core.line_examination import DEFAULT
from tests.bench import mutations

#: What the contents of the messages are made longer by: each a string of another kind.
_FILLERS = (
    *(b"x" * 50, b"\\n " * 20, b" " * 60, "ä€".encode() * 20, b"\xe4" * 50, b"ab\xffcd" * 9, b'\\\\\\"' * 14),
    *(b"\\ud83d" + b"y" * 40, b"\\ud83d\\ude00" * 5, b"\\ude00" * 9, b"x\0" * 30, b'{\\"role\\":1}' * 4, b""),
)


def _lines(seed: int) -> list[tuple[bytes, bool]]:
    """The lines of a fuzzed file, with longer contents, and whether each is ended."""
    rng = random.Random(f"long {seed}")
    lines = mutations.make(seed).split(b"\n")
    key = b'"content":"'
    longer = [line.replace(key, key + rng.choice(_FILLERS)) for line in lines]
    return [(line, True) for line in longer[:-1]] + ([(longer[-1], False)] if longer[-1] else [])


def _told(looked: faults.Looked) -> object:
    """What is said of a line. Why a line is bad has another place in an outline."""
    named = [
        fault if fault.code not in ("bad-json", "torn-tail", "unknown-role") else fault._replace(detail="")
        for fault in looked.faults
    ]
    return named, [(piece.stored, piece.code, piece.mended, piece.message is None) for piece in looked.pieces]


@pytest.mark.parametrize("first", range(0, 800, 100))
def test_an_outline_tells_the_same_as_the_line(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces, faults with their bytes and remedies are those of the ordinary way, or it is left to that."""
    monkeypatch.setattr(long_lines, "_KEPT_BYTES", 34)
    told = 0
    for seed in range(first, first + 100):
        for line, terminated in _lines(seed):
            with monkeypatch.context() as patch:
                patch.setattr(utf8, "_LONG_BYTES", 1)
                looked = long_lines.look(line, terminated)
            if looked is None:
                continue
            told += 1
            expected = faults.look(line, terminated=terminated)
            assert _told(expected) == _told(looked), (seed, line)
            for wanted in (DEFAULT, DEFAULT | {"bad-text"}, {"bad-utf8"}, {"nul-bytes"}, {"bad-number"}):
                mended = mending.mend(line, looked, wanted, [True])
                assert mending.mend(line, expected, wanted, [True]) == mended, (seed, line)
    assert told > 200


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("seed", range(40))
def test_bytes_that_are_not_utf8(seed: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those that Python's decoder escapes, in long texts as in short ones."""
    monkeypatch.setattr(utf8, "_LONG_BYTES", size)
    rng = random.Random(f"utf8 {seed}")
    pool = [*"aä€🙂".encode(), 0x80, 0xBF, 0xC0, 0xC1, 0xE0, 0xED, 0xA0, 0xF0, 0xF4, 0x90, 0xF5, 0xFF]
    for _ in range(300):
        data = bytes(rng.choices(pool, k=rng.randrange(12)))
        text = data.decode("utf-8", "surrogateescape")
        escaped = ["\udc80" <= character <= "\udcff" for character in text]
        places = [
            len(text[:at].encode("utf-8", "surrogateescape")) for at, is_one in enumerate(escaped) if is_one
        ]
        assert places == list(utf8.broken(data))
        expected = "".join("\ufffd" if is_one else c for c, is_one in zip(text, escaped, strict=True))
        assert expected.encode() == utf8.mended(data)


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 1 << 20])
def test_depth_is_measured_block_by_block(block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets in strings, and quotes behind backslashes, do not count wherever a block ends."""
    monkeypatch.setattr(jsonl, "_BLOCK_BYTES", block_bytes)
    deep = jsonl.DEPTH_MAX
    for text in (b'"[[{"', b'"\\"[["', b'"\\\\"', b'"\\\\\\"[{"', b'""', b'"]]"', b'"\\\\\\\\"'):
        line = b"[" * deep + text + b"]" * deep
        assert not jsonl.is_too_deep(line)
        assert jsonl.is_too_deep(b"[" + line + b"]")
        assert jsonl.is_json(b"[" + line + b"]")
        assert not jsonl.is_json(line + b"]")


def test_half_a_surrogate_pair_keeps_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The field that holds it is named though its text is short in the outline."""
    monkeypatch.setattr(long_lines, "_KEPT_BYTES", 34)
    line = b'{"role":"user","content":"' + b"x" * 50 + b'\\ud83d"}'
    looked = long_lines.look(line, True)
    assert looked is not None
    assert [("bad-text", 76, "in content")] == [(f.code, f.start, f.detail) for f in looked.faults]


@pytest.mark.parametrize("as_text", [False, True], ids=["bytes", "text"])
def test_of_a_long_text_the_beginning_decides(as_text: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON passes wherever the look at it ends; what is wrong before that place is seen."""
    text = '{"a":[1,-2.5e+3,true,null,{"b\\u00e9\\\\":"x\\"ä \\\\\\n","c":[[[]]]}],"d":NaN}' + " " * 40
    for end in range(1, len(text)):
        monkeypatch.setattr(jsonl, "_LOOKED_AT_MAX", end)
        assert jsonl.is_json(text if as_text else text.encode()), end
    wrong = '{"a":1,,"b":[' + '"text",' * 20 + "1]}"
    monkeypatch.setattr(jsonl, "_LOOKED_AT_MAX", 60)
    assert not jsonl.is_json(wrong if as_text else wrong.encode())
