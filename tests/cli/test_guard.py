"""Exceptions, signals and closed pipes as exit codes, seen from outside the process."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Memctl

#: Adds a command `fake` with the given body to the catalogue and runs the command line.
PROGRAM = """
import sys, types
from typing import Annotated
import memctl.__main__
from memctl.cli.catalogue import COMMANDS, Entry
module = types.ModuleType("memctl.cli.cmd_fake")
source = r'''
import errno, os, sys, time, typer
from typing import Annotated
from memctl import errors
from memctl.cli.guard import Answer
def command(
    ctx: typer.Context,
    json: Annotated[bool, typer.Option("--json")] = False,
    number: Annotated[int, typer.Option("-n")] = 0,
    text: Annotated[list[str] | None, typer.Argument()] = None,
) -> None:
    out = ctx.obj.out
    {body}
'''
exec(source, module.__dict__)
sys.modules["memctl.cli.cmd_fake"] = module
COMMANDS["fake"] = Entry("cmd_fake", "command", "The rest", "A fake.")
sys.exit(memctl.__main__.main())
"""

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Start:
    """Starts `memctl fake` whose body is the given lines; pipes for both outputs."""

    def popen(body: str, *args: str | bytes, **more: object) -> subprocess.Popen[bytes]:
        script = tmp_path / "program.py"
        script.write_text(PROGRAM.replace("{body}", body.replace("\n", "\n    ")))
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment} | more
        return subprocess.Popen([sys.executable, str(script), *args], **options)  # type: ignore[call-overload, no-any-return]

    return popen


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    """Exit code, standard output, standard error."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("body", "exit_code", "message"),
    [
        ("raise errors.NotFound('no conversation a/b')", 66, "no conversation a/b"),
        ("raise errors.LockTimeout('busy')", 75, "busy"),
        ("open('/nonexistent/file')", 66, "/nonexistent/file: No such file or directory"),
        ("raise OSError(errno.EACCES, os.strerror(errno.EACCES), b'f')", 77, "f: Permission denied"),
        ("raise OSError(errno.EROFS, os.strerror(errno.EROFS))", 77, "Read-only file system"),
        ("raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), 'f')", 74, "f: No space left on device"),
        ("raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))", 74, "Disk quota exceeded"),
        ("raise OSError(errno.EIO, os.strerror(errno.EIO))", 74, "Input/output error"),
        ("open('x' * 300, 'w')", 65, "x" * 300 + ": File name too long"),
        ("raise MemoryError", 74, "out of memory"),
        ("raise typer.BadParameter('no')", 2, "invalid value: no"),
        (
            "raise typer.BadParameter('x is not a valid int range.')",
            2,
            "invalid value: x is not a whole number, 0 or more",
        ),
        ("raise typer.BadParameter('-1 is not in the range x>=0.')", 2, "invalid value: -1 is not 0 or more"),
        ("raise typer.BadParameter(\"'x' is not a valid float.\")", 2, "invalid value: 'x' is not a number"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
    ],
)
def test_exit_codes(start: Start, body: str, exit_code: int, message: str) -> None:
    """Each failure has its exit code and one line on standard error."""
    code, out, err = ended(start(body, "fake"))
    assert (exit_code, b"", f"memctl: {message}") == (code, out, err.decode().split("\n")[0])


@pytest.mark.parametrize(
    "body", ["raise ValueError('odd')", "def f(): f()\nf()", "1 / 0", "raise OSError('odd')"]
)
def test_bugs(start: Start, body: str) -> None:
    """What nobody expected is 70: two lines without a traceback, and with -v the traceback."""
    code, out, err = ended(start(body, "fake"))
    assert (70, b"", 2) == (code, out, err.count(b"\n"))
    assert b"a bug in memctl" in err
    code, _, err = ended(start(body, "-v", "fake"))
    assert 70 == code
    assert b"Traceback" in err


def test_hint(start: Start) -> None:
    """A hint is a line of its own, also when quiet."""
    body = "raise errors.NotFound('no', hint='look there')"
    assert (66, b"", b"memctl: no\nmemctl: hint: look there\n") == ended(start(body, "-q", "fake"))


def test_error_is_one_visible_line(start: Start) -> None:
    """Control characters of a name do not reach the terminal, and cannot make a second line."""
    _, _, err = ended(start(r"raise errors.NotFound('a\x1b[31m\nmemctl: fine\u202e')", "fake"))
    assert b"memctl: a\\x1b[31m\\nmemctl: fine\\u202e\n" == err


@pytest.mark.parametrize("args", [("--json",), ("--json", "-n", "x")])
def test_json_errors(start: Start, args: tuple[str, ...]) -> None:
    """With --json the error is one object, standard output is empty, whatever was printed before."""
    code, out, err = ended(start("out.json({'a': 1})\nraise errors.IdConflict('twice')", "fake", *args))
    error = json.loads(err)["error"]
    assert ["code", "exit", "message", "hint"] == list(error)
    assert (code, b"", 1) == (error["exit"], out, err.count(b"\n"))
    assert (65, "id-conflict") == (code, error["code"]) or (2, "usage") == (code, error["code"])


@pytest.mark.parametrize("body", ["raise Answer(1)", "raise typer.Exit(1)", "ctx.exit(1)"])
def test_negative_answer(start: Start, body: str) -> None:
    """A negative answer is no failure: what was reported is printed."""
    assert (1, b'{"a":1}\n', b"") == ended(start("out.json({'a': 1})\n" + body, "fake", "--json"))


def test_output_before_an_error_is_kept(start: Start) -> None:
    """Lines that were printed before a failure go out, before the error."""
    body = "out.text('one')\nraise errors.NotFound('two')"
    assert (66, b"one\nmemctl: two\n", None) == ended(start(body, "fake", stderr=subprocess.STDOUT))


def test_quiet_report(start: Start) -> None:
    """-q drops the report of a success, keeps data, and keeps the report of a negative answer."""
    report = "out.json({'a': 1})"
    assert (0, b"", b"") == ended(start(report, "-q", "fake"))
    assert (0, b"data\n", b"") == ended(start(report + "\nout.text('data')\nout.talk('x')", "-q", "fake"))
    assert (1, b'{"a":1}\n', b"") == ended(start(report + "\nraise Answer(1)", "-q", "fake"))


@pytest.mark.parametrize("value", ["-5", "-0"])
def test_negative_option_value(start: Start, value: str) -> None:
    """A negative number after an option is its value."""
    assert (0, f"{int(value)}\n".encode(), b"") == ended(start("out.text(str(number))", "fake", "-n", value))


def test_text_after_dashes(start: Start) -> None:
    """After -- a text may begin with a dash, and --json is a text, also for errors."""
    body = "out.text(str(text))\nraise errors.NotFound('x')"
    assert (66, b"['-5 degrees', '--json']\n", b"memctl: x\n") == ended(
        start(body, "fake", "--", "-5 degrees", "--json")
    )


def test_argument_that_is_not_utf8(start: Start) -> None:
    """Bytes outside UTF-8 reach the command as surrogates, and are shown as U+FFFD."""
    body = "out.text(ascii(text[0]) + text[0])"
    assert (0, "'a\\udcff'a\ufffd\n".encode(), b"") == ended(start(body, "fake", b"a\xff"))


@pytest.mark.parametrize(
    "body",
    [
        "out.raw(b'x' * 1_000_000)",
        "out.lines([b'x' * 1000 + b'\\n'] * 1000)",
        "out.text('x')",
        "out.json({'a': 1})",
    ],
)
@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_closed_pipe(
    start: Start, environment: dict[str, str], body: str, unbuffered: dict[str, str]
) -> None:
    """A reader that went away ends the command quietly with 141."""
    reading, writing = os.pipe()
    os.close(reading)
    process = start(body, "fake", stdout=writing, env=environment | unbuffered)
    os.close(writing)
    assert (141, None, b"") == ended(process)


def test_closed_pipe_of_help(start: Start) -> None:
    """The help, too, ends quietly when nobody reads it."""
    reading, writing = os.pipe()
    os.close(reading)
    process = start("pass", "--help", stdout=writing)
    os.close(writing)
    assert (141, None, b"") == ended(process)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")
@pytest.mark.parametrize("args", [("fake",), ("fake", "-h"), ("--version",)])
def test_full_disk(start: Start, args: tuple[str, ...]) -> None:
    """A full disk behind standard output is 74 with a message."""
    with open("/dev/full", "wb") as full:
        code, _, err = ended(start("out.text('x')", *args, stdout=full))
    assert (74, True, 1) == (code, b"No space left on device" in err, err.count(b"\n"))


def test_size_limit(start: Start, tmp_path: Path) -> None:
    """A file size limit (ulimit -f) behind standard output is 74, no death by signal."""
    with open(tmp_path / "out", "wb") as file:
        process = start(
            "out.raw(b'x' * 100_000)",
            "fake",
            stdout=file,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        )
        code, _, err = ended(process)
    assert (74, b"memctl: standard output: File too large\n") == (code, err)


def test_closed_streams(environment: dict[str, str], tmp_path: Path) -> None:
    """With standard output closed from the start data is 74, silence is fine; without standard error, too."""
    command = f"{sys.executable} -m memctl"
    codes = [
        subprocess.run(
            ["sh", "-c", f"{command} {rest}"], env=environment, cwd=tmp_path, check=False
        ).returncode
        for rest in ("config >&- 2>&-", "-q --root r config --init >&- 2>&-", "config >/dev/null 2>&-")
    ]
    assert [74, 0, 0] == codes


def test_unbuffered_output_is_whole(start: Start, environment: dict[str, str]) -> None:
    """With PYTHONUNBUFFERED a write may be cut short by a slow reader; nothing gets lost."""
    process = start(
        "out.raw(bytes(range(256)) * 20_000)", "fake", env=environment | {"PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    first = process.stdout.read(10)
    rest = process.stdout.read()
    assert (0, bytes(range(256)) * 20_000) == (process.wait(60), first + rest)


@pytest.mark.parametrize(
    ("number", "exit_code", "word"),
    [(signal.SIGTERM, 143, b"terminated"), (signal.SIGINT, 130, b"interrupted")],
)
def test_signals(start: Start, number: int, exit_code: int, word: bytes) -> None:
    """A signal unwinds the command (finally blocks run) and ends it with its exit code."""
    body = (
        "try:\n    out.raw(b'ready\\n'); out.flush()\n    time.sleep(60)\n"
        "finally:\n    out.raw(b'unwound\\n'); out.flush()"
    )
    process = start(body, "fake")
    assert process.stdout is not None
    assert b"ready\n" == process.stdout.readline()
    process.send_signal(number)
    assert (exit_code, b"unwound\n", b"memctl: " + word + b"\n") == ended(process)


@pytest.mark.parametrize(
    ("body", "exit_code"),
    [
        ("try: raise KeyboardInterrupt\nfinally: os.close(999)", 130),
        ("try: os.kill(os.getpid(), 15); time.sleep(9)\nfinally: raise errors.NotFound('x') from None", 143),
        ("try: os.close(999)\nexcept OSError: raise KeyboardInterrupt", 130),
    ],
)
def test_signal_behind_an_error(start: Start, body: str, exit_code: int) -> None:
    """A signal whose cleaning up fails is still the signal, not the failure."""
    code, out, err = ended(start(body, "fake"))
    assert (exit_code, b"", 1) == (code, out, err.count(b"\n"))


def test_ignored_sigterm_stays_ignored(start: Start) -> None:
    """Whoever starts memctl with SIGTERM ignored wants it so."""
    process = start(
        "out.raw(b'ready\\n'); out.flush()\nos.read(0, 1)",
        "fake",
        stdin=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()
    assert 0 == ended(process)[0]


def test_exit_functions_run(start: Start, tmp_path: Path) -> None:
    """Leaving early still runs what was registered for the exit, and joins threads."""
    (tmp_path / "out").touch()
    body = (
        "import atexit, threading\n"
        "atexit.register(lambda: os.write(2, b'exit\\n'))\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), os.write(2, b'thread\\n'))).start()"
    )
    assert (0, b"", b"thread\nexit\n") == ended(start(body, "fake"))
    assert (0, b"", b"exit\n") == ended(start("\n".join(body.split("\n")[:2]), "fake"))


def test_real_command(memctl: Memctl) -> None:
    """`python -m memctl` gives the exit code to the shell."""
    assert [0, 2] == [memctl("config").returncode, memctl("config", "-n").returncode]
