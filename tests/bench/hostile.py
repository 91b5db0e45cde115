"""Files of 64 MB that are hard to look at: each one line, or very many, or brackets without end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

SIZE_BYTES = 64 << 20
_PROSE = b"some words of text, and more of them. "
_BEGIN, _END = b'{"role":"user","content":"', b'"}'


def _line(unit: bytes, end: bytes = _END, size: int = SIZE_BYTES) -> bytes:
    """A message on one line, of about `size` bytes without its LF, its content made of `unit`."""
    return _BEGIN + unit * ((size - len(_BEGIN) - len(end)) // len(unit)) + end + b"\n"


def _with_ids() -> bytes:
    line = b'{"role":"user","content":"","extra":{"memctl":{"id":"%016x"}}}\n'
    return b"".join(line % number for number in range(SIZE_BYTES // 65))


_MESSAGE = b'{"role":"user","content":""}'
_SAME_ID = b'{"role":"user","content":"%d","extra":{"memctl":{"id":"a"}}}\n'

#: Name -> the bytes of the file.
FILES: dict[str, Callable[[], bytes]] = {
    "one line: a message": lambda: _line(_PROSE),
    "one line: bad JSON": lambda: _line(_PROSE, b'"'),
    "one line: torn in its text": lambda: _line(_PROSE, b"")[:-1],
    "one line: a byte that is not UTF-8": lambda: _line(_PROSE, b'\xe9"}'),
    "one line: NaN in it": lambda: _line(_PROSE, b'","n":NaN}'),
    "one line: zero bytes behind it": lambda: _line(_PROSE, _END + b"\0" * 4096),
    "one line: not ASCII": lambda: _line("ä€日本 ".encode()),
    "one line: escapes": lambda: _line(b'\\u00e4\\n\\"'),
    "one line: over the limit": lambda: _line(_PROSE, size=SIZE_BYTES + 100),
    "two million short lines, all CRLF": lambda: b'{"role":"user","content":"1"}\r\n' * 2_000_000,
    "LF": lambda: b"\n" * SIZE_BYTES,
    "blank lines with a space": lambda: b" \n" * (SIZE_BYTES // 2),
    "zero bytes": lambda: b"\0" * SIZE_BYTES,
    '`{"role":`': lambda: b'{"role":' * (SIZE_BYTES // 8),
    "`[`": lambda: b"[" * SIZE_BYTES,
    "`[` and as many `]`": lambda: b"[" * (SIZE_BYTES // 2) + b"]" * (SIZE_BYTES // 2),
    "the shortest messages": lambda: (_MESSAGE + b"\n") * (SIZE_BYTES // 29),
    "all with one id": lambda: b"".join(_SAME_ID % n for n in range(SIZE_BYTES // 65)),
    "each with its id": _with_ids,
    "all glued on one line": lambda: _MESSAGE * (SIZE_BYTES // 28),
    "nested to the limit": lambda: (
        (b'{"role":"user","x":' + b"[" * 499 + b"]" * 499 + b"}\n") * (SIZE_BYTES // 1018)
    ),
}


if __name__ == "__main__":
    # In a process of its own: what a child's peak begins with is the size of the process that starts it.
    name, path = sys.argv[1:]
    Path(path).write_bytes(FILES[name]())
