"""Replace a log whole, and lose nothing that a program without our lock appends meanwhile."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.store import files, log

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memctl.store.layout import Layout, Place


def replace_log(
    layout: Layout, place: Place, fd: int, chunks: Iterable[bytes], read_bytes: int, *, fsync: bool
) -> int:
    """Put `chunks` in the place of the log `fd`, of which `read_bytes` bytes were taken into account.

    Called under the log lock. What arrived behind them in the old file is appended to the new one; how many
    bytes is the answer. Durable on return with `fsync`.
    """
    base, parts = layout.tmp(place)
    dir_fd = files.open_dir(place.base, place.parts)
    try:
        tmp_fd = files.open_dir(base, parts, create=True)
        try:
            files.replace_at(dir_fd, place.name, tmp_fd, chunks, fsync=fsync)
        finally:
            os.close(tmp_fd)
        late = b"".join(line.data + b"\n" for line in log.scan(fd, read_bytes, os.fstat(fd).st_size))
        if late:
            new = files.open_file(dir_fd, place.name, place.path, append=True)
            try:
                files.append(new, [late], fsync=fsync)
            finally:
                os.close(new)
        return len(late)
    finally:
        os.close(dir_fd)
