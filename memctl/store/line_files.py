"""Line files: files of lines by their place; read, appended to by one write, replaced whole, removed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.errors import AccessDenied
from memctl.store import directories, files, scanning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memctl.store.layout import Layout, Place


def open_for_reading(place: Place) -> int | None:
    """A descriptor of a file, None if there is none. Raises AccessDenied."""
    try:
        dir_fd = directories.open_at(place.base, place.parts)
    except FileNotFoundError:
        return None
    try:
        return files.open_file(dir_fd, place.name, place.path)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise AccessDenied(f"{place.path}: {error.strerror}") from None
    finally:
        os.close(dir_fd)


def read(place: Place) -> bytes | None:
    """All of a file, None if there is none. Raises AccessDenied."""
    fd = open_for_reading(place)
    if fd is None:
        return None
    with open(fd, "rb") as file:
        return file.read()


def lines(place: Place) -> Iterator[scanning.Line]:
    """The lines of a file, without LF; none without the file. A torn last line comes as it is."""
    fd = open_for_reading(place)
    if fd is None:
        return
    try:
        yield from scanning.scan(fd, 0, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def append(place: Place, lines: Iterable[bytes], *, fsync: bool, first: bytes | None = None) -> None:
    """Append lines (without LF) to a file by one write; it is made if missing, and begins with `first` then.

    Durable on return with `fsync`. What a crash left without LF at the end is set apart by one: ours are
    lines of their own, and what was torn stays one that readers name.
    """
    data = b"".join(line + b"\n" for line in lines)
    if not data:
        return
    dir_fd = directories.open_at(place.base, place.parts, create=True, fsync=fsync)
    try:
        fd = files.open_or_create(dir_fd, place.name, place.path, append=True)
        try:
            if size_bytes := os.fstat(fd).st_size:
                data = data if os.pread(fd, 1, size_bytes - 1) == b"\n" else b"\n" + data
            else:
                data = data if first is None else first + b"\n" + data
                if fsync:
                    directories.sync_chain(place.base, place.parts)
            files.append(fd, [data], fsync=fsync)
        finally:
            os.close(fd)
    finally:
        os.close(dir_fd)


def replace(layout: Layout, place: Place, chunks: Iterable[bytes], *, fsync: bool) -> None:
    """Put `chunks` in the place of a file, whoever appends to it kept away; durable with `fsync`."""
    base, parts = layout.tmp(place)
    dir_fd = directories.open_at(place.base, place.parts, create=True, fsync=fsync)
    try:
        tmp_fd = directories.open_at(base, parts, create=True)
        try:
            files.replace_at(dir_fd, place.name, tmp_fd, chunks, fsync=fsync)
        finally:
            os.close(tmp_fd)
    finally:
        os.close(dir_fd)


def replace_or_remove(layout: Layout, place: Place, chunks: list[bytes], *, fsync: bool) -> None:
    """As `replace`; a file of which nothing stays is removed."""
    if chunks:
        replace(layout, place, chunks, fsync=fsync)
    else:
        remove(place, fsync=fsync)


def remove(place: Place, *, fsync: bool) -> bool:
    """Remove a file for good; whether there was one."""
    try:
        dir_fd = directories.open_at(place.base, place.parts)
    except FileNotFoundError:
        return False
    try:
        return files.unlink(dir_fd, place.name, fsync=fsync)
    finally:
        os.close(dir_fd)
