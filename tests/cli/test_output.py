"""What reaches standard output and standard error, in a pipe and on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.cli import encoding
from memctl.cli.output import Output
from tests.cli.conftest import drain

Run = Callable[..., tuple[bytes, bytes]]
HOSTILE = "a\x1b[31m\x07\u202e\u2028\x9b[red]:smile:"

PROGRAM = """
from memctl.cli.output import Output
out = Output()
HOSTILE = "a\\x1b[31m\\x07\\u202e\\u2028\\x9b[red]:smile:"
{body}
out.finish(0)
"""


@pytest.fixture
def piped(environment: dict[str, str]) -> Run:
    """Runs lines on an Output whose streams are pipes; standard output and standard error."""

    def run(body: str, **env: str) -> tuple[bytes, bytes]:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.replace("{body}", body)],
            capture_output=True,
            check=True,
            env=environment | env,
        )
        return done.stdout, done.stderr

    return run


@pytest.fixture
def on_terminal(environment: dict[str, str]) -> Run:
    """Runs lines on an Output whose two streams are terminals of 80 columns; what each shows."""

    def run(body: str, **env: str) -> tuple[bytes, bytes]:
        (out_master, out_slave), (err_master, err_slave) = pty.openpty(), pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.replace("{body}", body)],
            stdin=subprocess.DEVNULL,
            stdout=out_slave,
            stderr=err_slave,
            env=environment | {"COLUMNS": "80", "TERM": "xterm"} | env,
        )
        os.close(out_slave)
        os.close(err_slave)
        shown = drain(out_master).replace(b"\r\n", b"\n"), drain(err_master).replace(b"\r\n", b"\n")
        assert 0 == process.wait(60), shown
        return shown

    return run


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_json_is_what_the_standard_library_writes(value: object) -> None:
    """Reports are compact JSON, character for character."""
    assert json.dumps(value, ensure_ascii=False, separators=(",", ":")) == encoding.dumps(value)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_json_has_no_nan(number: float) -> None:
    """What JSON has no word for is null."""
    assert "[null]" == encoding.dumps([number])


def test_json_refuses_other_types() -> None:
    """A type that JSON does not have is a mistake of the program."""
    with pytest.raises(TypeError):
        encoding.dumps({"a": {1, 2}})


@given(st.text(st.characters(codec=None)))
def test_surrogates_are_replaced_one_by_one(text: str) -> None:
    """Any text becomes UTF-8 of the same length in characters; only surrogates change, to U+FFFD."""
    expected = [c if not "\ud800" <= c <= "\udfff" else "\ufffd" for c in text]
    assert expected == list(encoding.utf8(text).decode("utf-8"))


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"PYTHONUNBUFFERED": "1"},
    ],
)
def test_always_utf8(piped: Run, env: dict[str, str]) -> None:
    """Output is UTF-8 whatever the locale and PYTHONIOENCODING say."""
    body = r"out.text('\u00e9'); out.json({'\u00e9': '\ud800'}); out.talk('\u00e9')"
    body += r"; out.table(['\u00e9'], [['\u2603']])"
    assert ("é\né\n☃\n" + '{"é":"\ufffd"}\n', "memctl: é\n") == tuple(s.decode() for s in piped(body, **env))


def test_bytes_in_a_pipe_are_untouched(piped: Run) -> None:
    """Stored bytes go through a pipe as they are, whatever is in them."""
    data = bytes(range(256))
    assert (data * 3, b"") == piped("d = bytes(range(256)); out.bytes(d); out.lines([d]); out.raw(d)")


def test_text_in_a_pipe_is_untouched(piped: Run) -> None:
    """Text in a pipe is data: nothing in it is escaped."""
    assert (HOSTILE + "\n").encode() == piped("out.text(HOSTILE)")[0]


def test_talk_is_visible_everywhere(piped: Run) -> None:
    """Talk is one line with a prefix, made visible also in a pipe."""
    expected = b"memctl: a\\x1b[31m\\x07\\u202e\\u2028\\x9b[red]:smile:\\n\n"
    assert (b"", expected) == piped("out.talk(HOSTILE + '\\n')")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", b"memctl: talk\n"),
        ("out.verbose = True", b"memctl: talk\nmemctl: detail\n"),
        ("out.quiet = True", b""),
    ],
)
def test_quiet_and_verbose(piped: Run, flags: str, expected: bytes) -> None:
    """-v adds details, -q leaves no talk."""
    assert (b"", expected) == piped(f"{flags}\nout.talk('talk'); out.detail('detail')")


def test_object_on_stderr(piped: Run, on_terminal: Run) -> None:
    """An object on standard error is one line without prefix; on a terminal with escapes, the same value."""
    for run in (piped, on_terminal):
        line = run("out.object_on_stderr({'a': HOSTILE})")[1]
        assert ({"a": HOSTILE}, 1) == (json.loads(line), line.count(b"\n"))
    assert b"\x1b" not in line and "\u202e".encode() not in line


@pytest.mark.parametrize(
    "call", ["out.text(HOSTILE)", "out.report(HOSTILE)", "out.table(['c'], [[HOSTILE]])"]
)
def test_hostile_text_on_a_terminal(on_terminal: Run, call: str) -> None:
    """On a terminal nothing in a text acts: no control, no reordering, no markup, no emoji code."""
    shown = on_terminal(call, NO_COLOR="1")[0].decode()
    assert "a\\x1b[31m\\x07\\u202e\\u2028\\x9b[red]:smile:" in shown
    assert [] == [c for c in shown if c in "\x1b\x07\u202e\u2028\x9b"]


@pytest.mark.parametrize(
    "call", ["out.bytes(d)", "out.lines([d, d])", "out.json({'a': HOSTILE}, report=False)"]
)
def test_hostile_json_on_a_terminal(on_terminal: Run, call: str) -> None:
    """JSON lines on a terminal carry `\\u` escapes and are still the same JSON."""
    body = "import json; d = json.dumps({'a': HOSTILE}, ensure_ascii=False).encode() + b'\\n'\n"
    shown = on_terminal(body + call)[0].decode()
    assert [] == [c for c in shown if c in "\x1b\x07\u202e\u2028\x9b"]
    assert {HOSTILE} == {json.loads(line)["a"] for line in shown.splitlines()}


def test_raw_on_a_terminal(on_terminal: Run) -> None:
    """Raw bytes pass even to a terminal: `run` shows what its command wrote."""
    assert b"\x1b[1mx" == on_terminal("out.raw(b'\\x1b[1mx')")[0]


ROWS = [["alice/" + "x" * 120, "12"], ["bob/ü", "7"]]


def test_table_in_a_pipe(piped: Run) -> None:
    """A table in a pipe is aligned text, whole, numbers to the right."""
    out, _ = piped(f"out.table(['conversation', 'messages'], {ROWS!r}, right=[1])")
    assert ["conversation", "messages", ROWS[0][0], "12", "bob/ü", "7"] == out.decode().split()
    assert {len(ROWS[0][0]) + len("  messages")} == {len(line) for line in out.decode().splitlines()}


def test_table_on_a_terminal(on_terminal: Run) -> None:
    """At 80 columns nothing of a cell is cut: it is folded, and no line is wider than the terminal."""
    shown = on_terminal(f"out.table(['conversation', 'messages'], {ROWS!r}, right=[1])", NO_COLOR="1")[
        0
    ].decode()
    assert 120 == shown.count("x")
    assert "…" not in shown
    assert 80 >= max(map(len, shown.splitlines()))


@pytest.mark.parametrize(
    ("env", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_on_a_terminal(on_terminal: Run, env: dict[str, str], coloured: bool) -> None:
    """NO_COLOR (not empty) and TERM=dumb switch colour off."""
    shown = on_terminal("out.table(['c'], [['x']]); out.text(str(out.colour))", **env)[0]
    assert (coloured, str(coloured).encode()) == (b"\x1b[" in shown, shown.split()[-1])


def test_no_colour_in_a_pipe(piped: Run) -> None:
    """A pipe is not coloured, whatever FORCE_COLOR and TERM say."""
    out, _ = piped("out.table(['c'], [['x']]); out.text(str(out.colour))", FORCE_COLOR="1", TERM="xterm")
    assert b"c\nx\nFalse\n" == out


PROGRESS = """
import time
with out.progress('HOSTILE' + HOSTILE) as p:
    time.sleep(0.6)
    p.advance(1, 4)
    p.advance(4, 4)
"""


def test_progress_on_a_terminal(on_terminal: Run) -> None:
    """Progress is a line on standard error that is gone at the end."""
    out, err = on_terminal(PROGRESS)
    assert b"" == out
    assert err.startswith(b"\rHOSTILEa\\x1b[31m")
    assert b"1/4 (25 %)" in err
    assert err.endswith(b"\r\x1b[K")


def test_short_work_has_no_progress(on_terminal: Run) -> None:
    """What is done at once draws no line that would only flicker."""
    assert (b"", b"") == on_terminal("with out.progress('x') as p:\n    p.advance(1, 4)")


def test_no_progress(piped: Run, on_terminal: Run) -> None:
    """Progress is not shown in a pipe nor when quiet."""
    assert (b"", b"") == piped(PROGRESS)
    assert (b"", b"") == on_terminal("out.quiet = True\n" + PROGRESS)


def test_failing_talk_is_no_failure(environment: dict[str, str]) -> None:
    """A closed or full standard error does not fail the command."""
    program = PROGRAM.replace("{body}", "out.talk('x'); out.object_on_stderr({}); out.text('done')")
    for redirection in ("2>&-", "2>/dev/full"):
        done = subprocess.run(
            ["sh", "-c", f'"$0" -c "$1" {redirection}', sys.executable, program],
            stdout=subprocess.PIPE,
            env=environment,
            check=False,
        )
        assert (0, b"done\n") == (done.returncode, done.stdout)


def test_unknown_width_is_80(monkeypatch: pytest.MonkeyPatch) -> None:
    """COLUMNS gives the width of a table."""
    monkeypatch.setenv("COLUMNS", "123")
    assert 123 == Output().columns
