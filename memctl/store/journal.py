"""Journal: the accesses of a user's records that no pass has folded into the tier files yet.

One JSON line a recall, `{"time":…,"ids":[…]}`, behind a first line with a mark that tells this journal from
every other one of the user. It is appended to under a lock of its own, held for one write, and replaced only
under the lock of the records. Readers take no lock.
"""

from __future__ import annotations

import os
import time as clock
from fcntl import LOCK_EX, LOCK_NB, flock
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import jsonl, times
from memctl.errors import InTheWay, LockTimeout, MemctlError, of_system
from memctl.store import directories, files, intent, line_files

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from memctl.store.layout import Layout

_POLL_S = 0.002


class Accesses(NamedTuple):
    """How often a record was recalled, and the last time, RFC 3339."""

    number: int
    last: str


class Entry(NamedTuple):
    """A recall: the bytes of its line, when it was, the ids. `ids` is None for a line that is no entry."""

    line: bytes
    time: str
    ids: list[str] | None


class Pending(NamedTuple):
    """What waits in a journal: its mark (None without a journal), where the last whole line ends, accesses.

    `bad` are the numbers of lines that are no entries, from 1; `left`: whether a killed pass left an intent;
    `unread`: why nothing of it could be read, "" if it could.
    """

    mark: str | None
    end: int
    accesses: dict[str, Accesses]
    bad: list[int]
    left: bool
    unread: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to fold in and nothing to clear up."""
        return self.mark is None and not self.left


def note(layout: Layout, user: str, ids: Sequence[str], time: str, timeout_s: float) -> bool:
    """Append one access of each id; whether that could be done. It raises nothing: it is history."""
    if not ids:
        return True
    try:
        lock = _locked(layout, user, timeout_s)
        try:
            line = jsonl.message_bytes({"time": time, "ids": list(ids)})
            line_files.append(layout.access(user), [line], fsync=False, first=_new_mark())
        finally:
            os.close(lock)
    except (OSError, MemctlError):
        return False
    return True


def accesses(layout: Layout, user: str, revs: Mapping[str, int]) -> dict[str, Accesses]:
    """The accesses that the records do not have yet; `revs` are those of the records as they were read."""
    return pending(layout, user, revs).accesses


def pending(layout: Layout, user: str, revs: Mapping[str, int]) -> Pending:
    """The journal as it is now, for records with these revs; accesses of other ids are not counted.

    Read after the records: an intent tells which records have the accesses in front of its end already.
    """
    try:
        left = intent.read(layout, user)
        data = _data(layout, user)
    except (OSError, MemctlError) as error:
        # It is history: without it there is still an answer.
        return Pending(None, 0, {}, [], False, _reason(error))
    if data is None:
        return Pending(None, 0, {}, [], left is not None)
    end = data.rfind(b"\n") + 1
    mark = _mark(data)
    done: Mapping[str, int] = {}
    folded = 0
    if left is not None and left.mark == mark:
        done, folded = left.revs, left.end
    counts: dict[str, int] = {}
    last: dict[str, tuple[int, str]] = {}
    bad = []
    at = 0
    for number, entry in enumerate(_entries(data[:end]), 1):
        if entry.ids is None:
            bad.append(number)
        moment: int | None = None
        for id in entry.ids or ():
            rev = revs.get(id)
            if rev is None or (at < folded and not _waits(id, rev, done)):
                continue
            if moment is None:
                moment = times.microseconds(entry.time) or 0
            counts[id] = counts.get(id, 0) + 1
            if id not in last or moment >= last[id][0]:
                last[id] = (moment, entry.time)
        at += len(entry.line) + 1
    found = {id: Accesses(count, last[id][1]) for id, count in counts.items()}
    return Pending(mark, end, found, bad, left is not None)


def unread(layout: Layout, user: str) -> str:
    """Why the accesses that wait cannot be read now; "" if they can, or there are none."""
    try:
        intent.read(layout, user)
        if (fd := line_files.open_for_reading(layout.access(user))) is not None:
            os.close(fd)
    except (OSError, MemctlError) as error:
        return _reason(error)
    return ""


def _reason(error: OSError | MemctlError) -> str:
    return str(error if isinstance(error, MemctlError) else of_system(error))


def _waits(id: str, rev: int, done: Mapping[str, int]) -> bool:
    """Whether a record still lacks the accesses that an intent speaks of."""
    return id in done and rev < done[id]


def drop_folded(layout: Layout, user: str, mark: str, end: int, timeout_s: float, *, fsync: bool) -> None:
    """Take what stands in front of `end` off the journal of this mark; what came later stays.

    What a crash left of a last line goes. Raises LockTimeout if the journal is not free in time.
    """
    _rewrite(layout, user, mark, lambda data: data[end : data.rfind(b"\n") + 1], timeout_s, fsync)


def keep_waiting(
    layout: Layout, user: str, left: intent.Intent, revs: Mapping[str, int], timeout_s: float, *, fsync: bool
) -> None:
    """Take the accesses that records have already, by a left intent, off its journal. Raises LockTimeout."""

    def kept(data: bytes) -> bytes:
        waiting = {id for id, rev in revs.items() if _waits(id, rev, left.revs)}
        return _with_ids(data[: left.end], waiting.__contains__) + data[left.end :]

    if left.mark is not None:
        _rewrite(layout, user, left.mark, kept, timeout_s, fsync)


def forget(layout: Layout, user: str, ids: Collection[str], timeout_s: float, *, fsync: bool) -> None:
    """Take every access of these ids off the journal, under the lock of the records. Raises LockTimeout."""
    gone = set(ids)
    data = _own_data(layout, user)
    if data is not None and any(not gone.isdisjoint(entry.ids or ()) for entry in _entries(data)):

        def kept(now: bytes) -> bytes:
            return _with_ids(now, lambda id: id not in gone)

        _rewrite(layout, user, _mark(data), kept, timeout_s, fsync)


def _with_ids(data: bytes, stays: Callable[[str], bool]) -> bytes:
    """The entries with only the ids that stay; a line that nothing is taken from keeps its bytes."""
    lines = []
    for entry in _entries(data):
        ids = [id for id in entry.ids or () if stays(id)]
        if entry.ids is None or len(ids) == len(entry.ids):
            lines.append(entry.line)
        elif ids:
            lines.append(jsonl.message_bytes({"time": entry.time, "ids": ids}))
    return b"".join(line + b"\n" for line in lines)


def _rewrite(
    layout: Layout, user: str, mark: str, rest: Callable[[bytes], bytes], timeout_s: float, fsync: bool
) -> None:
    """Put `rest(data)` in the place of a journal, if it is still the one of this mark, under a new mark."""
    lock = _locked(layout, user, timeout_s)
    try:
        data = _own_data(layout, user)
        if data is None or _mark(data) != mark:
            return
        # The line of the old mark may be among what is kept.
        kept = b"".join(entry.line + b"\n" for entry in _entries(rest(data)) if entry.ids != [])
        place = layout.access(user)
        chunks = [_new_mark() + b"\n", kept] if kept else []
        line_files.replace_or_remove(layout, place, chunks, fsync=fsync)
    finally:
        os.close(lock)


def _new_mark() -> bytes:
    return jsonl.message_bytes({"journal": os.urandom(8).hex()})


def _mark(data: bytes) -> str:
    """The mark of a journal, "" for one whose first line has none."""
    value = _value(data.partition(b"\n")[0])
    mark = value.get("journal") if type(value) is dict else None
    return mark if type(mark) is str else ""


def _entries(data: bytes) -> Iterator[Entry]:
    """The lines of a journal; that of the mark is an entry of no id."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for line in lines:
        value = _value(line)
        if type(value) is dict and type(value.get("journal")) is str:
            yield Entry(line, "", [])
            continue
        time, ids = (value.get("time"), value.get("ids")) if type(value) is dict else (None, None)
        if type(time) is str and type(ids) is list:
            yield Entry(line, time, [id for id in ids if type(id) is str])
        else:
            yield Entry(line, "", None if line.strip() else [])


def _value(line: bytes) -> object:
    try:
        return jsonl.loads(line)
    except ValueError:
        pass
    try:
        return jsonl.exact(line.decode("utf-8"))
    except ValueError:
        return None


def _data(layout: Layout, user: str) -> bytes | None:
    return line_files.read(layout.access(user))


def _own_data(layout: Layout, user: str) -> bytes | None:
    """As `_data`, for who changes it: what is no file is no journal, and has nothing of ours in it."""
    try:
        return _data(layout, user)
    except InTheWay:
        return None


def _locked(layout: Layout, user: str, timeout_s: float) -> int:
    """A descriptor that holds the lock of the journal until it is closed. Raises LockTimeout."""
    place = layout.access_lock(user)
    dir_fd = directories.open_at(place.base, place.parts, create=True)
    try:
        fd = files.open_or_create(dir_fd, place.name, place.path)
    finally:
        os.close(dir_fd)
    deadline = clock.monotonic() + timeout_s
    while True:
        try:
            flock(fd, LOCK_EX | LOCK_NB)
            return fd
        except BlockingIOError:
            if clock.monotonic() >= deadline:
                os.close(fd)
                raise LockTimeout(
                    f"the journal of accesses is busy: {place.path}", hint="try again"
                ) from None
        except OSError:
            os.close(fd)
            raise
        clock.sleep(_POLL_S)
