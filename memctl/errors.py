"""The one family of errors: every failure memctl reports has a code word and an exit code.

The library raises these; only the command line prints them and exits.
"""

from __future__ import annotations


class MemctlError(Exception):
    """Root of all errors. `str(error)` names the thing and the place.

    `hint`, when not empty, names the next command to try.
    """

    code = "internal"
    exit_code = 70

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(MemctlError):
    """Arguments that contradict each other or cannot be read."""

    code = "usage"
    exit_code = 2


class BadInput(MemctlError):
    """Input data that cannot be accepted; nothing of it was stored."""

    code = "bad-input"
    exit_code = 65


class BadName(BadInput):
    """A user, conversation or tenant name that memctl refuses."""

    code = "bad-name"


class BadReference(BadName):
    """A reference that names nothing: there is a `/` too much."""

    code = "bad-reference"


class IdConflict(BadInput):
    """A message id that is already stored with another role or content."""

    code = "id-conflict"


class StrictFinding(BadInput):
    """`--strict` was given and the log holds lines that had to be left out."""

    code = "left-out"


class NotFound(MemctlError):
    """No such user, conversation, record or file."""

    code = "not-found"
    exit_code = 66


class Unavailable(MemctlError):
    """Something that the command needs is missing: an extra, a vocabulary, a command."""

    code = "unavailable"
    exit_code = 69


class CannotCreate(MemctlError):
    """Something cannot be created, or is there already."""

    code = "cannot-create"
    exit_code = 73


class AlreadyExists(MemctlError):
    """The thing to be created is there already."""

    code = "exists"
    exit_code = 73


class StorageError(MemctlError):
    """Reading or writing failed: a full disk, a size limit, an I/O error."""

    code = "io"
    exit_code = 74


class LockTimeout(MemctlError):
    """Another process held the lock for longer than the time limit; nothing was changed."""

    code = "lock-timeout"
    exit_code = 75


class Changing(LockTimeout):
    """A log changed under our eyes each time it was read."""

    code = "busy"


class Overtaken(Changing):
    """Another program changed a file while it was about to be replaced; it was left as it is."""

    code = "overtaken"


class AccessDenied(MemctlError):
    """The file system does not permit it, or a link or special file stands in the way."""

    code = "permission"
    exit_code = 77


class InTheWay(AccessDenied):
    """A link, directory, pipe or device where memctl keeps a file, or no directory where it keeps one."""


class BadConfig(MemctlError):
    """A setting that is unknown, malformed or not to be trusted."""

    code = "config"
    exit_code = 78


#: Exit codes that are not errors of the family above, for the manual and the README.
OTHER_EXIT_CODES = {
    0: "done",
    1: "a complete negative answer, or a removal that only printed its plan",
    130: "interrupted",
    141: "the reader of our output went away",
    143: "terminated",
}


def of_system(error: OSError) -> MemctlError:
    """The error of this family for one of the operating system that no layer below gave a better one."""
    return _class_of(error.errno or 0)(_said_by_system(error))


def _class_of(number: int) -> type[MemctlError]:
    import errno

    if number in (errno.ENOENT, errno.ENOTDIR):
        return NotFound
    if number in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP):
        return AccessDenied
    if number in (errno.ENAMETOOLONG, errno.EISDIR):
        return BadInput
    if number == errno.EEXIST:
        return AlreadyExists
    return StorageError


def _said_by_system(error: OSError) -> str:
    """`PATH: No such file or directory`, or without a path what the system says."""
    import os

    reason = error.strerror or type(error).__name__
    if isinstance(error.filename, str | bytes):
        return f"{os.fsdecode(error.filename)}: {reason}"
    return reason
