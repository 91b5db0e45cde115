"""On a terminal: nothing in a message, a name or an error acts, whatever the command and the width."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memctl import Store
from tests.cli.conftest import Terminal
from tests.conftest import Memctl

#: Clears the screen, sets a title, rings, reorders, ends a line; markup, emoji code and link of rich.
HOSTILE = "a\x1b[2J\x1b]0;owned\x07\u202eevil\u2066\u2028next\x9b31m[bold red]x[/] :smile: [link=http://x]y[/link]\x7f"
NAME = "al\x1b[31mice\u202e[red]"
REFERENCE = "al%1B[31mice\u202e[red]/tr\u2066ip"
#: What may come out: text, the line of progress, and the colours that memctl itself sets.
PROGRESS = re.compile(r"\r[^\r\n]*\x1b\[K")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")

LINES = [
    ("list",),
    ("list", "-f", "text"),
    ("list", "--json"),
    ("show", REFERENCE),
    ("show", REFERENCE, "--full"),
    ("show", REFERENCE, "-f", "jsonl"),
    ("show", REFERENCE, "--json"),
    ("show", REFERENCE, "-f", "markdown"),
    ("window", REFERENCE),
    ("window", REFERENCE, "-f", "text"),
    ("window", REFERENCE, "-f", "openai"),
    ("window", REFERENCE, "-f", "anthropic"),
    ("window", REFERENCE, "--explain"),
    ("trash",),
    ("trash", "--json"),
    ("quarantine",),
    ("quarantine", "--json"),
    ("activities", REFERENCE),
    ("delete", REFERENCE),
    ("show", f"{NAME}/missing"),
    ("show", f"./{HOSTILE}.jsonl"),
    ("append", f"{NAME}/a/{HOSTILE}", "x"),
    ("drop", REFERENCE, HOSTILE),
    (HOSTILE,),
    ("show", REFERENCE, "-f", HOSTILE),
    ("help", HOSTILE),
    ("--config", HOSTILE, "list"),
]


@pytest.fixture(scope="session")
def hostile_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which every text and name tries to act on a terminal."""
    root = tmp_path_factory.mktemp("hostile") / "store"
    store = Store(root, now_us=1_772_614_800_000_000, settings={"heal.settle_ms": 0})
    talk = store.conversation(NAME, "tr\u2066ip")
    talk.append(HOSTILE, name=HOSTILE, id=HOSTILE)
    call = {"id": HOSTILE, "type": "function", "function": {"name": HOSTILE, "arguments": HOSTILE}}
    talk.append({"role": "assistant", "content": HOSTILE, "reasoning_content": HOSTILE, "tool_calls": [call]})
    talk.append({"role": "tool", "content": HOSTILE, "tool_call_id": HOSTILE, "tool_name": HOSTILE})
    talk.set_activities(json.dumps([HOSTILE], ensure_ascii=False).encode())
    path = next(root.glob("conversations/*/*.jsonl"))
    with open(path, "ab") as file:
        file.write(HOSTILE.encode())
    talk.append("behind a torn tail")
    gone = store.conversation(NAME, "gone" + HOSTILE[:9])
    gone.append("x")
    gone.delete()
    return root


def unsafe(text: str) -> list[str]:
    """The characters that could act on a terminal: all that cannot be printed but LF and TAB."""
    return [char for char in text if not (char.isprintable() or char in "\n\t")]


@pytest.mark.parametrize("line", LINES, ids=lambda line: ascii(" ".join(line))[:40])
def test_nothing_acts(terminal: Terminal, hostile_store: Path, line: tuple[str, ...]) -> None:
    """At 80 columns with colours and at 200 without, no control, no reordering, no markup comes through."""
    root = ("--root", str(hostile_store))
    coloured = terminal(*root, *line, width=80)
    plain = terminal(*root, *line, width=200, NO_COLOR="1")
    assert coloured[0] == plain[0]
    for _, out, err in (coloured, plain):
        assert [] == unsafe(COLOUR.sub("", out))
        assert [] == unsafe(PROGRESS.sub("", err))
        assert "\U0001f604" not in out + err
    assert [] == unsafe(plain[1])
    if coloured[0] == 0 and line[0] not in ("trash", "quarantine", "list"):
        assert "[bold red]" in plain[1] or "[red]" in plain[1]
        assert plain[1] == COLOUR.sub("", coloured[1])


def test_colours_are_only_ours(terminal: Terminal, hostile_store: Path) -> None:
    """`show` on a terminal colours headers; TERM=dumb and NO_COLOR do not."""
    line = ("--root", str(hostile_store), "show", REFERENCE)
    assert COLOUR.search(terminal(*line)[1])
    assert not COLOUR.search(terminal(*line, TERM="dumb")[1])
    assert not COLOUR.search(terminal(*line, NO_COLOR="1")[1])


@pytest.mark.parametrize("width", [80, 200])
def test_tables_fit(terminal: Terminal, filled: Path, width: int) -> None:
    """Tables are never wider than the terminal, and hold every cell whole."""
    store = Store(filled)
    long = "a-rather-long-name-of-a-conversation-that-somebody-gave-" + "x" * 60
    store.conversation("alice", long).append("x")
    for command, cell in (
        ("list", f"alice/{long}"),
        ("quarantine", "torn-tail"),
        ("config", "window.budget"),
    ):
        exit_code, out, err = terminal("--root", str(filled), command, width=width, NO_COLOR="1")
        assert (0, "") == (exit_code, err)
        assert width >= max(map(len, out.splitlines()))
        # A folded cell goes on in the lines below, where the other columns are empty.
        assert cell in "".join(text.split()[0] for text in out.splitlines() if text.strip()) or cell in out


def test_json_on_a_terminal_is_the_same_json(terminal: Terminal, memctl: Memctl, hostile_store: Path) -> None:
    """Escapes for a terminal do not change the value."""
    for line in (("show", REFERENCE, "--json"), ("list", "--json"), ("window", REFERENCE, "-f", "openai")):
        piped = memctl("--root", str(hostile_store), *line).stdout
        shown = terminal("--root", str(hostile_store), *line)[1]
        assert json.loads(piped) == json.loads(shown)


def test_a_pipe_gets_the_bytes(memctl: Memctl, hostile_store: Path) -> None:
    """In a pipe the stored bytes are data, untouched."""
    stored = next(hostile_store.glob("conversations/*/*.jsonl")).read_bytes()
    assert stored == memctl("--root", str(hostile_store), "show", REFERENCE, "-f", "jsonl").stdout


def test_the_list_on_a_terminal_is_a_table(terminal: Terminal, filled: Path) -> None:
    """`list` draws a table on a terminal, and prints JSON lines in a pipe."""
    shown = terminal("--root", str(filled), "list", NO_COLOR="1")[1]
    assert shown.split()[0] == "conversation"
    assert 2 == len([line for line in shown.splitlines() if line.strip().startswith("alice/")])
