"""Cold summaries: which records get one in a pass, and who writes it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import cold_summary
from memctl.core import record as records
from memctl.core.tier import COLD
from memctl.errors import BadConfig, Unavailable
from memctl.ops import child, reconcile_user
from memctl.store import line_files

if TYPE_CHECKING:
    from memctl.ops.reconcile_user import Look
    from memctl.ops.setup import Setup
    from memctl.settings import Settings

_SETTING = "cold_summary.summarizer"


class Summaries(NamedTuple):
    """Summaries by record; why the command did not write one, or why a record can have none, by record."""

    texts: dict[str, str]
    troubles: dict[str, str]


class Summarizer:
    """Writes the summaries of a run; the same text is given to a command once. Raises BadConfig."""

    def __init__(self, settings: Settings, *, dry_run: bool = False) -> None:
        self._is_on = bool(settings["cold_summary.enabled"])
        self._min_bytes = int(settings["cold_summary.min_bytes"])
        self._max_chars = int(settings["cold_summary.max_chars"])
        self._timeout_s = float(settings["cold_summary.timeout"])
        self._dry_run = dry_run
        given = str(settings[_SETTING])
        if given and not given.startswith(child.PREFIX):
            raise BadConfig(
                f"{_SETTING} = {given!r}: it is empty or cmd:COMMAND", hint="memctl help reconcile"
            )
        self._command = child.words(_SETTING, given) if given else []
        self._known: dict[str, tuple[str, str]] = {}

    def summaries(self, setup: Setup, user: str, look: Look) -> Summaries:
        """The summaries of the large records that enter cold in a pass.

        A command that fails or says nothing leaves the beginning of the text, and a word in `troubles`.
        """
        found = Summaries({}, {})
        entering = [move.id for move in look.moves if move.target == COLD] if self._is_on else []
        fds: dict[str, int | None] = {}
        try:
            for id in entering:
                row = look.found.seen[id]
                tier = row.state.tier
                if tier not in fds:
                    fds[tier] = line_files.open_for_reading(setup.layout.tier(tier, user))
                fd = fds[tier]
                record = None if fd is None else records.read(reconcile_user.line_of(fd, row), tier)
                if record is None or record.id != id or not cold_summary.is_large(record, self._min_bytes):
                    continue
                if not cold_summary.takes_one(record):
                    found.troubles[id] = "its metadata is no object, so it gets no summary"
                    continue
                found.texts[id], trouble = self._summary(record.searchable)
                if trouble:
                    found.troubles[id] = trouble
        finally:
            for fd in fds.values():
                if fd is not None:
                    os.close(fd)
        return found

    def _summary(self, text: str) -> tuple[str, str]:
        """The summary of a text, and what was wrong with the command."""
        if text not in self._known:
            self._known[text] = self._made(text)
        return self._known[text]

    def _made(self, text: str) -> tuple[str, str]:
        cut = cold_summary.truncated(text, self._max_chars)
        if not self._command or self._dry_run:
            return cut, ""
        try:
            data = text.encode("utf-8", "replace")
            said = child.run(self._command, data, self._timeout_s, _SETTING).decode("utf-8")
        except Unavailable as error:
            return cut, f"{error}; its beginning stands for it"
        except UnicodeDecodeError:
            return (
                cut,
                f"{_SETTING}: what {self._command[0]} prints is not UTF-8; its beginning stands for it",
            )
        made = cold_summary.truncated(said, self._max_chars)
        if not made:
            return cut, f"{_SETTING}: {self._command[0]} prints nothing; its beginning stands for it"
        return made, ""
