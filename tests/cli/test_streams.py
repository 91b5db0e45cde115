"""Streams of real commands: pipes that close, full disks, closed descriptors, encodings, silence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Holder
from tests.conftest import Memctl

SAMPLES = str(Path(__file__).resolve().parents[2] / "sample_conversations")
BIG = "devon/parser-rewrite"
TRIP = "alice/trip"
EMOJI = "caf\u00e9 \U0001f9e1 \u65e5\u672c"

READING = [
    ("show", BIG),
    ("show", BIG, "-f", "jsonl"),
    ("show", BIG, "--json"),
    ("show", BIG, "-f", "markdown"),
    ("window", BIG),
    ("window", BIG, "-f", "openai"),
    ("window", BIG, "-f", "anthropic"),
    ("window", BIG, "-f", "text"),
    ("list",),
    ("list", "-f", "table"),
    ("list", "--json"),
    ("count", BIG, "--counter", "bytes4"),
    ("config",),
    ("config", "--json"),
    ("help",),
    ("help", "output"),
    ("--version",),
    ("--help",),
]


def shell(environment: dict[str, str], tmp_path: Path, line: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which `memctl` is the command."""
    program = f'set -o pipefail; memctl() {{ "{sys.executable}" -m memctl "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "--norc", "-c", program],
        capture_output=True,
        env=environment,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("line", READING, ids=" ".join)
def test_a_reader_that_goes_away(memctl: Memctl, line: tuple[str, ...]) -> None:
    """A pipe that nobody reads ends every command with 141 and not a word."""
    reading, writing = os.pipe()
    os.close(reading)
    done = memctl("--root", SAMPLES, *line, stdout=writing)
    os.close(writing)
    assert (141, b"") == (done.returncode, done.stderr)


@pytest.mark.parametrize("line", [f"show {BIG}", f"window {BIG}", "list", "help output"])
def test_head(environment: dict[str, str], tmp_path: Path, line: str) -> None:
    """B80: `| head -c 1` is quiet; 141, or 0 where all was written before."""
    done = shell(environment, tmp_path, f"memctl --root '{SAMPLES}' {line} | head -c 1")
    assert 1 == len(done.stdout)
    assert b"" == done.stderr
    assert done.returncode in (0, 141)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")
@pytest.mark.parametrize("line", READING, ids=" ".join)
def test_full_output(memctl: Memctl, line: tuple[str, ...]) -> None:
    """A full disk behind standard output is 74, and is said."""
    with open("/dev/full", "wb") as full:
        done = memctl("--root", SAMPLES, *line, stdout=full)
    assert 74 == done.returncode
    assert b"No space left on device" in done.stderr


def test_full_output_of_an_append(memctl: Memctl, filled: Path) -> None:
    """What an append stored stays stored when its report cannot be printed; the exit code says 74."""
    with open("/dev/full", "wb") as full:
        done = memctl("--root", str(filled), "append", TRIP, "x", "--id", "a1", "--json", stdout=full)
    assert 74 == done.returncode
    again = memctl("--root", str(filled), "append", TRIP, "x", "--id", "a1", "--json")
    assert (0, 1) == (again.returncode, json.loads(again.stdout)["duplicates"])


@pytest.mark.parametrize(
    ("line", "exit_code"),
    [
        ("append {r} x >&-", 0),
        ("append {r} x --json >&-", 74),
        ("append {r} x 2>&-", 0),
        ("append {r} x <&-", 0),
        ("append {r} <&-", 65),
        ("append {r} x <&- >&- 2>&-", 0),
        ("window {r} >&-", 74),
        ("window {r} <&- 2>&-", 0),
        ("window {r} -b 1 --explain 2>&-", 0),
        ("show {r} >&-", 74),
        ("show - <&-", 66),
        ("show nothing/there 2>&-", 66),
        ("activities {r} --set - <&-", 65),
        ("list >&- 2>&-", 74),
        ("list nobody >&-", 0),
        ("delete {r} >&-", 74),
    ],
)
def test_closed_streams(
    environment: dict[str, str], tmp_path: Path, filled: Path, line: str, exit_code: int
) -> None:
    """With a stream closed from the start what needs it fails with its code, and nothing is a bug."""
    done = shell(environment, tmp_path, f"memctl --root '{filled}' {line.format(r=TRIP)}")
    assert exit_code == done.returncode, done.stderr
    assert b"bug" not in done.stderr


def test_a_closed_stream_is_no_log(environment: dict[str, str], tmp_path: Path, filled: Path) -> None:
    """With all streams closed the log's descriptor is a low one: no talk may land in the file."""
    path = filled / "conversations" / "alice" / "trip.jsonl"
    shell(environment, tmp_path, f"memctl --root '{filled}' append {TRIP} x --id q1 <&- >&- 2>&-")
    with open(path, "ab") as file:
        file.write(b'{"torn')
    shell(environment, tmp_path, f"memctl --root '{filled}' append {TRIP} y <&- >&- 2>&-")
    lines = path.read_bytes().splitlines()
    assert 4 == len(lines)
    assert [] == [line for line in lines if not isinstance(json.loads(line), dict)]


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"LANG": "C", "LC_ALL": "POSIX"},
        {"PYTHONIOENCODING": "latin-1:strict"},
    ],
)
def test_output_is_utf8(memctl: Memctl, root: Path, env: dict[str, str]) -> None:
    """B80: an emoji comes and goes as UTF-8, whatever the locale says."""
    given = json.dumps({"role": "user", "content": EMOJI}, ensure_ascii=False).encode()
    memctl("--root", str(root), "append", "alice/x", input=given, env=env)
    memctl("--root", str(root), "append", "alice/x", EMOJI, env=env)
    for line in (
        ("show",),
        ("window",),
        ("window", "-f", "openai"),
        ("window", "-f", "text"),
        ("show", "--json"),
    ):
        done = memctl("--root", str(root), line[0], "alice/x", *line[1:], env=env)
        assert (0, b"", 2) == (done.returncode, done.stderr, done.stdout.count(EMOJI.encode())), line
    done = memctl("--root", str(root), "show", f"alice/{EMOJI}", env=env)
    assert 66 == done.returncode
    assert f"no conversation alice/{EMOJI}".encode() in done.stderr


@pytest.mark.parametrize(
    ("line", "exit_code", "shown"),
    [
        (("append", TRIP, "x"), 0, False),
        (("append", TRIP, "x", "--json"), 0, False),
        (("append", TRIP, "Is there a train?", "--id", "q1"), 0, False),
        (("rebuild-index",), 0, False),
        (("rebuild-index", "--json"), 0, False),
        (("delete", TRIP, "--yes"), 0, False),
        (("delete", TRIP, "--yes", "--json"), 0, False),
        (("delete", TRIP), 1, True),
        (("delete", TRIP, "--json"), 1, True),
        (("drop", TRIP, "q1"), 1, True),
        (("trash", "restore", "alice/gone"), 0, False),
        (("config", "--init"), 0, False),
        (("window", TRIP), 0, True),
        (("list",), 0, True),
        (("count", TRIP, "--counter", "bytes4"), 0, True),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_quiet(memctl: Memctl, filled: Path, line: tuple[str, ...], exit_code: int, shown: bool) -> None:
    """-q is silence for cron: no talk ever, a report only if the exit code is not 0; data stays."""
    done = memctl("--root", str(filled), "-q", *line)
    assert (exit_code, b"", shown) == (done.returncode, done.stderr, bool(done.stdout))


def test_quiet_errors_are_said(memctl: Memctl, filled: Path) -> None:
    """-q does not silence an error."""
    done = memctl("--root", str(filled), "-q", "show", "alice/nothing")
    assert (66, b"") == (done.returncode, done.stdout)
    assert done.stderr.startswith(b"memctl: no conversation alice/nothing")


def test_quiet_damage(memctl: Memctl, filled: Path) -> None:
    """What is healed or left out is talk: said, and with -q left to the report."""
    path = filled / "conversations" / "alice" / "trip.jsonl"
    for flags, said in (([], True), (["-q"], False)):
        with open(path, "ab") as file:
            file.write(b'{"torn')
        assert said is bool(memctl("--root", str(filled), *flags, "window", TRIP).stderr)
        assert said is bool(memctl("--root", str(filled), *flags, "append", TRIP, "x").stderr)


def test_verbose(memctl: Memctl, filled: Path) -> None:
    """-v says which store is worked on."""
    done = memctl("--root", str(filled), "-v", "count", TRIP, "--counter", "bytes4")
    assert f"memctl: the store is {os.path.realpath(filled)}\n".encode() == done.stderr


@pytest.mark.parametrize("text", ["-5 degrees", "--json", "-", "--", "-b"])
def test_texts_that_begin_with_a_dash(memctl: Memctl, root: Path, text: str) -> None:
    """After -- a text is a text, whatever it looks like."""
    done = memctl("--root", str(root), "append", "alice/x", "--", text)
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    shown = json.loads(memctl("--root", str(root), "show", "alice/x", "--json").stdout)
    assert [text] == [message["content"] for message in shown]


def test_standard_input_as_a_file(memctl: Memctl) -> None:
    """`-` is the log on standard input, also for windows; nothing is written anywhere for it."""
    stored = Path(SAMPLES, "conversations", "maya", "support-case.jsonl").read_bytes()
    assert stored == memctl("show", "-", "-f", "jsonl", input=stored).stdout
    done = memctl("window", "-", "-b", "700", input=stored)
    assert memctl("--root", SAMPLES, "window", "maya/support-case", "-b", "700").stdout == done.stdout


# -- signals -------------------------------------------------------------------------------------------------

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(environment: dict[str, str], root: Path) -> Iterator[Start]:
    """Starts memctl with pipes; what still runs at the end is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def popen(*args: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "memctl", "--root", str(root), *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        started.append(process)
        return process

    yield popen
    for process in started:
        process.kill()
        process.communicate()


SIGNALS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]


@pytest.mark.parametrize(("number", "exit_code", "word"), SIGNALS)
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_signal_during_a_lock_wait(
    start: Start, filled: Path, holder: Holder, number: int, exit_code: int, word: str, flags: tuple[str, ...]
) -> None:
    """A command that waits for a lock ends at once, says so, and has stored nothing."""
    path = filled / "conversations" / "alice" / "trip.jsonl"
    before = path.read_bytes()
    holder(TRIP)
    process = start("append", TRIP, "x", *flags)
    wait_until(lambda: lock_is_open(process.pid), process)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (exit_code, b"") == (process.returncode, out)
    if flags:
        assert (word, exit_code) == tuple(json.loads(err)["error"][key] for key in ("code", "exit"))
    else:
        assert f"memctl: {word}\n".encode() == err
    assert before == path.read_bytes()


def lock_is_open(pid: int) -> bool:
    """Whether the process has a lock file open: it is past its start and waits."""
    try:
        targets = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any("/.memctl/locks/" in target for target in targets)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Look again and again; give up after half a minute or when the process has ended."""
    end = time.monotonic() + 30
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(("number", "exit_code", "word"), SIGNALS)
@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_follow(
    start: Start, memctl: Memctl, filled: Path, number: int, exit_code: int, word: str, form: str
) -> None:
    """`show --follow` prints what is there and what arrives, whole messages, until a signal ends it."""
    process = start("show", TRIP, "--follow", "--last", "1", "-f", form)
    assert process.stdout is not None
    shown = until(process, b"09:30")
    for text in ("first", "second"):
        assert 0 == memctl("--root", str(filled), "append", TRIP, text).returncode
        shown += until(process, text.encode())
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert exit_code == process.returncode
    if form == "jsonl":
        lines = [json.loads(line) for line in (shown + out).splitlines()]
        assert ["09:30", "first", "second"] == [line["content"] for line in lines]
        assert word == json.loads(err)["error"]["code"]
    else:
        assert f"memctl: {word}\n".encode() == err


def until(process: subprocess.Popen[bytes], text: bytes) -> bytes:
    """What the process prints up to the line that holds the text."""
    shown = b""
    assert process.stdout is not None
    while text not in shown:
        line = process.stdout.readline()
        assert line, shown
        shown += line
    return shown


def test_follow_with_nobody_reading(start: Start, memctl: Memctl, filled: Path) -> None:
    """A follower whose reader went away ends quietly with the next message."""
    process = start("show", TRIP, "--follow")
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"#0 user")
    process.stdout.close()
    end = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < end:
        assert 0 == memctl("--root", str(filled), "append", TRIP, "x").returncode
    assert process.stderr is not None
    assert (141, b"") == (process.wait(5), process.stderr.read())
    process.stderr.close()
    process.stdout = process.stderr = None


def test_a_locale_without_utf8(memctl: Memctl, root: Path) -> None:
    """Arguments and names are UTF-8 even where Python is told to take them for ASCII."""
    environ = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = memctl("--root", str(root), "append", "élise/été".encode(), "😀 ä".encode(), env=environ)
    assert (0, b"") == (done.returncode, done.stderr)
    shown = memctl("--root", str(root), "show", "élise/été".encode(), "-f", "json", env=environ)
    assert ["😀 ä"] == [message["content"] for message in json.loads(shown.stdout)]
