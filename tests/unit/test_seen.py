"""Ids and lines that a pass over a log has met."""

from __future__ import annotations

import pytest

from memctl.core import seen
from memctl.core.seen import Seen


@pytest.mark.parametrize("loose", [1, 7, 400_000])
def test_what_was_taken_in_is_known(monkeypatch: pytest.MonkeyPatch, loose: int) -> None:
    """Packed away or not, an id and its line are known from then on, and nothing else is."""
    monkeypatch.setattr(seen, "_LOOSE_MAX", loose)
    met = Seen()
    for number in range(200):
        assert f"id {number}" not in met
        met.add(f"id {number}", b"line %d" % number)
        assert f"id {number}" in met
        assert b"line %d" % number in met
    assert all(f"id {number}" in met and b"line %d" % number in met for number in range(200))
    assert not any(f"id {number}" in met for number in range(200, 400))
