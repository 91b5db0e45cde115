"""Where a repaired file may go: in the place of the old one, or as a copy."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memctl.core.names import QUARANTINE_SUFFIX
from memctl.errors import CannotCreate, UsageError
from memctl.ops.targets import listed
from memctl.store import census, locks, record_files
from memctl.store.rewrite import overtaken

if TYPE_CHECKING:
    from memctl.ops.setup import Setup
    from memctl.store.census import Listed


def check_in_place(setup: Setup, row: Listed) -> None:
    """Raise UsageError for a file that cannot be replaced where it lies."""
    if row.path == "-":
        raise UsageError("standard input is repaired into a file", hint="give -o FILE")
    if row.reference is not None:
        return
    if row.place is not None:
        raise UsageError(
            f"{row.path} has a name that no conversation or user has, so there is no lock for it",
            hint="give -o FILE",
        )
    status = os.stat(row.path)
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{row.path} is not a regular file", hint="give -o FILE")
    if status.st_nlink > 1:
        raise UsageError(
            f"{row.path} has {status.st_nlink} hard links; a repair in place would part them",
            hint="give -o FILE",
        )
    at = os.path.join(os.path.realpath(os.path.dirname(row.path)), os.path.basename(row.path))
    if os.path.islink(at) and (root := census.store_holding(at)) is not None:
        raise UsageError(f"{row.path} is a link in the store {root}; links there are not followed")
    root = census.store_of(row.path)
    if root is not None:
        hint = "give -o FILE, or name the conversation"
        if root != setup.layout.root:
            import shlex

            hint = f"memctl --root {root} repair {shlex.quote(row.path)}, or give -o FILE"
        raise UsageError(f"{row.path} lies in the store {root}", hint=hint)


def is_in_place(setup: Setup, argument: str) -> bool:
    """Whether what an argument names is repaired where it lies; if not, a repair needs `-o`."""
    try:
        for row in listed(setup, [argument]):
            check_in_place(setup, row)
    except (UsageError, OSError):
        return False
    return True


def check_output(setup: Setup, row: Listed, output: str) -> None:
    """Raise UsageError for an output that would touch the input, or that is no place for a file."""
    if not output:
        raise UsageError("-o wants the name of a file", hint="-o copy.jsonl")
    if output == "-":
        raise UsageError("-o wants a file: a file of quarantine is kept beside it")
    if os.path.isdir(output):
        raise UsageError(f"-o {output} is a directory, a file is expected")
    if os.path.exists(output) and not os.path.isfile(output):
        raise UsageError(f"-o {output} is not a regular file")
    if _is_input(row, output):
        raise UsageError("-o names the input itself", hint="--apply repairs it in place")
    if _is_input(row, os.path.realpath(output) + QUARANTINE_SUFFIX):
        raise UsageError(f"what leaves the file would be kept in {row.path}, the input itself")
    layout = setup.layout
    directory = os.path.dirname(os.path.realpath(output))
    is_ours = census.reference_of(layout, output) is not None or record_files.folders_at(layout, directory)
    if is_ours or census.store_of(output) is not None:
        raise UsageError(f"-o {output} lies in a store, where only its own commands write")
    if not os.path.isdir(directory):
        raise CannotCreate(f"-o {output}: there is no directory {directory}")


def _is_input(row: Listed, path: str) -> bool:
    return row.path != "-" and os.path.exists(path) and os.path.samefile(path, row.path)


def hold(setup: Setup, row: Listed, fd: int) -> None:
    """Hold an open file outside of any store until it is closed, so that two repairs do not meet.

    Raises LockTimeout, and Overtaken if the file was replaced before it was held.
    """
    locks.hold_file(fd, row.path, timeout_s=float(setup.settings["lock.timeout_s"]))
    try:
        is_same = os.path.samestat(os.fstat(fd), os.stat(row.path))
    except FileNotFoundError:
        is_same = False
    if not is_same:
        raise overtaken(row.path)
