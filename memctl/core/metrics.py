"""Metrics: how much memory holds, as a text for Prometheus (the format of its textfile collector)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Name -> (type, help), in the order in which they are written.
METRICS: dict[str, tuple[str, str]] = {
    "memctl_records": ("gauge", "Records in a tier."),
    "memctl_record_bytes": ("gauge", "Bytes of the file of a tier."),
    "memctl_records_pinned": ("gauge", "Records that stay in a tier."),
    "memctl_records_archived": ("gauge", "Records that left cold and are kept."),
    "memctl_conversations": ("gauge", "Conversations."),
    "memctl_messages": ("gauge", "Messages, each stored id once."),
    "memctl_conversation_bytes": ("gauge", "Bytes of the conversations."),
    "memctl_conversation_tokens": ("gauge", "Tokens of the conversations, where they were counted."),
    "memctl_tier_migrations_total": ("counter", "Records that went from a tier to another, by the events."),
}
_OF_TIER = (
    ("memctl_records", "records"),
    ("memctl_record_bytes", "bytes"),
    ("memctl_records_pinned", "pinned"),
)
_OF_USER = (
    ("memctl_records_archived", "archived"),
    ("memctl_conversations", "conversations"),
    ("memctl_messages", "messages"),
    ("memctl_conversation_bytes", "bytes"),
    ("memctl_conversation_tokens", "tokens"),
)


def text(
    users: Iterable[Mapping[str, Any]],
    migrations: Mapping[tuple[str, str], int],
    labels: Mapping[str, str] | None = None,
) -> str:
    """The metrics of users (as `stats --json` has them) and of moves by (from, to); `labels` are on each.

    What is None is left out.
    """
    common = dict(labels or {})
    samples: dict[str, list[str]] = {name: [] for name in METRICS}

    def add(name: str, own: Mapping[str, str], value: int | None) -> None:
        if value is not None:
            samples[name].append(f"{name}{_labels({**common, **own})} {value}")

    for row in users:
        user = {"user": row["user"]}
        for tier, held in row["tiers"].items():
            for name, key in _OF_TIER:
                add(name, {**user, "tier": tier}, held[key])
        for name, key in _OF_USER:
            add(name, user, row[key])
    for (source, target), number in sorted(migrations.items()):
        add("memctl_tier_migrations_total", {"from": source, "to": target}, number)
    lines: list[str] = []
    for name, (kind, help) in METRICS.items():
        if samples[name]:
            lines += [f"# HELP {name} {help}", f"# TYPE {name} {kind}", *samples[name]]
    return "".join(f"{line}\n" for line in lines)


def migrations(events: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """How many records went from a tier to another, by the events of moves; out of cold is `evicted`."""
    counts: dict[tuple[str, str], int] = {}
    for event in events:
        move = (event.get("from_tier"), event.get("to_tier") or "evicted")
        if all(type(tier) is str for tier in move):
            counts[str(move[0]), str(move[1])] = counts.get((str(move[0]), str(move[1])), 0) + 1
    return counts


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items()) + "}"


def escaped(value: str) -> str:
    """The value of a label as the format wants it."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def bar(value: int, most: int, columns: int) -> str:
    """A bar of at most so many columns, as long as a value is beside the most; anything is seen."""
    if value <= 0 or most <= 0 or columns <= 0:
        return ""
    eighths = max(1, value * columns * 8 // most)
    return "█" * (eighths // 8) + _PARTS[eighths % 8]


_PARTS: Sequence[str] = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
