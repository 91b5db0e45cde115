"""probe: try whether the store can be written to, and leave nothing behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.errors import NotFound, StorageError
from memctl.store import directories, files

if TYPE_CHECKING:
    from memctl.ops.setup import Setup

_CONTENT = b"memctl inspect --probe\n"


def probe(setup: Setup) -> None:
    """Write a file where conversations are written, make it durable, read it back, remove it.

    Raises NotFound where there is no store; AccessDenied, CannotCreate or StorageError, as a command that
    stores would.
    """
    setup.check_layout()
    layout = setup.layout
    if not os.path.isdir(layout.root):
        raise NotFound(f"no store {layout.root}", hint="--root names another one")
    name = f".memctl-probe-{os.getpid()}-{os.urandom(6).hex()}"
    base, parts = layout.tmp(layout.log("probe", "probe"))
    if not os.path.isdir("/".join((base, *parts))):
        # Nothing was ever written here by memctl: its own directory is not made for this.
        parts = ()
    dir_fd = directories.open_at(base, parts)
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
