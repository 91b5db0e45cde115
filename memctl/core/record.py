"""Record: one long-term memory, as a line of a tier file; read, made, and changed without touching the rest.

The keys are those of agentflow-go's `pkg/memory/tier` (v0.5.1) and, of our own, `tier_access_count`,
`conversation` and `rev`. Of several lines with one id the highest `rev` is the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl, times
from memctl.core.json_members import members as members
from memctl.core.json_members import spliced
from memctl.core.tier import RANK, TIERS
from memctl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

#: A time that was never set, as Go writes it.
UNSET = "0001-01-01T00:00:00Z"
IMPORTANCE = 0.5
#: The order in which the keys of a new record are written.
KEYS = (
    "id",
    "content",
    "scope",
    "categories",
    "importance",
    "created_at",
    "metadata",
    "tier",
    "access_count",
    "last_access_at",
    "promoted_at",
    "size_bytes",
    "pinned",
    "tier_access_count",
    "conversation",
    "rev",
)
#: Those that hold a time.
TIMES = ("created_at", "last_access_at", "promoted_at")
#: Left out of a new record where they are empty.
_OPTIONAL = frozenset(("categories", "metadata", "size_bytes", "pinned", "tier_access_count", "conversation"))


class Record(NamedTuple):
    """A record and the bytes of its line, without LF. `value` has every key, those we do not know too.

    `tier` is that of the file in which it lies; `rev` counts its versions from 1, 0 where none is written.
    """

    id: str
    tier: str
    rev: int
    value: dict[str, Any]
    raw: bytes

    @classmethod
    def new(
        cls,
        id: str,
        content: str,
        *,
        scope: str = "",
        categories: Sequence[str] = (),
        importance: float = IMPORTANCE,
        created_at: datetime | str | None = None,
        metadata: Mapping[str, str] | None = None,
        tier: str = TIERS[0],
        access_count: int = 0,
        last_access_at: datetime | str | None = None,
        promoted_at: datetime | str | None = None,
        size_bytes: int = 0,
        pinned: bool = False,
        conversation: str | None = None,
    ) -> Record:
        """A record from its fields, in the serialised form of the reference. Raises BadInput.

        A time that is not given is unset. What memctl adds, `conversation`, comes last, and only if given.
        """
        from memctl.core import record_form

        given = {
            "id": id,
            "content": content,
            "scope": scope,
            "categories": list(categories),
            "importance": importance,
            "created_at": created_at,
            "metadata": dict(metadata or {}),
            "tier": tier,
            "access_count": access_count,
            "last_access_at": last_access_at,
            "promoted_at": promoted_at,
            "size_bytes": size_bytes,
            "pinned": pinned,
            "conversation": conversation,
        }
        checked({**given, "created_at": None})
        made = read(record_form.line(given), tier)
        if made is None:
            raise BadInput("the id of a record cannot be empty")
        return made

    def to_json(self) -> bytes:
        """The line of the record, without LF, byte for byte."""
        return self.raw

    @property
    def content(self) -> str:
        """The text, whatever it is."""
        return _text(self.value.get("content"))

    @property
    def searchable(self) -> str:
        """The text by which it is found: `metadata.searchable` where there is one, else the content."""
        return self.metadata.get("searchable") or self.content

    @property
    def metadata(self) -> dict[str, str]:
        """Text by text."""
        given = self.value.get("metadata")
        if type(given) is not dict:
            return {}
        return {key: text if type(text) is str else _text(text) for key, text in given.items()}

    @property
    def categories(self) -> list[str]:
        """Its categories."""
        given = self.value.get("categories")
        return [name for name in given if type(name) is str] if type(given) is list else []

    @property
    def scope(self) -> str:
        """Its scope, "" if it has none."""
        return _text(self.value.get("scope"))

    @property
    def importance(self) -> float:
        """0 to 1; 0.5 where none above 0 is given, as in the reference."""
        given = self.value.get("importance")
        # An integer may be beyond a double.
        return float(min(given, 1e308)) if isinstance(given, int | float) and given > 0 else IMPORTANCE

    @property
    def pinned(self) -> bool:
        """Whether it stays where it is."""
        return self.value.get("pinned") is True

    @property
    def access_count(self) -> int:
        """How often it was recalled."""
        return _count(self.value.get("access_count"))

    @property
    def tier_access_count(self) -> int:
        """How often it was recalled since it entered its tier; where that is not said, in all."""
        given = self.value.get("tier_access_count")
        return self.access_count if given is None and not self.rev else _count(given)

    @property
    def conversation(self) -> str | None:
        """The conversation it comes from."""
        given = self.value.get("conversation")
        return given if type(given) is str else None


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    return "" if value is None else jsonl.dumps(value).decode("utf-8")


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def read(line: bytes, tier: str) -> Record | None:
    """The record of a line without LF, None if it is none: no object, or one without an id."""
    try:
        value = jsonl.loads(line)
    except jsonl.Unreadable:
        return None
    except ValueError:
        try:
            value = jsonl.exact(line.decode("utf-8"))
        except ValueError:
            return None
    if type(value) is not dict:
        return None
    id = value.get("id")
    if type(id) is not str or not id:
        return None
    return Record(id, tier, rev_of(value), value, line)


def rev_of(value: Mapping[str, Any]) -> int:
    """The number of a version as a line has it, 0 where there is none that can be one."""
    rev = value.get("rev")
    return rev if type(rev) is int and rev > 0 else 0


def newer(one: Record, other: Record) -> Record:
    """Which of two lines of one id is the record: the higher `rev`; of equal ones the hotter, then the later.

    `other` stands behind `one` where both are in one file.
    """
    if one.rev != other.rev:
        return one if one.rev > other.rev else other
    return one if RANK[one.tier] > RANK[other.tier] else other


def line(value: Mapping[str, Any]) -> bytes:
    """The line of a new record, keys in their order, what is empty left out. Raises BadInput."""
    rest = {key: given for key, given in value.items() if key not in KEYS}
    ordered = {key: value[key] for key in KEYS if key in value and not (key in _OPTIONAL and not value[key])}
    return jsonl.message_bytes({**ordered, **rest})


def with_values(raw: bytes, changes: Mapping[str, Any]) -> bytes:
    """A record's line with other values of some keys; every other byte stays.

    What the line does not have yet comes at its end.
    """
    return with_texts(raw, {key: _json(value) for key, value in changes.items()})


def with_texts(raw: bytes, texts: Mapping[str, str]) -> bytes:
    """As `with_values`, each value given as JSON."""
    return spliced(raw, {**{key: texts[key] for key in KEYS if key in texts}, **texts})


def changed(record: Record, changes: Mapping[str, str | int]) -> bytes:
    """As `with_values` of a record's line, where many are changed. A text among the changes is ASCII."""
    if not jsonl.is_compact(record.value, record.raw):
        return with_values(record.raw, changes)
    # Written anew, a line of this form has the same bytes but for what is changed.
    ordered = {key: changes[key] for key in KEYS if key in changes}
    return jsonl.compact({**record.value, **ordered, **changes})


def with_accesses(record: Record, count: int, last: str) -> Record:
    """The record with `count` accesses more, the newest of them at `last` (RFC 3339); its `rev` stays."""
    if not count:
        return record
    changes: dict[str, Any] = {"access_count": record.access_count + count}
    known, newest = (times.microseconds(time) for time in (record.value.get("last_access_at"), last))
    if newest is not None and (known is None or known < newest):
        changes["last_access_at"] = last
    changes["tier_access_count"] = record.tier_access_count + count
    return record._replace(value={**record.value, **changes}, raw=with_values(record.raw, changes))


def _json(value: Any) -> str:
    if type(value) is int:
        return str(value)
    if type(value) is str and value.isascii():
        return jsonl.quote(value)
    return jsonl.message_bytes({"": value})[4:-1].decode("utf-8")


_KINDS: dict[str, tuple[Any, str]] = {
    "id": (str, "text"),
    "content": (str, "text"),
    "scope": (str, "text"),
    "categories": (list, "a list of text"),
    "importance": ((int, float), "a number from 0 to 1"),
    "created_at": ((str, int, float), "a time"),
    "metadata": (dict, "an object of text"),
    "tier": (str, f"one of {', '.join(TIERS)}"),
    "pinned": (bool, "true or false"),
    "conversation": (str, "text"),
}


def checked(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record from a caller. Raises BadInput for one of the wrong kind."""
    for key, (kind, said) in _KINDS.items():
        given = value.get(key)
        if given is not None and (not isinstance(given, kind) or (kind is not bool and type(given) is bool)):
            raise BadInput(f"{key} must be {said}")
    importance = value.get("importance")
    if importance is not None and not 0 <= importance <= 1:
        raise BadInput("importance must be a number from 0 to 1")
    if value.get("tier") is not None and value["tier"] not in TIERS:
        raise BadInput(f"no tier {value['tier']}; there are {', '.join(TIERS)}")
    if any(type(name) is not str for name in value.get("categories") or ()):
        raise BadInput("categories must be a list of text")
    for key, text in (value.get("metadata") or {}).items():
        if type(text) is not str:
            raise BadInput(f"metadata must be an object of text, and {key!r} in it is none")
    if value.get("id") is not None and not str(value["id"]).strip():
        raise BadInput("the id of a record cannot be blank")
    return dict(value)
