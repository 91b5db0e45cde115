"""Mutations: a seed gives a sound log to which things happened, or bytes that never were one."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.repair import logs

_SUMMARIES = (logs.COVERS, logs.COVERS, logs.NO_COVERS, logs.STALE_COVERS)

_ODD = (
    *(
        b"\0",
        b"\0\0\0\0",
        b"\0" * 700,
        b"\r",
        b"\r\r",
        b"\n",
        b"\n\n\n",
        b" ",
        b"\t",
        b"\x0b",
        b"\x0c",
        b"\x1b[2J",
    ),
    *(b"\xef\xbb\xbf", b"\xfe\xff", b"\xff", b"\xe9", b"\xc3", b"\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    *("\u2028".encode(), "\x85".encode(), "\ufeff".encode(), "\U0001f642".encode(), b"\x7f"),
    *(
        b'"',
        b"\\",
        b'\\"',
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"{}",
        b"[]",
        b"}{",
        b'"}',
        b'{"',
        b"\\u",
        b"\\ud8",
    ),
    *(
        b"\\ud83d",
        b"\\udc00",
        b"\\ude00\\ud83d",
        b"\\u0000",
        b"\\u000a",
        b"NaN",
        b"-Infinity",
        b"null",
        b"true",
    ),
    *(b'"role":', b'{"role":"user"', b'"content":null', b'{"role":"user","content":"whole"}', b'"id":"m1"'),
)
_VALUES = (
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1E400", b"1" * 320, b"9" * 30, b"-0", b"0.1e-400"),
    *(
        b"9" * 4300,
        b"9" * 4301,
        b"1." + b"0" * 5000,
        b"null",
        b"true",
        b"[]",
        b"{}",
        b'""',
        b'" "',
        b"01",
        b"+1",
    ),
    *(b'"\\ud83d"', b'"\\udc00\\ud83d"', b'"\\ud83d\\ude00"', b'{"a":1,"a":2}', b'{"\\ud83d":1}', b'"\\x"'),
    *(b'[{"type":"text","text":"x"}]', b'{"role":"user","content":"inside"}', b'"{\\"role\\":\\"user\\"}"'),
)
_KEYS = (
    *(
        b'"content":',
        b'"role":',
        b'"id":',
        b'"tool_call_id":',
        b'"extra":',
        b'"memctl":',
        b'"covers":',
        b'"kept":',
    ),
    *(b'"tool_calls":', b'"function":', b'"arguments":', b'"created_at":', b'"last":', b'"next":'),
)
_FOREIGN = (
    b'{"type":"session_meta","payload":{"id":"0197","cwd":"/tmp"}}',
    b'{"parentUuid":null,"type":"user","message":{"role":"user","content":"hi"},"uuid":"u1"}',
    b'{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}',
    b'{"conversations":[{"from":"human","value":"hi"}]}',
    b'{"role":42,"content":"x"}',
    b'{"role":"user","content":42}',
    b'{"role":"user","content":[{"type":"text","text":"x"}]}',
    b'{"role":"critic","content":"x"}',
    b'{"role":"","content":"x"}',
    b'{"role":"tool","content":"nobody asked","tool_call_id":"nowhere"}',
    b'{"role":"tool","content":"no id"}',
    b'{"role":"assistant","content":" "}',
    b'{"role":"assistant","tool_calls":[{"id":""},{"id":"a"},{"id":"a"},7]}',
    b'{"role":"assistant","tool_calls":{"id":"a"}}',
    b'{"role":"assistant","tool_calls":[{"id":"open","function":{"name":"f"}}]}',
    b'{"role":"user","content":"e","extra":{"__eino_ext_memory_ephemeral":true}}',
    b'{"role":"user","content":"e","extra":{"__eino_ext_memory_summary":true}}',
    b'{"role":"user","extra":{"memctl":{"id":"twice","created_at":"yesterday"}}}',
    b'{"role":"user","extra":{"memctl":{"id":"twice","created_at":"2001-01-01T00:00:00Z"}}}',
    b'{"role":"user","extra":{"memctl":{"created_at":"2030-01-01T00:00:00Z"}}}',
    b'{"role":"assistant","content":"half","extra":{"__eino_ext_memory_incomplete":true}}',
    b'{"role":"user","extra":{"memctl":{"id":7,"created_at":[],"covers":{"kept":-1,"last":"","next":null}}}}',
    b'{"role":"assistant","extra":{"__eino_ext_memory_summary":true,"memctl":{"covers":{"kept":1e3}}}}',
    *(
        b"null",
        b"42",
        b'"text"',
        b"[]",
        b"{}",
        b"true",
        b"[",
        b"{",
        b"]",
        b"---",
        b"# A title",
        b"a,b,c",
        b"data: [DONE]",
    ),
    *(
        b"  ",
        b"\t\r",
        b"Traceback (most recent call last):",
        b"SQLite format 3\0\x10",
        b"\x1f\x8b\x08\0\0\0\0\0",
    ),
)


def make(seed: int) -> bytes:
    """The input of a seed."""
    rng = random.Random(f"fuzz {seed}")
    if rng.random() < 0.02:
        return rng.randbytes(rng.randrange(400))
    summaries = tuple(rng.choice(_SUMMARIES) for _ in range(rng.choice((0, 0, 1, 2, 3))))
    data = b"".join(logs.make(seed, summaries))
    if rng.random() < 0.3:
        begin = rng.randrange(len(data))
        data = data[begin : begin + rng.randrange(2000)]
    for _ in range(rng.choice((1, 1, 2, 3, 4, 6, 6, 12))):
        data = rng.choice(_MUTATIONS)(rng, data)
    return data


# -- what may happen to a file ------------------------------------------------------------------------------


def _flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randint(0, len(data))]


def _take_out(rng: random.Random, data: bytes) -> bytes:
    start = rng.randint(0, len(data))
    return data[:start] + data[start + rng.choice((1, 2, 5, 40, 300)) :]


def _insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(_ODD) + data[at:]


def _insert_at_line_end(rng: random.Random, data: bytes) -> bytes:
    ends = [at for at, byte in enumerate(data) if byte == 0x0A] or [0]
    at = rng.choice(ends) + rng.randint(0, 1)
    return data[:at] + rng.choice(_ODD) + data[at:]


def _garbage(rng: random.Random, data: bytes) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.randbytes(rng.randint(1, 60)) + data[at:]


def _value(rng: random.Random, data: bytes) -> bytes:
    """Another value behind a key; what stood there stays as bytes behind it, or goes up to a sign."""
    key = rng.choice(_KEYS)
    places = [at for at in range(len(data)) if data.startswith(key, at)]
    if not places:
        return data
    at = rng.choice(places) + len(key)
    end = at
    if rng.random() < 0.8:
        ends = [found for sign in (b",", b"}") if (found := data.find(sign, at)) >= 0]
        end = min(ends, default=at)
    return data[:at] + rng.choice(_VALUES) + data[end:]


def _nest(rng: random.Random, data: bytes) -> bytes:
    depth = rng.choice((3, 60, 255, 490, 499, 501, 1200, 3000))
    opened, closed = rng.choice(((b"[", b"]"), (b'{"a":', b"}")))
    inner = opened * depth + rng.choice((b"", b"1")) + closed * rng.choice((depth, depth, depth - 1))
    key = rng.choice(_KEYS)
    at = data.find(key, rng.randint(0, len(data)))
    if at < 0:
        return data + inner + b"\n"
    return data[:at] + b'"nested":' + inner + b"," + data[at:]


def _lines(change: Callable[[random.Random, list[bytes]], None]) -> Callable[[random.Random, bytes], bytes]:
    def mutation(rng: random.Random, data: bytes) -> bytes:
        lines = data.split(b"\n")
        change(rng, lines)
        return b"\n".join(lines)

    return mutation


def _twice(rng: random.Random, lines: list[bytes]) -> None:
    lines.insert(rng.randint(0, len(lines)), rng.choice(lines))


def _remove(rng: random.Random, lines: list[bytes]) -> None:
    if len(lines) > 1:
        del lines[rng.randrange(len(lines))]


def _swap(rng: random.Random, lines: list[bytes]) -> None:
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def _glue(rng: random.Random, lines: list[bytes]) -> None:
    at = rng.randrange(len(lines))
    between = rng.choice((b"", b"", b" ", b"\t", b"\r", b"\0", b","))
    lines[at : at + 2] = [between.join(lines[at : at + 2])]


def _tear_and_glue(rng: random.Random, lines: list[bytes]) -> None:
    at = rng.randrange(len(lines))
    torn = lines[at][: rng.randint(0, len(lines[at]))]
    lines[at : at + 2] = [torn + b"".join(lines[at + 1 : at + 2])]


def _tear(rng: random.Random, lines: list[bytes]) -> None:
    at = rng.randrange(len(lines))
    lines[at] = lines[at][: rng.randint(0, len(lines[at]))]


def _foreign(rng: random.Random, lines: list[bytes]) -> None:
    at = rng.randint(0, len(lines))
    lines[at:at] = rng.choices(_FOREIGN, k=rng.choice((1, 1, 2, 5)))


def _all_crlf(rng: random.Random, lines: list[bytes]) -> None:
    lines[:] = [line + b"\r" for line in lines]


def _dress(rng: random.Random, lines: list[bytes]) -> None:
    at = rng.randrange(len(lines))
    lines[at] = rng.choice(
        (
            b"\xef\xbb\xbf" + lines[at],
            b"\0" * 9 + lines[at],
            lines[at] + b"\0" * 9,
            lines[at] + b"\r",
            b" " + lines[at] + b"\t",
            lines[at].replace(b",", b" , ").replace(b":", b"\t:"),
            b"[" + lines[at] + b"]",
            lines[at] + b",",
            b"\0".join(lines[at][n : n + 1] for n in range(len(lines[at]))),
        )
    )


_MUTATIONS = (
    *(_flip, _cut, _take_out, _insert, _insert, _insert_at_line_end, _garbage, _value, _value, _nest),
    *map(_lines, (_twice, _twice, _remove, _swap, _glue, _glue, _tear_and_glue, _tear, _foreign, _foreign)),
    *map(_lines, (_all_crlf, _dress, _dress)),
)
