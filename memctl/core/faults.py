"""Faults: everything that is wrong with one stored line by itself, at which byte, and how it reads.

`core.lines` says what a reader gets from a line; this module says all that ails it, for inspect and repair.
A line that is removed as a whole has that one fault only. A message here is what the file is to hold, by its
`lines.Kind`: a message, or a record.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from memctl.core import jsonl, keys, lines, utf8
from memctl.core.line_reasons import why
from memctl.core.message import GO_LINE_BYTES
from memctl.core.problems import ERROR, INFO, WARNING

#: Faults for which the whole line leaves the file.
WHOLE_LINE = frozenset(("torn-tail", "bad-json", "not-a-message", "not-a-record", "blank-line"))
_BOM = b"\xef\xbb\xbf"
#: Up to half a surrogate pair that stands alone.
LONE_HALF = (
    rb"(?:[^\\]++|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|\\(?!u[dD][89a-fA-F][0-9a-fA-F]{2})[\s\S])*+(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
#: From this size on a line is looked at in a way that needs less memory.
_LONG_BYTES = 4 << 20


class Fault(NamedTuple):
    """`start` and `length` are bytes in the line."""

    code: str
    severity: str
    start: int
    length: int
    detail: str = ""


class Looked(NamedTuple):
    """The pieces of a line (`core.lines`) and its faults."""

    pieces: list[lines.Piece]
    faults: list[Fault]


def look(
    line: bytes, *, terminated: bool = True, size_bytes: int = 0, kind: lines.Kind = lines.MESSAGE
) -> Looked:
    """What a line without its LF holds, and what is wrong with it.

    `size_bytes` is the line's size where only its beginning is given, one byte more than is read of a line.
    """
    if len(line) > jsonl.LINE_MAX_BYTES:
        beyond = (
            f"{size_bytes or len(line):,} bytes; lines beyond {jsonl.LINE_MAX_BYTES >> 20} MiB are not read"
        )
        fault = Fault("line-too-long", WARNING, 0, size_bytes or len(line), beyond)
        return Looked(lines.read_line(line, kind=kind), [fault, *unended(line, terminated)])
    if len(line) >= _LONG_BYTES:
        from memctl.core import long_lines

        if looked := long_lines.look(line, terminated, kind):
            return looked
    value = _plain(line, kind)
    if value is None:
        return _closely(line, terminated, kind)
    piece = lines.Piece(line, "", value, None)
    return Looked([piece], [*of_object(line, line, value, kind), *unended(line, terminated)])


def _plain(line: bytes, kind: lines.Kind) -> dict[str, Any] | None:
    """The message of a line that needs no closer look at its bytes, else None."""
    if line[-1:] == b"\r" or len(line) > jsonl.LINE_MAX_BYTES:
        return None
    try:
        value = jsonl.loads(line)
    except ValueError:
        return None
    return value if kind.holds(value) else None


def sound(line: bytes, kind: lines.Kind = lines.MESSAGE) -> dict[str, Any] | None:
    """The message of a line that has no fault at all, seen at a glance; None if it has, or may have."""
    if len(line) >= GO_LINE_BYTES and (kind.for_go or len(line) >= _LONG_BYTES):
        return None
    try:
        value: Any = jsonl.loads(line)
    except ValueError:
        return None
    if line[-1:] == b"\r" or not kind.holds(value) or (kind.for_go and type(value.get("content")) is list):
        return None
    # In the most common form of its value no key is twice. That of other programs has a space behind colons.
    is_spaced = line.startswith(b" ", line.find(b'":') + 2)
    if (is_spaced or not jsonl.is_compact(value, line)) and keys.may_repeat(line, value):
        return None
    message: dict[str, Any] = value
    return message


def unended(line: bytes, terminated: bool) -> list[Fault]:
    return [] if terminated else [Fault("no-final-newline", WARNING, len(line), 0)]


def of_object(
    line: bytes, short: bytes, value: dict[str, Any], kind: lines.Kind, printed: bytes | None = None
) -> list[Fault]:
    """What is wrong with a message as such, on the line that it has alone.

    `short` is its text, in outline perhaps; `printed` what readers are given, if not the line.
    """
    faults = []
    size_bytes = len(line if printed is None else printed)
    if kind.for_go and size_bytes >= GO_LINE_BYTES:
        faults.append(Fault("line-too-long", WARNING, 0, len(line), f"{size_bytes:,} bytes"))
    if kind.for_go and type(value.get("content")) is list:
        faults.append(Fault("list-content", INFO, 0, len(line)))
    if keys.may_repeat(short, value) and (detail := keys.repeated(short)):
        faults.append(Fault("duplicate-key", WARNING, 0, len(line), detail))
    return faults


# -- lines that need a closer look ------------------------------------------------------------------------


def _closely(line: bytes, terminated: bool, kind: lines.Kind) -> Looked:
    pieces = lines.read_line(line, terminated=terminated, kind=kind)
    code = pieces[0].code
    if len(pieces) == 1 and code in WHOLE_LINE:
        return Looked(pieces, [Fault(code, _severity(code), 0, len(line), why(line, code, kind))])
    if code == "crlf" and sound(pieces[0].stored, kind) is not None:
        returns = trailing_returns(line)
        return Looked(pieces, [Fault(code, WARNING, returns[0], len(returns)), *unended(line, terminated)])
    faults = of_bytes(line)
    if len(pieces) == 1 and code == "nul-bytes" and pieces[0].message is None:
        # Nothing but zero bytes, and white space perhaps: no newline is missing that would end anything.
        return Looked(pieces, [fault for fault in faults if fault.code == "nul-bytes"])
    if code == "unreadable-json":
        faults.append(Fault(code, WARNING, 0, len(line), why(line, code, kind)))
    elif pieces[0].code == "glued-lines":
        found = sum(piece.message is not None for piece in pieces)
        rest = len(pieces) - found
        torn = f" and {rest} torn piece{'s' if rest > 1 else ''}" if rest else ""
        detail = f"{found} object{'s' if found > 1 else ''}{torn}"
        faults.append(Fault("glued-lines", ERROR, 0, len(line), detail))
    faults += _of_values(line, pieces, kind)
    seen = {fault.code for fault in faults}
    for piece in pieces:
        if piece.message is not None and sound(piece.printed, kind) is None:
            for fault in of_object(piece.printed, piece.printed, piece.message, kind):
                if fault.code not in seen:
                    seen.add(fault.code)
                    faults.append(fault._replace(length=len(line)))
    return Looked(pieces, faults + unended(line, terminated))


def _severity(code: str) -> str:
    return WARNING if code == "blank-line" else ERROR


def of_bytes(line: bytes) -> list[Fault]:
    """Zero bytes, byte order marks, CR at the end, bytes that are not UTF-8."""
    import re

    faults = [
        Fault("nul-bytes", ERROR, run.start(), run.end() - run.start()) for run in re.finditer(rb"\0+", line)
    ]
    bare = line.replace(b"\0", b"") if faults else line
    if bare.startswith(_BOM):
        faults.append(Fault("bom", WARNING, _place(line, 0), len(_BOM)))
    if returns := trailing_returns(line):
        faults.append(Fault("crlf", WARNING, returns[0], len(returns)))
    broken = utf8.broken(bare)
    first = next(broken, None)
    if first is not None:
        count = 1 + sum(1 for _ in broken)
        detail = f"{count} byte{'s' if count > 1 else ''}, the first is {bare[first]:02X}"
        faults.append(Fault("bad-utf8", ERROR, _place(line, first), 1, detail))
    return faults


def _place(line: bytes, position: int) -> int:
    """Where a byte of the line without its zero bytes stands in the line."""
    at, zeros = -1, 0
    while at < position + zeros:
        before, at = at, position + zeros
        zeros += line.count(b"\0", before + 1, at + 1)
    return at


def trailing_returns(line: bytes) -> list[int]:
    """Where the CR at the end of a line stand; zero bytes between and behind them do not count."""
    found = []
    for position in range(len(line) - 1, -1, -1):
        if line[position] == 0x0D:
            found.append(position)
        elif line[position]:
            break
    return found[::-1]


def _of_values(line: bytes, pieces: list[lines.Piece], kind: lines.Kind) -> list[Fault]:
    """Numbers and texts that other parsers refuse; of each kind the first one."""
    if len(pieces) == 1:
        message = pieces[0].message
        # Zero bytes may stand inside a number or an escape.
        bare = line.replace(b"\0", b"")
        return [] if message is None else of_text(line, bare, message)
    found: dict[tuple[str, str], Fault] = {}
    at = 0
    for piece in pieces:
        # By itself: the quotes of a torn piece have nothing to do with those behind it.
        start = line.find(piece.stored, at)
        at = max(at, start + len(piece.stored))
        if piece.message is None or sound(piece.stored, kind) is not None:
            continue
        for fault in of_text(piece.stored, piece.stored, piece.message):
            moved = fault._replace(start=start + fault.start)
            found.setdefault((fault.code, fault.severity), moved if start >= 0 else _whole(fault, line))
    return sorted(found.values(), key=lambda fault: (fault.code, fault.severity))


def _whole(fault: Fault, line: bytes) -> Fault:
    """A fault in a part whose bytes the line has not as they are: it is that of the line."""
    return fault._replace(start=0, length=len(line))


def of_text(line: bytes, bare: bytes, message: dict[str, Any]) -> list[Fault]:
    """The same of one message, given with and without its zero bytes."""
    faults: list[Fault] = []
    import re

    token = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?\b(?:NaN|Infinity)\b'
    if b"NaN" in bare or b"Infinity" in bare:
        for match in re.finditer(token, bare, re.DOTALL):
            if bare[match.start()] != 0x22:
                detail = match[0].decode("ascii")
                faults.append(Fault("bad-number", ERROR, *_span(line, bare, match.span()), detail))
                break
    if match := _beyond_a_double(bare):
        shown = match[0][:20].decode("ascii")
        detail = f"{shown}{'…' if len(match[0]) > 20 else ''} is beyond a double"
        faults.append(Fault("bad-number", WARNING, *_span(line, bare, match.span()), detail))
    return faults + _lone_surrogates(line, bare, message)


def _span(line: bytes, bare: bytes, span: tuple[int, int]) -> tuple[int, int]:
    """Where a span of the line without its zero bytes begins in the line, and its length there."""
    if len(bare) == len(line):
        return span[0], span[1] - span[0]
    start = _place(line, span[0])
    return start, _place(line, span[1] - 1) + 1 - start


def _beyond_a_double(line: bytes) -> Any:
    import re

    token = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+'
    for match in re.finditer(token, line, re.DOTALL):
        if line[match.start()] == 0x22:
            continue
        text = match[0]
        is_large = len(text) > 308 or b"e" in text or b"E" in text
        if is_large and abs(float(text)) == float("inf"):
            return match
    return None


def _lone_surrogates(line: bytes, bare: bytes, message: dict[str, Any]) -> list[Fault]:
    if b"\\u" not in bare:
        return []
    import re

    match = re.compile(LONE_HALF).match(bare)
    if match is None:
        return []
    fields = list(dict.fromkeys(_fields(message, "")))
    where = ", ".join(fields[:3]) + (f" and {len(fields) - 3} more" if len(fields) > 3 else "")
    detail = f"in {where}" if where else "in a value that a later key hides"
    return [Fault("bad-text", WARNING, *_span(line, bare, match.span(1)), detail)]


def _fields(value: Any, name: str) -> list[str]:
    """The names of the fields that hold half of a surrogate pair."""
    if type(value) is str:
        return [name] if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value) else []
    found: list[str] = []
    if type(value) is dict:
        for key, below in value.items():
            shown = jsonl.whole(key)[:60]
            inner = f"{name}.{shown}" if name else shown
            found += _fields(key, inner) + _fields(below, inner)
    elif type(value) is list:
        for number, below in enumerate(value):
            found += _fields(below, f"{name}[{number}]")
    return found
