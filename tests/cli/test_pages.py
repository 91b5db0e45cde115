"""The pages for people: what inspect and repair print, in a terminal, in a pipe, and as HTML."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import Store
from memctl.cli import page_html, page_inspect, page_repair, retyped
from memctl.cli.cells import padded, width, wrapped
from memctl.cli.excerpt_view import seen, view
from memctl.cli.retyped import Typed
from memctl.core.names import Reference, is_path, parse_reference
from memctl.core.problems import TABLE
from memctl.core.visible import visible
from memctl.ops.excerpts import Excerpt
from memctl.ops.inspect import Inspection
from memctl.ops.repaired import Repairs
from memctl.ops.targets import Failed
from tests.cli.conftest import Terminal
from tests.conftest import Memctl

GOOD = b'{"role":"user","content":"Is there a train?"}\n{"role":"assistant","content":"At nine."}\n'
HOSTILE = "a\x1b[31m\x07\u202e\u2028\x9b[red]:smile:<b>&"
#: What makes a terminal act, or hides: none of it may be on a page. ESC of colours is taken out first.
ACTING = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2028, 0xFEFF)} - {"\n"}

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash")
Shell = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def shell(environment: dict[str, str], tmp_path: Path) -> Shell:
    """Runs a line as it is typed into bash, where `memctl` is this checkout's."""

    def run(line: str) -> subprocess.CompletedProcess[str]:
        script = f'memctl() {{ {retyped.quoted(sys.executable)} -m memctl "$@"; }}\n{line}'
        return subprocess.run(
            [str(BASH), "-c", script],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env=environment,
            text=True,
            timeout=60,
        )

    return run


def commands(page: str) -> list[str]:
    """The commands at the end of a page, without what is said beside them."""
    _, found, steps = page.partition("What to type next:\n")
    lines = [line[2:] for line in steps.splitlines() if line[2:3].strip()] if found else []
    return [line.split("  ")[0] for line in lines]


def without_colours(page: str) -> str:
    """The page without its SGR sequences."""
    head, *others = page.split("\x1b[")
    return head + "".join(other.partition("m")[2] for other in others)


# -- excerpts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\0b", "a\\0b"),
        (b"\0" * 4, "\\0\\0\\0\\0"),
        (b"\0" * 200, "⟨\\0 × 200⟩"),
        (b"x\0\0\0\0\0\r\r", "x⟨\\0 × 5⟩\\r\\r"),
        (b"caf\xe9", "caf\\xe9"),
        (b"\t\r\x1b\x7f", "\\t\\r\\x1b\\x7f"),
        ("\ufeffé\u202e\u00a0\u200d".encode(), "\\ufeffé\\u202e\\xa0\\u200d"),
        ("❤\ufe0f問".encode(), "❤\\ufe0f問"),
        (b"aaaaaaaaaa\\0", "aaaaaaaaaa\\0"),
        ("\U000e0001".encode(), "\\U000e0001"),
        ("e\u0301".encode(), "e\u0301"),
        ("\u0300e".encode(), "\\u0300e"),
    ],
)
def test_all_bytes_are_seen(data: bytes, expected: str) -> None:
    """Zero bytes, bytes outside UTF-8, controls and marks are escapes; long runs of them are counted."""
    assert expected == seen(data)


excerpts = st.builds(
    Excerpt,
    st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")),
    st.binary(min_size=1, max_size=30) | st.text("\u0300\u1160\u200d\ufe0fe問\t", min_size=1).map(str.encode),
    st.binary(max_size=200) | st.text(max_size=90).map(lambda text: text.encode("utf-8", "replace")),
    st.just(0),
    st.just(True),
    st.booleans(),
    st.booleans(),
)


@given(excerpts, st.integers(20, 200))
def test_an_excerpt_fits_and_is_marked(excerpt: Excerpt, columns: int) -> None:
    """An excerpt has no more than its columns, its carets stand under what is wrong, nothing in it acts."""
    shown = view(excerpt._replace(wrong_bytes=len(excerpt.wrong)), columns)
    line = shown.before + shown.wrong + shown.behind
    assert columns >= width(line)
    assert line == visible(line)
    assert (width(shown.before), width(shown.wrong)) == (
        len(shown.caret) - shown.caret.count("^"),
        shown.caret.count("^"),
    )


def test_a_run_is_counted_whole() -> None:
    """Of a run of zero bytes that is longer than what was read of it, the whole length is said."""
    shown = view(Excerpt(b"ab", b"\0" * 60, b"cd", 70_000, True, False, False), 80)
    assert ("ab", "⟨\\0 × 70,000⟩", "cd") == (shown.before, shown.wrong, shown.behind)


def test_what_one_side_leaves_the_other_has() -> None:
    """At the end of a line, what stands in front has all the room; cut ends have an ellipsis."""
    shown = view(Excerpt(b"0123456789" * 10, b"", b"", 0, True, True, False), 31)
    assert ("…" + ("0123456789" * 10)[-30:], "") == (shown.before, shown.behind)


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("問い", 4), ("e\u0301", 1), ("👩", 2), ("שלום", 4), ("한", 2), ("", 0)]
)
def test_widths(text: str, columns: int) -> None:
    """Wide characters have two columns, combining marks none."""
    assert columns == width(text)
    assert columns + 2 == width(padded(text, columns + 2))


@given(st.lists(st.text("ab問", min_size=1, max_size=12), min_size=1, max_size=20), st.integers(10, 60))
def test_wrapped_lines_fit(words: list[str], columns: int) -> None:
    """All words are there in order; a line is longer than its columns only if one word alone is."""
    lines = wrapped(words, columns, "- ", "  ")
    assert words == " ".join(line[2:] for line in lines).split(" ")
    assert [] == [line for line in lines if width(line) > columns and " " in line[2:]]


# -- commands -----------------------------------------------------------------------------------------------

WORDS = [
    *("plain", "two words", "it's", 'a "quote"', "$HOME `id` $(id) !x", "a\\b", "*?[x]", "~", "", "-x", "#"),
    *("\x1b[31mred", "a\nb\tc", "é問", "\u202eevil", "\udcff\udc80", "'\x07\\", "\x01f", "⟨", "a;b&c|d>e"),
]


@needs_bash
def test_words_survive_the_shell() -> None:
    """The shell gives back each word that was quoted for it, byte for byte; no word acts on a terminal."""
    line = " ".join(map(retyped.quoted, WORDS))
    assert line == visible(line)
    done = subprocess.run([str(BASH), "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert WORDS == [os.fsdecode(word) for word in done.stdout.split(b"\0")[:-1]]


names = st.text(min_size=1, max_size=12).filter(
    lambda name: bool(name.strip()) and not name.endswith(".jsonl")
)


@given(names, names)
def test_a_reference_is_typed_so_that_it_means_the_same(user: str, conversation: str) -> None:
    """A reference in a command is visible, no option and no path, and names the same conversation."""
    typed = retyped.target(Reference(user, conversation).written())
    assert Reference(user, conversation) == parse_reference(typed)
    assert typed.isprintable()
    assert not typed.startswith("-")
    assert not is_path(typed)


# -- inspect ------------------------------------------------------------------------------------------------


def test_a_page_says_what_the_file_is_and_what_is_wrong(memctl: Memctl, tmp_path: Path) -> None:
    """The page has the facts, how much is fine, each code with its meaning and its fate, and the place."""
    data = GOOD + '{"role":"user","content":"日本"語"}\n'.encode() + b'{"role":"assistant","content":""}\n'
    (tmp_path / "x.jsonl").write_bytes(data)
    done = memctl("inspect", "x.jsonl")
    assert 1 == done.returncode
    lines = done.stdout.decode().splitlines()
    assert "x.jsonl" == lines[0]
    assert f"  a conversation (format memctl): 3 messages, 4 lines, {len(data)} bytes" == lines[1]
    assert "  by role: assistant 2, user 1" in lines
    assert "  2 of 4 lines have nothing wrong. Found: 1 error, 1 warning." in lines
    at = lines.index(f"error bad-json: {TABLE['bad-json'].what}")
    assert f"  repair: {TABLE['bad-json'].remedy}" == lines[at + 1]
    assert lines[at + 2].startswith(f"  line 3, byte {len(GOOD)}: expecting ',' delimiter")
    assert '      {"role":"user","content":"日本"語"}' == lines[at + 3]
    assert " " * (6 + width('{"role":"user","content":"日本"')) + "^^" == lines[at + 4]
    left = lines.index(f"warning empty-message: {TABLE['empty-message'].what}")
    assert at < left
    assert f"  repair leaves it: {TABLE['empty-message'].why}" == lines[left + 1]


def test_a_clean_file_has_nothing_to_type(memctl: Memctl, tmp_path: Path) -> None:
    """Of a clean file the page says that all is fine, and it names no command."""
    (tmp_path / "x.jsonl").write_bytes(GOOD)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    page = memctl("inspect", "x.jsonl").stdout.decode()
    assert "  All 2 lines have nothing wrong.\n" in page
    assert [] == commands(page)
    assert "  It is empty.\n" in memctl("inspect", "empty.jsonl").stdout.decode()


def test_many_places_are_counted(memctl: Memctl, tmp_path: Path) -> None:
    """Of many places the first are named, the others counted with their lines."""
    (tmp_path / "x.jsonl").write_bytes(GOOD + b"no\n" * 50 + GOOD)
    page = memctl("inspect", "x.jsonl").stdout.decode()
    assert "error bad-json, 50 times: " in page
    assert 5 == page.count(": expecting value")
    assert 3 == page.count("      no\n      ^\n")
    assert "  and 45 more, lines 8-52: --json lists all\n" in page


def test_what_is_not_listed_is_counted(tmp_path: Path) -> None:
    """Problems beyond those that are listed count, and no line of theirs is called fine."""
    (tmp_path / "x.jsonl").write_bytes(b"\n" * 50_010 + GOOD)
    found = Store(tmp_path / "store").inspect(str(tmp_path / "x.jsonl"))
    page = page_inspect.text(found, Typed(), colour=False, columns=120)
    assert "At most 12 of 50,012 lines have nothing wrong. Found: 50,010 warnings.\n" in page
    assert "warning blank-line, 50,010 times: " in page
    assert "  and 50,005 more, lines 6-50000 and behind them: --json lists 50,000\n" in page


def test_a_milder_case_is_a_group_of_its_own(memctl: Memctl, tmp_path: Path) -> None:
    """What is left of a code that is mended elsewhere stands apart, with its own fate."""
    made = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    call = json.dumps({"role": "assistant", "content": "", "tool_calls": [made]}).encode() + b"\n"
    (tmp_path / "x.jsonl").write_bytes(GOOD[:46] + call + GOOD + GOOD[:46] + call)
    page = memctl("inspect", "x.jsonl").stdout.decode()
    grave, mild = page.index("error open-call: "), page.index("warning open-call: ")
    assert "  repair: a result that says it was interrupted" in page[grave:mild]
    assert "repair leaves it as it is" in page[mild:]
    assert "  2 calls without result\n" in page


def test_marks_and_the_last_summary(memctl: Memctl, root: Path) -> None:
    """Markers and the place of the last summary are among the facts."""
    memctl("--root", str(root), "append", "u/c", "one")
    memctl("--root", str(root), "append", "u/c", "so far", "--summary")
    memctl("--root", str(root), "append", "u/c", "cut", "--incomplete")
    page = memctl("--root", str(root), "inspect", "u/c").stdout.decode()
    assert "  marked: 1 summary, 1 incomplete; the last summary is message #1\n" in page
    assert "All 3 lines have nothing wrong. Found: 1 info." in page
    assert [] == commands(page)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_page_has_its_width(memctl: Memctl, tmp_path: Path, columns: int) -> None:
    """No line is wider than the terminal, but for commands."""
    damaged = '{"role":"user","content":"' + "問い" * 9 + "x" * 300 + '"語"}\n'
    (tmp_path / "x.jsonl").write_bytes(damaged.encode() + GOOD + b"no\n\0\0\0\xff" + GOOD)
    for command in ("inspect", "repair"):
        page = memctl(command, "x.jsonl", env={"COLUMNS": str(columns)}).stdout.decode()
        body = page.partition("What to type next:")[0]
        assert [] == [line for line in body.splitlines() if width(line) > columns]
        if command == "inspect":
            assert columns - 3 <= max(map(width, body.splitlines()))


def test_nothing_in_a_file_acts(terminal: Terminal, tmp_path: Path) -> None:
    """Names, details and contents are visible on the page; nothing in them is taken for markup."""
    name = f"{HOSTILE.replace('/', '')}.jsonl"
    line = {"role": HOSTILE, "content": HOSTILE, "tool_call_id": HOSTILE}
    raw = json.dumps(line, ensure_ascii=False).replace("\\u001b", "\x1b").encode()
    result = json.dumps({**line, "role": "tool"}).encode()
    (tmp_path / name).write_bytes(raw + b"\n" + json.dumps(line).encode() + b"\n" + result + b"\n")
    for command in ("inspect", "repair"):
        code, out, err = terminal(command, f"./{name}", width=200)
        assert (1, "") == (code, err)
        page = without_colours(out)
        assert set() == ACTING & set(page)
        assert visible(name) in page
        assert "[red]:smile:" in page


def test_colour_only_where_it_is_seen(terminal: Terminal, memctl: Memctl, tmp_path: Path) -> None:
    """A terminal has colours and the rest of the page is that of a pipe; NO_COLOR and dumb ones have none."""
    (tmp_path / "x.jsonl").write_bytes(GOOD + b"no\n")
    for command in ("inspect", "repair"):
        plain = memctl(command, "x.jsonl").stdout.decode()
        shown = terminal(command, "x.jsonl")[1]
        assert "\x1b[" not in plain
        assert "\x1b[" in shown
        assert plain == without_colours(shown)
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert plain == terminal(command, "x.jsonl", **variables)[1]


def test_several_files_have_a_line_each(memctl: Memctl, tmp_path: Path) -> None:
    """Files have a line of numbers and codes, aligned; long names stand alone; fine ones are counted."""
    directory = tmp_path / "d"
    directory.mkdir()
    for number in range(50):
        (directory / f"f{number:02}.jsonl").write_bytes(GOOD)
    (directory / "a.jsonl").write_bytes(GOOD + b"no\n" * 1200)
    (directory / "問.jsonl").write_bytes(GOOD + b"\n")
    (directory / f"{'n' * 90}.jsonl").write_bytes(b"no\n")
    lines = memctl("inspect", "./d").stdout.decode().splitlines()
    assert ["./d/a.jsonl", "2", "1,200", "0", "bad-json", "×", "1,200"] == lines[1].split()
    long = lines.index(f"./d/{'n' * 90}.jsonl")
    assert ["0", "1", "0", "bad-json"] == lines[long + 1].split()
    (wide,) = [line for line in lines if "問" in line]
    column = lines[0].index("what")
    assert column == lines[1].index("bad-json") == lines[long + 1].index("bad-json")
    assert column == width(wide[: wide.index("blank-line")])
    assert "50 files with nothing wrong: --json lists them." in lines
    assert "53 files: 2 with errors, 1 with warnings, 50 fine" in lines
    assert "memctl inspect ./d/a.jsonl" == commands("\n".join(lines))[0]


def test_few_files_have_a_page_each(memctl: Memctl, root: Path) -> None:
    """A conversation whose activities are damaged too has the pages of both."""
    memctl("--root", str(root), "append", "u/c", "one")
    path = root / "conversations" / "u" / "c.jsonl"
    path.write_bytes(path.read_bytes() + b"no\n")
    path.with_name("c.jsonl.activities").write_bytes(b"{}")
    path.with_name("c.jsonl.activities").chmod(0o600)
    page = memctl("--root", str(root), "inspect", "u/c").stdout.decode()
    assert "error bad-json: " in page
    assert "error bad-activities: " in page
    assert "2 files: 2 with errors\n" in page
    assert f"memctl --root {root} repair u/c" == commands(page)[0]


def test_what_was_not_looked_at_is_named() -> None:
    """A file that could not be looked at is named with the reason, and counted."""
    found = Inspection([], 0, 0, False, [Failed(f"u/{HOSTILE}", "permission", "no permission")])
    page = page_inspect.text(found, Typed(), colour=False, columns=200)
    assert f"not looked at: u/{visible(HOSTILE)}: no permission\n1 file: 1 not looked at\n" == (
        page + "1 file: 1 not looked at\n"
    )


def test_a_file_that_moves_is_said_to() -> None:
    """Where a file was being written to all the time, the page says that its end may be wrong."""
    page = page_inspect.text(Inspection([], 0, 0, False, []), Typed(), colour=False, columns=80)
    assert "look again" in page


def test_no_files_at_all(memctl: Memctl, root: Path) -> None:
    """An empty store is no failure, and the page says that there is nothing."""
    root.mkdir(mode=0o700)
    done = memctl("--root", str(root), "inspect")
    assert (0, b"There is nothing to inspect: no conversation and no other file.\n") == (
        done.returncode,
        done.stdout,
    )
    page = page_repair.text(Repairs([], 0, 0, []), Typed(), output=None, colour=False, columns=80)
    assert "There is nothing to repair: no conversation and no other file.\n" == page


# -- repair -------------------------------------------------------------------------------------------------

DAMAGED = GOOD + b"no\nno\n" + GOOD + b'\r\n{"role":"assistant","content":""}\n' + GOOD + b'{"role":"us'


def test_the_plan_and_the_deed(memctl: Memctl, root: Path) -> None:
    """The plan says what would be done and how to do it, the deed what was done and how to undo it."""
    memctl("--root", str(root), "append", "u/c", "one")
    path = root / "conversations" / "u" / "c.jsonl"
    path.write_bytes(DAMAGED)
    plan = memctl("--root", str(root), "repair", "u/c").stdout.decode()
    assert "u/c  (plan: nothing is changed yet)\n  would be mended: 4 problems\n" in plan
    assert "    bad-json (lines 3-4): set aside\n" in plan
    assert "    warning empty-message (line 8): windows leave it out; drop removes it\n" in plan
    assert "  19 bytes would go to quarantine: item " in plan
    assert [f"memctl --root {root} repair u/c --apply"] == commands(plan)
    deed = memctl("--root", str(root), "repair", "u/c", "--apply").stdout.decode()
    assert "  mended: 4 problems\n" in deed
    assert "  19 bytes went to quarantine: item " in deed
    assert "would" not in deed
    (id,) = (line.partition(": item ")[2] for line in deed.splitlines() if ": item " in line)
    assert f"quarantine: item {id}\n" in plan
    assert [f"memctl --root {root} quarantine restore {id}"] == commands(deed)
    again = memctl("--root", str(root), "repair", "u/c", "--apply").stdout.decode()
    assert "  nothing to repair\n" in again
    assert [] == commands(again)


def test_a_repair_of_several_files_is_summed_up(memctl: Memctl, tmp_path: Path) -> None:
    """Files with nothing to repair are counted, the others named; the sum stands at the end."""
    (tmp_path / "d").mkdir()
    for name, data in (("a", GOOD), ("b", GOOD + b"no\n"), ("c", GOOD + b"\n\n")):
        (tmp_path / "d" / f"{name}.jsonl").write_bytes(data)
    plan = memctl("repair", "./d", env={"COLUMNS": "120"}).stdout.decode()
    assert "a.jsonl" not in plan
    summary = "3 files: 2 {}mended (3 problems), 5 bytes to quarantine, 1 with nothing to repair\n"
    assert summary.format("would be ") in plan
    deed = memctl("repair", "./d", "--apply", env={"COLUMNS": "120"}).stdout.decode()
    assert summary.format("") in deed
    assert ["b", "c"] == [line.split("/d/")[1][0] for line in commands(deed)]


def test_many_repairs_are_undone_by_name(memctl: Memctl, root: Path, tmp_path: Path) -> None:
    """Of many repairs outside of stores some are named, of many in a store the list of what is kept."""
    (tmp_path / "d").mkdir()
    for number in range(7):
        memctl("--root", str(root), "append", f"u/{number}", "one")
        for path in (tmp_path / "d" / f"{number}.jsonl", root / "conversations" / "u" / f"{number}.jsonl"):
            path.write_bytes(GOOD + b"no\n")
    page = memctl("repair", "./d", "--apply").stdout.decode()
    restore = "memctl quarantine restore ./d/{}.jsonl.quarantine"
    assert [restore.format(number) for number in range(5)] == commands(page)
    assert "undoes it; the others alike" in page
    page = memctl("--root", str(root), "repair", "u", "--apply").stdout.decode()
    assert [f"memctl --root {root} quarantine list"] == commands(page)


def test_a_file_that_would_be_emptied_says_so(memctl: Memctl, tmp_path: Path) -> None:
    """Where no line stays, the plan and the deed say that nothing does; one byte stays in the singular."""
    (tmp_path / "x.jsonl").write_bytes(b'{"role":\n{"role":\n')
    for words in ((), ("--apply",)):
        lines = memctl("repair", "x.jsonl", *words).stdout.decode().splitlines()
        assert 1 == lines.count("  nothing stays in the file")
    assert b"" == (tmp_path / "x.jsonl").read_bytes()
    (tmp_path / "y.jsonl").write_bytes(GOOD + b"no\n")
    page = memctl("repair", "y.jsonl").stdout.decode()
    assert "nothing stays" not in page
    assert f"  {len(GOOD)} bytes stay; that is 2 messages\n" in page
    (tmp_path / "z.jsonl").write_bytes(b'{"role":"user","content":"\xe9"}\n')
    page = memctl("repair", "z.jsonl").stdout.decode()
    assert "  1 byte stays, 31 bytes put in; that is 1 message\n" in page


def test_a_copy_is_named(memctl: Memctl, tmp_path: Path) -> None:
    """With -o the page names the copy, of a sound file too; of standard input nothing is said to stay."""
    (tmp_path / "x.jsonl").write_bytes(GOOD)
    page = memctl("repair", "x.jsonl", "-o", "y.jsonl").stdout.decode()
    assert "x.jsonl\n  nothing to repair\n  a copy is y.jsonl; x.jsonl is as it was\n" == page
    assert GOOD == (tmp_path / "y.jsonl").read_bytes()
    page = memctl("repair", "-", "-o", "z.jsonl", input=GOOD + b"no\n").stdout.decode()
    assert "  the repaired copy is z.jsonl\n" in page


def test_failures_are_named() -> None:
    """A file that could not be repaired is named with the reason and the hint."""
    failed = Failed("u/c", "permission", "no permission", "ask root")
    page = page_repair.text(Repairs([], 0, 0, [failed]), Typed(), output=None, colour=False, columns=80)
    assert "not repaired: u/c: no permission (ask root)\n\n1 file: 1 not repaired\n" == page


# -- what to type next --------------------------------------------------------------------------------------

NAMES = [
    "plain",
    "two words",
    'it\'s a "name"',
    "$HOME",
    "-option",
    "\x1b[31mred",
    "\u202eevil\ttab",
    "new\nline",
    "問い",
    "per%cent",
    "%2F",
    "~home",
    "a.json",
]
FILES = ["two words", "it's", "-option", "~home", "\x1b[31mred", "new\nline"]


@needs_bash
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_commands_of_a_store_run(memctl: Memctl, shell: Shell, tmp_path: Path, name: str) -> None:
    """In a store with an odd path and odd names, each command that is printed does what is said beside it."""
    root = tmp_path / "a store"
    reference = Reference(name, name).written()
    memctl("--root", str(root), "append", "--", reference, "one")
    (path,) = root.glob("conversations/*/*.jsonl")
    path.write_bytes(DAMAGED)
    page = memctl("--root", str(root), "inspect", "--", reference)
    assert 1 == page.returncode, page.stderr
    plan, apply = commands(page.stdout.decode())
    done = shell(plan)
    assert (1, "") == (done.returncode, done.stderr)
    assert [apply] == commands(done.stdout)
    assert DAMAGED == path.read_bytes()
    done = shell(apply)
    assert (1, "") == (done.returncode, done.stderr)
    assert DAMAGED != path.read_bytes()
    (undo,) = commands(done.stdout)
    assert 0 == shell(undo).returncode
    assert DAMAGED == path.read_bytes()


@needs_bash
@pytest.mark.parametrize("name", FILES, ids=ascii)
def test_commands_of_a_file_run(memctl: Memctl, shell: Shell, tmp_path: Path, name: str) -> None:
    """For a file outside of stores there is the copy too; each command does what is said beside it."""
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(DAMAGED)
    page = memctl("inspect", "--", f"{'./' if name.startswith('~') else ''}{name}.jsonl").stdout.decode()
    plan, apply, copy = commands(page)
    assert (1, "") == (shell(plan).returncode, shell(plan).stderr)
    assert (1, "") == (shell(copy).returncode, shell(copy).stderr)
    assert DAMAGED == path.read_bytes()
    (copied,) = tmp_path.glob("*.repaired.jsonl")
    done = shell(apply)
    assert (1, "") == (done.returncode, done.stderr)
    assert copied.read_bytes() == path.read_bytes() != DAMAGED
    (undo,) = commands(done.stdout)
    assert 0 == shell(undo).returncode
    assert DAMAGED == path.read_bytes()


@needs_bash
def test_a_file_whose_name_is_no_utf8(memctl: Memctl, shell: Shell, tmp_path: Path) -> None:
    """The commands for a file with bytes outside UTF-8 in its name can be typed."""
    path = os.fsencode(tmp_path) + b"/caf\xe9.jsonl"
    try:
        with open(path, "wb") as file:
            file.write(DAMAGED)
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    page = memctl("inspect", b"caf\xe9.jsonl").stdout.decode()
    assert "caf\\udce9.jsonl\n" in page
    plan, apply, _ = commands(page)
    assert "memctl repair $'caf\\xe9.jsonl'" == plan
    assert (1, "") == (shell(apply).returncode, shell(plan).stderr)
    with open(path, "rb") as file:
        assert file.read() != DAMAGED


@needs_bash
def test_a_repair_that_only_adds_is_undone_from_the_backup(
    memctl: Memctl, shell: Shell, tmp_path: Path
) -> None:
    """Where nothing was taken out there is no quarantine: the backup is copied over the file."""
    path = tmp_path / "-x.jsonl"
    path.write_bytes(GOOD[:-1])
    (undo,) = commands(memctl("repair", "./-x.jsonl", "--apply").stdout.decode())
    assert GOOD == path.read_bytes()
    assert "cp ./-x.jsonl.bak ./-x.jsonl" == undo
    assert 0 == shell(undo).returncode
    assert GOOD[:-1] == path.read_bytes()


@needs_bash
def test_bad_text_has_its_option(memctl: Memctl, shell: Shell, tmp_path: Path) -> None:
    """Where half of a surrogate pair was found, the option that mends it is named, until it is given."""
    (tmp_path / "x.jsonl").write_bytes(GOOD + b'{"role":"user","content":"half \\ud83d"}\n')
    first, copy = commands(memctl("inspect", "x.jsonl").stdout.decode())
    assert "memctl repair x.jsonl --fix-text" == first
    assert "memctl repair x.jsonl --fix-text -o x.repaired.jsonl" == copy
    assert [first] == commands(memctl("repair", "x.jsonl").stdout.decode())
    assert [f"{first} --apply"] == commands(shell(first).stdout)
    assert 0 == shell(copy).returncode
    assert b"half \\ufffd" in (tmp_path / "x.repaired.jsonl").read_bytes()
    assert "-o x.repaired-2.jsonl" in commands(memctl("inspect", "x.jsonl").stdout.decode())[1]


@needs_bash
def test_standard_input_is_repaired_into_a_file(memctl: Memctl, shell: Shell, tmp_path: Path) -> None:
    """What came from a pipe can be repaired into a file only: that is the one command."""
    (copy,) = commands(memctl("inspect", "-", input=GOOD + b"no\n").stdout.decode())
    assert "memctl repair - -o repaired.jsonl" == copy
    assert [copy] == commands(memctl("repair", "-", input=GOOD + b"no\n").stdout.decode())
    (tmp_path / "given").write_bytes(GOOD + b"no\n")
    assert 0 == shell(f"{copy} < given").returncode
    assert GOOD == (tmp_path / "repaired.jsonl").read_bytes()


def test_options_of_the_call_are_repeated(memctl: Memctl, root: Path) -> None:
    """What was typed in front of the command, and what narrows the repair, is in the next command too."""
    before = ("--root", str(root), "--tenant", "acme inc")
    memctl(*before, "append", "u/c", "one")
    (path,) = root.glob("tenants/*/conversations/u/c.jsonl")
    path.write_bytes(DAMAGED)
    command = f"memctl --root {root} --tenant 'acme inc' repair u/c"
    assert command == commands(memctl(*before, "inspect", "u/c").stdout.decode())[0]
    more = ("--only", "bad-json", "--input-format", "memctl")
    narrowed = memctl(*before, "repair", "u/c", *more).stdout.decode()
    assert [f"{command} {' '.join(more)} --apply"] == commands(narrowed)


def test_a_file_without_a_lock_is_only_copied(memctl: Memctl, root: Path) -> None:
    """A log under a name that no conversation has is not replaced where it lies: only the copy is named."""
    memctl("--root", str(root), "append", "u/c", "one")
    odd = root / "conversations" / "u" / "a%2fb.jsonl"
    odd.write_bytes(GOOD + b"no\n")
    odd.chmod(0o600)
    (copy,) = commands(memctl("--root", str(root), "inspect", str(odd)).stdout.decode())
    assert f"memctl --root {root} repair {odd} -o a%2fb.repaired.jsonl" == copy
    assert [copy] == commands(memctl("--root", str(root), "repair", str(odd)).stdout.decode())


# -- HTML ---------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The tags, the attributes and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.marked: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "mark":
            self.marked.append("")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.get_starttag_text() == "<mark>" and self.marked and not self.marked[-1]:
            self.marked[-1] = data


def test_the_html_page_says_the_same(memctl: Memctl, tmp_path: Path) -> None:
    """The page as HTML has the facts, the groups, the marked places and the commands of the text."""
    (tmp_path / "x.jsonl").write_bytes(GOOD + b'{"role":"user","content":"caf\xe9 \0\0\0\0\0<i>"}\n')
    done = memctl("inspect", "x.jsonl", "--html", "page.html")
    text = done.stdout.decode()
    assert (1, b"memctl: the page is in page.html\n") == (done.returncode, done.stderr)
    assert text == memctl("inspect", "x.jsonl").stdout.decode()
    page = Page((tmp_path / "page.html").read_text())
    for said in ("3 messages", "2 of 3 lines have nothing wrong.", TABLE["bad-utf8"].what, *commands(text)):
        assert said in page.text
    assert {"⟨\\0 × 5⟩", "\\xe9"} == set(page.marked)
    assert 0o600 == (tmp_path / "page.html").stat().st_mode & 0o777


def test_the_html_page_needs_nothing_and_runs_nothing(memctl: Memctl, tmp_path: Path) -> None:
    """One file: no script, link, image or address; names and contents are visible and escaped."""
    directory = tmp_path / "d"
    directory.mkdir()
    name = "<script>alert(1)</script>&\x1b\u202e".replace("/", "_")
    line = {"role": "<img src=x onerror=y>\x1b", "content": "</pre><script>\u202e"}
    data = json.dumps(line, ensure_ascii=False).encode() + b"\n<script>\x1b\n"
    for number in range(5):
        (directory / f"{number}{name}.jsonl").write_bytes(data)
    memctl("inspect", "./d", "--html", "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.startswith("<!doctype html>")
    page = Page(text)
    assert set() == page.tags & {"script", "img", "link", "iframe", "a", "form", "object"}
    assert set() == page.attributes & {"src", "href", "onerror", "style"}
    assert "url(" not in text
    assert "@import" not in text
    assert set() == ACTING & set(page.text)
    assert 5 <= page.text.count(visible(name))
    assert "prefers-color-scheme: dark" in text


def test_json_and_html(memctl: Memctl, tmp_path: Path) -> None:
    """With --json the report stays one value, and the page is written beside it."""
    (tmp_path / "x.jsonl").write_bytes(GOOD + b"no\n")
    done = memctl("inspect", "x.jsonl", "--json", "--html", "page.html")
    assert 1 == json.loads(done.stdout)["errors"]
    assert "<mark>n</mark>o" in (tmp_path / "page.html").read_text()


def test_only_a_page_is_replaced(memctl: Memctl, root: Path, tmp_path: Path) -> None:
    """A page replaces an older page; a conversation, a store's file, a directory are refused untouched."""
    (tmp_path / "x.jsonl").write_bytes(GOOD)
    for _ in range(2):
        assert 0 == memctl("inspect", "x.jsonl", "--html", "page.html").returncode
    memctl("--root", str(root), "append", "u/c", "one")
    inside = str(root / "page.html")
    refused = {"x.jsonl": 73, ".": 2, "-": 2, "none/page.html": 66, inside: 2}
    for target, code in refused.items():
        done = memctl("inspect", "x.jsonl", "--html", target)
        assert (code, b"") == (done.returncode, done.stdout), target
    assert GOOD == (tmp_path / "x.jsonl").read_bytes()
    assert not (root / "page.html").exists()


def test_an_html_page_of_nothing() -> None:
    """Nothing to inspect, and what could not be looked at, is said in HTML too."""
    assert "There is nothing to inspect" in page_html.html(Inspection([], 0, 0, True, []), Typed())
    failed = Inspection([], 0, 0, False, [Failed("u/<c>", "permission", "no & permission")])
    assert "not looked at: u/&lt;c&gt;: no &amp; permission" in page_html.html(failed, Typed())


def test_a_file_of_another_program_is_offered_no_repair(memctl: Memctl, tmp_path: Path) -> None:
    """Where repair would refuse, the page says that the file is no conversation, and names no repair."""
    (tmp_path / "x.jsonl").write_bytes(b'{"type":"user","uuid":"u1"}\n')
    page = memctl("inspect", "x.jsonl").stdout.decode()
    assert "no conversation" in page
    assert [] == commands(page)
    assert 65 == memctl("repair", "x.jsonl").returncode
