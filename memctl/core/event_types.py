"""Event types: what a store notes of what happened to a user's memory."""

from __future__ import annotations

#: Type -> when it is noted.
TYPES: dict[str, str] = {
    "memory.health_changed": "the health of a conversation is another one",
    "memory.identity_rejected": "a name was refused",
    "memory.condensed": "old turns were folded into a summary",
    "memory.backlog_full": "more turns wait to be folded than the limit",
    "memory.recovery_dropped": "waiting turns were marked as covered without a summary",
    "memory.repaired": "a conversation was repaired",
    "memory.deleted": "a conversation was deleted",
    "memory.restored": "what was deleted or set aside was put back",
    "tier.promoted": "a record went to a hotter tier",
    "tier.demoted": "a record went to a colder tier",
    "tier.evicted": "a record left cold",
    "tier.forgotten": "records were forgotten",
}
PROMOTED, DEMOTED, EVICTED = "tier.promoted", "tier.demoted", "tier.evicted"
