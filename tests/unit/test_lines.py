"""From the bytes of a line to its messages: every kind of damage, at every place, in every combination."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import finding, jsonl
from memctl.core.lines import Piece, is_message, read_line

U = b'{"role":"user","content":"hi"}'
A = b'{"role":"assistant","content":"ok"}'
S = b'{"role":"system","content":"be brief"}'
T = b'{"role":"tool","tool_call_id":"c1","content":"x}{y"}'
BOM = b"\xef\xbb\xbf"
DEEP = b'{"role":"user","content":"x","extra":{"d":%s}}'


def nested(depth: int) -> bytes:
    """A message that nests `depth` levels."""
    return DEEP % (b"[" * (depth - 2) + b"]" * (depth - 2))


def digits(count: int) -> bytes:
    return b'{"role":"user","content":"x","extra":{"n":%s}}' % (b"9" * count)


def outcome(line: bytes, terminated: bool = True) -> list[tuple[str, bytes | None]]:
    """Code and printed bytes of each piece; no bytes where there is no message."""
    return [
        (piece.code, None if piece.message is None else piece.printed)
        for piece in read_line(line, terminated=terminated)
    ]


@pytest.mark.parametrize("message", [U, A, S, T], ids=["user", "assistant", "system", "tool"])
@pytest.mark.parametrize(
    ("code", "make"),
    [
        ("", lambda m: m),
        ("", lambda m: b" \t" + m + b" "),
        ("crlf", lambda m: m + b"\r"),
        ("crlf", lambda m: m + b"\r\r"),
        ("bom", lambda m: BOM + m),
        ("bom", lambda m: BOM + m + b"\r"),
        ("nul-bytes", lambda m: b"\0" * 4096 + m),
        ("nul-bytes", lambda m: m + b"\0"),
        ("nul-bytes", lambda m: m[:9] + b"\0\0" + m[9:20] + b"\0" + m[20:]),
        ("nul-bytes", lambda m: BOM + b"\0" + m + b"\0\r"),
        ("nul-bytes", lambda m: b"\0" + BOM + m),
        ("nul-bytes", lambda m: m + b"\r\0"),
    ],
    ids=[
        *("whole", "blanks", "CRLF", "CR CR LF", "BOM", "BOM and CRLF", "NULs before", "NUL behind"),
        *("NULs inside", "all of them", "BOM behind a NUL", "NUL behind a CR"),
    ],
)
def test_what_is_mended_without_loss(code: str, make: Any, message: bytes) -> None:
    """Line ends, byte-order marks and NULs go in what is printed; the rest of the bytes stays."""
    (piece,) = read_line(make(message))
    assert (code, json.loads(message)) == (piece.code, piece.message)
    assert message == piece.printed.strip(b" \t")
    assert (piece.mended is None) == (code == "")
    assert code == "" or code in finding.MENDED


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        pytest.param([("glued-lines", U), ("glued-lines", A)], U + A, id="two"),
        pytest.param([("glued-lines", U), ("glued-lines", A), ("glued-lines", T)], U + A + T, id="three"),
        pytest.param([("glued-lines", U), ("glued-lines", A)], U + b" \t" + A + b"\r", id="two with blanks"),
        pytest.param([("glued-lines", None), ("glued-lines", U)], U[:12] + U, id="torn and whole"),
        pytest.param(
            [("glued-lines", None), ("glued-lines", U)], U[:27] + U, id="torn in a string and whole"
        ),
        pytest.param(
            [("glued-lines", None), ("glued-lines", T)], T[:-2] + T, id="torn behind braces and whole"
        ),
        pytest.param(
            [("glued-lines", None), ("glued-lines", U), ("glued-lines", A)],
            A[:20] + U + A,
            id="torn, two whole",
        ),
        pytest.param([("glued-lines", U), ("glued-lines", None)], U + A[:20], id="whole and torn"),
        pytest.param(
            [("glued-lines", U), ("glued-lines", None), ("glued-lines", A)],
            U + T[:30] + A,
            id="whole, torn, whole",
        ),
        pytest.param([("glued-lines", U), ("glued-lines", None)], U + b"x", id="trailing garbage"),
        pytest.param([("glued-lines", None), ("glued-lines", U)], b'{"n":1}' + U, id="no role, then whole"),
        pytest.param([("glued-lines", U), ("glued-lines", None)], U + b'{"n":1}{"m":2}', id="whole, no role"),
        pytest.param(
            [("glued-lines", U), ("glued-lines", None), ("glued-lines", A)],
            U + b'{"n":1} {"m":2}' + A,
            id="no role between",
        ),
        pytest.param(
            [("glued-lines", None), ("glued-lines", U)], b"[" + A + b"]" + U, id="array, then whole"
        ),
        pytest.param([("bad-json", None)], U[:12] + U + b"x", id="torn, whole, garbage"),
        pytest.param([("bad-json", None)], U[:12] + b'{"n":1}', id="torn, no role"),
        pytest.param(
            [("glued-lines", None), ("glued-lines", U)], b'{"x":[' + U, id="a torn list, then whole"
        ),
        pytest.param([("bad-json", None)], b'{"a":' + U + b",", id="a message inside a torn object"),
        pytest.param(
            [("glued-lines", None), ("glued-lines", U)], b'{"a":' + U, id="a message at the end of one"
        ),
        pytest.param([("not-a-message", None)], b"[" + U + b"]", id="a message in an array"),
        pytest.param([("not-a-message", None)], b'{"a":' + U + b"}", id="a message in an object"),
        pytest.param([("glued-lines", U), ("glued-lines", A)], BOM + U + b"\0" + A + b"\r", id="all at once"),
        pytest.param(
            [("glued-lines", '{"role":"user","content":"\ufffd"}'.encode()), ("glued-lines", A)],
            b'{"role":"user","content":"\xff"}' + A,
            id="not UTF-8 in one",
        ),
        pytest.param(
            [("glued-lines", b'{"role":"user","content":"x","extra":{"n":null}}'), ("glued-lines", A)],
            b'{"role":"user","content":"x","extra":{"n":NaN}}' + A,
            id="NaN in one",
        ),
        pytest.param([("glued-lines", None), ("glued-lines", A)], nested(501) + A, id="too deep, then whole"),
        pytest.param(
            [("glued-lines", None), ("glued-lines", A)], digits(5000) + A, id="too long, then whole"
        ),
    ],
)
def test_glued_lines(expected: list[tuple[str, bytes | None]], line: bytes) -> None:
    """Whole messages are served, stretches without any are named, nothing is made up."""
    assert expected == outcome(line)


def test_every_byte_of_a_glued_line_is_in_a_piece() -> None:
    """The pieces of a line are its bytes, white space between them left out."""
    line = U + b' {"n":1}  ' + A + b"\t" + T[:30]
    assert line.replace(b" ", b"").replace(b"\t", b"") == b"".join(piece.stored for piece in read_line(line))


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("blank-line", b""),
        ("blank-line", b"   \t"),
        ("blank-line", b"\r"),
        ("blank-line", BOM),
        ("nul-bytes", b"\0"),
        ("nul-bytes", b" \0\0\r"),
        ("bad-json", b"garbage"),
        ("bad-json", U[:12]),
        ("bad-json", b'{"role":"user","content":"a\tb"}'),
        ("bad-json", b'{"role":"user","content":"a\x01b"}'),
        ("bad-json", b"{'role':'user'}"),
        ("bad-json", U[:-1] + b",}"),
        ("bad-json", b'{"role":"user","content":"caf\xc3'),
        ("bad-json", b"\xff\xfe\x00{\x00"),
        ("bad-json", "\u00a0".encode() + U[:5]),
        ("not-a-message", b"null"),
        ("not-a-message", b"42"),
        ("not-a-message", b'"hi"'),
        ("not-a-message", b"[]"),
        ("not-a-message", b"{}"),
        ("not-a-message", b"true\r"),
        ("not-a-message", b'{"role":7,"content":"x"}'),
        ("not-a-message", b'{"role":null,"content":"x"}'),
        ("not-a-message", b'{"role":"user","content":7}'),
        ("not-a-message", b'{"role":"user","content":{}}'),
        ("not-a-message", b'{"Role":"user","content":"x"}'),
        ("not-a-message", b"NaN"),
        ("unreadable-json", nested(501)),
        ("unreadable-json", nested(501) + b"\r"),
        ("unreadable-json", nested(5_000)),
        ("unreadable-json", BOM + nested(501)),
        ("unreadable-json", digits(4_301)),
        ("unreadable-json", digits(5_000)),
        ("unreadable-json", b"[" * 501 + b"]" * 501),
        ("bad-json", nested(501)[:-1]),
        ("bad-json", b"[" * 501 + b"}" * 501),
        ("bad-json", b"{" * 501 + b"}" * 501),
        ("bad-json", b"[" * 501 + b"," + b"]" * 501),
        ("bad-json", digits(5_000)[:-2]),
    ],
)
def test_lines_without_a_message(code: str, line: bytes) -> None:
    """Each has its own code; what is no JSON is never called deep or long JSON."""
    assert [(code, None)] == outcome(line)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("torn-tail", U[:12]),
        ("nul-bytes", b"\0\0"),
        ("torn-tail", b"  "),
        ("torn-tail", BOM),
        ("torn-tail", b'{"role":"user","content":"caf\xc3'),
        ("torn-tail", digits(5_000)[:-2]),
        ("torn-tail", nested(501)[:-1]),
        ("unreadable-json", nested(501)),
        ("blank-line", b""),
        ("not-a-message", b"4"),
    ],
)
def test_tails_without_a_message(code: str, line: bytes) -> None:
    """What lacks its newline is torn unless it is whole JSON."""
    assert [(code, None)] == outcome(line, terminated=False)


@pytest.mark.parametrize(
    ("code", "mended", "line"),
    [
        ("bad-utf8", '{"role":"user","content":"caf\ufffd"}', b'{"role":"user","content":"caf\xe9"}'),
        (
            "bad-utf8",
            '{"role":"user","content":"\ufffd\ufffd\ufffd"}',
            b'{"role":"user","content":"\xed\xa0\x80"}',
        ),
        ("bad-utf8", '{"role":"user","content":"x","k\ufffd":1}', b'{"role":"user","content":"x","k\xff":1}'),
        ("bad-utf8", '{"role":"user","content":"\ufffd"}', BOM + b'{"role":"user","content":"\xc3"}\r'),
        (
            "bad-number",
            '{"role":"user","content":"NaN","n":null}',
            b'{"role":"user","content":"NaN","n":NaN}',
        ),
        (
            "bad-number",
            '{"role":"user","content":"\\"NaN","n":[null,null,null,1e400]}',
            b'{"role":"user","content":"\\"NaN","n":[NaN,-Infinity,Infinity,1e400]}',
        ),
    ],
)
def test_bytes_and_numbers_that_are_none(code: str, mended: str, line: bytes) -> None:
    """One U+FFFD for each byte, null for each number that is none, and nothing else changes."""
    assert [(code, mended.encode())] == outcome(line)


@pytest.mark.parametrize(
    "line",
    [
        nested(500),
        digits(4_300),
        b'{"role":"user","content":"x","extra":{"n":1e400,"m":%s}}' % (b"9" * 400),
        rb'{"role":"user","content":"\ud83d","k":"\udc00\ud800"}',
        '{"role":"user","content":"a\ufeffb\u2028\u0085"}'.encode(),
        b'{"role":"user","role":"tool","content":1,"content":"x"}',
        b'{"role":"critic"}',
        b'{"role":"","content":[]}',
        b'{"role":"user","content":null,"content":"%s"}' % (b"[{" * 600),
        b'{"role":"user","content":"","extra":{"a\\"]":"}{\\\\"}}',
    ],
)
def test_odd_but_sound_lines_are_served_as_stored(line: bytes) -> None:
    """Nothing is wrong with them, and no byte changes."""
    (piece,) = read_line(line)
    assert ("", None, line) == (piece.code, piece.mended, piece.printed)
    assert is_message(piece.message)


def test_lines_beyond_the_limit_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of the limit is read, one byte more is `line-too-long`, whatever it holds."""
    monkeypatch.setattr(jsonl, "LINE_MAX_BYTES", len(U))
    assert [("", U)] == outcome(U)
    assert [("line-too-long", None)] == outcome(U + b" ")
    assert [("line-too-long", None)] == outcome(b"x" * (len(U) + 1), terminated=False)


# -- properties --------------------------------------------------------------------------------------------

PARTS = st.sampled_from(
    [
        U,
        A,
        T,
        U[:12],
        T[:40],
        b"\0",
        BOM,
        b"\r",
        b" ",
        b"\xff",
        b"x",
        b"}",
        b'"',
        b'{"n":1}',
        b"NaN",
        b"\\",
        b"[",
    ]
)


@given(st.binary(max_size=80) | st.lists(PARTS, max_size=8).map(b"".join), st.booleans())
def test_no_bytes_are_too_odd(line: bytes, terminated: bool) -> None:
    """Any bytes give pieces with known codes; what is printed is strict JSON, and read again it is sound."""
    line = line.replace(b"\n", b"")
    pieces = read_line(line, terminated=terminated)
    assert pieces
    for piece in pieces:
        assert piece.code in finding.NUMBER
        if piece.message is None:
            continue
        value = json.loads(piece.printed.decode("utf-8"), parse_constant=lambda name: pytest.fail(name))
        assert value == piece.message
        assert [("", piece.printed)] == outcome(piece.printed)
        assert (piece.code == "") == (piece.mended is None)


@given(
    st.lists(st.sampled_from([U, A, S, T]), min_size=2, max_size=6), st.sampled_from([b"", b" ", b"\t \r"])
)
def test_glued_messages_all_come_back(messages: list[bytes], between: bytes) -> None:
    """However many messages a line holds, each is there, in order."""
    assert [("glued-lines", message) for message in messages] == outcome(between.join(messages))


@given(
    st.sampled_from([U, A, S, T]),
    st.integers(1, 29),
    st.lists(st.sampled_from([U, A, T]), min_size=1, max_size=3),
)
def test_a_torn_piece_takes_no_whole_message_with_it(torn: bytes, at: int, whole: list[bytes]) -> None:
    """Wherever the first message was cut, those behind it are there."""
    pieces = outcome(torn[:at] + b"".join(whole))
    assert [("glued-lines", None), *(("glued-lines", message) for message in whole)] == pieces


@given(st.text(max_size=60))
def test_what_is_json_is_known_without_recursion(text: str) -> None:
    """The check for texts that nest too deep agrees with the parser on those that do not."""
    data = text.encode("utf-8", "surrogatepass")
    for candidate in (data, json.dumps(text).encode(), b"[%s, {}]" % data, b'{"a":[1,-2.5e3,%s]}' % data):
        try:
            json.loads(candidate.decode("utf-8", "surrogatepass"))
            expected = True
        except ValueError:
            expected = False
        assert expected == jsonl.is_json(candidate), candidate


@given(
    st.lists(st.sampled_from([*"[]{},:", '"a"', "1", "-", "0", "01", "1.5", "1e5", ".", "null", " ", "NaN"]))
)
def test_json_by_its_tokens(tokens: list[str]) -> None:
    """Tokens in any order are JSON for both or for neither."""
    text = "".join(tokens)
    try:
        json.loads(text)
        expected = True
    except ValueError:
        expected = False
    assert expected == jsonl.is_json(text.encode())


MEGABYTE = 1_000_000
HOSTILE = {
    "braces": b"{" * MEGABYTE,
    "brackets": b"[" * MEGABYTE,
    "roles": b'{"role":' * (MEGABYTE // 8),
    "open messages": b'{"role":"user","content":"' * (MEGABYTE // 26),
    "objects": b'{"a":1}' * (MEGABYTE // 7) + U,
    "objects behind a torn piece": b'{"role":"u' + b'{"a":1}' * (MEGABYTE // 7),
    "messages": U * (MEGABYTE // 30),
    "messages behind a torn piece": U[:12] + U * (MEGABYTE // 30),
    "messages before a torn piece": U[:12] + U * (MEGABYTE // 30) + b"{",
    "messages and torn pieces": (U + U[:12]) * (MEGABYTE // 42),
    "messages in objects": b'{"x":' * 499 + b'{"role":"user","e":[%s1]}' % (b"1," * (MEGABYTE // 2)),
    "escaped quotes": b"{" * 600 + b'"' + b'\\"' * (MEGABYTE // 2),
    "quotes": b'{"' * (MEGABYTE // 2),
    "backslashes": b'{"' + b"\\" * MEGABYTE + b'"role"',
    "digits": b'{"role":"user","content":"x","extra":{"n":%s}}' % (b"9" * MEGABYTE),
    "constants": b'{"role":"user","content":"x","n":[%s1]}' % (b"-Infinity," * (MEGABYTE // 10)),
    "blanks": b'{"role"' + b" " * MEGABYTE + b'x{"role"',
    "no UTF-8": b"\xff" * MEGABYTE,
    "NULs": b"\0" * MEGABYTE + U,
    "CRs": U + b"\r" * MEGABYTE,
    "torn": b'{"role":"user","content":"' + b"word " * (MEGABYTE // 5),
}


@pytest.mark.xdist_group("measures")
@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_megabyte_takes_no_time(line: bytes) -> None:
    """No megabyte is slow: what takes the square of its size would take minutes."""
    begin = time.perf_counter()
    pieces = read_line(line)
    assert 4 > time.perf_counter() - begin
    assert all(isinstance(piece, Piece) for piece in pieces)
