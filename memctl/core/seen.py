"""Seen: ids and lines that were met, at eight bytes each, for passes over logs of any length."""

from __future__ import annotations

from array import array
from bisect import bisect_left

#: So many are kept as a set, which is fast and large, before they are packed.
_LOOSE_MAX = 400_000
#: A power of two; each packed hash marks one of so many places, so that most others need no search.
_PLACES = 1 << 23


class Seen:
    """Remembers hashes, which are secret to the process: nobody can make two values meet."""

    def __init__(self) -> None:
        self._loose: set[int] = set()
        self._packed: list[array[int]] = []
        self._marked = bytearray()

    def __contains__(self, value: str | bytes) -> bool:
        key = hash(value)
        if key in self._loose:
            return True
        if not self._marked or not self._marked[key & (_PLACES - 1)]:
            return False
        return any(_holds(run, key) for run in self._packed)

    def add(self, id: str, line: bytes) -> None:
        """Take an id and the line that it came with in."""
        loose = self._loose
        loose.add(hash(id))
        loose.add(hash(line))
        if len(loose) >= _LOOSE_MAX:
            self._packed.append(array("q", sorted(loose)))
            self._marked = self._marked or bytearray(_PLACES)
            for key in loose:
                self._marked[key & (_PLACES - 1)] = 1
            loose.clear()


def _holds(run: array[int], key: int) -> bool:
    at = bisect_left(run, key)
    return at < len(run) and run[at] == key
