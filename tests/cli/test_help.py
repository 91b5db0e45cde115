"""The manual: every page prints, and what is generated agrees with the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memctl import errors
from memctl.cli import cmd_help, shapes
from memctl.cli.catalogue import COMMANDS
from memctl.core.finding import CODES
from memctl.core.problems import TABLE
from memctl.settings import SETTINGS
from tests.conftest import Memctl


def test_overview(memctl: Memctl) -> None:
    """`memctl help` is the root help and the list of pages."""
    done = memctl("help")
    assert 0 == done.returncode
    text = done.stdout.decode()
    assert text.startswith(memctl("--help").stdout.decode().rstrip("\n"))
    listed = text.partition("Pages of the manual (memctl help TOPIC):\n")[2].splitlines()
    assert [(name, cmd_help.title(name)) for name in cmd_help.topics()] == [
        (name, title.strip()) for name, _, title in (line.strip().partition(" ") for line in listed)
    ]


@pytest.mark.parametrize("topic", cmd_help.topics())
def test_pages(memctl: Memctl, topic: str) -> None:
    """Every page begins with a heading and is printed as it is."""
    done = memctl("help", topic, env={"LC_ALL": "C"})
    assert (0, b"") == (done.returncode, done.stderr)
    assert done.stdout.decode().endswith(cmd_help.page(topic).rstrip("\n") + "\n")
    assert cmd_help.page(topic).startswith("# ")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(memctl: Memctl, command: str) -> None:
    """`memctl help COMMAND` prints what `memctl COMMAND --help` prints."""
    shown = memctl(command, "-h").stdout
    assert memctl(command, "--help").stdout == shown
    assert memctl("help", command).stdout.startswith(shown)
    assert shown.startswith(f"Usage: memctl {command} [OPTIONS]".encode())
    assert b"{" not in shown.partition(b"\n")[0]
    assert [] == [line for line in shown.decode().splitlines() if len(line) > 80]


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("nams", "the nearest is names"),
        ("confg", "the nearest is config"),
        ("../x", "memctl help lists the pages"),
    ],
)
def test_unknown_topic(memctl: Memctl, topic: str, hint: str) -> None:
    """A page that is not there is 66 with the nearest; no path leads out of the manual."""
    done = memctl("help", topic)
    assert (66, b"") == (done.returncode, done.stdout)
    assert f"memctl: no page '{topic}' in the manual\nmemctl: hint: {hint}\n" == done.stderr.decode()


def test_a_page_as_json(memctl: Memctl) -> None:
    """With --json the help is one object, for a page, a command, or everything."""
    for topic in ("settings", "append", None):
        done = memctl("help", *([topic] if topic else []), "--json")
        report = json.loads(done.stdout)
        assert (0, b"") == (done.returncode, done.stderr)
        assert shapes.keys("help --json") == tuple(report)
        assert (topic, cmd_help.topics(), list(COMMANDS)) == tuple(report.values())[:3]
        assert memctl("help", *([topic] if topic else [])).stdout.decode() == report["text"]


def test_settings_page_names_every_setting() -> None:
    """Name, help, default and variable of every setting are on the page."""
    page = cmd_help.page("settings")
    for setting in SETTINGS:
        assert f"\n{setting.name}\n    {setting.help}\n" in page
        assert setting.variable in page


def test_exit_codes_are_complete_and_disjoint() -> None:
    """Every error class and every other ending is on the page; one number has one meaning."""
    rows = cmd_help.exit_codes()
    numbers = [number for number, _, _ in rows]
    family = list(cmd_help._family(errors.MemctlError))
    assert sorted({kind.exit_code for kind in family} | set(errors.OTHER_EXIT_CODES)) == numbers
    words = [word for _, all_words, _ in rows for word in all_words.split(", ") if word]
    assert sorted({kind.code for kind in family}) == sorted(words)
    assert set() == {kind.exit_code for kind in family} & set(errors.OTHER_EXIT_CODES)
    assert [] == [number for number, _, meaning in rows if not meaning]


def test_shapes_name_known_commands() -> None:
    """Every shape is of a command of the catalogue; a dotted key has its list or object before it."""
    for title, rows in shapes.SHAPES.items():
        assert title.split()[0] in {*COMMANDS, "errors"}
        known = [key for key, _, _ in rows]
        assert len(set(known)) == len(known)
        for key in known:
            parent = key.rpartition(".")[0].removesuffix("[]")
            assert parent == "" or parent in known[: known.index(key)]


def test_output_page_has_every_key() -> None:
    """The page `output` is the table of shapes."""
    page = cmd_help.page("output")
    assert [] == [
        (title, key)
        for title, rows in shapes.SHAPES.items()
        for key, _, _ in rows
        if f"\n    {key} " not in page
    ]


def test_shape_of_config(memctl: Memctl, root: Path) -> None:
    """`config --json` and `config --init --json` print the keys of the table, in order."""
    report = json.loads(memctl("--root", str(root), "config", "--json").stdout)
    rows = [key.partition(".")[2] for key, _, _ in shapes.SHAPES["config --json"] if "." in key]
    assert shapes.keys("config --json") == tuple(report)
    assert {tuple(rows)} == {tuple(row) for row in report["settings"]}
    created = json.loads(memctl("--root", str(root), "config", "--init", "--json").stdout)
    assert shapes.keys("config --init --json") == tuple(created)


def test_shape_of_errors(memctl: Memctl) -> None:
    """An error as JSON has the keys of the table."""
    error = json.loads(memctl("help", "nothing-like-it", "--json").stderr)
    rows = [key.partition(".")[2] for key, _, _ in shapes.SHAPES["errors (on standard error)"] if "." in key]
    assert rows == list(error["error"])


def test_codes_page_is_the_table() -> None:
    """The manual's page `codes` says of every code how bad it is, what it means, and what repair does."""
    page = cmd_help.page("codes")
    told = [line.partition("  (")[0] for line in page.splitlines() if re.match(r"[a-z0-9-]+  \(", line)]
    assert list(TABLE) == told
    for code, row in TABLE.items():
        entry = page.partition(f"\n{code}  (")[2].partition("\n\n")[0]
        first, what, about = entry.splitlines()
        assert (f"{row.severity}, milder: {row.also})" if row.also else f"{row.severity})") == first
        assert (f"{row.what} (milder: {row.milder})" if row.milder else row.what) == what.strip()
        assert (f"repair: {row.remedy}" if row.remedy else f"left: {row.why}") == about.strip()


@pytest.mark.parametrize("command", ["inspect", "repair"])
def test_codes_are_found_from_the_commands(memctl: Memctl, command: str) -> None:
    """The help of the commands that name problems leads to the page that explains them."""
    assert b"memctl help codes" in memctl(command, "--help").stdout


def test_the_manual_says_what_windows_do_with_damage() -> None:
    """Each code by which a cache marks a line is in the page's section on windows."""
    section = cmd_help.page("codes").partition("## In a window")[2].partition("\n## ")[0]
    assert set(CODES) - {""} == set(re.findall(r"`([a-z0-9-]+-[a-z0-9-]+|bom|crlf)`", section))


def test_a_code_is_explained_by_its_name(memctl: Memctl) -> None:
    """The name of a code prints its entry of the page, and a slip names the nearest."""
    entry = memctl("help", "bad-json").stdout.decode()
    assert "bad-json  (error)\n    a line that is not JSON\n    repair: to quarantine\n" == entry
    assert entry in memctl("help", "codes").stdout.decode()
    slip = memctl("help", "bad-jsn")
    assert (66, b"the nearest is bad-json") == (slip.returncode, slip.stderr.split(b"hint: ")[1].strip())
