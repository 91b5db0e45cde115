"""The reference's cases for markers, the counter and windows, on real files through the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memctl import BadConfig, Store, UsageError
from memctl.core import counting, marker

from .differences import check

Message = dict[str, Any]


def user(content: str) -> Message:
    return {"role": "user", "content": content}


def assistant(content: str) -> Message:
    return {"role": "assistant", "content": content}


def summary(content: str) -> Message:
    return {"role": "assistant", "content": content, "extra": {marker.SUMMARY: True}}


def call(arguments: str) -> Message:
    function = {"name": "f", "arguments": arguments}
    return assistant("") | {"tool_calls": [{"id": "c1", "type": "function", "function": function}]}


def result(content: str) -> Message:
    return {"role": "tool", "content": content, "tool_call_id": "c1"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Store(tmp_path / "store")


def written(store: Store, log: list[Message]) -> Any:
    """The conversation with these messages, as another program would write them."""
    path = Path(store.root) / "conversations" / "u" / "c.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in log))
    return store.conversation("u", "c")


def window(store: Store, log: list[Message], budget: int | None, plain: bool = True) -> list[int]:
    """The places of the messages in the window, by the counter of the reference."""
    found = written(store, log).window(budget, counter="bytes4", plain=plain)
    lines = [json.dumps(message).encode() for message in log]
    return [lines.index(line) for line in found.lines]


# -- markers and the counter -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "expected", "message"),
    [
        ("M01", True, summary("this is a summary")),
        ("M02", False, user("hello")),
        ("M02", False, {}),
        ("M08", False, user("x") | {"extra": {marker.SUMMARY: "true"}}),
        ("M08", False, user("x") | {"extra": {marker.SUMMARY: 1}}),
        ("M08", False, user("x") | {"extra": {marker.SUMMARY: 1.0}}),
        ("M08", False, user("x") | {"extra": {marker.SUMMARY: None}}),
        ("M08", False, user("x") | {"extra": {marker.SUMMARY: False}}),
        ("M08", False, user("x") | {"extra": [marker.SUMMARY]}),
        ("M08", True, user("a user message may be one") | {"extra": {marker.SUMMARY: True}}),
    ],
)
def test_markers_are_true_and_nothing_else(store: Store, id: str, expected: bool, message: Message) -> None:
    """A marker is JSON true under its key, whatever the role."""
    check(id, expected, marker.is_summary(message))
    if message:
        whole = written(store, [user("before"), message]).window(0, plain=True)
        assert expected == (len(whole.lines) == 1)


@pytest.mark.parametrize(
    ("id", "options", "key"),
    [
        ("M03", {"summary": True, "role": "assistant"}, marker.SUMMARY),
        ("M05", {"incomplete": True, "role": "assistant"}, marker.INCOMPLETE),
    ],
)
def test_appended_marks_come_back(store: Store, id: str, options: dict[str, Any], key: str) -> None:
    """What is appended with a mark is stored with it, in a fresh look too."""
    store.conversation("u", "c").append("summary text", **options)
    (message,) = Store(store.root).conversation("u", "c").messages()
    outcome = (message.role, message.content, marker.marked(message.value, key))
    check(id, ("assistant", "summary text", True), outcome)


def test_m04_a_fresh_answer_is_not_incomplete() -> None:
    """Nothing and a fresh message carry no mark."""
    check("M04", (False, False), (marker.is_incomplete({}), marker.is_incomplete(assistant("hi"))))


def test_m07_an_ephemeral_message_is_only_for_the_stream(store: Store) -> None:
    """It keeps role, content and mark, and is handed back instead of stored."""
    done = store.conversation("u", "c").append("transient", role="assistant", ephemeral=True)
    (echoed,) = done.ephemeral
    outcome = (echoed["role"], echoed["content"], marker.is_ephemeral(echoed))
    check("M07", ("assistant", "transient", True), outcome)
    assert not marker.is_ephemeral(assistant("x"))
    assert (0, 1) == (done.appended, done.skipped_ephemeral)


@pytest.mark.parametrize(
    ("id", "tokens", "log"),
    [
        ("K01", 0, []),
        ("K02", 1, [user("1234")]),
        ("K02", 2, [user("12345678")]),
        ("K02", 2, [user("hello world")]),
        ("K02", 1, [user("a")]),
        ("K03", 3, [call('{"key":"value"}')]),
        ("K03", 4, [call('{"key":"value"}') | {"content": "ab"}]),
        ("K04", 1, [user("a"), user("a"), user("a")]),
        ("K05", 6, [user("\u65e5" * 4), user("\u672c" * 4)]),
        ("K", 1, [user("\u65e5\u672c")]),
        ("K", 1000, [user("x" * 4001)]),
        ("K", 0, [user("")]),
        ("K", 0, [user("") | {"user_input_multi_content": [{"type": "image_url", "image": {"url": "u"}}]}]),
        ("K", 0, [user("") | {"name": "n" * 40, "reasoning_content": "r" * 40}]),
        ("W24", 2, [user("aaaa"), assistant("bbbb")]),
    ],
)
def test_the_reference_counter(store: Store, id: str, tokens: int, log: list[Message]) -> None:
    """A quarter of the bytes of contents and arguments, one division for the whole list."""
    check(id, tokens, written(store, log).count("bytes4").tokens)
    check(id, tokens, counting.tokens(sum(map(counting.reference_bytes, log)), "bytes4"))


# -- windows -----------------------------------------------------------------------------------------------

FOUR = [summary("SSSS"), user("msg1"), assistant("msg2"), user("msg3")]
PAIR = [user("q1q1"), call('{"a":12}'), result("tooltool"), assistant("ansr"), user("q2q2")]
BEHIND = [summary("SSSS"), call('{"a":12}'), result("tooltool"), assistant("ansr"), user("q2q2")]
CJK = [user("\u65e5" * 4), assistant("\u672c" * 4)]
TEN = [user(f"000{number}") for number in range(10)]
LONG = "x" * 400

PLAIN: list[tuple[str, list[int], int, list[Message]]] = [
    ("W01", [0, 1, 2], 0, [user("a"), assistant("b"), user("c")]),
    ("W02", [1, 2], 2, [user("aaaa"), user("bbbb"), user("cccc")]),
    ("W03", [2, 3, 4], 0, [user("old1"), user("old2"), summary("S"), user("new1"), assistant("new2")]),
    ("W04", [0, 3], 2, FOUR),
    ("W05", [0, 2, 3], 3, FOUR),
    ("W05", [0, 1, 2, 3], 4, FOUR),
    ("W05", [0, 3], 1, FOUR),
    ("W06", [3, 4], 0, [user("very old"), summary("S1"), user("middle"), summary("S2"), user("recent")]),
    ("W08", [], 5, []),
    ("W09", [0], 5, [user(LONG)]),
    ("W10", [1], 5, [user("aaaa"), user(LONG)]),
    ("W11", [0, 1], 1, [summary(LONG), user("y" * 400)]),
    ("W12", [0, 2], 1, [summary(LONG), user("mid1"), user("y" * 400)]),
    ("W13", [2], 1, [user("a"), user("b"), summary("S")]),
    ("W14", [0, 1, 2], 2, [user("aaa"), user("bbb"), user("cccc")]),
    ("W15", [1, 2, 3], 2, [user("aaa"), user("bbb"), user("ccc"), user("ddd")]),
    ("W19", [1, 2, 3, 4], 6, PAIR),
    ("W21", [1], 3, CJK),
    ("W21", [1], 5, CJK),
    ("W21", [0, 1], 6, CJK),
    ("W22", [0, 1], 1, [user(""), assistant("")]),
    ("worked 2", [2], 1, [user("aaaa"), user("bbbb"), user("cccc")]),
    ("worked 4", [0, 1, 2], 3, [user("aaaa"), user("bbbb"), user("cccc")]),
    ("worked 7", [6, 7, 8, 9], 4, TEN),
    ("worked 8", [0, 6, 7, 8, 9], 5, [summary("SSSS"), *TEN[1:]]),
]


@pytest.mark.parametrize(("id", "expected", "budget", "log"), PLAIN, ids=[f"{r[0]} {r[2]}" for r in PLAIN])
def test_plain_windows(store: Store, id: str, expected: list[int], budget: int, log: list[Message]) -> None:
    """`--plain` gives the reference's window to the letter."""
    check(id, expected, window(store, log, budget))


@pytest.mark.parametrize(
    ("id", "plain", "ours", "budget", "log"),
    [
        ("W18", [2, 3, 4], [4], 4, PAIR),
        ("W18", [2, 3, 4], [4], 5, PAIR),
        ("W20", [0, 2, 3, 4], [0, 4], 5, BEHIND),
    ],
)
def test_no_result_without_its_call(
    store: Store, id: str, plain: list[int], ours: list[int], budget: int, log: list[Message]
) -> None:
    """Where the reference begins with an orphan result, the default mode begins with a user message."""
    assert plain == window(store, log, budget)
    found = window(store, log, budget, plain=False)
    assert ours == found
    check(id, plain, found)


@pytest.mark.parametrize(
    ("id", "reference", "budget", "maximum", "log"),
    [
        ("W07", [0, 3], 0, 2, FOUR),
        ("W07 not given", [0, 3], None, 2, FOUR),
        ("W16 not given", [0, 1], None, 0, [user("aaaa"), user("bbbb")]),
        ("W17", [0, 1, 2], 3, 2, [user("aaaa"), user("bbbb"), user("cccc")]),
    ],
)
def test_the_configured_maximum(
    tmp_path: Path, id: str, reference: list[int], budget: int | None, maximum: int, log: list[Message]
) -> None:
    """The setting `window.budget` counts where no budget is given; a given one wins."""
    store = Store(tmp_path / "store", settings={"window.budget": maximum})
    check(id, reference, window(store, log, budget))


def test_w16_a_negative_budget_is_refused(store: Store) -> None:
    """The reference takes it for no limit."""
    with pytest.raises(UsageError):
        window(store, [user("aaaa"), user("bbbb")], -1)
    check("W16", [0, 1], "refused")


def test_w23_the_last_summary_while_appending(store: Store) -> None:
    """The index of the last summary is -1 without one and follows each append."""
    talk = store.conversation("u", "c")

    def last() -> int:
        found = [place for place, message in enumerate(talk.messages()) if marker.is_summary(message.value)]
        return max(found, default=-1)

    def append(content: str, is_summary: bool = False) -> int:
        talk.append(content, role="assistant" if is_summary else "user", summary=is_summary)
        shown = talk.window(0, counter="bytes4", plain=True)
        assert (None if last() < 0 else last()) == shown.summary
        return last()

    seen = [append("a"), append("S", True), append("b"), append("S", True)]
    check("W23", [-1, 1, 1, 3], seen)


def test_w25_the_last_messages(store: Store) -> None:
    """The last N messages, without regard to tokens."""
    log = [user("a"), assistant("b"), user("c")]
    read = written(store, log).read(last=2)
    check("W25", ["b", "c"], [message.content for message in read.messages])


@pytest.mark.parametrize("value", [-1, "-1"])
def test_f09_negative_sizes_are_refused(tmp_path: Path, value: Any) -> None:
    """A negative number in the settings is an error where the store is made."""
    with pytest.raises(BadConfig):
        Store(tmp_path / "store", settings={"window.budget": value})
