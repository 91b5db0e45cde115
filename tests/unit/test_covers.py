"""What a summary stands for: literal cases, and the oracle's rule on changed logs."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import covers, marker

NOTHING = "e3b0c44298fc1c14"
LOG = [b"m%d" % number for number in range(10)]


def of(*lines: bytes) -> str:
    return sha256(b"\n".join(lines)).hexdigest()[:16]


def summary(kept: Any, last: Any, after: Any) -> dict[str, Any]:
    given_covers = {"kept": kept, "last": last, "next": after}
    return {
        "role": "assistant",
        "content": "s",
        "extra": {marker.SUMMARY: True, "memctl": {"covers": given_covers}},
    }


def boundary(value: dict[str, Any], log: Sequence[bytes], previous: int = 0) -> int:
    return covers.boundary(value, len(log), previous, lambda first, end: log[first:end])


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """The rules by brute force, which the tests of windows use."""
    path = Path(__file__).parents[1] / "window" / "oracle.py"
    spec = importlib.util.spec_from_file_location("window_oracle", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("fingerprint", "lines"),
    [
        (NOTHING, []),
        ("ca978112ca1bbdca", [b"a"]),
        (sha256(b"a\nb\nc").hexdigest()[:16], [b"a", b"b", b"c"]),
    ],
)
def test_fingerprints(fingerprint: str, lines: list[bytes]) -> None:
    """SHA-256 of the lines joined by LF, none at the end; of none, of zero bytes."""
    assert fingerprint == covers.fingerprint(lines)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        pytest.param(10, summary(0, of(*LOG[7:10]), NOTHING), id="all"),
        pytest.param(6, summary(4, of(*LOG[3:6]), of(*LOG[6:9])), id="four kept"),
        pytest.param(9, summary(1, of(*LOG[6:9]), of(LOG[9])), id="one kept"),
        pytest.param(0, summary(10, NOTHING, of(*LOG[:3])), id="all kept"),
        pytest.param(2, summary(8, of(*LOG[:2]), of(*LOG[2:5])), id="two covered"),
        pytest.param(6, summary(3, of(*LOG[3:6]), of(*LOG[6:9])), id="kept is wrong, the lines are right"),
        pytest.param(6, summary(99, of(*LOG[3:6]), of(*LOG[6:9])), id="more kept than there are"),
        pytest.param(6, summary(4, of(*LOG[3:6]), of(b"?")), id="only what ends there"),
        pytest.param(6, summary(4, of(b"?"), of(*LOG[6:9])), id="only what begins there"),
        pytest.param(0, summary(1, of(b"?"), of(LOG[9])), id="one line that begins says nothing"),
        pytest.param(0, summary(4, of(b"?"), of(b"!")), id="nothing is found"),
        pytest.param(0, summary(-1, of(*LOG[3:6]), of(*LOG[6:9])), id="kept is negative"),
        pytest.param(0, summary(True, of(*LOG[6:9]), of(LOG[9])), id="kept is a boolean"),
        pytest.param(0, summary(4.0, of(*LOG[3:6]), of(*LOG[6:9])), id="kept is no integer"),
        pytest.param(0, summary(4, None, of(*LOG[6:9])), id="no last"),
        pytest.param(0, {"extra": {"memctl": {"covers": None}}}, id="covers is null"),
        pytest.param(0, {"extra": {"memctl": {"covers": [4]}}}, id="covers is a list"),
        pytest.param(10, {"extra": {"memctl": {"id": "x"}}}, id="no covers"),
        pytest.param(10, {"extra": {"memctl": "x"}}, id="memctl is something else"),
        pytest.param(10, {}, id="another program's"),
    ],
)
def test_boundaries(expected: int, value: dict[str, Any]) -> None:
    """Where the covered messages end in a log of ten."""
    assert expected == boundary(value, LOG)


def test_the_previous_boundary_is_the_least() -> None:
    """What was hidden before stays hidden, and a doubt shows what followed it."""
    assert 3 == boundary(summary(4, of(b"?"), of(b"!")), LOG, previous=3)
    assert 6 == boundary(summary(9, of(*LOG[3:6]), of(*LOG[6:9])), LOG, previous=3)
    repeated = [*LOG, *LOG]
    assert 6 == boundary(summary(1, of(*LOG[3:6]), of(*LOG[6:9])), repeated)
    assert 16 == boundary(summary(1, of(*LOG[3:6]), of(*LOG[6:9])), repeated, previous=7)
    assert 16 == boundary(summary(4, of(*LOG[3:6]), of(*LOG[6:9])), repeated), "its own place comes first"


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 10**6))
def test_lines_inserted_or_removed_move_it(at: int, kept: int, seed: int) -> None:
    """With one line put in or taken out somewhere, no message behind the boundary comes to be hidden."""
    log = [b"line %d" % number for number in range(12)]
    place = 12 - kept
    value = summary(kept, of(*log[max(0, place - 3) : place]), of(*log[place : place + 3]))
    assert place == boundary(value, log)
    rng = random.Random(seed)
    changed = list(log)
    if rng.random() < 0.5:
        changed.insert(at, b"new")
    elif at < 12:
        del changed[at]
    hidden = changed[: boundary(value, changed)]
    assert not set(hidden) & set(log[place:])


SMALL = st.sampled_from([b"a", b"b", b"c"])


@given(
    st.lists(SMALL, max_size=9),
    st.integers(0, 9),
    st.integers(-1, 10),
    st.lists(SMALL, max_size=3),
    st.lists(SMALL, max_size=3),
)
def test_the_rule_is_the_oracles(
    oracle: ModuleType, log: list[bytes], previous: int, kept: int, last: list[bytes], after: list[bytes]
) -> None:
    """For logs full of equal lines, every `covers` gives the boundary that brute force gives."""
    previous = min(previous, len(log))
    value = summary(kept, of(*last), of(*after))
    expected = oracle.boundary(
        log, previous, value["extra"]["memctl"], lambda text: sha256(text).hexdigest()[:16]
    )
    assert expected == boundary(value, log, previous)
