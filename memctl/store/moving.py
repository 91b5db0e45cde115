"""Moving: files that go from one directory to another, also between file systems; durable before they go."""

from __future__ import annotations

import errno

from memctl.store import disk, files


def rename(src_fd: int, src: str, dst_fd: int, dst: str, *, fsync: bool = True) -> None:
    """Move a file between two open directories of one file system; both entries are durable on return."""
    disk.rename(src, dst, src_dir_fd=src_fd, dst_dir_fd=dst_fd)
    if fsync:
        disk.fsync(dst_fd)
        disk.fsync(src_fd)


def move(src_fd: int, src: str, dst_fd: int, dst: str, tmp_fd: int, *, fsync: bool = True) -> None:
    """As `rename`, also between file systems: there a copy, made in `tmp_fd`, is durable before it goes."""
    try:
        rename(src_fd, src, dst_fd, dst, fsync=fsync)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    copy(src_fd, src, dst_fd, dst, tmp_fd, fsync=fsync)
    files.unlink(src_fd, src, fsync=fsync)


def copy(src_fd: int, src: str, dst_fd: int, dst: str, tmp_fd: int, *, fsync: bool = True) -> None:
    """Put a copy of a file in another directory, written in `tmp_fd`, which lies on the same file system."""
    with open(files.open_file(src_fd, src, src), "rb") as file:
        files.replace_at(dst_fd, dst, tmp_fd, iter(lambda: file.read(1 << 20), b""), fsync=fsync)
