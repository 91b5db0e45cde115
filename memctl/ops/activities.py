"""activities: a conversation's activities, a JSON array that memctl does not look into."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.core import jsonl
from memctl.errors import BadInput, NotFound
from memctl.store import directories, files, log

if TYPE_CHECKING:
    from memctl.core.names import Reference
    from memctl.ops.setup import Setup


def activities(setup: Setup, reference: Reference) -> bytes:
    """The stored array, as bytes; `[]` where there is none (or `null`, the Go program's empty list).

    Raises NotFound without such a conversation, BadInput if what is stored is not an array.
    """
    os.close(log.open_log(setup.place(reference), str(setup.missing(reference))))
    place = setup.layout.activities(reference.user, reference.conversation or "")
    try:
        with open(log.open_log(place, ""), "rb") as file:
            data = file.read().strip()
    except NotFound:
        return b"[]"
    return (
        b"[]" if data == b"null" else _checked(data, f"the activities of {reference.written()} are damaged")
    )


def set_activities(setup: Setup, reference: Reference, data: bytes) -> None:
    """Replace the activities whole, durable on return. Raises BadInput for what is not a JSON array."""
    data = _checked(data.strip(), "activities must be a JSON array; nothing was changed")
    os.close(log.open_log(setup.place(reference), str(setup.missing(reference))))
    setup.ensure_store()
    place = setup.layout.activities(reference.user, reference.conversation or "")
    base, parts = setup.layout.tmp(place)
    with setup.lock(reference, "activities"):
        # It may have been deleted while this process waited.
        os.close(log.open_log(setup.place(reference), str(setup.missing(reference))))
        dir_fd = directories.open_at(place.base, place.parts)
        try:
            tmp_fd = directories.open_at(base, parts, create=True)
            try:
                files.replace_at(dir_fd, place.name, tmp_fd, [data], fsync=setup.fsync())
            finally:
                os.close(tmp_fd)
        finally:
            os.close(dir_fd)


def _checked(data: bytes, message: str) -> bytes:
    try:
        constants = jsonl.Constants()
        value = jsonl.exact(data.decode("utf-8"), constants)
    except ValueError as error:
        raise BadInput(f"{message}: {error}") from None
    if type(value) is not list or constants:
        raise BadInput(message)
    return data
