"""Cold summary: a short text that stands in the metadata of a large record in cold, beside its whole content.

When and what are those of agentflow-go's `pkg/memory/tier` (v0.5.1), section "Archive" of its cold summary,
but for one: there it takes the place of the content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.core import record as records

if TYPE_CHECKING:
    from memctl.core.record import Record

KEY = "summary"
MAX_CHARS = 512
_CUT = "…"


def is_large(record: Record, min_bytes: int) -> bool:
    """Whether a record has at least `min_bytes`: its `size_bytes` where that is set, else its content's."""
    said = record.value.get("size_bytes")
    if type(said) is int and said > 0:
        return said >= min_bytes
    return len(record.content.encode("utf-8", "surrogatepass")) >= min_bytes


def truncated(text: str, max_chars: int) -> str:
    """The beginning of a text, without white space around it; one that was cut ends with `…`.

    At most `max_chars` characters stand in front of that; 0 is the default of 512.
    """
    text = text.strip()
    limit = max_chars or MAX_CHARS
    return text if len(text) <= limit else text[:limit] + _CUT


def takes_one(record: Record) -> bool:
    """Whether the metadata of a record, an object or nothing, has room for a summary."""
    given = record.value.get("metadata")
    return given is None or type(given) is dict


def with_summary(raw: bytes, summary: str) -> bytes:
    """The line of a record that takes a summary with it in its metadata; every other byte stays."""
    text = records.members(raw).get("metadata", "null")
    inner = records.with_values(b"{}" if text == "null" else text.encode(), {KEY: summary})
    return records.with_texts(raw, {"metadata": inner.decode()})
