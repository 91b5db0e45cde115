"""The table of problems is what is promised: which codes, how bad they are, and whether repair mends them."""

from __future__ import annotations

import re

import pytest

from memctl import errors
from memctl.cli import cmd_help
from memctl.cli.catalogue import COMMANDS
from memctl.core.finding import CODES, MENDED
from memctl.core.problems import ACTIONS, ERROR, INFO, REPAIRED, TABLE, WARNING, Problem, gravest
from memctl.settings import SETTINGS
from tests.conftest import CHECKOUT

#: The promise: code, severity, severity in the milder case, what repair does ("" leaves it).
PROMISED = [
    ("torn-tail", ERROR, "", "quarantine"),
    ("no-final-newline", WARNING, "", "add it"),
    ("bad-json", ERROR, "", "quarantine"),
    ("unreadable-json", WARNING, "", ""),
    ("bad-number", ERROR, WARNING, "null; original line to quarantine"),
    ("glued-lines", ERROR, "", "split; the torn piece to quarantine"),
    ("nul-bytes", ERROR, "", "cut out, keep what is around"),
    ("bad-utf8", ERROR, "", "U+FFFD for each, original line to quarantine"),
    ("bad-text", WARNING, "", ""),
    ("not-a-message", ERROR, "", "quarantine"),
    ("not-a-record", ERROR, "", "quarantine"),
    ("unknown-role", WARNING, "", ""),
    ("orphan-result", ERROR, "", "quarantine"),
    ("open-call", ERROR, WARNING, "a result that says it was interrupted, in its place"),
    ("duplicate-result", ERROR, "", "keep the first"),
    ("duplicate-message", WARNING, "", "keep the first"),
    ("duplicate-id", WARNING, "", ""),
    ("dangling-user", WARNING, "", ""),
    ("empty-message", WARNING, "", ""),
    ("incomplete", INFO, "", ""),
    ("ephemeral-stored", WARNING, "", "quarantine"),
    ("bad-summary", WARNING, "", ""),
    ("line-too-long", WARNING, "", ""),
    ("list-content", INFO, "", ""),
    ("blank-line", WARNING, "", "remove"),
    ("bom", WARNING, "", "remove"),
    ("crlf", WARNING, "", "remove"),
    ("duplicate-key", WARNING, "", ""),
    ("time-order", INFO, "", ""),
    ("bad-time", WARNING, "", ""),
    ("bad-activities", ERROR, "", "quarantine"),
    ("mode", WARNING, "", "take it away"),
    ("symlink", ERROR, "", ""),
    ("stray-file", WARNING, "", ""),
    ("odd-name", WARNING, "", ""),
    ("stale-cache", INFO, "", "rebuild"),
]
#: A word of the promise's last column -> a word that says the same in the table.
SAYS = {
    "quarantine": "quarantine",
    "add it": "added",
    "null": "null",
    "split": "split",
    "cut out": "cut out",
    "U+FFFD": "U+FFFD",
    "keep the first": "the first stays",
    "a result that says it was interrupted": "a result that says it was interrupted",
    "remove": "removed",
    "take it away": "taken away",
    "rebuild": "rebuilt",
}


def test_the_codes() -> None:
    """The table has the promised codes in the promised order, and no other."""
    assert [code for code, _, _, _ in PROMISED] == list(TABLE)


@pytest.mark.parametrize(("code", "severity", "also", "remedy"), PROMISED)
def test_a_row(code: str, severity: str, also: str, remedy: str) -> None:
    """Severity and milder severity are the promised ones; repair does what is promised, or leaves it."""
    row = TABLE[code]
    assert (severity, also) == (row.severity, row.also)
    assert bool(remedy) == bool(row.remedy)
    for promised, said in SAYS.items():
        if promised in remedy:
            assert said in row.remedy


@pytest.mark.parametrize("code", TABLE)
def test_a_row_says_why(code: str) -> None:
    """What is left has a reason, what is mended has none, and everything says what it is.

    A milder case has a severity and a text, or there is none.
    """
    row = TABLE[code]
    assert bool(row.also) == bool(row.milder)
    assert row.what
    assert bool(row.remedy) != bool(row.why)
    assert row.what[:1] == row.what[:1].lower() or row.what.startswith(("JSON", "NaN"))


def test_repair_takes_what_is_mended() -> None:
    """`--only` takes the codes with a remedy and bad-text, which --fix-text mends."""
    mended = {code for code, _, _, remedy in PROMISED if remedy}
    assert mended | {"bad-text"} == set(REPAIRED)
    assert len(set(REPAIRED)) == len(REPAIRED)


def test_what_a_report_says_is_done() -> None:
    """Each code that repair mends has a word for it, and bad-summary mends on the way."""
    assert set(REPAIRED) | {"bad-summary"} == set(ACTIONS)


def test_codes_of_lines_are_in_the_table() -> None:
    """Each code by which a cache marks a line is explained; what a window mends, repair mends."""
    assert set() == set(CODES) - {""} - set(TABLE)
    assert [] == [code for code in MENDED if not TABLE[code].remedy]


def test_the_order_of_problems() -> None:
    """Problems of the file come first, then by line and byte; of one place in the order of the table."""

    def at(code: str, line: int | None, offset: int | None) -> Problem:
        return Problem(code, ERROR, line, offset, 1, "")

    ordered = [
        at("mode", None, None),
        at("nul-bytes", 1, 0),
        at("bom", 1, 0),
        at("crlf", 1, 9),
        at("torn-tail", 2, 10),
    ]
    mixed = [ordered[place] for place in (3, 0, 4, 2, 1)]
    assert ordered == sorted(mixed, key=lambda problem: problem.place)


@pytest.mark.parametrize(
    ("worst", "severities"),
    [("", set()), (INFO, {INFO}), (WARNING, {INFO, WARNING}), (ERROR, {INFO, WARNING, ERROR})],
)
def test_gravest(worst: str, severities: set[str]) -> None:
    """The worst of some severities is an error before a warning before an info; of none it is none."""
    assert worst == gravest(severities)


def pages() -> dict[str, str]:
    """The pages for readers, by name."""
    found = {f"help {topic}": cmd_help.page(topic) for topic in cmd_help.topics()}
    for name in (
        "README.md",
        "CHANGELOG.md",
        "sample_conversations/README.md",
        "sample_conversations/damaged/README.md",
    ):
        found[name] = (CHECKOUT / name).read_text(encoding="utf-8")
    return found


@pytest.mark.parametrize("name", pages())
def test_pages_name_codes_that_are_there(name: str) -> None:
    """A hyphenated word in code marks is a code of the table, or a word of another table."""
    words = {kind.code for kind in cmd_help._family(errors.MemctlError)}
    others = {*COMMANDS, *cmd_help.topics(), *words, *(setting.name for setting in SETTINGS)}
    named = set(re.findall(r"`(?=[0-9-]*[a-z])([a-z0-9]+(?:-[a-z0-9]+)+)`", pages()[name]))
    assert set() == named - set(TABLE) - others


@pytest.mark.parametrize("code", ["torn-tail", "bad-json", "open-call", "not-a-message"])
def test_a_code_that_is_not_there_would_be_seen(code: str) -> None:
    """The codes that people meet most are named by the pages in code marks, which the test above reads."""
    assert [name for name, text in pages().items() if f"`{code}`" in text]
