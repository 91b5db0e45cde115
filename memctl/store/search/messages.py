"""The messages of conversations as the search index takes them: the logs of a user, or one file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memctl.core import jsonl, marker, names, times
from memctl.core.lines import read_line
from memctl.store import directories, files, scanning
from memctl.store.search import marks
from memctl.store.search.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memctl.store.layout import Layout
    from memctl.store.search.index import Located
    from memctl.store.search.marks import Mark

_MULTI_CONTENT = ("user_input_multi_content", "assistant_output_multi_content", "multi_content")


class Logs:
    """The conversations of a user; a `marks.Truth` whose sources are their names."""

    keyed = False

    def __init__(self, layout: Layout, user: str) -> None:
        self._base = layout.conversations_base
        self._parts = (*layout.conversations_parts, names.encode(user))
        self._ends: dict[str, tuple[int, int, int]] = {}

    def marks(self) -> dict[str, Mark]:
        """The state of each log, as yet unread; those whose names do not decode are left out."""
        try:
            dir_fd = directories.open_at(self._base, self._parts)
        except FileNotFoundError:
            return {}
        found = {}
        try:
            for name in sorted(os.listdir(dir_fd)):
                if not name.endswith(names.SUFFIX) or name.startswith("."):
                    continue
                conversation = names.decode(name.removesuffix(names.SUFFIX))
                if conversation is not None and files.is_file(dir_fd, name):
                    status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
                    found[conversation] = marks.state(status)
        except FileNotFoundError:
            # Removed between two calls: the next look is without it.
            return self.marks()
        finally:
            os.close(dir_fd)
        return found

    def open(self, source: str) -> int:
        """A descriptor of a log. Raises FileNotFoundError, AccessDenied."""
        dir_fd = directories.open_at(self._base, self._parts)
        try:
            name = names.encode(source) + names.SUFFIX
            return files.open_file(dir_fd, name, "/".join((self._base, *self._parts, name)))
        finally:
            os.close(dir_fd)

    def grew(self, source: str, old: Mark) -> bool:
        """Whether the log is the one it was, with more behind what was read of it."""
        try:
            fd = self.open(source)
        except FileNotFoundError:
            return False
        try:
            return marks.grew(fd, old)
        finally:
            os.close(fd)

    def read(self, source: str, start: int) -> Iterator[Entry]:
        """The messages of the lines from `start` on; ephemeral and empty ones are left out."""
        self._ends[source] = (start, 0, 0)
        try:
            fd = self.open(source)
        except FileNotFoundError:
            return
        try:
            end, size_bytes, bad = start, os.fstat(fd).st_size, 0
            for first, lines, terminated in scanning.batches(fd, start, size_bytes):
                at = end = first
                for line in lines:
                    one = entry(line, source, at)
                    found = [one] if one is not None else list(entries(_line(line, at, terminated), source))
                    bad += one is None and (terminated or bool(found)) and _is_damaged(line, terminated)
                    yield from found
                    at += len(line) + 1
                if terminated or found:
                    end = size_bytes
            self._ends[source] = (end, marks.tail(fd, end), bad)
        finally:
            os.close(fd)

    def done(self, source: str, mark: Mark) -> Mark:
        """The mark with how far `read` came."""
        end, tail, bad = self._ends.pop(source)
        return mark._replace(end=end, tail=tail, bad=bad)

    def line(self, place: Located, mark: Mark) -> bytes | None:
        """The line of a message, without LF; None if its log is no longer the one of the mark."""
        try:
            fd = self.open(place.source)
        except FileNotFoundError:
            return None
        try:
            now = marks.state(os.fstat(fd))
            return os.pread(fd, place.size, place.start) if now[:2] == mark[:2] else None
        finally:
            os.close(fd)


class LogFile(Logs):
    """One file with messages, given open; its only source is `name`."""

    def __init__(self, fd: int, name: str) -> None:
        self._fd = fd
        self._name = name
        self._ends = {}

    def marks(self) -> dict[str, Mark]:
        """The state of the file."""
        return {self._name: marks.state(os.fstat(self._fd))}

    def open(self, source: str) -> int:
        """A descriptor of the file."""
        return os.dup(self._fd)


def _line(line: bytes, start: int, terminated: bool) -> scanning.Line:
    return scanning.Line(start, len(line) + terminated, line, terminated)


def _is_damaged(line: bytes, terminated: bool) -> bool:
    """Whether a line, or a piece of it, is no message."""
    return bool(line.strip()) and any(
        piece.message is None for piece in read_line(line, terminated=terminated)
    )


def entry(line: bytes, conversation: str, start: int) -> Entry | None:
    """The message of a sound line as the index takes it, None for a line to be looked at more closely.

    This runs once a message of all conversations of a user.
    """
    try:
        message = jsonl.loads(line)
        text, name, extra = message["content"], message.get("name"), message.get("extra")
        is_sound = type(text) is type(message["role"]) is str
    except (ValueError, KeyError, TypeError):
        return None
    if not is_sound or (extra and marker.is_ephemeral(message)) or not text or text.isspace():
        return None
    created = _created(message) if extra else 0.0
    return Entry("", text, 0, conversation, created, name if type(name) is str else "", 0.5, start, len(line))


def entries(line: scanning.Line, conversation: str) -> Iterator[Entry]:
    """The messages of any line: several where it holds several; ephemeral and empty ones are left out."""
    start, size = line.offset, len(line.data)
    for part, piece in enumerate(read_line(line.data, terminated=line.terminated)):
        message = piece.message
        if message is None or marker.is_ephemeral(message):
            continue
        text = content(message)
        if not text or text.isspace():
            continue
        given = message.get("name")
        name = given if type(given) is str else ""
        yield Entry("", text, part, conversation, _created(message), name, 0.5, start, size)


def content(message: dict[str, Any]) -> str:
    """The text of a message, that of its parts included."""
    given = message.get("content")
    if type(given) is str and given:
        return given
    lists = [given, *(message.get(key) for key in _MULTI_CONTENT)]
    parts = [part for parts in lists if type(parts) is list for part in parts]
    texts = [part.get("text") if type(part) is dict else part for part in parts]
    return "\n".join(dict.fromkeys(text for text in texts if type(text) is str))


def _created(message: dict[str, Any]) -> float:
    """The time of a message in seconds since 1970, 0 for none."""
    moment = times.stored(marker.own(message).get("created_at"))
    return 0.0 if moment is None else moment.timestamp()
