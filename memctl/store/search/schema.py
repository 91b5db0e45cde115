"""The index file: one SQLite database, a cache that is believed only where it agrees with the truth.

The words are in an FTS5 table without content: it keeps no text, only which words are in which documents.
"""

from __future__ import annotations

import sqlite3
import sys
from array import array
from typing import TYPE_CHECKING, Any

from memctl.core import jsonl
from memctl.store.search.marks import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SIZES = " ".join(str(array(code).itemsize) for code in "HIQd")
FORMAT = f"memctl search 2 {sys.byteorder} {_SIZES}"
_MAPPED_BYTES = 1 << 28
CHUNK = 2048  # documents in one piece of a column
#: So much is gathered in memory before a segment of postings is written.
_HASH_BYTES = 1 << 26

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE source (number INTEGER PRIMARY KEY, name TEXT, device INTEGER, inode INTEGER, size INTEGER,
                     mtime INTEGER, ctime INTEGER, end INTEGER, tail INTEGER, bad INTEGER);
CREATE TABLE piece (name TEXT, number INTEGER, data BLOB, PRIMARY KEY (name, number));
CREATE TABLE name (kind TEXT, number INTEGER, text TEXT, PRIMARY KEY (kind, number)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(text, content = '', detail = none, columnsize = 0,
                                      tokenize = 'porter ascii');
"""

#: What the ranking asks for, by document (`order`: by turn).
RANKED = {
    "lengths": "H",
    "conversation": "I",
    "session": "I",
    "speaker": "H",
    "flags": "B",
    "created": "d",
    "days": "i",
    "importance": "d",
    "order": "I",
    "at": "I",
    "session_lengths": "I",
}
#: Where the truth has a document, and what was indexed of it.
PLACES = {"source": "I", "start": "Q", "size": "I", "rev": "Q", "stamp": "Q"}


#: What reading a damaged index raises: not all damage is seen by SQLite, and its own messages may be damaged.
DAMAGED = (sqlite3.Error, ValueError, LookupError, OverflowError, TypeError)


def open_file(path: str) -> sqlite3.Connection:
    """An open index file, as it is now; raises what is in `DAMAGED`."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    # Nobody writes to a file that is in its place: no lock is needed, and no journal is looked for.
    uri = f"file:{quoted}?mode=ro&immutable=1"
    base = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        base.execute("PRAGMA cache_size = -16384")
        # Columns and posting lists are read whole, in place: a copy page by page costs three times as much.
        base.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        if get(base, "format") != FORMAT:
            raise sqlite3.DatabaseError("an index of another format")
    except BaseException:
        base.close()
        raise
    return base


def in_memory() -> sqlite3.Connection:
    """An empty index that is in no file."""
    base = sqlite3.connect(":memory:", isolation_level=None)
    base.executescript("PRAGMA journal_mode = OFF;" + _SCHEMA)
    base.execute("INSERT INTO words (words, rank) VALUES ('hashsize', ?)", (_HASH_BYTES,))
    base.execute("BEGIN")
    put(base, "format", FORMAT)
    return base


def get(base: sqlite3.Connection, key: str, otherwise: Any = None) -> Any:
    """A value of the table `meta`."""
    row = base.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return otherwise if row is None else row[0]


def put(base: sqlite3.Connection, key: str, value: str | int) -> None:
    """Set a value of the table `meta`."""
    base.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def bound(text: str) -> str | bytes:
    """A text as SQLite takes it: one with lone surrogates is none there."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def unbound(value: str | bytes) -> str:
    """The text that was given to `bound`."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def sources(base: sqlite3.Connection) -> tuple[list[str], dict[str, Mark]]:
    """The names of all sources by number, and the marks of those that were there."""
    rows = base.execute("SELECT * FROM source ORDER BY number").fetchall()
    names = [unbound(row[1]) for row in rows]
    return names, {unbound(row[1]): Mark(*row[2:]) for row in rows if row[2] is not None}


def put_sources(base: sqlite3.Connection, names: list[str], marks: Mapping[str, Mark]) -> None:
    """Set the sources; one that is gone keeps its number, documents name it by that."""
    nothing = (None,) * len(Mark._fields)
    rows = [(number, bound(name), *marks.get(name, nothing)) for number, name in enumerate(names)]
    base.executemany("INSERT OR REPLACE INTO source VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def read_column(base: sqlite3.Connection, name: str, code: str) -> array[Any]:
    """A column, whole."""
    column = array(code)
    for (data,) in base.execute("SELECT data FROM piece WHERE name = ? ORDER BY number", (name,)):
        column.frombytes(data)
    return column


def read_piece(base: sqlite3.Connection, name: str, code: str, number: int) -> array[Any]:
    """One piece of a column."""
    row = base.execute("SELECT data FROM piece WHERE name = ? AND number = ?", (name, number)).fetchone()
    return array(code, row[0] if row else b"")


def write_column(base: sqlite3.Connection, name: str, column: array[Any], old: array[Any] | None) -> None:
    """Write the pieces of a column that differ from what was read; None: nothing was."""
    for start in range(0, len(column), CHUNK):
        piece = column[start : start + CHUNK]
        if old is None or piece != old[start : start + CHUNK]:
            row = (name, start // CHUNK, piece.tobytes())
            base.execute("INSERT OR REPLACE INTO piece VALUES (?, ?, ?)", row)
    pieces = -(-len(column) // CHUNK)
    base.execute("DELETE FROM piece WHERE name = ? AND number >= ?", (name, pieces))


def read_ids(base: sqlite3.Connection, pieces: Iterable[int] | None = None) -> dict[int, list[str]]:
    """The ids of documents by piece, in the order of their numbers; None: all pieces."""
    rows = base.execute("SELECT number, data FROM piece WHERE name = 'ids' ORDER BY number")
    if pieces is not None:
        wanted = ",".join(map(str, pieces))
        rows = base.execute(f"SELECT number, data FROM piece WHERE name = 'ids' AND number IN ({wanted})")
    return {number: _texts(data) for number, data in rows}


def _texts(data: bytes) -> list[str]:
    try:
        found: list[str] = jsonl.loads(data)
    except ValueError:
        # Lone surrogates.
        found = jsonl.exact(data.decode())
    return found


def write_ids(base: sqlite3.Connection, ids: list[str], first: int) -> None:
    """Write the ids from document `first` on."""
    import json

    for number in range(first // CHUNK, -(-len(ids) // CHUNK)):
        data = json.dumps(ids[number * CHUNK : (number + 1) * CHUNK]).encode()
        base.execute("INSERT OR REPLACE INTO piece VALUES ('ids', ?, ?)", (number, data))


def names(base: sqlite3.Connection, kind: str) -> list[str]:
    """Names by number."""
    rows = base.execute("SELECT text FROM name WHERE kind = ? ORDER BY number", (kind,))
    return [unbound(text) for (text,) in rows]


def add_names(base: sqlite3.Connection, kind: str, known: int, names: list[str]) -> None:
    """Add the names from number `known` on."""
    rows = [(kind, number, bound(names[number])) for number in range(known, len(names))]
    base.executemany("INSERT INTO name VALUES (?, ?, ?)", rows)
