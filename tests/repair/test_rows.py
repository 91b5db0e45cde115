"""Each row of the table that concerns a log: made, named at its place, mended or left as stated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from memctl import Store
from memctl.core.calls import interrupted
from memctl.core.problems import ACTIONS, TABLE

from . import engine, logs
from .named import Named

FAST = {"durability": "none", "heal.settle_ms": 0}
SET_ASIDE, REMOVED = "set aside", "removed"
USER = b'{"role":"user","content":"hi"}'
ANSWER = b'{"role":"assistant","content":"yes"}'
WITH_ID = b'{"role":"user","content":"hi","extra":{"memctl":{"id":"m1"}}}'
CALL = b'{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"f"}},{"id":"c2"}]}'
RESULTS = [b'{"role":"tool","content":"%d","tool_call_id":"c%d"}' % (n, n) for n in (1, 2)]
EPHEMERAL = b'{"role":"user","content":"e","extra":{"__eino_ext_memory_ephemeral":true}}'
INCOMPLETE = b'{"role":"assistant","content":"I","extra":{"__eino_ext_memory_incomplete":true}}'
TIMED = b'{"role":"function","content":"t","extra":{"memctl":{"created_at":%s}}}'
LONG = b'{"role":"user","content":"%s"}' % (b"x" * 65_536)
DEEP = b'{"role":"user","content":"a","d":' + b"[" * 501 + b"]" * 501 + b"}"
DIGITS = b'{"role":"user","content":"a","n":1' + b"0" * 4_300 + b"}"
BAD_COVERS = b'{"kept":5,"last":"0000000000000000","next":"0000000000000000"}'
STALE = (
    b'{"role":"assistant","content":"s","extra":{"__eino_ext_memory_summary":true,"memctl":{"covers":'
    + BAD_COVERS
    + b"}}}"
)


class Row(NamedTuple):
    """Lines with something wrong, what is named, and the lines after repair.

    A row `at_end` is for the end of a file. `made` stands in `after` for the results that repair makes, of
    calls in the messages of these numbers at these offsets.
    """

    name: str
    before: bytes
    problems: list[Named]
    after: bytes
    at_end: bool = False
    made: tuple[tuple[str, int, int], ...] = ()

    @property
    def newlines(self) -> int:
        """How many LF are added: where a line is split, and where the last one is ended."""
        if any(problem.code in ("glued-lines", "no-final-newline") for problem in self.problems):
            return self.after.count(b"\n") - self.before.count(b"\n")
        return 0


def one(name: str, line: bytes, *problems: Named, after: bytes | None = None) -> Row:
    """A row of one line, which leaves unless `after` is given."""
    return Row(name, line + b"\n", list(problems), b"" if after is None else after + b"\n")


def gone(code: str, line: bytes, name: str = "") -> Row:
    return one(name or code, line, Named(code, 1, 0, len(line), ACTIONS[code]))


def left(code: str, line: bytes, severity: str = "", name: str = "") -> Row:
    return one(name or code, line, Named(code, 1, 0, len(line), "", severity), after=line)


def block(name: str, lines: list[bytes], problems: list[Named], after: list[bytes]) -> Row:
    return Row(name, _file(lines), problems, _file(after))


def _file(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _at(lines: list[bytes], number: int) -> tuple[int, int, int]:
    """Line, offset and length of a line of some."""
    return number, len(_file(lines[: number - 1])), len(lines[number - 1])


def _open_call_rows() -> list[Row]:
    """A call without its result in an earlier turn, and in the last one."""
    first = [CALL, RESULTS[0], USER]
    none = [USER, CALL, USER]
    last = [USER, CALL, RESULTS[1]]
    added = ACTIONS["open-call"]
    return [
        block(
            "open-call", first, [Named("open-call", *_at(first, 1), added)], [*first[:2], b"<c2>", USER]
        )._replace(made=(("c2", 0, 0),)),
        block(
            "open-call, both",
            none,
            [Named("open-call", *_at(none, 2), added)] * 2,
            [USER, CALL, b"<c1>", b"<c2>", USER],
        )._replace(made=(("c1", 1, len(USER) + 1), ("c2", 1, len(USER) + 1))),
        block(
            "open-call, last turn", last, [Named("open-call", *_at(last, 2), "", "warning")], last
        )._replace(at_end=True),
    ]


ROWS: list[Row] = [
    Row("torn-tail", USER[:20], [Named("torn-tail", 1, 0, 20, SET_ASIDE)], b"", at_end=True),
    Row("torn-tail, white", b"  \t", [Named("torn-tail", 1, 0, 3, SET_ASIDE)], b"", at_end=True),
    Row(
        "no-final-newline",
        USER,
        [Named("no-final-newline", 1, len(USER), 0, "newline added")],
        USER + b"\n",
        at_end=True,
    ),
    Row(
        "no-final-newline, glued",
        USER + ANSWER,
        [
            Named("glued-lines", 1, 0, len(USER + ANSWER), "split"),
            Named("no-final-newline", 1, len(USER + ANSWER), 0, "newline added"),
        ],
        _file([USER, ANSWER]),
        at_end=True,
    ),
    gone("bad-json", b"not JSON"),
    gone("bad-json", USER[:20], "bad-json, cut"),
    gone("bad-json", b"not JSON\r", "bad-json with CR is only bad-json"),
    gone("bad-json", b"\xff\xfe\xfd", "bad-json, no text"),
    left("unreadable-json", DEEP),
    left("unreadable-json", DIGITS, name="unreadable-json, digits"),
    one(
        "bad-number",
        USER[:-1] + b',"n":NaN}',
        Named("bad-number", 1, 34, 3, "null put in its place"),
        after=USER[:-1] + b',"n":null}',
    ),
    one(
        "bad-number, not in a text",
        USER[:-1] + b',"t":"NaN","n":[-Infinity,Infinity]}',
        Named("bad-number", 1, 45, 9, "null put in its place"),
        after=USER[:-1] + b',"t":"NaN","n":[null,null]}',
    ),
    one(
        "bad-number, beyond a double",
        USER[:-1] + b',"n":-1e999}',
        Named("bad-number", 1, 34, 6, "", "warning"),
        after=USER[:-1] + b',"n":-1e999}',
    ),
    one(
        "bad-number, zero bytes in it",
        USER[:-1] + b',"n":N\0aN}',
        Named("bad-number", 1, 34, 4, "null put in its place"),
        Named("nul-bytes", 1, 35, 1, "cut out"),
        after=USER[:-1] + b',"n":null}',
    ),
    one(
        "bad-number, beyond a double, zero bytes in it",
        USER[:-1] + b',"n":1e9\x0099}',
        Named("bad-number", 1, 34, 6, "", "warning"),
        Named("nul-bytes", 1, 37, 1, "cut out"),
        after=USER[:-1] + b',"n":1e999}',
    ),
    one(
        "glued-lines",
        USER + ANSWER,
        Named("glued-lines", 1, 0, len(USER + ANSWER), "split"),
        after=USER + b"\n" + ANSWER,
    ),
    one(
        "glued-lines, torn piece in front",
        USER[:20] + ANSWER,
        Named("glued-lines", 1, 0, 20 + len(ANSWER), "split"),
        after=ANSWER,
    ),
    one(
        "glued-lines, torn piece behind",
        USER + b" " + ANSWER[:20],
        Named("glued-lines", 1, 0, len(USER) + 21, "split"),
        after=USER,
    ),
    one(
        "glued-lines, an object without a role",
        USER + b'{"n":1}' + ANSWER,
        Named("glued-lines", 1, 0, len(USER) + 7 + len(ANSWER), "split"),
        after=USER + b"\n" + ANSWER,
    ),
    one(
        "glued-lines with CR",
        USER + ANSWER + b"\r",
        Named("glued-lines", 1, 0, len(USER + ANSWER) + 1, "split"),
        Named("crlf", 1, len(USER + ANSWER), 1, "CR removed"),
        after=USER + b"\n" + ANSWER,
    ),
    one(
        "glued-lines, an ephemeral message in it",
        USER + EPHEMERAL + ANSWER,
        Named("ephemeral-stored", 1, 0, len(USER + EPHEMERAL + ANSWER), SET_ASIDE),
        Named("glued-lines", 1, 0, len(USER + EPHEMERAL + ANSWER), "split"),
        after=USER + b"\n" + ANSWER,
    ),
    one("nul-bytes", USER + b"\0\0", Named("nul-bytes", 1, len(USER), 2, "cut out"), after=USER),
    one(
        "nul-bytes, two runs",
        b"\0" + USER[:8] + b"\0\0\0" + USER[8:],
        Named("nul-bytes", 1, 0, 1, "cut out"),
        Named("nul-bytes", 1, 9, 3, "cut out"),
        after=USER,
    ),
    gone("nul-bytes", b"\0" * 20, "nul-bytes, nothing else"),
    one(
        "nul-bytes with CR",
        USER + b"\0\r",
        Named("nul-bytes", 1, len(USER), 1, "cut out"),
        Named("crlf", 1, len(USER) + 1, 1, "CR removed"),
        after=USER,
    ),
    one(
        "bad-utf8",
        b'{"role":"user","content":"caf\xe9 \x97"}',
        Named("bad-utf8", 1, 29, 1, "U+FFFD put in"),
        after='{"role":"user","content":"caf\ufffd \ufffd"}'.encode(),
    ),
    one(
        "bad-utf8 with CR",
        b'{"role":"user","content":"caf\xe9"}\r',
        Named("bad-utf8", 1, 29, 1, "U+FFFD put in"),
        Named("crlf", 1, 32, 1, "CR removed"),
        after='{"role":"user","content":"caf\ufffd"}'.encode(),
    ),
    one(
        "bad-text",
        rb'{"role":"user","content":"\ud83d\ude00 \ud83d"}',
        Named("bad-text", 1, 39, 6),
        after=rb'{"role":"user","content":"\ud83d\ude00 \ud83d"}',
    ),
    *[
        gone("not-a-message", line, f"not-a-message, {line.decode()}")
        for line in (
            b"[1]",
            b"42",
            b"null",
            b'"text"',
            b'{"n":1}',
            b'{"role":1}',
            b'{"role":"user","content":1}',
        )
    ],
    left("unknown-role", b'{"role":"critic","content":"no"}'),
    left("unknown-role", b'{"role":"","content":"no"}', name="unknown-role, empty"),
    gone("orphan-result", RESULTS[0]),
    gone("orphan-result", b'{"role":"tool","content":"r"}', "orphan-result, no id"),
    block(
        "orphan-result, behind an answer",
        [CALL, *RESULTS, ANSWER, RESULTS[0]],
        [Named("orphan-result", *_at([CALL, *RESULTS, ANSWER, RESULTS[0]], 5), SET_ASIDE)],
        [CALL, *RESULTS, ANSWER],
    ),
    *_open_call_rows(),
    block(
        "open-call, without an id",
        [b'{"role":"assistant","tool_calls":[{"function":{}}]}', USER],
        [Named("open-call", 1, 0, 51)],
        [b'{"role":"assistant","tool_calls":[{"function":{}}]}', USER],
    ),
    block(
        "duplicate-result",
        [CALL, RESULTS[1], RESULTS[1], RESULTS[0]],
        [Named("duplicate-result", *_at([CALL, RESULTS[1], RESULTS[1], RESULTS[0]], 3), SET_ASIDE)],
        [CALL, RESULTS[1], RESULTS[0]],
    ),
    block(
        "duplicate-message",
        [WITH_ID, ANSWER, WITH_ID],
        [Named("duplicate-message", *_at([WITH_ID, ANSWER, WITH_ID], 3), SET_ASIDE)],
        [WITH_ID, ANSWER],
    ),
    block(
        "duplicate-id",
        [WITH_ID, ANSWER, WITH_ID.replace(b"hi", b"ho")],
        [Named("duplicate-id", *_at([WITH_ID, ANSWER, WITH_ID], 3))],
        [WITH_ID, ANSWER, WITH_ID.replace(b"hi", b"ho")],
    ),
    block("dangling-user", [USER, USER], [Named("dangling-user", 1, 0, len(USER))], [USER, USER]),
    block(
        "dangling-user, over a line that leaves",
        [USER, b"oops", USER],
        [Named("dangling-user", 1, 0, len(USER)), Named("bad-json", 2, len(USER) + 1, 4, SET_ASIDE)],
        [USER, USER],
    ),
    left("empty-message", b'{"role":"assistant","content":" \\n"}'),
    left("empty-message", b'{"role":"assistant"}', name="empty-message, no content"),
    left("incomplete", INCOMPLETE),
    gone("ephemeral-stored", EPHEMERAL),
    left("bad-summary", STALE),
    left("line-too-long", LONG),
    left("list-content", b'{"role":"user","content":[{"type":"text","text":"a"}]}'),
    gone("blank-line", b""),
    gone("blank-line", b" \t", "blank-line, white"),
    gone("blank-line", b"\r", "blank-line, CR"),
    one("bom", b"\xef\xbb\xbf" + USER, Named("bom", 1, 0, 3, "removed"), after=USER),
    one(
        "bom, zero bytes in it",
        b"\xef\0\xbb\xbf" + USER,
        Named("bom", 1, 0, 3, "removed"),
        Named("nul-bytes", 1, 1, 1, "cut out"),
        after=USER,
    ),
    one("crlf", USER + b"\r", Named("crlf", 1, len(USER), 1, "CR removed"), after=USER),
    one("crlf, twice", USER + b"\r\r", Named("crlf", 1, len(USER), 2, "CR removed"), after=USER),
    left("duplicate-key", USER[:-1] + b',"n":1,"n":1}'),
    left("duplicate-key", USER[:-1] + b',"o":[{"n":1,"\\u006e":2}]}', name="duplicate-key, below"),
    block(
        "time-order",
        [TIMED % b"1700000060", TIMED % b'"2023-11-14T22:13:20Z"'],
        [Named("time-order", 2, len(TIMED % b"1700000060") + 1, len(TIMED % b'"2023-11-14T22:13:20Z"'))],
        [TIMED % b"1700000060", TIMED % b'"2023-11-14T22:13:20Z"'],
    ),
    left("bad-time", TIMED % b'"noon"'),
]

# A file of nothing but another program's objects is not repaired.
#: What stands before and behind the lines of a row; "summary": one that covers all but an answer.
CONTEXTS = {
    "only": (b"", b""),
    "first": (b"", ANSWER + b"\n"),
    "last": (_file([USER, ANSWER]), b""),
    "between": (_file([USER, CALL, *RESULTS, ANSWER]), _file([ANSWER, USER])),
    "behind CR LF": (USER + b"\r\n" + ANSWER + b"\r\n", _file([ANSWER])),
    "summary": (_file([USER, ANSWER]), b"summary"),
}
CASES = [
    pytest.param(row, context, id=f"{row.name}: {context}")
    for row in ROWS
    for context, (_, behind) in CONTEXTS.items()
    if not (row.at_end and behind) and not (context == "only" and row.name.startswith("not-a-message, {"))
]


def test_the_rows_are_the_table() -> None:
    """Each code of the table that is about the lines of a conversation has a row here."""
    of_files = {"mode", "symlink", "stray-file", "odd-name", "stale-cache", "bad-activities", "not-a-record"}
    assert set(TABLE) - of_files == {problem.code for row in ROWS for problem in row.problems}
    for row in ROWS:
        for problem in row.problems:
            assert bool(problem.action) <= (problem.code in ACTIONS)


@pytest.mark.parametrize(("row", "context"), CASES)
def test_a_row_is_named_and_repaired_as_stated(root: Path, row: Row, context: str) -> None:
    """At the right line and byte, with its severity; mended or left; the rest stays; then nothing is left."""
    front, behind = CONTEXTS[context]
    before, after = row.before, _with_results(row, front)
    if behind == b"summary":
        behind, behind_after = (_summarised(front + lines) for lines in (before, after))
    else:
        behind_after = behind
    data = front + before + behind
    path = root / "conversations" / "alice" / "talk.jsonl"
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_bytes(data)
    path.chmod(0o600)
    store = Store(root, settings=FAST)

    expected = _placed(row, front)
    found = store.inspect("alice/talk").targets[0]
    named = [(p.code, p.severity, p.line, p.offset, p.length) for p in found.problems]
    assert sorted(problem for problem, _ in expected) == sorted(named)

    plan = store.repair("alice/talk", apply=False)
    assert data == path.read_bytes()
    done = store.repair("alice/talk")
    assert front.replace(b"\r", b"") + after + behind_after == path.read_bytes()
    told, deed = plan.targets[0].report(), done.targets[0].report()
    assert (False, True) == (told.pop("applied"), deed.pop("applied"))
    assert told == deed
    fixed = [(problem[0], problem[2], action) for problem, action in expected if action]
    assert sorted(fixed) == sorted((item["code"], item["line"], item["action"]) for item in deed["fixed"])
    stays = [(problem[0], problem[2], problem[1]) for problem, action in expected if not action]
    assert sorted(stays) == sorted((item["code"], item["line"], item["severity"]) for item in deed["left"])
    assert len(data) + row.newlines == deed["kept"] + deed["quarantined_bytes"]

    again = store.repair("alice/talk")
    assert (0, []) == (again.fixed, again.targets[0].fixed)
    rest = store.inspect("alice/talk").targets[0].problems
    assert sorted((code, severity) for code, _, severity in stays) == sorted(
        (p.code, p.severity) for p in rest
    )


def _placed(row: Row, front: bytes) -> list[tuple[tuple[str, str, int, int, int], str]]:
    """The problems of a file with the row's lines behind `front`, which may have CR, and the actions."""
    first = front.count(b"\n")
    placed = [
        (
            (
                problem.code,
                problem.severity or TABLE[problem.code].severity,
                first + problem.line,
                len(front) + problem.offset,
                problem.length,
            ),
            problem.action,
        )
        for problem in row.problems
    ]
    at = 0
    for number, line in enumerate(front.split(b"\n")[:-1], 1):
        if line.endswith(b"\r"):
            placed.append((("crlf", "warning", number, at + len(line) - 1, 1), "CR removed"))
        at += len(line) + 1
    return placed


def _with_results(row: Row, front: bytes) -> bytes:
    """The row's lines after repair, with the results that are made where the calls stand behind `front`."""
    after = row.after
    calls = {call["id"]: call for call in json.loads(CALL)["tool_calls"]}
    for id, number, offset in row.made:
        line = interrupted(calls[id], len(engine.messages(front)) + number, len(front) + offset)
        after = after.replace(f"<{id}>".encode(), line)
    return after


def _summarised(lines: bytes) -> bytes:
    """An answer and a summary of all that stands in front of it, and a user message."""
    told = [one.stored + b"\n" for one in engine.messages(lines)] + [ANSWER + b"\n"]
    return ANSWER + b"\n" + logs.summary(told, kept=1) + USER + b"\n"
