"""Calls and results, empty answers, unknown roles, budgets that are too small: B27 to B37, B51."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memctl import Store

from .inputs import Printed, Put, Run, Write, case_bytes, case_lines

OPTIONS: list[Any] = [
    # case, file, size, options, printed lines, what is left out
    ("B27", "input.jsonl", 371, [], [1, 5, 6, 7], [(line, "empty-message") for line in (2, 3, 4)]),
    ("B27", "input.jsonl", 371, ["--plain"], [1, 2, 3, 4, 5, 6, 7], []),
    ("B29", "input.jsonl", 146, [], [1, 4], [(2, "unknown-role"), (3, "not-a-message")]),
    ("B29", "input.jsonl", 146, ["--plain"], [1, 2, 4], [(3, "not-a-message")]),
    ("B32", "midfile.jsonl", 384, [], [1, 4, 5], [(2, "open-call"), (3, "open-call")]),
    ("B32", "midfile.jsonl", 384, ["--keep-open"], [1, 4, 5], [(2, "open-call"), (3, "open-call")]),
    ("B32", "at_end.jsonl", 159, [], [1], [(2, "open-call")]),
    ("B32", "at_end.jsonl", 159, ["--keep-open"], [1, 2], []),
    ("B33", "input.jsonl", 380, [], [1, 4, 5, 6], [(2, "orphan-result"), (3, "orphan-result")]),
    ("B34", "input.jsonl", 334, [], [1, 2, 3, 5], [(4, "duplicate-result")]),
]


@pytest.mark.parametrize(
    ("case", "name", "size_bytes", "options", "numbers", "left_out"),
    OPTIONS,
    ids=[" ".join([row[0], row[1].partition(".")[0], *row[3]]) for row in OPTIONS],
)
def test_only_whole_groups_are_sent(
    printed: Callable[..., Printed],
    case: str,
    name: str,
    size_bytes: int,
    options: list[str],
    numbers: list[int],
    left_out: list[tuple[int, str]],
) -> None:
    """A window holds whole groups of stored lines, and what it leaves out it names."""
    data = case_bytes(case, name)
    assert size_bytes == len(data)
    lines = case_lines(case, name)
    window = printed(data, *options)
    assert [lines[number - 1] for number in numbers] == window.lines
    assert left_out == window.left_out
    assert {code for _, code in left_out} == window.named


CALL: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "content": "r", "tool_call_id": "c1"}
USER = {"role": "user", "content": "q"}
ANSWER = {"role": "assistant", "content": "a"}


@pytest.mark.parametrize(
    ("sent", "left_out", "log"),
    [
        pytest.param([0, 1, 2], [], [USER, CALL, RESULT], id="a call and its result"),
        pytest.param([0], [(2, "orphan-result")], [USER, RESULT], id="a result alone"),
        pytest.param([1], [(1, "orphan-result")], [RESULT, USER], id="a result at the start"),
        pytest.param(
            [0, 2], [(2, "open-call"), (4, "orphan-result")], [USER, CALL, ANSWER, RESULT], id="too late"
        ),
        pytest.param(
            [0, 1, 2, 4],
            [(4, "duplicate-result")],
            [USER, CALL, RESULT, RESULT, ANSWER],
            id="answered twice",
        ),
        pytest.param([0, 1, 2, 3, 4], [], [USER, CALL, RESULT, CALL, RESULT], id="one id in two groups"),
        pytest.param(
            [0],
            [(2, "open-call")],
            [USER, CALL | {"tool_calls": CALL["tool_calls"] * 2}],
            id="one id twice in a group",
        ),
        pytest.param(
            [0],
            [(2, "open-call")],
            [USER, CALL | {"tool_calls": [{"type": "function", "function": {"name": "f"}}]}],
            id="a call without an id",
        ),
        pytest.param(
            [0], [(2, "empty-message")], [USER, ANSWER | {"content": " \t\n\u00a0"}], id="white space only"
        ),
        pytest.param(
            [0],
            [(2, "empty-message")],
            [USER, ANSWER | {"content": [{"type": "text", "text": ""}]}],
            id="no text",
        ),
        pytest.param(
            [0, 1],
            [],
            [USER, ANSWER | {"content": [{"type": "image_url", "image_url": {}}]}],
            id="media only",
        ),
        pytest.param(
            [0, 1],
            [],
            [USER, ANSWER | {"content": "", "multi_content": [{"image_url": {"url": "u"}}]}],
            id="media without a type",
        ),
        pytest.param([0, 1], [], [USER, USER | {"content": ""}], id="an empty user message"),
        pytest.param([0], [(2, "unknown-role")], [USER, {"role": "critic", "content": "x"}], id="critic"),
        pytest.param([0], [(2, "unknown-role")], [USER, {"role": "", "content": "x"}], id="no role name"),
        pytest.param([0], [(2, "unknown-role")], [USER, {"role": "User", "content": "x"}], id="case counts"),
        pytest.param([0, 1], [], [USER, {"role": "function", "content": "x"}], id="function"),
        pytest.param(
            [0],
            [(2, "ephemeral-stored")],
            [USER, ANSWER | {"extra": {"__eino_ext_memory_ephemeral": True}}],
            id="ephemeral",
        ),
    ],
)
def test_groups_of_every_kind(
    store: Store, put: Put, sent: list[int], left_out: list[tuple[int, str]], log: list[dict[str, Any]]
) -> None:
    """What can be sent is sent, each other message is named with its own code."""
    lines = [json.dumps(message).encode() for message in log]
    put("g", b"".join(line + b"\n" for line in lines))
    window = store.conversation("alice", "g").window(0)
    assert [lines[number] for number in sent] == window.lines
    assert left_out == [tuple(finding) for finding in window.left_out]


def _is_valid(lines: list[bytes]) -> bool:
    """No result without its call before it, no call without its result."""
    waiting: set[str] = set()
    for line in lines:
        message = json.loads(line)
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return False
            waiting.discard(message["tool_call_id"])
        elif waiting:
            return False
        else:
            waiting = {call["id"] for call in message.get("tool_calls", [])}
    return not waiting


@pytest.mark.parametrize("counter", ["o200k_base", "cl100k_base", "bytes4"])
def test_b37_no_budget_parts_a_call_from_its_result(store: Store, put: Put, counter: str) -> None:
    """For every budget the window begins with a user message and holds whole groups."""
    put("b37", case_bytes("B37"))
    lines = case_lines("B37")
    talk = store.conversation("alice", "b37")
    for budget in range(0, 200):
        window = talk.window(budget, counter=counter)
        printed = [line + b"\n" for line in window.lines]
        assert "user" == json.loads(printed[0])["role"], budget
        assert _is_valid(printed), budget
        assert window.over_budget == (0 < budget < (window.tokens or 0)), budget
        if counter == "o200k_base":
            whole = budget == 0 or budget >= 150
            assert (lines if whole else lines[4:]) == printed, budget
            assert ((150 if whole else 11), 0 < budget <= 10) == (window.tokens, window.over_budget), budget


@pytest.mark.parametrize(("budget", "tokens", "over"), [(10, 11, True), (11, 11, False), (150, 150, False)])
def test_b37_through_the_command(
    printed: Callable[..., Printed], budget: int, tokens: int, over: bool
) -> None:
    """What is over budget says so in the report and in words."""
    window = printed(case_bytes("B37"), "-b", str(budget))
    assert (tokens, over) == (window.explain["tokens"], window.explain["over_budget"])
    assert over == any("more than the budget allows" in phrase for phrase in window.talk)


def test_b51_the_head_stays_whatever_it_weighs(store: Store, put: Put) -> None:
    """A system message beyond the budget is sent whole with the newest turn, and the window says so."""
    put("b51", case_bytes("B51"))
    lines = [line.removesuffix(b"\n") for line in case_lines("B51")]
    talk = store.conversation("alice", "b51")
    for budget in (*range(1, 20), 100, 504, 505, 509, 510, 514, 515, 516, 10**9, 0):
        window = talk.window(budget)
        assert lines == window.lines
        assert (515, 0 < budget < 515) == (window.tokens, window.over_budget)
    plain = talk.window(100, plain=True)
    assert (lines[1:], 10, False) == (plain.lines, plain.tokens, plain.over_budget)


def test_b51_a_negative_budget_is_a_usage_error(memctl: Run, file: Write) -> None:
    """A budget below zero is no budget."""
    file(case_bytes("B51"))
    done = memctl("window", "./input.jsonl", "-b", "-1")
    assert (2, b"") == (done.returncode, done.stdout)
