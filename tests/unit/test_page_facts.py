"""What the pages for people say that repair does about a problem."""

from __future__ import annotations

import pytest

from memctl.cli import page_facts
from memctl.core.diagnosis import Diagnosis
from memctl.core.problems import ACTIONS, TABLE, WARNING, Problem


@pytest.mark.parametrize(
    ("said", "code", "action"),
    [
        (f"repair: {TABLE['bad-json'].remedy}", "bad-json", ACTIONS["bad-json"]),
        (f"repair: {TABLE['crlf'].remedy}", "crlf", ACTIONS["crlf"]),
        ("repair: U+FFFD put in", "bad-text", ACTIONS["bad-text"]),
        ("repair: found again", "bad-summary", ACTIONS["bad-summary"]),
        ("repair: set aside", "no-final-newline", "set aside"),
        ("repair: set aside", "duplicate-key", "set aside"),
        (f"repair leaves it: {TABLE['duplicate-key'].why}", "duplicate-key", ""),
        ("repair leaves it as it is", "open-call", ""),
    ],
)
def test_fates(said: str, code: str, action: str) -> None:
    """The remedy of the table, the word of a report where that differs, or why nothing is done."""
    assert said == page_facts.fate(code, action)


@pytest.mark.parametrize("code", TABLE)
def test_every_code_has_a_fate_in_a_line_that_leaves(code: str) -> None:
    """Whatever is wrong with a line that goes with its message is said to be set aside."""
    diagnosis = Diagnosis()
    diagnosis.add(Problem(code, WARNING, 1, 0, 1, ""), mends=True, leaves=True)
    assert ["set aside"] == [found.action for found in diagnosis.found]
    usual = ACTIONS.get(code) == "set aside"
    said = f"repair: {TABLE[code].remedy}" if usual else "repair: set aside"
    assert said == page_facts.fate(code, diagnosis.found[0].action)
