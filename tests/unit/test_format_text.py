"""Windows and logs as plain text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.formats.text import Entry, log_text, short_time, window_text

CALLS = [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":\n2}'}}]


def entry(value: dict[str, Any], **more: Any) -> Entry:
    given = Entry(3, 4, "0123456789abcdef", "2026-03-01T09:00:00.000000Z", value, 120)
    return given._replace(**more)


def log(*entries: Entry, **options: Any) -> str:
    return "".join(log_text(entries, **{"colour": False, **options}))


def test_window() -> None:
    """Messages are headed by role and name, calls and results have arrows, blank lines stand between."""
    values: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {"role": "assistant", "content": "so far", "extra": {"__eino_ext_memory_summary": True}},
        {"role": "user", "content": "2+3?\nnow", "name": "anna"},
        {"role": "assistant", "content": "", "tool_calls": CALLS, "reasoning_content": "hm"},
        {"role": "tool", "content": "5", "tool_call_id": "c1", "tool_name": "add"},
        {"role": "tool", "content": "", "tool_call_id": "c2"},
        {"role": "assistant", "content": "Five.\x85\x1b[2J \ud83d"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": "https://e.test/a"},
            ],
        },
    ]
    expected = (
        "system: be brief\n\n"
        "assistant [summary]: so far\n\n"
        "user (anna): 2+3?\nnow\n\n"
        'assistant:\n→ add({"a":\\n2})\n\n'
        "← add: 5\n\n"
        "← c2: \n\n"
        "assistant: Five.\\x85\\x1b[2J \ufffd\n\n"
        "user: see\n[image: https://e.test/a]\n"
    )
    assert expected == window_text(values)


def test_empty_window() -> None:
    """No messages are no text."""
    expected = ""
    assert expected == window_text([])


def test_log() -> None:
    """A header names index, speaker, time, id and markers; what follows is indented by two blanks."""
    marked = {
        "__eino_ext_memory_summary": True,
        "__eino_ext_memory_incomplete": True,
        "__eino_ext_memory_ephemeral": 1,
    }
    expected = (
        "#3 user (anna)  2026-03-01 09:00:00  0123456789abcdef\n  hi\n\n  there\n\n"
        "#4 assistant  -  a\\x1bb  [summary] [incomplete]  line 9  12 kB\n  sum\n\n"
        '#5 assistant  2026-03-01 09:00:00  0123456789abcdef\n  thinking: a\\nb\n  → add({"a":\\n2})\n\n'
        "#6 tool (add)  2026-03-01 09:00:00  0123456789abcdef\n  ← add: 5\n  6\n\n"
    )
    shown = log(
        entry({"role": "user", "name": "anna", "content": "hi\n\nthere\n"}),
        entry(
            {"role": "assistant", "content": "sum", "extra": marked},
            index=4,
            line=9,
            id="a\x1bb",
            created_at=None,
            size_bytes=12_345,
        ),
        entry(
            {"role": "assistant", "content": "", "tool_calls": CALLS, "reasoning_content": "a\nb"},
            index=5,
            line=6,
        ),
        entry({"role": "tool", "name": "add", "content": "5\n6"}, index=6, line=7),
    )
    assert expected == shown


@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        ("  → f(" + "a" * 95 + ")", "a" * 95),
        ("  → f(" + "a" * 95 + "… +1 character)", "a" * 96),
        ("  → f(" + "a" * 95 + "… +312 characters)", "a" * 407),
        ("  → f(" + "\\x1b" * 23 + "… +1,977 characters)", "\x1b" * 2000),
    ],
)
def test_calls_are_folded(expected: str, arguments: str) -> None:
    """A call takes one line; how much of its arguments is hidden is said."""
    value = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
    assert expected == log(entry(value)).split("\n")[1]


@pytest.mark.parametrize(
    ("expected", "content"),
    [
        (["  ← t: 0", *[f"  {n}" for n in range(1, 10)]], "\n".join(map(str, range(10)))),
        (
            ["  ← t: 0", *[f"  {n}" for n in range(1, 10)], "  … +1 line"],
            "\n".join(map(str, range(11))) + "\n",
        ),
        (["  ← t: 0", *[f"  {n}" for n in range(1, 10)], "  … +90 lines"], "\n".join(map(str, range(100)))),
        (["  ← t: " + "x" * 1000, "  … +2,000 characters"], "x" * 3000),
        (["  ← t: " + "x" * 1000, "  … +13 characters, 1 line"], "x" * 1011 + "\ny"),
        (["  ← t:"], ""),
    ],
)
def test_results_are_folded(expected: list[str], content: str) -> None:
    """A result shows ten lines or a thousand characters and says what it hides; `full` shows it all."""
    value = {"role": "tool", "tool_name": "t", "content": content}
    assert expected == log(entry(value)).rstrip("\n").split("\n")[1:]
    whole = [f"  {line}" for line in f"← t: {content}".rstrip().split("\n")]
    assert whole == log(entry(value), full=True).rstrip("\n").split("\n")[1:]


def test_full_calls() -> None:
    """With `full` a call is still one line, and whole."""
    value = {"role": "assistant", "tool_calls": [{"function": {"name": "f" * 70, "arguments": "a" * 500}}]}
    folded, whole = (log(entry(value), full=full).split("\n")[1] for full in (False, True))
    expected = "  → " + "f" * 70 + "(" + "a" * 500 + ")"
    assert expected == whole
    assert folded.startswith("  → " + "f" * 64 + "…(a")


def test_colour() -> None:
    """Colour is only added around the header, and only when asked for."""
    coloured = log(entry({"role": "user", "content": "hi"}), colour=True)
    facts = "2026-03-01 09:00:00  0123456789abcdef"
    expected = f"\x1b[2m#3\x1b[0m \x1b[1;32muser\x1b[0m  \x1b[2m{facts}\x1b[0m\n  hi\n\n"
    assert expected == coloured


@pytest.mark.parametrize(
    ("expected", "created_at"),
    [
        ("2026-03-01 09:00:00", "2026-03-01T09:00:00Z"),
        ("2026-03-01 09:00:01", "2026-03-01T11:00:01+02:00"),
        ("2026-03-01 09:00:02", "2026-03-01T09:00:02"),
        ("2026-03-01 09:00:03", 1772355603),
        ("2026-03-01 09:00:04", "1772355604000"),
        ("2026-03-01 09:00:05.5", "1772355605.5"),
        ("2026-03-01 09:00:05.123", "2026-03-01T09:00:05.123456Z"),
        ("-", "soon"),
        ("-", None),
        ("-", "nan"),
        ("-", "1e300"),
        ("-", "0001-01-01T00:00:00+05:00"),
    ],
)
def test_short_time(expected: str, created_at: str | float | None) -> None:
    """Times of every stored kind are shown in UTC, unreadable ones as unknown."""
    assert expected == short_time(created_at)


ODD = st.text(st.sampled_from("a \n\r\t\x1b\x9b\u202e\u2028\ud83d漢"), max_size=200)


@given(ODD, ODD, ODD)
def test_nothing_acts_on_the_terminal(content: str, name: str, arguments: str) -> None:
    """Neither text, name, id, time nor arguments bring a control character to the output."""
    values: list[dict[str, Any]] = [
        {"role": name, "name": name, "content": content, "reasoning_content": content},
        {"role": "tool", "tool_name": name, "content": content},
        {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]},
    ]
    shown = window_text(values) + log(*[entry(value, id=name, created_at=content) for value in values])
    assert set() == set(shown) & set("\r\x1b\x9b\u202e\u2028\ud83d")
    headers = [line for line in shown.split("\n") if line.startswith("#3 ")]
    assert len(values) == len(headers)
