"""What every use case is given: where the store lies, its settings, the clock."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from memctl.core import names
from memctl.core.names import Reference
from memctl.errors import BadConfig, BadName, BadReference, NotFound
from memctl.settings import Settings
from memctl.store import directories, events, files, locks
from memctl.store.layout import FORMAT, Layout, Place


class Setup(NamedTuple):
    """A store to work on. `now_us` replaces the clock (microseconds since 1970); then ids are derived."""

    layout: Layout
    settings: Settings
    now_us: int | None = None
    run_id: str | None = None

    def time_us(self) -> int:
        """The present, in microseconds since 1970."""
        return time.time_ns() // 1000 if self.now_us is None else self.now_us

    def fsync(self) -> bool:
        """Whether what is written has to be durable on return."""
        return bool(self.settings["durability"] == "fsync")

    def settle_s(self) -> float:
        """How long a tail has to stand still before it is healed."""
        return float(self.settings["heal.settle_ms"]) / 1000

    def reference(self, argument: str, *, conversation: bool | None = True) -> Reference:
        """The reference in an argument. Raises BadName or UsageError; a refused name leaves an event."""
        try:
            return names.parse_reference(argument, conversation=conversation)
        except BadReference:
            raise
        except BadName as error:
            self._rejected(None, argument, error)
            raise

    def identity(self, user: str, conversation: str) -> Reference:
        """User and conversation as a reference, checked. A refused name leaves an event."""
        self.checked(user, "user")
        self.checked(conversation, "conversation", user)
        return Reference(user, conversation)

    def checked(self, name: str, kind: str, user: str | None = None) -> str:
        """A name, if it can be one of its kind. A refused one leaves an event, of `user` if there is one."""
        try:
            return names.check(name, kind)
        except BadName as error:
            self._rejected(user, name, error)
            raise

    def _rejected(self, user: str | None, name: str, error: BadName) -> None:
        self.event(user, "memory.identity_rejected", name=name[:300], reason=str(error))

    def event(self, user: str | None, type: str, **facts: Any) -> None:
        """Note in the user's events what happened."""
        events.record(self.layout, user, type, rfc3339(self.time_us()), self.run_id, **facts)

    def place(self, reference: Reference) -> Place:
        """The log of a reference to a conversation."""
        return self.layout.log(reference.user, reference.conversation or "")

    def lock(self, reference: Reference, command: str) -> locks.Lock:
        """The log lock of a conversation."""
        return locks.Lock(
            self.layout.lock(reference.user, reference.conversation or ""),
            reference.written(),
            timeout_s=float(self.settings["lock.timeout_s"]),
            command=command,
        )

    def records_lock(self, user: str, command: str) -> locks.Lock:
        """The lock of all that writes a user's records."""
        return locks.Lock(
            self.layout.records_lock(user),
            f"the memory of {Reference(user).written()}",
            timeout_s=float(self.settings["lock.timeout_s"]),
            command=command,
        )

    def missing(self, reference: Reference) -> NotFound:
        """The error for a conversation that is not there; it names the other reading, a path."""
        return NotFound(
            f"no conversation {reference.written()}; for the file: ./{reference.written()}",
            hint=f"memctl list {Reference(reference.user).written()}; the store is {self.layout.root}",
        )

    def no_user(self, user: str, what: str = "user") -> NotFound:
        """The error for a user who is not there, or of whom there is no `what`."""
        written = Reference(user).written()
        said = f"no {what} {written}" if what == "user" else f"no {what} of {written}"
        return NotFound(f"{said} in {self.layout.root}", hint="memctl stats lists the users")

    def ensure_store(self) -> None:
        """Make the store's own directory if it is missing. Raises BadConfig for a newer layout."""
        root = self.layout.root
        fd = directories.open_at(root, (".memctl",), create=True, fsync=self.fsync())
        try:
            if not self._known_format(fd):
                if self.fsync():
                    directories.sync_parents(f"{root}/.memctl")
                files.sweep(fd)
                files.replace_at(fd, "format", fd, [b"%d\n" % FORMAT], fsync=False)
        finally:
            os.close(fd)

    def check_layout(self) -> None:
        """Raise BadConfig if the store has a newer layout than this memctl knows; nothing is made."""
        try:
            fd = directories.open_at(self.layout.root, (".memctl",))
        except OSError:
            return
        try:
            self._known_format(fd)
        finally:
            os.close(fd)

    def _known_format(self, dir_fd: int) -> bool:
        path = f"{self.layout.root}/.memctl/format"
        try:
            fd = files.open_file(dir_fd, "format", path)
        except FileNotFoundError:
            return False
        try:
            text = os.read(fd, 32).strip()
        finally:
            os.close(fd)
        if text.isdigit() and int(text) > FORMAT:
            raise BadConfig(f"this store has layout {text.decode()}, this memctl knows {FORMAT}: {path}")
        return text.isdigit()


def rfc3339(us: int) -> str:
    """A time as it is stored: RFC 3339, UTC, microseconds."""
    seconds, fraction = divmod(us, 1_000_000)
    moment = time.gmtime(seconds)
    # Before the year 1000 `%Y` has fewer digits than RFC 3339 wants.
    return f"{moment.tm_year:04d}-{time.strftime('%m-%dT%H:%M:%S', moment)}.{fraction:06d}Z"


def stamp(us: int) -> str:
    """A time for names of files: `20260304T091231Z`."""
    moment = time.gmtime(us // 1_000_000)
    return f"{moment.tm_year:04d}{time.strftime('%m%dT%H%M%SZ', moment)}"
