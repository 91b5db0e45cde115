"""Where in a wrong line the eye should look, and the bytes around it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.core.problems import Problem
from memctl.core.spot import spot
from memctl.ops.excerpts import Excerpt, around


@pytest.mark.parametrize(
    ("code", "line", "expected"),
    [
        ("torn-tail", b'{"role":"us', (11, 0)),
        ("bad-json", b'{"a":1 "b":2}', (7, 1)),
        ("bad-json", '{"a":"é" "b":2}'.encode(), (10, 1)),
        ("bad-json", '{"a":"é" é}'.encode(), (10, 2)),
        ("bad-json", '\ufeff{"a":1 "b":2}'.encode(), (10, 1)),
        ("bad-json", b'{"a":1', (6, 0)),
        ("bad-json", b'{"a":"\xff" "b":2}', None),
        ("bad-json", b"[" * 600, None),
        ("glued-lines", b'{"role":"user"}{"role":"tool"}', (15, 0)),
        ("glued-lines", b'{"role":"user"}', None),
        ("unknown-role", b'{"role":"robot"}', None),
    ],
)
def test_spots(code: str, line: bytes, expected: tuple[int, int] | None) -> None:
    """A spot is the byte at which a parser gives up, the end of what is torn, the seam of glued lines."""
    assert expected == spot(code, line)


def excerpt(tmp_path: Path, data: bytes, code: str, offset: int, length: int) -> Excerpt:
    """What is read around a problem of a file with these bytes."""
    path = tmp_path / "f"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        return around(fd, len(data), [Problem(code, "error", 1, offset, length, "")])[0]
    finally:
        os.close(fd)


def test_an_excerpt_stays_in_its_line(tmp_path: Path) -> None:
    """Neither the line in front nor the one behind is in an excerpt."""
    found = excerpt(tmp_path, b"front\nab\0cd\nbehind\n", "nul-bytes", 8, 1)
    assert Excerpt(b"ab", b"\0", b"cd", 1, True, False, False) == found


def test_an_excerpt_cuts_no_character(tmp_path: Path) -> None:
    """A character that would be cut in two at an edge is left out, and the line is said to go on."""
    euro = "€".encode()
    found = excerpt(tmp_path, b"x" + euro * 100 + b"\0" + euro * 100 + b"y\n", "nul-bytes", 301, 1)
    assert (euro * 80, euro * 80) == (found.before, found.behind)
    found = excerpt(tmp_path, euro * 100 + b"a\0a" + euro * 100 + b"\n", "nul-bytes", 301, 1)
    assert (euro * 79 + b"a", b"a" + euro * 79) == (found.before, found.behind)
    assert (True, True) == (found.more_before, found.more_behind)


def test_bytes_that_are_no_characters_are_not_left_out(tmp_path: Path) -> None:
    """What is wrong at the end of a line is shown, though it looks like a character that was cut."""
    found = excerpt(tmp_path, b'{"role":"\xe5\x95\n', "bad-utf8", 9, 1)
    assert (b"\xe5", b"\x95") == (found.wrong, found.behind)


def test_a_line_without_a_spot_begins_at_its_beginning(tmp_path: Path) -> None:
    """Of a line that is wrong as a whole the beginning is shown, without a mark."""
    line = b'{"role":"robot","content":"' + b"x" * 500 + b'"}'
    found = excerpt(tmp_path, b"front\n" + line + b"\n", "unknown-role", 6, len(line))
    assert (b"", b"", line[:240], False, True) == (
        found.before,
        found.wrong,
        found.behind,
        found.marks,
        found.more_behind,
    )


def test_few_of_a_code_are_read(tmp_path: Path) -> None:
    """The surroundings of three problems of a code are read, and none of a problem of the file itself."""
    path = tmp_path / "f"
    path.write_bytes(b"a\nb\nc\nd\n")
    problems = [Problem("mode", "warning", None, None, None, "0644")]
    problems += [Problem("bad-json", "error", n + 1, 2 * n, 1, "") for n in range(4)]
    fd = os.open(path, os.O_RDONLY)
    try:
        assert [1, 2, 3] == list(around(fd, 8, problems))
    finally:
        os.close(fd)
