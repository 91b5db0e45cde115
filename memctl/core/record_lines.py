"""Record lines: what the lines of files with an id in each are to hold, for inspect and repair.

`core.record` reads a record from a sound line; `core.lines` and `core.faults` look at a line by its kind.
"""

from __future__ import annotations

from memctl.core.lines import Kind


def has_id(value: object) -> bool:
    """An object with an id that is text and not empty."""
    if type(value) is not dict:
        return False
    id = value.get("id")
    return type(id) is str and bool(id)


def is_whole(value: object) -> bool:
    """A record as they are written: with a text as its content. What is no more than an object has none."""
    return type(value) is dict and has_id(value) and type(value.get("content")) is str


#: A record. Behind a torn piece only a whole one counts: objects inside of records may have ids too.
RECORD = Kind(has_id, is_whole, "id", "the id is empty", "not-a-record", False)
#: An id that must not come back, and what else is noted of it.
FORGOTTEN = Kind(has_id, has_id, "id", "the id is empty", "not-a-record", False)
