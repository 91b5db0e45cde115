"""probe: try whether the store can be written to, and leave nothing behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.errors import StorageError
from memctl.store import directories, files

if TYPE_CHECKING:
    from memctl.ops.setup import Setup

_CONTENT = b"memctl inspect --probe\n"


def probe(setup: Setup) -> None:
    """Write a file where conversations are written, make it durable, read it back, remove it.

    Raises AccessDenied, CannotCreate or StorageError, as a command that stores would.
    """
    setup.ensure_store()
    layout = setup.layout
    name = f"probe-{os.getpid()}-{os.urandom(6).hex()}"
    base, parts = layout.tmp(layout.log("probe", "probe"))
    dir_fd = directories.open_at(base, parts, create=True, fsync=setup.fsync())
    try:
        files.create_at(dir_fd, name, _CONTENT, f"{base}/{name}", fsync=setup.fsync())
        try:
            with open(files.open_file(dir_fd, name, name), "rb") as file:
                if file.read() != _CONTENT:
                    raise StorageError(f"{base}: what was written is not what is read")
        finally:
            files.unlink(dir_fd, name, fsync=setup.fsync())
    finally:
        os.close(dir_fd)
