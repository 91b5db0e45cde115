"""The pass over a log: what each message is, seen from those before it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import turns
from memctl.core.finding import CODES
from memctl.core.lines import Piece

U: dict[str, Any] = {"role": "user", "content": "q"}
A: dict[str, Any] = {"role": "assistant", "content": "a"}
S: dict[str, Any] = {"role": "system", "content": "s"}
D: dict[str, Any] = {"role": "developer", "content": "d"}
F: dict[str, Any] = {"role": "function", "content": "f"}
SUMMARY: dict[str, Any] = {**A, "extra": {"__eino_ext_memory_summary": True}}
EPHEMERAL: dict[str, Any] = {**A, "extra": {"__eino_ext_memory_ephemeral": True}}
INCOMPLETE: dict[str, Any] = {**A, "extra": {"__eino_ext_memory_incomplete": True}}
EMPTY: dict[str, Any] = {"role": "assistant", "content": " "}
CRITIC: dict[str, Any] = {"role": "critic", "content": "x"}
BAD = Piece(b"x", "bad-json", None, None)
BLANK = Piece(b"", "blank-line", None, None)


def call(*ids: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "function": {}} for id in ids]}


def result(id: Any) -> dict[str, Any]:
    return {"role": "tool", "content": "r", "tool_call_id": id}


def marks(log: list[Any]) -> list[turns.Mark]:
    reader = turns.Reader()
    pieces = [item if isinstance(item, Piece) else Piece(b"", "", item, None) for item in log]
    return [reader.feed(piece) for piece in pieces]


def sent(log: list[Any], **options: bool) -> list[int]:
    """The places of what is sent, groups whole."""
    found = marks(log)
    given_options = {"clean": False, "keep_open": False} | options
    return turns.sent_entries(lambda number: found[number].flags, 0, len(log), **given_options)


@pytest.mark.parametrize(
    ("expected", "codes", "log"),
    [
        pytest.param([0, 1], ["", ""], [U, A], id="a turn"),
        pytest.param([0, 1, 2, 3], [""] * 4, [U, call("a", "b"), result("b"), result("a")], id="any order"),
        pytest.param([], ["", ""], [call("a", "b"), result("a")], id="one missing"),
        pytest.param([2], ["", "", ""], [call("a", "b"), result("a"), U], id="broken by the next"),
        pytest.param([], ["", "orphan-result"], [call("a"), result("b")], id="another id"),
        pytest.param([], ["", "orphan-result"], [call("a"), result(None)], id="no id"),
        pytest.param([], ["", "orphan-result"], [call("1"), result(1)], id="a number is no id"),
        pytest.param([], ["", "orphan-result"], [call(1), result("1")], id="an id that is a number"),
        pytest.param([], ["", "orphan-result"], [call(""), result("")], id="an empty id"),
        pytest.param([0, 1], ["", "", "duplicate-result"], [call("a"), result("a"), result("a")], id="twice"),
        pytest.param([], ["", ""], [call("a", "a"), result("a")], id="one id for two calls"),
        pytest.param(
            [0, 1, 2, 3], [""] * 4, [call("a"), result("a"), call("a"), result("a")], id="ids again"
        ),
        pytest.param(
            [2, 3], [""] * 4, [call("a"), call("b"), call("a"), result("a")], id="a call behind a call"
        ),
        pytest.param([0, 2], ["", "bad-json", ""], [call("a"), BAD, result("a")], id="damage between"),
        pytest.param(
            [0, 2], ["", "blank-line", ""], [call("a"), BLANK, result("a")], id="a blank line between"
        ),
        pytest.param(
            [0, 2], ["", "ephemeral-stored", ""], [call("a"), EPHEMERAL, result("a")], id="ephemeral"
        ),
        pytest.param([0, 2], ["", "empty-message", ""], [call("a"), EMPTY, result("a")], id="empty between"),
        pytest.param([0, 2], ["", "unknown-role", ""], [call("a"), CRITIC, result("a")], id="critic between"),
        pytest.param([0, 2], ["", "", ""], [call("a"), SUMMARY, result("a")], id="a summary between"),
        pytest.param(
            [1], ["", "", "orphan-result"], [call("a"), S, result("a")], id="a system message between"
        ),
        pytest.param([0], ["", "orphan-result"], [F, result("a")], id="function"),
        pytest.param([1], ["", ""], [S, U], id="the head is not among the groups"),
        pytest.param([1, 2], ["", "", ""], [S, U, S], id="a later system message is"),
    ],
)
def test_groups(expected: list[int], codes: list[str], log: list[Any]) -> None:
    """Whole groups are sent, each stray message has its code."""
    assert expected == sent(log)
    assert codes == [CODES[mark.code] for mark in marks(log)]


@pytest.mark.parametrize(
    ("head", "log"),
    [
        ([], []),
        ([0, 1], [S, D, U]),
        ([0], [S, U, S]),
        ([0, 3], [S, BAD, EPHEMERAL, D, U]),
        ([1], [EMPTY, S, A]),
        ([0], [S, SUMMARY, S]),
        ([1], [result("x"), S]),
        ([], [A, S]),
    ],
)
def test_the_head(head: list[int], log: list[Any]) -> None:
    """System and developer messages up to the first group or summary, whatever is left out between them."""
    assert head == [place for place, mark in enumerate(marks(log)) if mark.flags & turns.HEAD]


def test_open_and_incomplete_groups() -> None:
    """The newest open group can be kept; groups with an incomplete message can go, results and all."""
    log = [U, call("a", "b"), result("a")]
    assert [0] == sent(log)
    assert [0, 1, 2] == sent(log, keep_open=True)
    assert [0, 1, 2, 3] == sent([U, INCOMPLETE, U, A])
    assert [0, 2, 3] == sent([U, INCOMPLETE, U, A], clean=True)
    spoilt = {**call("a"), "extra": {"__eino_ext_memory_incomplete": True}}
    assert [0] == sent([U, spoilt, result("a")], clean=True)
    assert [0] == sent([U, spoilt], clean=True, keep_open=True)
    late = {**result("a"), "extra": {"__eino_ext_memory_incomplete": True}}
    assert [0] == sent([U, call("a"), late], clean=True)


def test_a_broken_group_is_told_of_where_it_breaks() -> None:
    """The message that ends the wait for a result carries the mark."""
    found = marks([call("a"), U, call("b"), result("b"), A])
    assert [False, True, False, False, False] == [bool(mark.flags & turns.BROKE) for mark in found]


@pytest.mark.parametrize(
    ("empty", "value"),
    [
        (True, {"content": ""}),
        (True, {"content": None}),
        (True, {}),
        (True, {"content": " \t\n\u00a0\u3000"}),
        (True, {"content": []}),
        (True, {"content": ["", " "]}),
        (
            True,
            {"content": [{"type": "text", "text": " "}, {"type": "reasoning", "reasoning": {"text": "t"}}]},
        ),
        (True, {"content": "", "reasoning_content": "thinking is no answer"}),
        (True, {"content": "", "tool_calls": []}),
        (True, {"content": [{"type": "thinking", "thinking": "x"}]}),
        (True, {"content": [7, None]}),
        (False, {"content": "x"}),
        (False, {"content": "\u200b"}),
        (False, {"content": ["x"]}),
        (False, {"content": [{"type": "text", "text": "x"}]}),
        (False, {"content": [{"type": "image_url", "image_url": {"url": "u"}}]}),
        (False, {"content": [{"type": "refusal", "refusal": "no"}]}),
        (False, {"content": "", "tool_calls": [{"id": "a"}]}),
        (False, {"content": "", "assistant_output_multi_content": [{"type": "audio_url", "audio": {}}]}),
        (False, {"content": "", "multi_content": [{"image_url": {"url": "u"}}]}),
    ],
)
def test_empty_answers(empty: bool, value: dict[str, Any]) -> None:
    """Neither text nor call nor media part."""
    assert empty == turns.is_empty(value)


KINDS = st.sampled_from(
    [
        U,
        A,
        S,
        D,
        F,
        SUMMARY,
        EPHEMERAL,
        INCOMPLETE,
        EMPTY,
        CRITIC,
        BAD,
        BLANK,
        call("a"),
        call("a", "b"),
        call("a", "a"),
        call(),
        result("a"),
        result("b"),
        result(None),
    ]
)


@given(st.lists(KINDS, max_size=14), st.booleans(), st.booleans())
def test_what_is_sent_is_valid(log: list[Any], clean: bool, keep_open: bool) -> None:
    """No result without its call before it, and no call without all its results but a kept one at the end."""
    places = sent(log, clean=clean, keep_open=keep_open)
    assert places == sorted(set(places))
    waiting: set[str] = set()
    for place in places:
        message = log[place]
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.discard(message["tool_call_id"])
        else:
            assert not waiting
            waiting = {entry["id"] for entry in message.get("tool_calls") or []}
        if clean:
            assert message is not INCOMPLETE
    assert not waiting or keep_open


@given(st.lists(KINDS, max_size=12), st.integers(0, 12))
def test_a_message_is_judged_by_what_came_before_it(log: list[Any], at: int) -> None:
    """What follows later changes no mark."""
    assert marks(log[:at]) == marks(log)[: len(log[:at])]
