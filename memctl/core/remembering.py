"""Remembering: what may come in as a record, the line that it becomes, what of an older one it changes.

The JSON of a value that came as JSON is stored as it came: digits, escapes and keys that we do not know stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import jsonl
from memctl.core import record as records
from memctl.core.record import KEYS, UNSET
from memctl.core.tier import HOT
from memctl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memctl.core.record import Record

#: By role of the message that a record is made from, as agentflow-go has it; of all other roles 0.5.
IMPORTANCE_BY_ROLE = {"user": 0.7, "assistant": 0.6, "tool": 0.4}

_COUNTS = ("access_count", "tier_access_count", "size_bytes")
_LEFT_OUT_IF_EMPTY = ("categories", "metadata", "size_bytes", "pinned", "tier_access_count", "conversation")
#: Room for what is added to a line that came in: no line may grow beyond what is read.
_ADDED_BYTES = 1024
#: What a line of the archive has beside the record's own: a record with both comes out of it.
_ARCHIVE_MARKS = ("archived_at", "archived_for")
#: What such a line says of the tier that the record left, of no meaning where it enters one anew.
_OF_ITS_TIER = ("tier", "promoted_at", "tier_access_count")
_BOM = b"\xef\xbb\xbf"
_HINT = "a text is given as memctl remember USER TEXT"


class Given(NamedTuple):
    """A record on its way in: its fields as values, and as JSON where they came so; what is null is absent.

    `number` is the line of the input, 0 for a text that was typed. `provenance` goes into the metadata.
    `returns` says that it comes out of the archive: it enters a tier now, whatever its accesses say.
    """

    id: str | None
    fields: dict[str, Any]
    texts: dict[str, str]
    number: int = 0
    provenance: str = ""
    returns: bool = False


def typed(content: str, fields: Mapping[str, Any], *, id: str | None = None, provenance: str = "") -> Given:
    """A record from text and fields; a field that is None is absent. Raises BadInput."""
    given = {"content": content, **{key: value for key, value in fields.items() if value is not None}}
    records.checked({**given, "id": id})
    if "created_at" in given:
        _take_time("created_at", given)
    for text in (id or "", provenance, *_texts_in(given)):
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            raise BadInput("the text is not valid UTF-8", hint="give it as JSON lines on standard input")
    return Given(id, given, {}, 0, provenance)


def _texts_in(fields: Mapping[str, Any]) -> list[str]:
    found = [value for value in fields.values() if type(value) is str]
    found += fields.get("categories") or ()
    for key, value in (fields.get("metadata") or {}).items():
        found += (key, value)
    return found


def read_input(data: bytes, fields: Mapping[str, Any], provenance: str = "") -> list[Given]:
    """The records of JSONL input; blank lines do not count. One bad line refuses all (BadInput).

    `fields` and `provenance` are those of the lines that have none of their own.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    records.checked(given)
    found = []
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            one = of_line(line, number)
        except BadInput as error:
            raise refused(number, error) from None
        for key, value in given.items():
            if key not in one.fields:
                one.fields[key] = value
        found.append(one._replace(provenance=provenance))
    return found


def refused(number: int, error: BadInput) -> BadInput:
    """The error of a line of the input."""
    hint = f"nothing was stored; {error.hint}" if error.hint else "nothing was stored"
    return BadInput(f"line {number} of the input: {error}", hint=hint)


def of_line(line: bytes, number: int = 0) -> Given:
    """The record in one line of JSON input. Raises BadInput, with the reason, for what cannot be one."""
    from memctl.core.message import parsed

    line = line.strip(b" \t\r\n")
    if len(line) > jsonl.LINE_MAX_BYTES - _ADDED_BYTES:
        raise BadInput(f"a record of {len(line)} bytes is more than a line holds: {jsonl.LINE_MAX_BYTES}")
    value = parsed(line, hint=_HINT)
    if type(value) is not dict:
        hint = "one JSON object a line is expected" if type(value) is list else ""
        raise BadInput("this is JSON, but not an object", hint=hint)
    if None in value.values():
        value = {key: item for key, item in value.items() if item is not None or key not in KEYS}
    texts = {} if all(map(_is_certain, value, value.values())) else records.members(line)
    records.checked(value)
    for key in _COUNTS:
        if key in value and (type(value[key]) is not int or value[key] < 0):
            raise BadInput(f"{key} must be a whole number, 0 or more")
    for key in records.TIMES:
        if key in value:
            _take_time(key, value)
    id = value.pop("id", None)
    value.pop("rev", None)
    returns = all(type(value.get(key)) is str for key in _ARCHIVE_MARKS)
    if returns:
        for key in (*_ARCHIVE_MARKS, *_OF_ITS_TIER):
            value.pop(key, None)
    if texts:
        texts = {key: texts[key] for key in value}
    if id is None and "content" not in value:
        raise BadInput("content is missing")
    return Given(id, value, texts, number, returns=returns)


def _take_time(key: str, value: dict[str, Any]) -> None:
    """A time that is RFC 3339 stays as it came, another one is written so; one that is unset is absent."""
    from memctl.core import times

    given = value[key]
    moment = None if type(given) is bool else times.stored(given)
    if moment is None:
        raise BadInput(f"{key} must be a time: RFC 3339, Unix seconds or milliseconds")
    if given == UNSET and key != "promoted_at":
        del value[key]
    elif type(given) is not str or not _is_rfc3339(given):
        value[key] = times.trimmed(moment)


def _is_certain(key: str, value: Any) -> bool:
    """Whether a value is the same after it was read and written again.

    Numbers under keys that we do not know may have digits that no parser of ours keeps.
    """
    kind = type(value)
    if kind is str or kind is bool:
        return True
    if kind is list:
        return all(type(item) is str for item in value)
    if kind is dict:
        return all(type(item) is str for item in value.values())
    return key in KEYS


def _is_rfc3339(text: str) -> bool:
    """Whether a text that was read as a time is one in RFC 3339, with its zone."""
    marks = text[4:5] + text[7:8] + text[10:11] + text[13:14] + text[16:17]
    zoned = text.endswith("Z") or (text[-3:-2] == ":" and text[-6:-5] in ("+", "-"))
    return marks == "--T::" and zoned and "," not in text


def new_line(given: Given, id: str, *, now: str, tier: str = HOT, rev: int = 1) -> bytes:
    """The line of a new record, without LF: keys in the reference's order, then those we do not know.

    `now` is the time of what is not given, `tier` where it goes if it does not say. Raises BadInput.
    """
    if "content" not in given.fields:
        raise BadInput(f"there is no record {id} yet, and content is missing")
    stamp = jsonl.quote(now)
    texts = {
        "scope": '""',
        "importance": repr(records.IMPORTANCE),
        "created_at": stamp,
        "tier": jsonl.quote(tier),
        "access_count": "0",
        "last_access_at": stamp,
        "promoted_at": stamp if given.returns else jsonl.quote(UNSET),
        **_texts_of(given),
        "id": written(id),
        "rev": str(rev),
    }
    if given.provenance:
        texts["metadata"] = written(_with_provenance(given, given.fields.get("metadata")))
    for key in _LEFT_OUT_IF_EMPTY:
        if key in texts and not given.fields.get(key) and not (key == "metadata" and given.provenance):
            del texts[key]
    parts = [f'"{key}":{texts.pop(key)}' for key in KEYS if key in texts]
    parts += [f"{written(key)}:{text}" for key, text in texts.items()]
    return _sized(f"{{{','.join(parts)}}}".encode())


def changed_line(given: Given, record: Record, *, now: str, rev: int) -> tuple[bytes, str] | None:
    """The line of a record after what is given took its place, and its tier; None if nothing differs.

    A record that changes its tier enters the new one `now`, without accesses there.
    """
    tier = given.fields.get("tier", record.tier)
    changes = {key: text for key, text in _texts(given, record) if not _is_same(record, key, given, text)}
    if tier != record.tier:
        entry = {"promoted_at": now, "tier_access_count": 0}
        changes |= {key: written(value) for key, value in entry.items() if key not in given.fields}
    elif not changes:
        return None
    if record.value.get("tier") != tier:
        changes["tier"] = written(tier)
    return _sized(records.with_texts(record.raw, {**changes, "rev": str(rev)})), tier


def _texts_of(given: Given) -> dict[str, str]:
    """The fields that are given, as JSON; a time is as it was taken in."""
    texts, kept = given.texts, given.texts.keys() - records.TIMES
    return {key: texts[key] if key in kept else written(value) for key, value in given.fields.items()}


def _texts(given: Given, record: Record) -> list[tuple[str, str]]:
    """The fields that are given, but for the tier, as JSON."""
    texts = _texts_of(given)
    texts.pop("tier", None)
    if given.provenance:
        stored = record.value.get("metadata")
        own = given.fields.get("metadata")
        if own is None:
            own = {**(stored if type(stored) is dict else {}), "provenance": given.provenance}
        texts["metadata"] = written(_with_provenance(given, own))
    return list(texts.items())


def _with_provenance(given: Given, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"provenance": given.provenance, **metadata} if metadata else {"provenance": given.provenance}


def _is_same(record: Record, key: str, given: Given, text: str) -> bool:
    """Whether a record has the value already, as whoever reads it would see it."""
    value, old = given.fields.get(key), record.value.get(key)
    if type(value) is type(old) and _is_certain(key, value) and _is_certain(key, old):
        return bool(value == old)
    if old is None and key in KEYS:
        # An absent field reads as the empty one, an absent importance as 0.5.
        return (
            value == records.IMPORTANCE if key == "importance" else text in ("0", '""', "[]", "{}", "false")
        )
    if key not in record.value:
        return False
    stored = records.members(record.raw)[key]
    return stored == text or _canonical(stored) == _canonical(text)


def _canonical(text: str) -> str:
    import json

    return json.dumps(jsonl.exact(text), sort_keys=True)


def _sized(line: bytes) -> bytes:
    if len(line) > jsonl.LINE_MAX_BYTES:
        raise BadInput(f"a record of {len(line)} bytes is more than a line holds: {jsonl.LINE_MAX_BYTES}")
    return line


def written(value: Any) -> str:
    """A value of a field as JSON, without importing json for text, numbers, and lists and objects of text."""
    if type(value) is str and (value.isprintable() or not _has_lone_half(value)):
        return jsonl.quote(value)
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) in (int, float) and value - value == 0:
        return repr(value)
    if type(value) is list and all(type(item) is str for item in value):
        return f"[{','.join(map(written, value))}]"
    if type(value) is dict and all(type(item) is str for item in (*value, *value.values())):
        return f"{{{','.join(f'{written(key)}:{written(item)}' for key, item in value.items())}}}"
    return jsonl.message_bytes({"": value})[4:-1].decode("utf-8")


def _has_lone_half(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def chosen_id(now_us: int, number: int, attempt: int, content: str) -> str:
    """An id of 16 hex digits from what is stored, its place in the input, and how often it was taken."""
    from hashlib import sha256

    text = f"{now_us} {number} {attempt} {content}".encode("utf-8", "surrogatepass")
    return sha256(text).hexdigest()[:16]


def importance_of(role: str) -> float:
    """The importance of a message by its role, white space and case aside."""
    return IMPORTANCE_BY_ROLE.get(role.strip().lower(), records.IMPORTANCE)


def metadata_of(pairs: Sequence[str]) -> dict[str, str]:
    """The metadata in texts of the form K=V, of one key the last. Raises BadInput."""
    found = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise BadInput(f"metadata is given as K=V, not {pair!r}")
        found[key] = text
    return found
