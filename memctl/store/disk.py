"""The only module that changes the disk: each function is one call of the operating system.

Every change passes through one of the names in `PRIMITIVES`, so a test can stop the process at the k-th of
them. What is made belongs, run as root, to the owner of the directory it lies in; its mode does not depend
on the umask.
"""

from __future__ import annotations

import os
import stat

PRIMITIVES = ("write", "pwrite", "fsync", "rename", "ftruncate", "unlink", "mkdir", "rmdir", "create")

write = os.write
pwrite = os.pwrite
fsync = os.fsync
rename = os.rename
ftruncate = os.ftruncate
unlink = os.unlink
mkdir = os.mkdir
rmdir = os.rmdir
#: `os.open` with O_CREAT: makes a file.
create = os.open


def make_ours(dir_fd: int, fd: int, mode: int) -> None:
    """Give a new file or directory its mode, and run as root the owner of the directory `dir_fd`."""
    os.fchmod(fd, mode)
    if os.geteuid() == 0:
        owner = os.fstat(dir_fd)
        if (owner.st_uid, owner.st_gid) != (0, os.getegid()):
            os.fchown(fd, owner.st_uid, owner.st_gid)


def make_like(fd: int, old: os.stat_result) -> None:
    """Give a file the owner, group and mode of the one that it replaces; raises OSError where it cannot."""
    new = os.fstat(fd)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode))


def take_from_others(fd: int) -> None:
    """Take away what others may do with a file; no primitive: it is done or not."""
    os.fchmod(fd, stat.S_IMODE(os.fstat(fd).st_mode) & ~stat.S_IRWXO)


def note(fd: int, data: bytes) -> None:
    """Put a note at the start of a lock file; what a longer older note leaves behind it is cut off.

    No primitive: a note is a courtesy, and a crash in it is none.
    """
    os.pwrite(fd, data, 0)
    os.ftruncate(fd, len(data))
