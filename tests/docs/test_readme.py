"""README.md does what it says: its commands, its tables, its sentences."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memctl.cli import cmd_help
from memctl.cli.catalogue import COMMANDS
from memctl.settings import SETTINGS
from tests.conftest import Memctl
from tests.docs.session import CHECKOUT, README, blocks, commands, replayed, sections
from tests.docs.tables import TABLES, with_tables

TEXT = README.read_text(encoding="utf-8")
(BROKEN,) = (part for part in sections(TEXT) if part.startswith("## My file is broken\n"))


def fenced(language: str) -> list[str]:
    """The blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(shutil.which("bash") is None, reason="the sessions are bash's")
def test_the_sessions(tmp_path: Path, environment: dict[str, str]) -> None:
    """In a fresh directory every command prints what the README shows, character for character."""
    directory = tmp_path / "empty"
    directory.mkdir()
    assert TEXT == replayed(TEXT, directory, environment)
    made = {path.name: sorted(below.name for below in path.iterdir()) for path in directory.iterdir()}
    assert {
        "five-minutes": ["calls.jsonl", "store"],
        "memory": ["store"],
        "my-file-is-broken": ["sample_conversations", "talk.jsonl", "talk.jsonl.bak"],
    } == made
    broken = directory / "my-file-is-broken"
    sample = broken / commands(blocks(BROKEN)[0])[0].split()[1]
    assert sample.read_bytes() == (broken / "talk.jsonl").read_bytes()
    assert sample.read_bytes() == (broken / "talk.jsonl.bak").read_bytes()
    assert sample.read_bytes() == (CHECKOUT / sample.relative_to(broken)).read_bytes()


def test_a_broken_file_takes_six_lines() -> None:
    """Six lines get a damaged sample, see it, plan, repair, show what was taken out and bring it back."""
    session = commands(blocks(BROKEN)[0])
    assert 1 == len(blocks(BROKEN))
    assert 6 == len(session)
    assert session[0].startswith("cp sample_conversations/damaged/")
    kept = "./talk.jsonl.quarantine"
    assert [
        "memctl inspect talk.jsonl",
        "memctl repair talk.jsonl",
        "memctl repair talk.jsonl --apply",
        f"memctl quarantine show {kept}",
        f"memctl quarantine restore {kept}",
    ] == session[1:]


def test_memory_takes_ten_lines() -> None:
    """Ten lines remember, recall, search, pin, migrate, list and forget."""
    (section,) = (part for part in sections(TEXT) if part.startswith("## Memory\n"))
    session = [command for block in blocks(section) for command in commands(block)]
    assert 10 == len(session)
    words = [re.sub(r"^memctl (--now \S+ )?", "", command).split()[0] for command in session]
    assert [
        "export",
        "append",
        "remember",
        "remember",
        "recall",
        "search",
        "pin",
        "reconcile",
        "records",
    ] == words[:9]
    assert "forget" == words[9]


def test_the_session_shows_what_matters() -> None:
    """The session uses these commands and options, and no command that is not there."""
    session = " ".join(command for block in blocks(TEXT) for command in commands(block))
    named = ("append", "--id", "window", "-b", "--explain", "show", "list", "count", "--pending", "delete")
    assert [] == [word for word in (*named, "trash restore", "quarantine") if word not in session]
    calls = re.findall(r"memctl (?:--now \S+ )?([a-z-]+)", session)
    assert set() == set(calls) - set(COMMANDS)


def test_the_command_for_a_fresh_machine(memctl: Memctl) -> None:
    """Behind the installation, the first command prints a window of a sample with calls and results."""
    first, second = (block.strip() for block in fenced("sh"))
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install --quiet . && ")
    assert second.endswith(".venv/bin/python -m pytest")
    arguments = first.rpartition(".venv/bin/memctl ")[2].split()
    before = {path: path.stat().st_mtime_ns for path in (CHECKOUT / "sample_conversations").rglob("*")}
    done = memctl(*arguments, cwd=CHECKOUT)
    assert (0, b"") == (done.returncode, done.stderr)
    text = done.stdout.decode()
    assert text.startswith("system: You are the support assistant of Brasswell Coffee Gear")
    assert "\n→ close_claim(" in text
    assert "\n← close_claim: " in text
    after = {path: path.stat().st_mtime_ns for path in (CHECKOUT / "sample_conversations").rglob("*")}
    assert before == after


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_those_of_the_code(name: str) -> None:
    """The tables are what the code says now: `python -m tests.docs.refresh` makes them."""
    assert TABLES[name]() in TEXT
    assert with_tables(TEXT) == TEXT


def test_the_tables_and_the_manual_agree() -> None:
    """Each row of a table is on the manual's page, with the same words."""
    exit_page, settings_page = cmd_help.page("exit-codes"), cmd_help.page("settings")
    for number, words, meaning in cmd_help.exit_codes():
        assert f"{number:>4}  {meaning}" in exit_page
        assert f"| {number} | {meaning} |" in TEXT
        assert words in exit_page
    for setting in SETTINGS:
        assert f"{setting.name}\n    {setting.help}\n" in settings_page
        assert f"| `{setting.name}` |" in TEXT


def test_removing_the_caches_is_safe(memctl: Memctl, tmp_path: Path) -> None:
    """`rm -r ROOT/.memctl/cache` changes no answer, before or after more was stored."""
    assert "`rm -r ROOT/.memctl/cache` is always safe" in TEXT
    root = tmp_path / "store"
    shutil.copytree(CHECKOUT / "sample_conversations", root)
    memctl("--root", str(root), "append", "maya/support-case", "one more", "--id", "x1")
    asked = [
        ("window", "maya/support-case", "-b", "700"),
        ("window", "ines/family-planning", "-b", "2000"),
        ("count", "devon/parser-rewrite", "--json"),
        ("show", "ines/family-planning", "--last", "3"),
        ("list", "--json"),
        ("append", "maya/support-case", "one more", "--id", "x1", "--json"),
    ]

    def answers() -> list[bytes]:
        done = [memctl("--root", str(root), *arguments) for arguments in asked]
        assert [0] * len(asked) == [one.returncode for one in done]
        return [one.stdout for one in done]

    first = answers()
    assert [path.name for path in (root / ".memctl" / "cache").rglob("*") if path.is_file()]
    shutil.rmtree(root / ".memctl" / "cache")
    assert first == answers()
    assert first == answers()


def test_the_library_examples(tmp_path: Path, environment: dict[str, str]) -> None:
    """The lines of Python run as they are written, on one store, and are ten at most."""
    said = []
    for program in fenced("python"):
        assert 10 >= len([line for line in program.splitlines() if line.strip()])
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ("", 0) == (done.stderr, done.returncode)
        said.append(done.stdout)
    assert [
        "user - Any seat by the window?\nuser - And a quiet one?\n19 tokens, 0 messages cut\n",
        "0.95 Travels with a folding bicycle.\n",
    ] == said


def test_links_lead_somewhere() -> None:
    """Every link to a file of the checkout leads to one that is there."""
    links = [link for link in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in link]
    assert links
    assert [] == [link for link in links if not (CHECKOUT / link).exists()]


def test_what_is_not_there_is_not_claimed() -> None:
    """Commands that are named as missing are missing; every command that is named elsewhere is there."""
    before, _, missing = TEXT.partition("## What is not there yet")
    named = re.findall(r"`([a-z]+)`", missing.partition("##")[0])
    assert [] == [name for name in named if name in COMMANDS]
    assert [] == [name for name in re.findall(r"`memctl ([a-z-]+)", before) if name not in COMMANDS]


@pytest.mark.parametrize("page", cmd_help.topics())
def test_the_manual_names_what_is_there(page: str) -> None:
    """Commands and options that a page of the manual shows are those of the program."""
    text = cmd_help.page(page)
    assert [] == [name for name in re.findall(r"(?:`|    )memctl ([a-z-]+)", text) if name not in COMMANDS]
    known = set(
        re.findall(
            r"--[a-z-]+",
            "".join(
                Path(cmd_help.__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
                for module in {"app", *(entry.module for entry in COMMANDS.values())}
            ),
        )
    )
    assert set() == set(re.findall(r"(?<!\w)--[a-z][a-z-]*", text)) - known
