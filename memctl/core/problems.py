"""Problems: the one table of what can be wrong, how bad it is and what repair does about it.

Help, the manual's page `codes` and the checks of the contract's table are made from it. `core.finding` has
the order in which caches store the codes; this table has the order in which people read them.
"""

from __future__ import annotations

from typing import NamedTuple

ERROR, WARNING, INFO = "error", "warning", "info"
#: The severities, the gravest first.
SEVERITIES = (ERROR, WARNING, INFO)


class Code(NamedTuple):
    """A code word's severity, what it means, and what repair does; an empty `remedy`: repair leaves it.

    Of some there is a `milder` case, which is left, and of the severity `also`; both are "" where there is
    none. `why` says why repair leaves it.
    """

    severity: str
    what: str
    remedy: str = ""
    also: str = ""
    milder: str = ""
    why: str = ""


#: code word -> what is said about it, in the order of the manual.
TABLE: dict[str, Code] = {
    "torn-tail": Code(ERROR, "the last line is cut off", "to quarantine"),
    "no-final-newline": Code(WARNING, "the last line is whole, but not ended", "the newline is added"),
    "bad-json": Code(ERROR, "a line that is not JSON", "to quarantine"),
    "unreadable-json": Code(
        WARNING,
        "valid JSON beyond our parsers: nesting beyond 500, integers beyond 4,300 digits",
        why="other programs may read it",
    ),
    "bad-number": Code(
        ERROR,
        "NaN or Infinity, which is not JSON",
        "null in its place; the original line to quarantine",
        also=WARNING,
        milder="a number beyond a double: some parsers refuse it, and it is left",
    ),
    "glued-lines": Code(
        ERROR,
        "several messages or records on one line, or a torn piece and then whole ones",
        "split; what is none to quarantine",
    ),
    "nul-bytes": Code(ERROR, "a run of zero bytes", "cut out, to quarantine"),
    "bad-utf8": Code(ERROR, "bytes that are not UTF-8", "U+FFFD for each; the original line to quarantine"),
    "bad-text": Code(
        WARNING,
        "half of a surrogate pair, as an escape",
        why="with --fix-text it becomes U+FFFD; some services refuse it",
    ),
    "not-a-message": Code(ERROR, "JSON, but no message: no object, or one without a role", "to quarantine"),
    "not-a-record": Code(ERROR, "JSON, but no record: no object, or one without an id", "to quarantine"),
    "unknown-role": Code(
        WARNING, "a role outside the list", why="another program may know it; windows leave it out"
    ),
    "orphan-result": Code(ERROR, "a tool result without its call in front of it", "to quarantine"),
    "open-call": Code(
        ERROR,
        "a tool call without its result",
        "a result that says it was interrupted, in its place",
        also=WARNING,
        milder="a call in the last turn, whose result may still come",
    ),
    "duplicate-result": Code(ERROR, "a second result for one call", "the first stays, this to quarantine"),
    "duplicate-message": Code(
        WARNING, "the same id again with the same bytes", "the first stays, this to quarantine"
    ),
    "duplicate-id": Code(
        WARNING,
        "the same id again with another content (of records: and the same rev)",
        why="both may be meant",
    ),
    "dangling-user": Code(
        WARNING, "a user message that another user message follows", why="an answer cannot be made up"
    ),
    "empty-message": Code(
        WARNING, "an answer with no content and no call", why="windows leave it out; drop removes it"
    ),
    "incomplete": Code(INFO, "an answer marked incomplete", why="it is meant so"),
    "ephemeral-stored": Code(WARNING, "a message marked ephemeral, which is never stored", "to quarantine"),
    "bad-summary": Code(
        WARNING,
        "a summary whose place of coverage is not found",
        why="windows show more instead of hiding anything",
    ),
    "line-too-long": Code(
        WARNING, "65,536 bytes or more: the Go reader stops here", why="the message is whole"
    ),
    "list-content": Code(INFO, "content is a list: the Go reader stops here", why="the message is whole"),
    "blank-line": Code(WARNING, "a line without anything", "removed, to quarantine"),
    "bom": Code(WARNING, "a byte order mark at the start of a line", "removed, to quarantine"),
    "crlf": Code(WARNING, "a line that ends in CR LF", "the CR is removed, to quarantine"),
    "duplicate-key": Code(
        WARNING, "the same key twice in an object", why="which one is meant cannot be known; the last counts"
    ),
    "time-order": Code(INFO, "created_at lies before that of the message in front", why="nothing is lost"),
    "bad-time": Code(
        WARNING,
        "created_at, or a time of a record, cannot be read as a time",
        why="what it was cannot be known",
    ),
    "bad-activities": Code(ERROR, "the activities are not a JSON array", "to quarantine"),
    "mode": Code(WARNING, "others have a permission on a file of the store", "it is taken away"),
    "symlink": Code(ERROR, "a link inside the store; links are not followed", why="where it leads is yours"),
    "stray-file": Code(WARNING, "something that belongs to nothing here", why="it may be somebody's"),
    "odd-name": Code(
        WARNING, "a file name that no name is written as", why="another program may look for it"
    ),
    "stale-cache": Code(INFO, "a cache that does not match the file", "rebuilt"),
}

#: What a report says that repair does about a problem of a code, by itself or on the way.
ACTIONS = {
    "torn-tail": "set aside",
    "no-final-newline": "newline added",
    "bad-json": "set aside",
    "bad-number": "null put in its place",
    "glued-lines": "split",
    "nul-bytes": "cut out",
    "bad-utf8": "U+FFFD put in",
    "bad-text": "U+FFFD put in",
    "not-a-message": "set aside",
    "not-a-record": "set aside",
    "orphan-result": "set aside",
    "open-call": "result added",
    "duplicate-result": "set aside",
    "duplicate-message": "set aside",
    "ephemeral-stored": "set aside",
    "bad-summary": "found again",
    "blank-line": "removed",
    "bom": "removed",
    "crlf": "CR removed",
    "bad-activities": "set aside",
    "mode": "permission taken away",
    "stale-cache": "rebuilt",
}

#: The codes that `--only` takes.
REPAIRED = (*(code for code, row in TABLE.items() if row.remedy), "bad-text")
_RANK = {code: rank for rank, code in enumerate(TABLE)}


class Problem(NamedTuple):
    """Something wrong with a file. `line` counts from 1, `offset` is that of the first wrong byte.

    A problem of the file itself has no line, offset or length.
    """

    code: str
    severity: str
    line: int | None
    offset: int | None
    length: int | None
    detail: str

    @property
    def place(self) -> tuple[int, int, int]:
        """Sorts the problems of a file: those of the file itself, then line by line."""
        return self.line or 0, self.offset or 0, rank(self.code)


def problem(code: str, *, detail: str = "", severity: str = "") -> Problem:
    """A problem of a file itself."""
    return Problem(code, severity or TABLE[code].severity, None, None, None, detail)


def rank(code: str) -> int:
    """Where a code stands in the table."""
    return _RANK[code]


def gravest(severities: set[str]) -> str:
    """The worst of some severities, "" of none."""
    return min(severities, key=SEVERITIES.index, default="")
