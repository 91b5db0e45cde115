"""Text from a conversation cannot act on a terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core.visible import visible, visible_json

FORBIDDEN = frozenset(
    [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000))]
    + list("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
)
ODD_TEXT = st.text(
    st.one_of(st.sampled_from(sorted(FORBIDDEN)), st.sampled_from('ab "\\é漢👍\u200d'), st.characters())
)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ("\\x1b[31mred", "\x1b[31mred"),
        ("a\\nb\\tc\\rd", "a\nb\tc\rd"),
        ("\\x00\\x07\\x7f", "\0\a\x7f"),
        ("\\x85\\x9b", "\x85\x9b"),
        ("\\u202etxt\\u2069", "\u202etxt\u2069"),
        ("\\u2028\\u2029\\ufeff\\u061c\\u200f", "\u2028\u2029\ufeff\u061c\u200f"),
        ("half \\ud83d and \\udc00", "half \ud83d and \udc00"),
        ("é 漢字 👨\u200d👩\u200d👧 \xa0", "é 漢字 👨\u200d👩\u200d👧 \xa0"),
        ("back\\slash", "back\\slash"),
    ],
)
def test_visible(expected: str, text: str) -> None:
    """Controls, bidirectional controls, separators and lone surrogates become escapes; the rest stays."""
    assert expected == visible(text)


def test_visible_keeps_newlines() -> None:
    """With `keep_newlines`, LF and TAB stay and everything else is still escaped."""
    expected = "a\n\tb\\r\\x1b\\u2028"
    assert expected == visible("a\n\tb\r\x1b\u2028", keep_newlines=True)


@given(ODD_TEXT)
def test_visible_shows_no_forbidden_character(text: str) -> None:
    """Whatever the text, no forbidden character is left and the result is UTF-8."""
    assert frozenset() == FORBIDDEN & set(visible(text))
    assert frozenset() == FORBIDDEN - {"\n", "\t"} & set(visible(text, keep_newlines=True)) - {"\n", "\t"}
    visible(text).encode("utf-8")


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        (b'{"a":"b"}\n', b'{"a":"b"}\n'),
        (b'{"a":"\\u0085\\u2028\\u007f"}\n', '{"a":"\x85\u2028\x7f"}\n'.encode()),
        (b'{"a":"\\u202e"}', '{"a":"\u202e"}'.encode()),
        ('{"漢":"é"}'.encode(), '{"漢":"é"}'.encode()),
        (b'{"a":"\\ufffd\\ufffd"}', b'{"a":"\xff\xfe"}'),
        (b'{"a":1} \n', b'{"a":1}\r\n'),
        (b'{"a":\t1}', b'{"a":\t1}'),
        (b"no \\u001b[2J json\\u000d", b"no \x1b[2J json\r"),
        (b'{"a":"\\ud83d"}', b'{"a":"\\ud83d"}'),
    ],
)
def test_visible_json(expected: bytes, line: bytes) -> None:
    """Raw characters of a line become JSON escapes, and what is escaped already stays as it is."""
    assert expected == visible_json(line)


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), ODD_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(ODD_TEXT, inner, max_size=3)),
    max_leaves=8,
)


@given(JSON_VALUES, st.sampled_from(["", "\n", "\r\n"]))
def test_visible_json_keeps_the_value(value: object, end: str) -> None:
    """The printed line is valid UTF-8 JSON of the same value, free of forbidden characters."""
    text = json.dumps(value, ensure_ascii=False)
    # A lone surrogate can stand in a file only as an escape.
    line = "".join([f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text]) + end
    shown = visible_json(line.encode("utf-8")).decode("utf-8")
    assert json.loads(line) == json.loads(shown)
    assert frozenset() == (FORBIDDEN - {"\n"}) & set(shown)


@given(st.binary())
def test_visible_json_takes_any_bytes(line: bytes) -> None:
    """Bytes that are no JSON at all are made visible too."""
    assert frozenset() == (FORBIDDEN - {"\n", "\t"}) & set(visible_json(line).decode("utf-8"))
