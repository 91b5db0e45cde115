"""Damages: what goes wrong with the file of a conversation, each as a change of its lines.

Lines are bytes with their LF; after a damage the last one may lack it, and a line may be parts of two. A
damage that finds nothing to work on leaves the lines as they are.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Damage = Callable[[random.Random, list[bytes]], list[bytes]]


class Row(NamedTuple):
    """A damage and the codes of which it makes one at least."""

    damage: Damage
    codes: frozenset[str]


DAMAGES: dict[str, Row] = {}


def inflict(names: Iterable[str], rng: random.Random, lines: list[bytes]) -> bytes:
    """The file after some damages, one upon the other."""
    for name in names:
        lines = _split(b"".join(DAMAGES[name].damage(rng, list(lines))))
    return b"".join(lines)


def _split(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    return [*lines[:-1], lines[-1][:-1]] if lines[-1] != b"\n" else lines[:-1]


def makes(name: str, *codes: str) -> Callable[[Damage], Damage]:
    """Enter a damage in the table."""

    def enter(damage: Damage) -> Damage:
        DAMAGES[name] = Row(damage, frozenset(codes))
        return damage

    return enter


def _pick(rng: random.Random, lines: list[bytes], which: Callable[[bytes], Any] = bool) -> int:
    """The number of a line that is picked among some, -1 if there is none."""
    found = [number for number, line in enumerate(lines) if which(line)]
    return rng.choice(found) if found else -1


def _is_object(line: bytes) -> bool:
    return line.startswith(b"{") and line.rstrip(b"\n").endswith(b"}") and len(line) > 3


def _with_member(line: bytes, member: bytes) -> bytes:
    """An object's line with a member more at the end."""
    at = line.rindex(b"}")
    return line[:at] + b"," + member + line[at:]


def _message(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_answered(line: bytes) -> bool:
    return bool(_message(line).get("tool_calls"))


def _is_result(line: bytes) -> bool:
    return bool(_message(line).get("tool_call_id"))


# -- the end of the file -----------------------------------------------------------------------------------


@makes("torn tail", "torn-tail")
def _torn_tail(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    last = lines[-1]
    return [*lines[:-1], last[: rng.randrange(1, len(last) - 1)]] if len(last) > 2 else lines


@makes("no final newline", "no-final-newline")
def _no_final_newline(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    return [*lines[:-1], lines[-1].rstrip(b"\n")]


@makes("zeros at the end", "nul-bytes")
def _zeros_at_the_end(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    return [*lines, bytes(rng.choice((1, 7, 512)))]


# -- one line ----------------------------------------------------------------------------------------------


def _damaged(name: str, *codes: str) -> Callable[[Callable[[random.Random, bytes], bytes]], Any]:
    """Enter a damage of one line, which is an object."""

    def enter(change: Callable[[random.Random, bytes], bytes]) -> Any:
        def damage(rng: random.Random, lines: list[bytes]) -> list[bytes]:
            at = _pick(rng, lines, _is_object)
            if at >= 0:
                lines[at] = change(rng, lines[at])
            return lines

        return makes(name, *codes)(damage)

    return enter


@_damaged("cut line", "bad-json")
def _cut_line(rng: random.Random, line: bytes) -> bytes:
    return line[: rng.randrange(1, len(line) - 2)] + b"\n"


@_damaged("NaN", "bad-number")
def _nan(rng: random.Random, line: bytes) -> bytes:
    return _with_member(line, rng.choice((b'"n":NaN', b'"n": [-Infinity, "NaN"]', b'"n":{"m":Infinity}')))


@_damaged("number beyond a double", "bad-number")
def _beyond(rng: random.Random, line: bytes) -> bytes:
    return _with_member(line, rng.choice((b'"q":1e999', b'"q":[-2E+400]')))


@_damaged("NaN and a number beyond a double", "bad-number")
def _both_numbers(rng: random.Random, line: bytes) -> bytes:
    return _with_member(line, rng.choice((b'"q":1e999,"n":NaN', b'"n":NaN,"q":1e999')))


@_damaged("zeros in a line", "nul-bytes")
def _zeros(rng: random.Random, line: bytes) -> bytes:
    at = rng.choice((0, len(line) - 1, rng.randrange(len(line))))
    return line[:at] + bytes(rng.choice((1, 2, 9))) + line[at:]


@_damaged("byte of Latin-1", "bad-utf8", "bad-json")
def _latin(rng: random.Random, line: bytes) -> bytes:
    at = rng.choice([match.start() + 3 for match in re.finditer(rb"\w\w\w", line)])
    return line[:at] + b"\xe9" + line[at:]


@_damaged("half a pair", "bad-text")
def _half(rng: random.Random, line: bytes) -> bytes:
    return _with_member(line, rng.choice((rb'"h":"\ud83d"', rb'"h":["\uDC00 \ud83d\ude00"]', rb'"\udead":1')))


@_damaged("key twice", "duplicate-key")
def _key_twice(rng: random.Random, line: bytes) -> bytes:
    return _with_member(line, rng.choice((b'"z":1,"z":2', b'"z":{"y":1,"y":1}')))


@_damaged("mark in front", "bom")
def _mark(rng: random.Random, line: bytes) -> bytes:
    return b"\xef\xbb\xbf" + line


@_damaged("CR LF", "crlf")
def _cr_lf(rng: random.Random, line: bytes) -> bytes:
    return line.rstrip(b"\n") + rng.choice((b"\r\n", b"\r\r\n"))


@_damaged("role outside the list", "unknown-role")
def _critic(rng: random.Random, line: bytes) -> bytes:
    return re.sub(rb'("role": ?)"\w+"', rb'\1"critic"', line, count=1)


@_damaged("long line", "line-too-long")
def _long(rng: random.Random, line: bytes) -> bytes:
    return _with_member(line, b'"pad":"' + b"x" * 65_536 + b'"')


@_damaged("deep line", "unreadable-json")
def _deep(rng: random.Random, line: bytes) -> bytes:
    return _with_member(line, b'"deep":' + b"[" * 501 + b"]" * 501)


@_damaged("parts for content", "list-content")
def _parts(rng: random.Random, line: bytes) -> bytes:
    value = _message(line)
    return json.dumps({**value, "content": [{"type": "text", "text": "in a part"}]}).encode() + b"\n"


@_damaged("bad time", "bad-time")
def _bad_time(rng: random.Random, line: bytes) -> bytes:
    return _with_member(line, b'"extra":{"memctl":{"created_at":"noon"}}')


# -- lines more and less -----------------------------------------------------------------------------------


def _put_in(name: str, codes: tuple[str, ...], *lines_put: bytes) -> None:
    """Enter a damage that puts one of these lines somewhere."""

    def damage(rng: random.Random, lines: list[bytes]) -> list[bytes]:
        lines.insert(rng.randint(0, len(lines)), rng.choice(lines_put) + b"\n")
        return lines

    makes(name, *codes)(damage)


_put_in("blank line", ("blank-line",), b"", b" \t ", b"\r")
_put_in("line of zeros", ("nul-bytes",), b"\0", b"\0" * 20, b" \0\0 ")
_put_in("no JSON", ("bad-json",), b"# restarted", b"}{", b'{"role":"user","content":"a', b"\xff\xfe\xff")
_put_in("no message", ("not-a-message",), b"null", b"42", b"[]", b"{}", b'{"type":"x"}', b'{"role":1}')
_put_in(
    "ephemeral message",
    ("ephemeral-stored",),
    b'{"role":"user","content":"e","extra":{"__eino_ext_memory_ephemeral":true}}',
    b'{"role":"assistant","content":"e","extra":{"__eino_ext_memory_ephemeral":true,'
    b'"__eino_ext_memory_summary":true}}',
)
_put_in("orphan", ("orphan-result",), b'{"role":"tool","content":"o","tool_call_id":"nowhere"}')
_put_in("orphan without an id", ("orphan-result",), b'{"role":"tool","content":"o"}')
_put_in("empty answer", ("empty-message",), b'{"role":"assistant","content":" "}', b'{"role":"assistant"}')
_put_in(
    "cut answer",
    ("incomplete",),
    b'{"role":"assistant","content":"cu","extra":{"__eino_ext_memory_incomplete":true}}',
)
_put_in(
    "call without an id",
    ("open-call",),
    b'{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}',
    b'{"role":"assistant","tool_calls":{"id":"c"}}',
    b'{"role":"assistant","tool_calls":[{"id":"c"},{"id":"c"}]}',
)


@makes("two users", "dangling-user")
def _two_users(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = _pick(rng, lines, lambda line: _message(line).get("role") == "user")
    if at >= 0:
        lines.insert(at, b'{"role":"user","content":"and again"}\n')
    return lines


@makes("two lines in one", "glued-lines")
def _glued(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = _pick(rng, lines[:-1])
    if at >= 0:
        lines[at : at + 2] = [lines[at].rstrip(b"\n") + rng.choice((b"", b" ", b"\0")) + lines[at + 1]]
    return lines


@makes("many lines in one", "glued-lines")
def _many_glued(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = _pick(rng, lines[:-1])
    if at >= 0:
        end = min(len(lines), at + rng.randint(2, 5))
        together = b"".join(line.rstrip(b"\n") for line in lines[at:end])
        lines[at:end] = [together + (b"\n" if lines[end - 1].endswith(b"\n") else b"")]
    return lines


@makes("torn line and the next", "glued-lines")
def _torn_and_next(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = _pick(rng, lines[:-1], lambda line: len(line) > 2)
    if at >= 0:
        lines[at : at + 2] = [lines[at][: rng.randrange(1, len(lines[at]) - 1)] + lines[at + 1]]
    return lines


@makes("lost result", "open-call")
def _lost_result(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = _pick(rng, lines, _is_result)
    if at >= 0:
        del lines[at]
    return lines


@makes("lost call", "orphan-result")
def _lost_call(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = _pick(rng, lines, _is_answered)
    if at >= 0:
        del lines[at]
    return lines


@makes("late result", "orphan-result", "open-call")
def _late_result(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = _pick(rng, lines, _is_result)
    if at >= 0:
        line = lines.pop(at)
        while at < len(lines) and _is_result(lines[at]):
            at += 1
        lines[at + 1 : at + 1] = [line.rstrip(b"\n") + b"\n"]
    return lines


@makes("second result", "duplicate-result")
def _second_result(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = _pick(rng, lines, _is_result)
    if at >= 0:
        value = {**_message(lines[at]), "content": "second", "extra": {}}
        lines.insert(at + 1, json.dumps(value).encode() + b"\n")
        lines[at] = lines[at].rstrip(b"\n") + b"\n"
    return lines


@makes("line again", "duplicate-message")
def _again(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    # A system message behind another one belongs to the head: that is met elsewhere.
    at = _pick(rng, lines, lambda line: b'"memctl"' in line and b'"system"' not in line and _is_object(line))
    if at >= 0:
        line = lines[at].rstrip(b"\n") + b"\n"
        lines.insert(rng.randint(at, len(lines) - 1), line)
    return lines


@makes("id again", "duplicate-id")
def _id_again(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = _pick(rng, lines, lambda line: "id" in _own(line))
    if at >= 0:
        value = {"role": "function", "content": "other", "extra": {"memctl": {"id": _own(lines[at])["id"]}}}
        lines.insert(at + 1, json.dumps(value).encode() + b"\n")
        lines[at] = lines[at].rstrip(b"\n") + b"\n"
    return lines


@makes("time goes back", "time-order")
def _time_back(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = rng.randint(0, len(lines))
    timed = b'{"role":"function","content":"%d","extra":{"memctl":{"created_at":%d}}}\n'
    lines[at:at] = [timed % (second, second) for second in (1_700_000_060, 1_700_000_000)]
    return lines


def _own(line: bytes) -> dict[str, Any]:
    extra = _message(line).get("extra")
    own = extra.get("memctl") if isinstance(extra, dict) else None
    return own if isinstance(own, dict) else {}
