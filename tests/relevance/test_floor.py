"""The ranking keeps its floor on LoCoMo, through `append`, `remember --from` and `recall`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import locomo


@pytest.mark.skipif(not locomo.is_there(), reason="LoCoMo does not lie beside the checkout")
def test_the_floor(tmp_path: Path) -> None:
    """Of the turns that answer a question so many are among the first ten, over a third of the questions."""
    groups = locomo.scores(list(locomo.recalled(tmp_path, every=3)))
    assert 0.77 <= groups["main"]["recall@10"]
    assert 0.77 <= groups["all"]["recall@10"]
    assert 0.60 <= groups["main"]["mrr"]
