"""The damaged files of the cases: what inspect finds in each, and what repair makes of it."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from .inputs import case_bytes, case_lines

INPUT = "input.jsonl"
#: code, severity, line, offset, length, and what the detail names.
Problem = tuple[str, str, int, int, int, str]


class Case(NamedTuple):
    """A file with what `inspect` finds and what `repair --apply -o OUT` makes of it.

    `exits` are those of inspect and of `inspect --strict`; `taken` are the bytes that leave, one after the
    other, and `places` where each run of them began; `left` are the code and line of what stays.
    """

    name: str
    file: str
    messages: int
    problems: list[Problem]
    exits: tuple[int, int]
    fixed: list[tuple[str, int]]
    out: bytes
    taken: bytes
    places: list[int]
    left: list[tuple[str, int]]
    exit: int


def lines(case: str, *numbers: int) -> bytes:
    """Lines of a case's input, counted from 1, joined."""
    found = case_lines(case)
    return b"".join(found[number - 1] for number in numbers)


def same(case: str, file: str = INPUT) -> bytes:
    """The input itself."""
    return case_bytes(case, file)


def placed(rows: list[bytes]) -> list[tuple[int, bytes]]:
    """Each line with its offset."""
    return list(zip(accumulate(map(len, rows), initial=0), rows, strict=False))


B05 = case_lines("B05")
B18_MENDED = case_lines("B18")[1].replace(b"\xe9", b"\xef\xbf\xbd").replace(b"\x97", b"\xef\xbf\xbd")
B19_MENDED = case_lines("B19")[1].replace(b"NaN", b"null").replace(b"-Infinity", b"null")
DANGLING: list[Problem] = [
    ("dangling-user", "warning", line, offset, len(data) - 1, "")
    for line, (offset, data) in enumerate(placed(case_lines("B61")[:-1]), 1)
]

CASES = [
    Case(
        *("B01", INPUT, 3),
        [("torn-tail", "error", 4, 120, 42, "")],
        *((1, 1), [("torn-tail", 4)]),
        *(same("B01")[:120], same("B01")[120:], [120], [], 0),
    ),
    Case(
        *("B02", INPUT, 5),
        [("bad-json", "error", 3, 69, 32, "")],
        *((1, 1), [("bad-json", 3)]),
        *(lines("B02", 1, 2, 4, 5, 6), lines("B02", 3), [69], [], 0),
    ),
    Case(
        *("B03", INPUT, 3),
        [("nul-bytes", "error", 2, 64, 64, ""), ("nul-bytes", "error", 4, 159, 200, "")],
        *((1, 1), [("nul-bytes", 2), ("nul-bytes", 4)]),
        *(same("B03").replace(b"\0", b""), b"\0" * 264, [64, 159], [], 0),
    ),
    Case(
        *("B05", INPUT, 4),
        [
            ("dangling-user", "warning", 1, 0, 33, ""),
            ("glued-lines", "error", 2, 34, 110, "2 objects"),
        ],
        *((1, 1), [("glued-lines", 2)]),
        *(B05[0] + B05[1][:71] + b"\n" + B05[1][71:] + B05[2], b"", []),
        *([("dangling-user", 1)], 1),
    ),
    Case(
        *("B08", "before.jsonl", 2),
        [("no-final-newline", "warning", 2, 64, 0, "")],
        *((0, 1), [("no-final-newline", 2)]),
        *(same("B08", "before.jsonl") + b"\n", b"", [], [], 0),
    ),
    Case(
        *("B10", INPUT, 2),
        [("bad-json", "error", 2, 30, 77, "")],
        *((1, 1), [("bad-json", 2)]),
        *(lines("B10", 1, 3), lines("B10", 2), [30], [], 0),
    ),
    Case(
        *("B11", INPUT, 3),
        [("bom", "warning", 1, 0, 3, "")],
        *((0, 1), [("bom", 1)]),
        *(same("B11")[3:], b"\xef\xbb\xbf", [0], [], 0),
    ),
    Case("B13", INPUT, 3, [], (0, 0), [], same("B13"), b"", [], [], 0),
    Case(
        *("B14", INPUT, 2),
        [
            ("blank-line", "warning", 2, 30, 0, ""),
            ("blank-line", "warning", 3, 31, 4, ""),
            ("bad-json", "error", 5, 71, 15, ""),
            ("blank-line", "warning", 6, 87, 0, ""),
            ("blank-line", "warning", 7, 88, 0, ""),
        ],
        (1, 1),
        [("blank-line", 2), ("blank-line", 3), ("bad-json", 5), ("blank-line", 6), ("blank-line", 7)],
        *(lines("B14", 1, 4), lines("B14", 2, 3, 5, 6, 7), [30, 71, 87], [], 0),
    ),
    Case(
        *("B16", INPUT, 4),
        [("bad-text", "warning", 3, 227, 6, "content")],
        *((0, 1), [], same("B16"), b"", [], [("bad-text", 3)], 1),
    ),
    Case(
        *("B18", INPUT, 3),
        [("bad-utf8", "error", 2, 64, 1, "")],
        *((1, 1), [("bad-utf8", 2)]),
        *(lines("B18", 1) + B18_MENDED + lines("B18", 3), lines("B18", 2)[:-1], [30], [], 0),
    ),
    Case(
        *("B19", INPUT, 2),
        [("bad-number", "error", 2, 207, 3, "NaN")],
        *((1, 1), [("bad-number", 2)]),
        *(lines("B19", 1) + B19_MENDED, lines("B19", 2)[:-1], [125]),
        # What the error stood in front of: 1e400 is JSON, but beyond a double.
        *([("bad-number", 2)], 1),
    ),
    Case(
        *("B20", INPUT, 1),
        [("torn-tail", "error", 2, 121, 33, "")],
        *((1, 1), [("torn-tail", 2)]),
        *(same("B20")[:121], same("B20")[121:], [121], [], 0),
    ),
    Case(
        *("B22", INPUT, 2),
        [
            ("duplicate-key", "warning", 1, 0, 52, "content"),
            ("duplicate-key", "warning", 2, 53, 57, "key a"),
        ],
        *((0, 1), [], same("B22"), b"", [], [("duplicate-key", 1), ("duplicate-key", 2)], 1),
    ),
    Case(
        *("B24", INPUT, 2),
        [
            ("not-a-message", "error", 2, 30, 4, "null"),
            ("not-a-message", "error", 3, 35, 2, "a number"),
            ("not-a-message", "error", 4, 38, 4, "a text"),
            ("not-a-message", "error", 5, 43, 38, "an array"),
            ("not-a-message", "error", 6, 82, 2, "an empty object"),
        ],
        *((1, 1), [("not-a-message", line) for line in range(2, 7)]),
        *(lines("B24", 1, 7), lines("B24", 2, 3, 4, 5, 6), [30], [], 0),
    ),
    Case(
        *("B27", INPUT, 7),
        [
            ("empty-message", "warning", 2, 30, 33, ""),
            ("list-content", "info", 2, 30, 33, ""),
            ("empty-message", "warning", 3, 64, 35, ""),
            ("empty-message", "warning", 4, 100, 33, ""),
        ],
        *((0, 1), [], same("B27"), b"", []),
        [("empty-message", 2), ("list-content", 2), ("empty-message", 3), ("empty-message", 4)],
        1,
    ),
    Case(
        *("B29", INPUT, 3),
        [
            ("unknown-role", "warning", 2, 30, 31, "critic"),
            ("not-a-message", "error", 3, 62, 48, "brand_new_event"),
        ],
        *((1, 1), [("not-a-message", 3)]),
        *(lines("B29", 1, 2, 4), lines("B29", 3), [62], [("unknown-role", 2)], 1),
    ),
    Case(
        *("B32", "midfile.jsonl", 5),
        [("open-call", "error", 2, 36, 200, "c2")],
        *((1, 1), [("open-call", 2)], b"", b"", [], [], 0),
    ),
    Case(
        *("B32", "at_end.jsonl", 2),
        [("open-call", "warning", 2, 34, 124, "c9")],
        *((0, 1), [], same("B32", "at_end.jsonl"), b"", [], [("open-call", 2)], 1),
    ),
    Case(
        *("B33", INPUT, 6),
        [
            ("orphan-result", "error", 2, 30, 78, "x9"),
            ("orphan-result", "error", 3, 109, 40, ""),
        ],
        *((1, 1), [("orphan-result", 2), ("orphan-result", 3)]),
        *(lines("B33", 1, 4, 5, 6), lines("B33", 2, 3), [30], [], 0),
    ),
    Case(
        *("B34", INPUT, 5),
        [("duplicate-result", "error", 4, 225, 70, "c1")],
        *((1, 1), [("duplicate-result", 4)]),
        *(lines("B34", 1, 2, 3, 5), lines("B34", 4), [225], [], 0),
    ),
    Case(
        *("B61", INPUT, 50, DANGLING, (0, 1), [], same("B61"), b"", []),
        *([("dangling-user", line) for line in range(1, 50)], 1),
    ),
]
#: Case and file -> the sizes that the case states: input, output, bytes in quarantine.
SIZES = {
    ("B01", INPUT): (162, 120, 42),
    ("B02", INPUT): (210, 177, 33),
    ("B03", INPUT): (359, 95, 264),
    ("B05", INPUT): (178, 179, 0),
    ("B08", "before.jsonl"): (64, 65, 0),
    ("B10", INPUT): (143, 65, 78),
    ("B11", INPUT): (112, 109, 3),
    ("B13", INPUT): (132, 132, 0),
    ("B14", INPUT): (89, 65, 24),
    ("B16", INPUT): (286, 286, 0),
    ("B18", INPUT): (105, 109, 44),
    ("B19", INPUT): (239, 235, 113),
    ("B20", INPUT): (154, 121, 33),
    ("B22", INPUT): (111, 111, 0),
    ("B24", INPUT): (120, 65, 55),
    ("B27", INPUT): (371, 371, 0),
    ("B29", INPUT): (146, 97, 49),
    ("B32", "midfile.jsonl"): (384, 569, 0),
    ("B32", "at_end.jsonl"): (159, 159, 0),
    ("B33", INPUT): (380, 260, 120),
    ("B34", INPUT): (334, 263, 71),
    ("B61", INPUT): (11_840, 11_840, 0),
}
