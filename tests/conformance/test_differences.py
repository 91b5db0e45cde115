"""The page of the deliberate differences, held to the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from .differences import PAGE, check, listed

TESTS = "".join(
    path.read_text(encoding="utf-8")
    for path in sorted(Path(__file__).parent.glob("test_*.py"))
    if path != Path(__file__)
)


@pytest.mark.parametrize("id", sorted(listed()))
def test_every_row_has_its_test(id: str) -> None:
    """An id of the page is named by a test, which compares the outcome of the reference with ours."""
    assert f'"{id}"' in TESTS


def test_the_page_is_read_whole() -> None:
    """No row of a table is passed over."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    heads = [line for line in rows if line.startswith(("| id |", "| --- |"))]
    assert len(listed()) == len(rows) - len(heads)
    assert 4 == len(heads)


def test_both_ways() -> None:
    """What differs must be on the page, and what is on the page must differ."""
    with pytest.raises(AssertionError, match="not listed"):
        check("nowhere", 1, 2)
    with pytest.raises(AssertionError, match="is none"):
        check("W16", 1, 1)
    check("nowhere", 1, 1)
    check("W16", 1, 2)
