"""The oracle against windows worked out by hand, and the generator against what it promises."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from . import logs, oracle

SEEDS = range(600)
SOURCE = Path(__file__).with_name("oracle.py").read_text(encoding="utf-8")


# Counters.


def bytes4(messages: list[dict[str, Any]]) -> int:
    """The reference counter: bytes of content and call arguments, one division for the whole list."""
    total = 0
    for message in messages:
        content = message.get("content")
        total += len(content.encode()) if isinstance(content, str) else 0
        total += sum(len(call["function"]["arguments"].encode()) for call in message.get("tool_calls") or ())
    return max(total // 4, min(total, 1))


def per_message(messages: list[dict[str, Any]]) -> int:
    return len(messages)


# Lines.


def line(role: str, content: Any = "", **more: Any) -> bytes:
    return json.dumps({"role": role, "content": content, **more}).encode()


def system(text: str) -> bytes:
    return line("system", text)


def user(text: str, **more: Any) -> bytes:
    return line("user", text, **more)


def answer(text: Any, **more: Any) -> bytes:
    return line("assistant", text, **more)


def calls(*ids: Any, arguments: str = "{}", **more: Any) -> bytes:
    function = {"name": "lookup", "arguments": arguments}
    return line(
        "assistant", tool_calls=[{"id": i, "type": "function", "function": function} for i in ids], **more
    )


def result(call_id: Any, text: str = "ok") -> bytes:
    return line("tool", text, tool_call_id=call_id)


def marked(*names: str, **memctl: Any) -> dict[str, Any]:
    marks: dict[str, Any] = {f"__eino_ext_memory_{name}": True for name in names}
    return {"extra": {**marks, **({"memctl": memctl} if memctl else {})}}


def summary(text: str = "S", **memctl: Any) -> bytes:
    return answer(text, **marked("summary", **memctl))


def covering(messages: list[bytes], place: int) -> dict[str, Any]:
    """The `covers` of a summary right after these messages, for the boundary at `place`."""
    last, after = (
        b"\n".join(part) for part in (messages[max(place - 3, 0) : place], messages[place : place + 3])
    )
    return {"kept": len(messages) - place, "last": logs.fingerprint(last), "next": logs.fingerprint(after)}


def turns(count: int) -> list[bytes]:
    """Turns of a user message and an answer, no two lines alike."""
    return [text for n in range(count) for text in (user(f"q{n}"), answer(f"r{n}"))]


# Literal windows. What a row does not name is as in NOTHING.

NOTHING: dict[str, Any] = {
    "head": [],
    "summary": None,
    "anchor": None,
    "rest": [],
    "summary_gives_way": False,
    "over": False,
    "left_out": [],
    "covered": 0,
    "cut": 0,
}

B02 = [
    user("one"),
    answer("two"),
    b'{"role":"user","content":"cut he',
    answer("four"),
    user("five"),
    answer("six"),
]
B10 = [
    user("a"),
    b'{"role":"user","con{"role":"assistant","content":"ztent":"hi","extra":{"n":1}',
    answer("b"),
]
B24 = [user("a"), b"null", b"42", b'"hi"', b'[{"role":"user","content":"in array"}]', b"{}", answer("b")]
B27 = [user("q"), answer([]), answer(None), answer(""), calls("c1"), result("c1", "42"), answer("It is 42.")]
B29 = [user("a"), line("critic", "x"), b'{"type":"brand_new_event","payload":{"k":[1,2]}}', answer("b")]
B32_MIDFILE = [user("do both"), calls("c1", "c2"), result("c1", "ok 1"), user("and?"), answer("One worked.")]
B32_AT_END = [user("do it"), calls("c9")]
B33 = [
    user("q"),
    result("x9", "needs approval"),
    line("tool", "no id"),
    calls("c1"),
    result("c1"),
    answer("fine"),
]
B34 = [user("q"), calls("c1"), result("c1", "first"), result("c1", "second"), answer("fine")]
B37 = [
    user("weather?"),
    calls("w1"),
    result("w1", "sun"),
    answer("Sunny."),
    user("thanks"),
    answer("Welcome."),
]
B51 = [system("rule " * 100), user("hi"), answer("hello")]
B53 = turns(10)
# 4 + 8 + 8 + 4 + 4 bytes.
W18 = [user("q1q1"), calls("c", arguments='{"a":12}'), result("c", "tooltool"), answer("ansr"), user("q2q2")]
AGENT = [user("do"), calls("a"), result("a"), calls("b"), result("b"), answer("done")]


@pytest.mark.parametrize(
    ("expected", "lines", "budget", "options"),
    [
        pytest.param({"rest": [0, 1, 3, 4, 5], "left_out": [(2, "bad-json")]}, B02, 0, {}, id="B02"),
        pytest.param({"rest": [0, 2], "left_out": [(1, "bad-json")]}, B10, 0, {}, id="B10"),
        pytest.param(
            {"rest": [0, 6], "left_out": [(n, "not-a-message") for n in (1, 2, 3, 4, 5)]},
            B24,
            0,
            {},
            id="B24",
        ),
        pytest.param(
            {"rest": [0, 4, 5, 6], "left_out": [(n, "empty-message") for n in (1, 2, 3)]},
            B27,
            0,
            {},
            id="B27",
        ),
        pytest.param(
            {"rest": [0, 3], "left_out": [(1, "unknown-role"), (2, "not-a-message")]}, B29, 0, {}, id="B29"
        ),
        pytest.param(
            {"rest": [0, 3, 4], "left_out": [(1, "open-call"), (2, "open-call")]},
            B32_MIDFILE,
            0,
            {},
            id="B32 midfile",
        ),
        pytest.param(
            {"rest": [0, 3, 4], "left_out": [(1, "open-call"), (2, "open-call")]},
            B32_MIDFILE,
            0,
            {"keep_open": True},
            id="B32 midfile is not the tail",
        ),
        pytest.param({"rest": [0], "left_out": [(1, "open-call")]}, B32_AT_END, 0, {}, id="B32 at end"),
        pytest.param({"rest": [0, 1]}, B32_AT_END, 0, {"keep_open": True}, id="B32 at end, kept open"),
        pytest.param(
            {"rest": [0], "left_out": [(1, "open-call")]},
            B32_AT_END,
            0,
            {"keep_open": True, "pending": "go on"},
            id="a pending message closes the open call",
        ),
        pytest.param(
            {"rest": [0, 1, 2]},
            [*B32_MIDFILE[:3], b""],
            0,
            {"keep_open": True},
            id="the results so far are kept with the open call",
        ),
        pytest.param(
            {"rest": [0, 3, 4, 5], "left_out": [(1, "orphan-result"), (2, "orphan-result")]},
            B33,
            0,
            {},
            id="B33",
        ),
        pytest.param({"rest": [0, 1, 2, 4], "left_out": [(3, "duplicate-result")]}, B34, 0, {}, id="B34"),
        pytest.param(
            {"anchor": 4, "rest": [5], "over": True, "cut": 4}, B37, 1, {}, id="B37 below the newest turn"
        ),
        pytest.param({"rest": [4, 5], "cut": 4}, B37, 2, {}, id="B37 the newest turn"),
        pytest.param({"rest": [4, 5], "cut": 4}, B37, 5, {}, id="B37 moves to the next user message"),
        pytest.param({"rest": [0, 1, 2, 3, 4, 5]}, B37, 6, {}, id="B37 all"),
        pytest.param({"head": [0], "anchor": 1, "rest": [2], "over": True}, B51, 2, {}, id="B51 below all"),
        pytest.param({"head": [0], "rest": [1, 2]}, B51, 3, {}, id="B51 all"),
        pytest.param(
            {"head": [0], "rest": [1, 2]}, B51, 0, {"reserve": 9}, id="no limit, reserve without effect"
        ),
        pytest.param({"rest": [16, 17, 18, 19], "cut": 16}, B53, 5, {}, id="B53 without the leading answer"),
        pytest.param({"anchor": 18, "rest": [19], "over": True, "cut": 18}, B53, 1, {}, id="B53 one token"),
        pytest.param({"rest": [0, 1, 2, 3, 4, 5]}, AGENT, 6, {}, id="long turn, all"),
        pytest.param({"anchor": 0, "rest": [3, 4, 5], "cut": 2}, AGENT, 5, {}, id="long turn, anchor"),
        pytest.param({"anchor": 0, "rest": [3, 4, 5], "cut": 2}, AGENT, 4, {}, id="long turn, just fits"),
        pytest.param(
            {"anchor": 0, "rest": [5], "cut": 4}, AGENT, 3, {}, id="long turn, a group is not split"
        ),
        pytest.param({"anchor": 0, "rest": [5], "over": True, "cut": 4}, AGENT, 1, {}, id="long turn, over"),
        pytest.param(
            {"anchor": 0, "rest": [3, 4], "over": True, "cut": 2},
            AGENT[:5],
            2,
            {},
            id="newest group is a call",
        ),
        pytest.param(
            {"rest": [2], "cut": 2}, [answer("a"), answer("b"), answer("c")], 1, {}, id="no user message"
        ),
        pytest.param(
            {"rest": [1, 2], "cut": 1}, [answer("a"), answer("b"), answer("c")], 2, {}, id="no user, two"
        ),
        pytest.param(
            {"rest": [1], "cut": 1}, [answer("a"), user("b")], 1, {}, id="an answer before the first turn"
        ),
        pytest.param(
            {"rest": [0, 1]}, [answer("a"), user("b")], 2, {}, id="all fits, whatever it begins with"
        ),
        pytest.param({}, [], 5, {}, id="nothing"),
        pytest.param({"left_out": [(0, "bad-json")]}, [b"torn", b" \t"], 5, {}, id="nothing to send"),
        pytest.param({"cut": 4}, turns(2), 2, {"pending": "p"}, id="pending is the newest turn"),
        pytest.param({"rest": [2, 3], "cut": 2}, turns(2), 3, {"pending": "p"}, id="pending and one turn"),
        pytest.param(
            {"cut": 1}, [answer("a")], 1, {"pending": "p"}, id="pending cuts what has no user message"
        ),
        pytest.param(
            {"head": [0], "over": True}, [system("s")], 1, {"pending": "p"}, id="head and pending, over"
        ),
        pytest.param({"rest": [2, 3], "cut": 2}, turns(2), 6, {"reserve": 4}, id="reserve"),
        pytest.param(
            {"anchor": 2, "rest": [3], "over": True, "cut": 2},
            turns(2),
            6,
            {"reserve": 6},
            id="all is reserved",
        ),
        pytest.param(
            {"rest": [0, 3], "cut": 2},
            [user("a"), calls("x", **marked("incomplete")), result("x"), answer("b")],
            0,
            {"no_incomplete": True},
            id="incomplete call leaves with its result",
        ),
        pytest.param(
            {"rest": [0], "cut": 1},
            [user("a"), answer("par", **marked("incomplete"))],
            1,
            {"no_incomplete": True},
            id="the newest group is the newest that stays",
        ),
        pytest.param(
            {"rest": [0, 1]},
            [user("a"), answer("par", **marked("incomplete"))],
            0,
            {},
            id="incomplete is sent",
        ),
        pytest.param(
            {"rest": [0, 1, 3, 4], "left_out": [(2, "orphan-result")]},
            [calls("a"), result("a"), result("b"), calls("b"), result("b")],
            0,
            {},
            id="a result before its call",
        ),
        pytest.param(
            {"rest": [0, 1, 2, 3, 4]},
            [calls("a", "b"), result("b"), result("a"), calls("a"), result("a")],
            0,
            {},
            id="results in any order, ids used again",
        ),
        pytest.param(
            {"rest": [3], "left_out": [(0, "open-call"), (1, "open-call"), (2, "duplicate-result")]},
            [calls("a", "a"), result("a"), result("a"), user("next")],
            0,
            {},
            id="two calls with one id",
        ),
        pytest.param(
            {"rest": [2], "left_out": [(0, "open-call"), (1, "orphan-result")]},
            [calls(""), result(""), user("next")],
            0,
            {},
            id="a call without an id",
        ),
        pytest.param(
            {"rest": [0, 2], "left_out": [(1, "open-call"), (3, "orphan-result")]},
            [user("a"), calls("x"), system("later"), result("x")],
            0,
            {},
            id="a later system message separates",
        ),
        pytest.param(
            {"rest": [0, 2], "left_out": [(1, "open-call"), (3, "orphan-result")]},
            [user("a"), calls("x"), line("function", "f"), result("x")],
            0,
            {},
            id="a function message is a group of its own",
        ),
        pytest.param(
            {
                "rest": [0, 1, 8],
                "left_out": [
                    (2, "bad-json"),
                    (4, "ephemeral-stored"),
                    (5, "unknown-role"),
                    (6, "empty-message"),
                    (7, "orphan-result"),
                ],
            },
            [
                *(
                    user("a"),
                    calls("x"),
                    b"torn",
                    b"",
                    answer("e", **marked("ephemeral")),
                    line("critic", "c"),
                ),
                *(answer(" \n", reasoning_content="hm"), result("y"), result("x")),
            ],
            0,
            {},
            id="what is never sent separates nothing",
        ),
        pytest.param(
            {"rest": [0, 2, 3], "left_out": [(1, "empty-message")]},
            [
                user("a"),
                answer([{"type": "text", "text": " "}]),
                answer([{"type": "image_url", "image_url": {"url": "u"}}]),
                answer("", assistant_output_multi_content=[{"type": "text", "text": "t"}]),
            ],
            0,
            {},
            id="parts of lists count",
        ),
        pytest.param(
            {"head": [1, 4], "left_out": [(0, "bad-json"), (2, "ephemeral-stored")], "rest": [5, 6]},
            [
                b"torn",
                system("a"),
                answer("e", **marked("ephemeral")),
                b"",
                line("developer", "b"),
                *turns(1),
            ],
            0,
            {},
            id="what is left out does not end the head",
        ),
        pytest.param(
            {"rest": [0]},
            [user("a", extra={"__eino_ext_memory_ephemeral": "true"})],
            0,
            {},
            id="only true marks",
        ),
    ],
)
def test_windows_without_a_summary(
    expected: dict[str, Any], lines: list[bytes], budget: int, options: dict[str, Any]
) -> None:
    """Groups, turns, head and anchor, with one token a message."""
    assert {**NOTHING, **expected} == oracle.window(lines, budget, per_message, logs.fingerprint, **options)


@pytest.mark.parametrize(
    ("rest", "over", "lines", "budget"),
    [
        pytest.param([2], False, [user("aaaa"), user("bbbb"), user("cccc")], 1, id="W02 one"),
        pytest.param([1, 2], False, [user("aaaa"), user("bbbb"), user("cccc")], 2, id="W02 two"),
        pytest.param([6, 7, 8, 9], False, [user(f"{n:04}") for n in range(10)], 4, id="ten messages"),
        pytest.param([0], True, [user("x" * 400)], 5, id="W09"),
        pytest.param([1], True, [user("aaaa"), user("x" * 400)], 5, id="W10"),
        pytest.param([0, 1, 2], False, [user("aaa"), user("bbb"), user("cccc")], 2, id="W14: 10 bytes of 11"),
        pytest.param(
            [1, 2, 3], False, [user("aaa"), user("bbb"), user("ccc"), user("ddd")], 2, id="W15: 12 of 11"
        ),
        pytest.param([4], False, W18, 6, id="W18: 28 bytes of 27"),
        pytest.param([0, 1, 2, 3, 4], False, W18, 7, id="W18: 28 bytes of 31"),
        pytest.param([1], False, [user("日本語日"), user("語日本語")], 3, id="W21: bytes, not characters"),
        pytest.param([0, 1], False, [user("日本語日"), user("語日本語")], 6, id="W21: both"),
        pytest.param([0, 1], False, [user(""), user("")], 1, id="W22: nothing weighs nothing"),
    ],
)
def test_windows_of_the_reference_counter(
    rest: list[int], over: bool, lines: list[bytes], budget: int
) -> None:
    """With `bytes4` a list fits up to 4 times the budget and 3 bytes."""
    expected = {**NOTHING, "rest": rest, "over": over, "cut": len(lines) - len(rest)}
    assert expected == oracle.window(lines, budget, bytes4, logs.fingerprint)


def test_a_reserve_of_the_whole_budget_leaves_the_smallest_window() -> None:
    """Messages that weigh nothing do not fit into nothing either."""
    expected = {**NOTHING, "rest": [1], "cut": 1}
    assert expected == oracle.window([user(""), user("")], 5, bytes4, logs.fingerprint, reserve=5)


T4 = turns(4)
T5 = turns(5)
SUMMED = [*T4, summary(covers=covering(T4, 4))]
CHAIN = [*SUMMED, *T5[8:]]
STRADDLED = [
    user("a"),
    calls("x", "y"),
    result("x"),
    summary(),
    result("y"),
    result("y"),
    answer("b"),
    user("c"),
]


@pytest.mark.parametrize(
    ("expected", "lines", "budget", "options"),
    [
        pytest.param(
            {"summary": 2, "rest": [3, 4], "covered": 2},
            [*T4[:2], summary(), *T4[2:4]],
            0,
            {},
            id="without covers",
        ),
        pytest.param(
            {"summary": 8, "rest": [4, 5, 6, 7], "covered": 4}, SUMMED, 0, {}, id="turns that are kept"
        ),
        pytest.param(
            {"summary": 8, "rest": [6, 7], "covered": 4, "cut": 2}, SUMMED, 4, {}, id="summary counts"
        ),
        pytest.param(
            {"summary": 8, "anchor": 6, "rest": [7], "covered": 4, "cut": 2, "summary_gives_way": True},
            SUMMED,
            2,
            {},
            id="the summary gives way after the older groups",
        ),
        pytest.param(
            {
                "summary": 8,
                "anchor": 6,
                "rest": [7],
                "covered": 4,
                "cut": 2,
                "summary_gives_way": True,
                "over": True,
            },
            SUMMED,
            1,
            {},
            id="over even without the summary",
        ),
        pytest.param({"summary": 0}, [summary()], 1, {}, id="nothing but a summary"),
        pytest.param(
            {"summary": 0, "summary_gives_way": True},
            [summary()],
            1,
            {"pending": "p"},
            id="a summary and pending",
        ),
        pytest.param(
            {"head": [0], "summary": 5, "rest": [], "covered": 4},
            [system("s"), *T4[:4], summary()],
            0,
            {},
            id="head",
        ),
        pytest.param(
            {"head": [0, 2], "summary": 5, "covered": 2},
            [system("s"), b"torn", system("t"), user("a"), answer("b"), summary()],
            0,
            {},
            id="damage in a covered head is covered with it",
        ),
        pytest.param(
            {"left_out": [(3, "bad-json")], "summary": 5, "rest": [4], "covered": 2},
            [T4[0], b"torn", T4[1], b"torn", T4[2], summary(covers=covering(T4[:3], 2))],
            0,
            {},
            id="damage before the boundary is not named, at it it is",
        ),
        pytest.param(
            {
                "summary": 3,
                "rest": [6, 7],
                "covered": 3,
                "left_out": [(4, "orphan-result"), (5, "orphan-result")],
            },
            STRADDLED,
            0,
            {},
            id="results behind a boundary inside their group",
        ),
        pytest.param(
            {"summary": 3, "rest": [4], "covered": 3},
            [user("a"), answer("b"), summary("old"), summary("new"), user("c")],
            0,
            {},
            id="only the last summary counts",
        ),
        pytest.param(
            {"summary": 11, "rest": [6, 7, 9, 10], "covered": 7},
            [*CHAIN, summary(covers=covering(CHAIN, 6))],
            0,
            {},
            id="an earlier summary among the kept lines is covered",
        ),
        pytest.param(
            {"summary": 11, "rest": [4, 5, 6, 7, 9, 10], "covered": 5},
            [*CHAIN, summary(covers={"kept": 1, "last": "0" * 16, "next": "0" * 16})],
            0,
            {},
            id="neither end is found: the previous boundary",
        ),
        pytest.param(
            {"summary": 8, "rest": [0, 1, 2, 3, 4, 5, 6, 7]},
            [*T4, summary(covers={"kept": 1, "last": "0" * 16, "next": "0" * 16})],
            0,
            {},
            id="neither end is found: the start",
        ),
        pytest.param(
            {"summary": 9, "rest": [4, 5, 6, 7, 8], "covered": 4},
            [*T4, user("put in"), summary(covers=covering(T4, 4))],
            0,
            {},
            id="a line was put in behind: both ends meet elsewhere",
        ),
        pytest.param(
            {"summary": 9, "rest": [4, 5, 6, 7, 8], "covered": 4},
            [*T4[:4], user("put in"), *T4[4:], summary(covers=covering(T4, 4))],
            0,
            {},
            id="a line was put in between: the covered end alone",
        ),
        pytest.param(
            {"summary": 7, "rest": [3, 4, 5, 6], "covered": 3},
            [*T4[:3], *T4[4:], summary(covers=covering(T4, 4))],
            0,
            {},
            id="the last covered line is gone: the kept beginning alone",
        ),
        pytest.param(
            {"summary": 5, "rest": [0, 1, 2, 3, 4]},
            [*T4[:3], *T4[4:6], summary(covers=covering(T4[:6], 4))],
            0,
            {},
            id="fewer than three kept lines do not place it alone",
        ),
        pytest.param(
            {"summary": 7, "rest": [1, 2, 3, 4, 5, 6], "covered": 1},
            [T4[0], *T4[2:], summary(covers=covering(T4, 1))],
            0,
            {},
            id="fewer than three covered lines place it alone",
        ),
        pytest.param(
            {"summary": 8, "covered": 8},
            [*T4, summary(covers={**covering(T4, 8), "next": "0" * 16})],
            0,
            {},
            id="the covered end alone, right before the summary",
        ),
        pytest.param(
            {"summary": 7, "rest": [0, 1, 2, 3, 4, 5, 6]},
            [*T4[:7], summary(covers={**covering(T4, 8), "kept": 0})],
            0,
            {},
            id="nothing kept does not place it alone",
        ),
        *(
            pytest.param(
                {"summary": 8, "rest": [0, 1, 2, 3, 4, 5, 6, 7]},
                [*T4, summary(covers=covers)],
                0,
                {},
                id=name,
            )
            for name, covers in {
                "null": None,
                "kept is a text": {**covering(T4, 4), "kept": "4"},
                "kept is true": {**covering(T4, 7), "kept": True},
                "kept is a fraction": {**covering(T4, 4), "kept": 4.0},
                "kept is negative": {**covering(T4, 4), "kept": -4},
                "last is no text": {**covering(T4, 4), "last": 7},
                "next is missing": {key: covering(T4, 4)[key] for key in ("kept", "last")},
            }.items()
        ),
        pytest.param(
            {"rest": [0, 2], "left_out": [(1, "ephemeral-stored")]},
            [user("a"), answer("e", **marked("ephemeral", "summary")), user("b")],
            0,
            {},
            id="an ephemeral summary is none",
        ),
        pytest.param(
            {"summary": 1, "rest": [2], "covered": 1},
            [user("a"), line("user", "S", **marked("summary")), user("b")],
            0,
            {},
            id="a summary of any role",
        ),
        pytest.param(
            {"summary": 0, "rest": [1, 2]},
            [line("system", "S", **marked("summary")), system("no head"), user("b")],
            0,
            {},
            id="a summary ends the head",
        ),
        pytest.param(
            {"summary": 2, "rest": [0, 1, 3]},
            [user("a"), calls("x"), summary(covers=covering([user("a"), calls("x")], 0)), result("x")],
            0,
            {},
            id="a summary between a call and its result",
        ),
    ],
)
def test_windows_with_a_summary(
    expected: dict[str, Any], lines: list[bytes], budget: int, options: dict[str, Any]
) -> None:
    """Boundaries, what is covered and what gives way, with one token a message."""
    assert {**NOTHING, **expected} == oracle.window(lines, budget, per_message, logs.fingerprint, **options)


def read_case(*lines: str) -> list[bytes]:
    return [text.encode() for text in lines]


B38 = read_case(
    '{"role":"user","content":"q1"}',
    '{"role":"assistant","content":"r1"}',
    '{"role":"user","content":"q2"}',
    '{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":'
    '{"name":"lookup","arguments":"{}"}}]}',
    '{"role":"tool","content":"' + "big " * 50 + '","tool_call_id":"c1","name":"lookup"}',
    '{"role":"assistant","content":"r2"}',
    '{"role":"user","content":"q3"}',
    '{"role":"assistant","content":"r3"}',
)
ROLE_AND_TEXT = (("user", "new topic"), ("assistant", "answer"))
B55 = read_case(
    '{"role":"user","content":"my cat is called Nori"}',
    '{"role":"assistant","content":"noted"}',
    '{"role":"user","content":"I live by the sea"}',
    '{"role":"assistant","content":"noted"}',
    '{"role":"system","content":"Summary: cat Nori; lives by the sea.","extra":{'
    '"__eino_ext_memory_summary":true,"memctl":{"covers":{"kept":0,"last":"aa048968fdb0f2e1","next":"e3b0c44298fc1c14"}}}}',
    *(f'{{"role":"{role}","content":"{text} {n}"}}' for n in (1, 2, 3) for role, text in ROLE_AND_TEXT),
)


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param(
            {"summary": 8, "rest": [6, 7], "covered": 6},
            [*B38, summary(covers={"kept": 2, "last": "4d55679232f04aa3", "next": "7f5ccd94a0d6aa55"})],
            id="B38, one turn kept",
        ),
        pytest.param(
            {"summary": 8, "rest": [2, 3, 4, 5, 6, 7], "covered": 2},
            [*B38, summary(covers={"kept": 6, "last": "f4a1edb9857febe6", "next": "3110a9f174694f98"})],
            id="B38, two turns kept",
        ),
        pytest.param({"summary": 4, "rest": [5, 6, 7, 8, 9, 10], "covered": 4}, B55, id="B55"),
        pytest.param(
            {"summary": 11, "rest": [9, 10], "covered": 9},
            [*B55, summary(covers={"kept": 2, "last": "ef16c271ecef205c", "next": "e84af72b16a0b7c8"})],
            id="B55, condensed",
        ),
    ],
)
def test_boundaries_with_fingerprints_from_elsewhere(expected: dict[str, Any], lines: list[bytes]) -> None:
    """Fingerprints that were written by hand of the design place the boundary where it says."""
    assert {**NOTHING, **expected} == oracle.window(lines, 0, per_message, logs.fingerprint)
    # A wrong fingerprint would fall back to the previous boundary: the hashes above are really compared.
    changed = [text.replace(b"q3", b"Q3").replace(b"new topic 3", b"new topic 4") for text in lines]
    assert oracle.window(changed, 0, per_message, logs.fingerprint)["summary"] == expected["summary"]


# The oracle's own shape.


def test_the_oracle_is_short_and_needs_nothing() -> None:
    """It is at most 60 lines in all and imports nothing but `json`."""
    assert len(SOURCE.splitlines()) <= 60
    imports = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    expected = ["import json"]
    assert expected == imports


# What holds for every log.

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"pending": "and now?"},
    {"keep_open": True},
    {"no_incomplete": True},
    {"reserve": 9},
)


def messages_of(log: list[bytes]) -> dict[int, dict[str, Any]]:
    return {i: message for i, text in enumerate(log) if isinstance(message := oracle.read(text)[0], dict)}


@pytest.mark.parametrize("seed", range(80))
def test_every_message_is_accounted_for(seed: int) -> None:
    """Each message is printed, covered, cut or named; each damaged line behind the frontier is named."""
    lines = logs.make(seed).lines
    stored = messages_of(lines)
    for options in OPTIONS:
        for budget in (0, 1, 10, 30, 100, 300):
            found = oracle.window(lines, budget, bytes4, logs.fingerprint, **options)
            shown = [*found["head"], *([] if found["anchor"] is None else [found["anchor"]]), *found["rest"]]
            named = [i for i, _ in found["left_out"]]
            assert len({*shown, *named}) == len(shown) + len(named)
            assert shown == sorted(shown)
            count = len(shown) + (found["summary"] is not None) + found["covered"] + found["cut"]
            assert len(stored) == count + len([i for i in named if i in stored])


@pytest.mark.parametrize("seed", range(80))
def test_every_window_can_be_sent(seed: int) -> None:
    """Calls and results are whole, a cut window begins with a user message if there is one, and it fits."""
    lines = logs.make(seed).lines
    stored = messages_of(lines)
    for budget in (0, 1, 10, 30, 100, 300):
        found = oracle.window(lines, budget, bytes4, logs.fingerprint)
        shown = [*([] if found["anchor"] is None else [found["anchor"]]), *found["rest"]]
        waiting: list[str] = []
        for i in shown:
            if stored[i]["role"] == "tool":
                waiting.remove(stored[i]["tool_call_id"])
                continue
            assert not waiting
            if stored[i]["role"] == "assistant":
                waiting = [call["id"] for call in stored[i].get("tool_calls") or ()]
        assert not waiting
        region = oracle.window(lines, 0, bytes4, logs.fingerprint)["rest"]
        if found["cut"] and any(stored[i]["role"] == "user" for i in region):
            assert stored[shown[0]]["role"] == "user"
        whole = [*found["head"], *([] if found["summary"] is None else [found["summary"]]), *shown]
        fits = budget == 0 or bytes4([stored[i] for i in whole]) <= budget
        assert fits == (not found["summary_gives_way"] and not found["over"])


@pytest.mark.parametrize("seed", range(80))
def test_a_larger_budget_shows_no_less(seed: int) -> None:
    """The number of messages shown never falls while the budget grows, and no limit shows the most."""
    lines = logs.make(seed).lines
    windows = [oracle.window(lines, budget, per_message, logs.fingerprint) for budget in (*range(1, 45), 0)]
    shown = [len(found["rest"]) + (found["anchor"] is not None) for found in windows]
    assert shown == sorted(shown)


@pytest.mark.parametrize("seed", range(80))
def test_damage_hides_no_kept_message(seed: int) -> None:
    """A message that a summary keeps is not covered after an edit behind memctl's back that it survives."""
    stored = [text for text in logs.make(seed).lines if not isinstance(oracle.read(text)[0], str | None)]
    texts = [text for text in dict.fromkeys(stored) if not oracle.marked(json.loads(text), "summary")]
    last = summary(covers=covering(texts, len(texts) // 2))
    edited = [*logs.damage(texts, seed), last]
    found = oracle.window(edited, 0, per_message, logs.fingerprint)
    survivors = {edited.index(text) for text in texts[len(texts) // 2 :] if text in edited}
    assert survivors <= {*found["head"], *found["rest"], *(i for i, _ in found["left_out"])}


# The generator.


def test_a_seed_always_gives_the_same_log() -> None:
    """Logs and damage depend on the seed alone, and differ between seeds."""
    assert [logs.make(seed) for seed in range(20)] == [logs.make(seed) for seed in range(20)]
    lines = logs.make(7).lines
    assert [logs.damage(lines, seed) for seed in range(20)] == [
        logs.damage(lines, seed) for seed in range(20)
    ]
    assert len({tuple(logs.make(seed).lines) for seed in SEEDS}) > len(SEEDS) * 9 // 10


def test_each_trait_is_common() -> None:
    """Over 600 seeds each named trait appears in at least a tenth of the logs, and none in all of them."""
    counts = Counter(trait for seed in SEEDS for trait in logs.make(seed).traits)
    assert set(logs.TRAITS) == {
        trait for trait in logs.TRAITS if len(SEEDS) / 10 <= counts[trait] < len(SEEDS)
    }


def test_traits_are_true() -> None:
    """What a log says of itself is found in it by other means."""
    codes = {"open-call": "open-call", "orphan": "orphan-result", "duplicate-result": "duplicate-result"}
    for seed in SEEDS:
        lines, traits = logs.make(seed)
        stored = messages_of(lines)
        assert len(lines) <= logs.LONGEST_LOG
        is_summary = {i: oracle.marked(message, "summary") for i, message in stored.items()}
        bare = [text for i, text in enumerate(lines) if not is_summary.get(i)]
        named = {code for _, code in oracle.window(bare, 0, per_message, logs.fingerprint)["left_out"]}
        missing = {trait for trait in traits & codes.keys() if codes[trait] not in named}
        assert missing <= {"duplicate-result"}, (seed, missing)
        id_lists = [
            [call.get("id") for call in message.get("tool_calls") or ()] for message in stored.values()
        ]
        uses = Counter(call_id for ids in id_lists for call_id in set(ids))
        assert ("parallel-calls" in traits) == any(len(ids) > 1 for ids in id_lists)
        assert ("damaged" in traits) == any(text.strip() and i not in stored for i, text in enumerate(lines))
        assert "ids-used-again" not in traits or max(uses.values()) > 1
        largest = max((len(text) for text in lines), default=0)
        assert ("newest-above-budget" in traits) == (largest > logs.LARGE_BYTES)
        has_covers = {"covers" in stored[i]["extra"].get("memctl", {}) for i in is_summary if is_summary[i]}
        assert ("summary-with-covers" in traits) == (True in has_covers)


@pytest.mark.parametrize("seed", range(80))
def test_damage_keeps_the_rest(seed: int) -> None:
    """One to three lines are deleted, put in or changed; all others stay, in order."""
    lines = logs.make(seed).lines
    edited = logs.damage(lines, seed)
    assert lines != edited
    assert abs(len(lines) - len(edited)) <= 3
    assert sum((Counter(lines) - Counter(edited)).values()) <= 3
    assert sum((Counter(edited) - Counter(lines)).values()) <= 3
