"""seeding: the messages of conversations as records, each once a user, whatever was copied or forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.core import marker, remembering, times
from memctl.core.names import Reference
from memctl.core.remembering import Given
from memctl.errors import MemctlError, UsageError
from memctl.formats.chat import MULTI_CONTENT_KEYS, parts
from memctl.ops import remember
from memctl.ops.read import read
from memctl.ops.setup import rfc3339
from memctl.store import archive, forgotten, line_files, tiers, unfinished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from memctl.core.message import Message
    from memctl.core.record import Record
    from memctl.ops.read import Log
    from memctl.ops.remember import Remembered
    from memctl.ops.setup import Setup


#: The last moment that RFC 3339 can write.
_LATEST_US = 253_402_300_799_999_999
_OWN_METADATA = frozenset(("role", "kind", "message_id", "name"))


class _Candidate(NamedTuple):
    """A message that can become a record. `has_own_id`: its id is stored, not derived from its bytes."""

    conversation: str
    message_id: str
    has_own_id: bool
    role: str
    content: str
    name: str
    created_us: int | None

    @property
    def id(self) -> str:
        """The id of its record."""
        return f"{self.conversation}#{self.message_id}"


def seed(
    setup: Setup,
    user: str,
    conversations: Sequence[str],
    fields: Mapping[str, Any],
    *,
    provenance: str = "",
    again: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Remembered:
    """Store the messages of conversations as records, durable on return; what is stored already is not.

    `fields` are those of every record. Raises NotFound, with nothing stored, if a conversation is missing.
    """
    remembering.typed("", fields, provenance=provenance)
    if clash := sorted(_OWN_METADATA & (fields.get("metadata") or {}).keys()):
        raise UsageError(f"the metadata {', '.join(clash)} of a record comes from its message")
    logs = [
        (name, read(setup, setup.identity(user, name), progress=progress))
        for name in dict.fromkeys(conversations)
    ]
    done = remember.nothing(user)
    for _, log in logs:
        done.damaged.extend({"conversation": log.name, **item._asdict()} for item in log.findings)
        done.mended.extend({"conversation": log.name, **item._asdict()} for item in log.mended)
    candidates = [one for name, log in logs for one in _candidates(name, log, done.skipped)]
    if not candidates:
        return done
    unknown_us = times.microseconds(fields.get("created_at"))
    candidates = _in_order(candidates, setup.time_us() if unknown_us is None else unknown_us)
    setup.ensure_store()
    with setup.records_lock(user, "remember"):
        timeout_s = float(setup.settings["lock.timeout_s"])
        unfinished.clear_up(setup.layout, user, timeout_s, fsync=setup.fsync())
        known = _Known(setup, user, again)
        new = []
        for one in candidates:
            if reason := known.reason(one):
                done.skipped[reason] += 1
                if reason == "forgotten":
                    done.forgotten.append(one.id)
            else:
                new.append(one)
        if back := known.forgotten & {one.id for one in new}:
            # Killed behind this, the ids are free and nothing was acknowledged.
            forgotten.remove(setup.layout, user, back, setup.fsync())
        _append(setup, user, new, fields, provenance)
    return done._replace(remembered=len(new), ids=[one.id for one in new])


def _candidates(conversation: str, log: Log, skipped: dict[str, int]) -> Iterator[_Candidate]:
    """The messages with text; an id that comes again with another text gets a number."""
    seen: dict[str, tuple[str, str]] = {}
    for message in log.messages:
        reason, content = _left_out(message)
        if reason:
            skipped[reason] += 1
            continue
        own = marker.message_id(message.value) is not None
        said = (message.role, content)
        id, number = message.id, 1
        while seen.setdefault(id, said) != said:
            number += 1
            id = f"{message.id}~{number}"
        name = message.value.get("name")
        created = marker.own(message.value).get("created_at")
        yield _Candidate(
            conversation,
            id,
            own,
            message.role,
            content,
            name if type(name) is str else "",
            times.microseconds(created),
        )


def _in_order(candidates: Iterable[_Candidate], unknown_us: int) -> list[_Candidate]:
    """The messages with times that keep their order: where some are equal, each is a microsecond later.

    One without a time has `unknown_us`. Programs that write no times, or whole seconds, or several messages
    at once are common, and records have no other order than time.
    """
    placed = []
    said_us, last_us = _LATEST_US, _LATEST_US
    for one in candidates:
        created_us = unknown_us if one.created_us is None else one.created_us
        is_tied = said_us <= created_us <= last_us < _LATEST_US
        said_us, last_us = created_us, last_us + 1 if is_tied else created_us
        placed.append(one._replace(created_us=last_us))
    return placed


def _left_out(message: Message) -> tuple[str, str]:
    """Why a message is no record, or "", and its text."""
    value = message.value
    if marker.is_summary(value):
        return "summary", ""
    if marker.is_ephemeral(value):
        return "ephemeral", ""
    content = message_text(value)
    return ("" if content.strip() else "empty"), content


def message_text(value: Mapping[str, Any]) -> str:
    """What a message says: its content, of lists the text parts, one a line."""
    content = value.get("content")
    if type(content) is str and not any(map(value.get, MULTI_CONTENT_KEYS)):
        return content
    return "\n".join(part.text for part in parts(dict(value)) if part.kind == "text" and part.text)


class _Known:
    """What is remembered of a user, and what must not be remembered once more."""

    def __init__(self, setup: Setup, user: str, again: bool) -> None:
        self._setup = setup
        self._user = user
        self._again = again
        stored = tiers.read(setup.layout, user).records
        archived = {item.record.id: item.record for item in archive.read(setup.layout, user)}
        self._stored = stored.keys()
        self._archived = archived.keys()
        self.forgotten = forgotten.ids(setup.layout, user)
        self._taken: set[str] = set()
        #: By message id, role and text: the conversations that it is remembered from.
        self._origins: dict[tuple[str, str, str], set[str]] = {}
        for record in (*stored.values(), *archived.values()):
            self._note(record)
        self._forgotten_from = _by_message(self.forgotten)
        self._logs: dict[str, dict[str, tuple[str, str]]] = {}

    def _note(self, record: Record) -> None:
        message_id, conversation = record.metadata.get("message_id"), record.conversation
        if message_id and conversation is not None:
            key = (message_id, record.metadata.get("role", ""), record.content)
            self._origins.setdefault(key, set()).add(conversation)

    def reason(self, one: _Candidate) -> str:
        """Why a message does not become a record; "" if it does, and then it is known from now on."""
        origins = self._origins.setdefault((one.message_id, one.role, one.content), set())
        if one.id in self._stored:
            return "stored"
        if one.id in self._archived:
            return "archived"
        if one.id in self._taken or (one.has_own_id and origins - {one.conversation}):
            return "copy"
        if not self._again and (one.id in self.forgotten or self._is_forgotten_elsewhere(one)):
            return "forgotten"
        self._taken.add(one.id)
        origins.add(one.conversation)
        return ""

    def _is_forgotten_elsewhere(self, one: _Candidate) -> bool:
        """Whether the message was forgotten as one of another conversation; so it is if that cannot tell."""
        for conversation in self._forgotten_from.get(one.message_id, ()) if one.has_own_id else ():
            said = self._messages(conversation).get(one.message_id)
            if conversation != one.conversation and said in (None, (one.role, one.content)):
                return True
        return False

    def _messages(self, conversation: str) -> dict[str, tuple[str, str]]:
        """Role and text of the messages of a conversation, by id; none if it is gone."""
        if conversation not in self._logs:
            try:
                log = read(self._setup, Reference(self._user, conversation))
            except MemctlError:
                # Gone, or not to be read: it cannot tell that the text is another one.
                self._logs[conversation] = {}
            else:
                found = _candidates(conversation, log, dict.fromkeys(remember.SKIPPED, 0))
                self._logs[conversation] = {one.message_id: (one.role, one.content) for one in found}
        return self._logs[conversation]


def _by_message(ids: Iterable[str]) -> dict[str, list[str]]:
    """The conversations in ids of the form CONVERSATION#MESSAGE, by message; both may hold the sign."""
    found: dict[str, list[str]] = {}
    for id in ids:
        at = id.find("#")
        while at >= 0:
            found.setdefault(id[at + 1 :], []).append(id[:at])
            at = id.find("#", at + 1)
    return found


def _append(
    setup: Setup, user: str, new: Sequence[_Candidate], fields: Mapping[str, Any], provenance: str
) -> None:
    """Write the records, all into one tier."""
    now = rfc3339(setup.time_us())
    tier = str(fields.get("tier") or remember.home(setup))
    lines = []
    for one in new:
        metadata = {"role": one.role, "kind": "message", "message_id": one.message_id}
        if one.name:
            metadata["name"] = one.name
        given = {key: value for key, value in fields.items() if value is not None} | {
            "content": one.content,
            "categories": [one.role, *(fields.get("categories") or ())],
            "metadata": metadata | (fields.get("metadata") or {}),
            "conversation": one.conversation,
        }
        given.setdefault("importance", remembering.importance_of(one.role))
        if one.created_us is not None:
            given["created_at"] = rfc3339(one.created_us)
        record = Given(one.id, given, {}, 0, provenance)
        lines.append(remembering.new_line(record, one.id, now=now, tier=tier))
    line_files.append(setup.layout.tier(tier, user), lines, fsync=setup.fsync())
