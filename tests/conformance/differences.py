"""The deliberate differences, as the page that people read lists them."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).with_name("DIFFERENCES.md")


def listed() -> set[str]:
    """The ids of the tables; each has its reason."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line.strip("|").split(" | ") for line in lines if line.startswith("|")]
    rows = [row for row in rows if row[0].strip() not in ("id", "---")]
    assert rows
    for row in rows:
        assert 4 == len(row) and all(cell.strip() for cell in row), row
    ids = [row[0].strip() for row in rows]
    assert len(set(ids)) == len(ids)
    return set(ids)


def check(id: str, reference: object, ours: object) -> None:
    """Equal, or listed; and what is listed is not equal."""
    if id in listed():
        assert reference != ours, f"{id} is listed as a difference and is none"
    else:
        assert reference == ours, f"{id} differs and is not listed"
