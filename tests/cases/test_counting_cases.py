"""Counting: special tokens, repeated characters, no network, other scripts, large lines, long logs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memctl import Store

from .inputs import Printed, Put, Run, Write, case_bytes, case_lines

#: Makes every attempt to reach a network fail at once, and leaves a trace of it.
_NO_NETWORK = """
import socket
def refuse(*args, **options):
    print("NETWORK", args, flush=True)
    raise OSError("there is no network")
socket.socket.connect = socket.socket.connect_ex = refuse
socket.create_connection = socket.getaddrinfo = refuse
"""


def dumps(*messages: tuple[str, Any]) -> bytes:
    """Lines as `json.dumps` writes them by default."""
    return b"".join(json.dumps({"role": r, "content": c}).encode() + b"\n" for r, c in messages)


def turns(count: int, text: Callable[[int], str], first: str = "user") -> list[tuple[str, Any]]:
    """User and assistant in turn."""
    roles = ("user", "assistant") if first == "user" else ("assistant", "user")
    return [(roles[number % 2], text(number)) for number in range(count)]


@pytest.mark.parametrize(
    ("case", "counter", "tokens"),
    [
        ("B48", "o200k_base", 48),
        ("B48", "cl100k_base", 45),
        ("B48", "bytes4", 27),
        ("B50", "o200k_base", 10),
        ("B50", "cl100k_base", 10),
        ("B50", "bytes4", 1),
        ("B54", "o200k_base", 714),
        ("B54", "cl100k_base", 1274),
        ("B54", "bytes4", 900),
    ],
)
def test_tokens_of_the_cases(store: Store, put: Put, case: str, counter: str, tokens: int) -> None:
    """Each counter gives its own known number."""
    put("c", case_bytes(case))
    assert tokens == store.conversation("alice", "c").count(counter).tokens


def test_b48_special_tokens_are_text(
    memctl: Run, store: Store, put: Put, printed: Callable[..., Printed]
) -> None:
    """Markers of other programs in a text are counted as the text that they are, and never refused."""
    window = printed(case_bytes("B48"), "-b", "48")
    assert (case_lines("B48"), 48, False) == (
        window.lines,
        window.explain["tokens"],
        window.explain["over_budget"],
    )
    put("full", case_bytes("B48"))
    tight = store.conversation("alice", "full").window(47)
    assert (2, True) == (len(tight.lines), tight.over_budget)
    shorter = case_bytes("B48")
    for name in (b"endoftext", b"fim_prefix", b"im_start"):
        shorter = shorter.replace(b"<|%s|>" % name, b"<||>")
    put("short", shorter)
    assert 34 == store.conversation("alice", "short").count().tokens
    counted = json.loads(memctl("count", "./input.jsonl", "--json").stdout)
    assert (2, 48) == (counted["messages"], counted["tokens"])


@pytest.mark.xdist_group("measures")
def test_b49_a_million_times_the_same_character(memctl: Run, file: Write) -> None:
    """Texts that tokenizers are slow on are counted in seconds, and cut like all others."""
    characters = ("^", "a", " ", "\u4e2d", "=-")
    data = dumps(*turns(5, lambda number: characters[number] * 1_000_000), ("user", "short"))
    assert (11_000_207, 6) == (len(data), data.count(b"\n"))
    file(data)
    begin = time.monotonic()
    done = memctl("count", "./input.jsonl")
    assert 0 == done.returncode
    assert 20 > time.monotonic() - begin
    window = memctl("window", "./input.jsonl", "-b", "100", "-f", "jsonl", "--explain")
    assert b'{"role": "user", "content": "short"}\n' == window.stdout
    (report,) = (json.loads(line) for line in window.stderr.splitlines() if line.startswith(b"{"))
    assert (5, False, 5) == (report["tokens"], report["over_budget"], report["cut"])


def _offline(arguments: list[str], environment: dict[str, str], tmp_path: Path) -> tuple[Any, float]:
    """The command without any network, as far as this machine lets us, with empty caches."""
    directory = tmp_path / "patched"
    directory.mkdir(exist_ok=True)
    (directory / "sitecustomize.py").write_text(_NO_NETWORK)
    env = environment | {"PYTHONPATH": f"{directory}:{environment['PYTHONPATH']}", "http_proxy": ""}
    command = [sys.executable, "-m", "memctl", *arguments]
    if (
        shutil.which("unshare")
        and not subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode
    ):
        command = ["unshare", "-n", *command]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=env, timeout=60)
    return done, time.monotonic() - begin


@pytest.mark.xdist_group("measures")
@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        (10, ["count", "./input.jsonl"]),
        (10, ["count", "./input.jsonl", "--counter", "cl100k_base"]),
        (1, ["count", "./input.jsonl", "--counter", "bytes4"]),
        (10, ["window", "./input.jsonl", "-b", "10", "-f", "jsonl", "--explain"]),
    ],
    ids=["o200k_base", "cl100k_base", "bytes4", "window"],
)
def test_b50_counting_needs_no_network(
    environment: dict[str, str], file: Write, tmp_path: Path, expected: int, arguments: list[str]
) -> None:
    """With no network and empty caches the right counter answers at once and says nothing about it."""
    file(case_bytes("B50"))
    done, seconds = _offline(arguments, environment, tmp_path)
    assert 0 == done.returncode
    assert b"NETWORK" not in done.stdout + done.stderr
    # Two seconds are asked for on a machine of its own; this one may be shared.
    assert 4 > seconds
    if arguments[0] == "count":
        assert (b"%d\n" % expected, b"") == (done.stdout, done.stderr)
    else:
        report = json.loads(done.stderr)
        assert (case_bytes("B50"), expected, False) == (done.stdout, report["tokens"], report["over_budget"])


@pytest.mark.parametrize(("counter", "tokens"), [("o200k_base", 244), ("cl100k_base", 484), ("bytes4", 300)])
def test_b54_a_line_of_chinese(store: Store, put: Put, counter: str, tokens: int) -> None:
    """Characters divided by four would be a hundred: no counter gives that."""
    put("one", case_lines("B54")[0])
    assert tokens == store.conversation("alice", "one").count(counter).tokens


def test_b54_the_answer_goes_with_what_it_answers(store: Store, put: Put) -> None:
    """One token less than all, and the cut moves on to the next user message."""
    put("b54", case_bytes("B54"))
    lines = [line.removesuffix(b"\n") for line in case_lines("B54")]
    window = store.conversation("alice", "b54").window(713)
    assert (lines[2:], 186, 2) == (window.lines, window.tokens, window.cut)
    assert (lines, 714) == store.conversation("alice", "b54").window(714)[1:3]


@pytest.fixture(scope="module")
def huge() -> bytes:
    """B23: two hundred small messages around one with a picture of 40 MB."""
    picture = {"url": "data:image/png;base64," + "A" * 40_000_000}
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": picture}]
    late = turns(100, lambda number: f"late {number}", first="assistant")
    data = dumps(*turns(100, lambda number: f"small {number}"), ("user", parts), *late)
    assert (40_008_515, 201) == (len(data), data.count(b"\n"))
    assert (4_240, 40_000_134) == (data.index(b'{"role": "user", "content": [{'), len(data.split(b"\n")[100]))
    return data


@pytest.mark.xdist_group("measures")
def test_b23_a_picture_of_40_mb_counts_as_a_picture(store: Store, put: Put, huge: bytes) -> None:
    """Base64 text costs no tokens and no time."""
    put("b23", huge)
    lines = huge.split(b"\n")[:-1]
    talk = store.conversation("alice", "b23")
    begin = time.monotonic()
    counted = talk.count()
    assert (201, 1490) == (counted.messages, counted.tokens)
    for budget, first, tokens in [(4000, 0, 1490), (790, 100, None), (700, 102, 693)]:
        window = talk.window(budget)
        assert lines[first:] == window.lines
        assert tokens in (None, window.tokens)
        assert not window.over_budget
    assert 15 > time.monotonic() - begin
    put("alone", lines[100] + b"\n")
    assert 90 == store.conversation("alice", "alone").count().tokens


#: A small parent, so that what it hands on to its child does not count as the child's.
_PEAK = """
import os, sys
pid = os.posix_spawn(sys.executable, [sys.executable, "-m", "memctl", *sys.argv[1:]], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024), file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.xdist_group("measures")
def test_b23_a_list_holds_one_line_at_a_time(
    environment: dict[str, str], root: Path, put: Put, huge: bytes, tmp_path: Path
) -> None:
    """Twenty conversations with such a line are listed in the memory of about four lines at most."""
    first = put("c0", huge)
    for number in range(1, 20):
        first.with_name(f"c{number}.jsonl").hardlink_to(first)
    command = [sys.executable, "-c", _PEAK, "--root", str(root), "list", "alice", "-f", "jsonl"]
    done = subprocess.run(command, capture_output=True, env=environment, cwd=tmp_path, timeout=300)
    assert 0 == done.returncode
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [201] * 20 == [row["messages"] for row in rows]
    assert 4 * 40_000_134 > int(done.stderr)


@pytest.fixture(scope="module")
def long_log() -> bytes:
    """B53: 20,000 messages."""
    data = dumps(*turns(20_000, lambda number: f"w{number} " + "word " * 20))
    assert (2_818_890, 20_000) == (len(data), data.count(b"\n"))
    return data


@pytest.mark.xdist_group("measures")
def test_b53_windows_of_a_long_log(store: Store, put: Put, long_log: bytes) -> None:
    """The first window takes seconds, whatever its budget, and is the one that dropping one by one gives."""
    lines = long_log.split(b"\n")[:-1]
    expected = [
        (16_000, 19_430, 15_960, False),
        (15_999, 19_430, 15_960, False),
        (16_001, 19_430, 15_960, False),
        (1, 19_998, 56, True),
        (1_000_000_000, 0, 559_000, False),
    ]
    for budget, first, tokens, over in expected:
        put(f"b{budget}", long_log)
        begin = time.monotonic()
        window = store.conversation("alice", f"b{budget}").window(budget)
        assert 20 > time.monotonic() - begin
        assert lines[first:] == window.lines
        assert (tokens, over, first, first) == (
            window.tokens,
            window.over_budget,
            window.cut,
            window.first if not over else window.anchor,
        )
    plain = store.conversation("alice", "b16000").window(16_000, plain=True)
    assert lines[19_429:] == plain.lines


@pytest.mark.xdist_group("measures")
def test_b53_no_history_is_counted_again(
    store: Store, put: Put, long_log: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window weighs each message that it looks at once, and those of an older window not again."""
    from memctl.store import weighing

    weighed: list[int] = []
    original = weighing._Tokens.weigh

    def weigh(self: Any, values: list[dict[str, Any]]) -> list[int]:
        weighed.append(len(values))
        return original(self, values)

    monkeypatch.setattr(weighing._Tokens, "weigh", weigh)
    put("b53", long_log)
    talk = store.conversation("alice", "b53")
    talk.window(16_000)
    first = sum(weighed)
    assert 570 <= first < 4_000
    weighed.clear()
    talk.window(15_999)
    assert sum(weighed) <= 2
