"""Running token totals of a log for one counter, beside its index: counted once, from the end, as needed.

A record for each entry of the index, at its number: the totals up to and including the entry. Totals are
relative to where counting began, so growing to the left fills the hole in front and leaves what is there. A
group's weight falls where the group is completed. Weights of single messages (the head, the summary) lie in
the hole until counting reaches them.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

from memctl.core import turns
from memctl.core.lines import read_line
from memctl.errors import MemctlError
from memctl.store import caches, files
from memctl.store.entries import Damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from memctl.store.sidecar import Index

    Weigh = Callable[[Sequence[dict[str, Any]]], list[int]]

_RECORD = struct.Struct("<3qII")
#: The last but one field is the CRC-32 of the log up to where counting ends.
_HEADER = struct.Struct("<16s8s16sQQ3qII")
_MAGIC = b"memctl totals 2\n"
_TOTAL, _SINGLE = 1, 2
_BLOCK_RECORDS = 64
#: Entries are counted in steps: the first small, so a small window costs little, each the double of the last.
_FIRST_STEP, _STEP_MAX = 32, 4096
#: So much stored text is handed to the tokenizer at once, at most.
_BATCH_BYTES = 4 << 20


class Total(NamedTuple):
    """Weights of all messages, of complete groups, and of those without an incomplete answer."""

    all: int
    sent: int
    clean: int


class Totals:
    """The totals of an index. `weigh` gives the weights of some messages; `path` None: nothing is kept.

    When made, what is new behind the counted part is counted, if anything was counted before. `reach`
    counts further to the left. Any access raises Damaged when the cache has been tampered with.
    """

    def __init__(
        self,
        index: Index,
        path: str | None,
        counter: str,
        weigh: Weigh,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._index = index
        self._path = path
        self._counter = counter.encode()
        self._weigh = weigh
        self._progress = progress
        self._file = -1
        self._writable = False
        self._blocks: dict[int, bytes] = {}
        self._memory: dict[int, Total] = {}
        self._singles: dict[int, int] = {}
        self._step = _FIRST_STEP
        self._seed = zlib.crc32(index.generation + self._counter)
        # Counting begins at a group of which all lines but the last, at most, are ended by LF, so that totals
        # can be kept; where the index cannot be, at the last group.
        kept = index.saved if len(index) - index.saved <= _FIRST_STEP else len(index)
        self.base = self.end = max(index.before(kept).start - 1, 0)
        self._base_total = Total(0, 0, 0)
        try:
            if path is not None and index.path is not None:
                self._open(path)
            if self.end < len(index):
                self._extend()
        except BaseException:
            # `weigh` may refuse; the lock on the kept totals must not outlive this.
            self.close()
            raise

    # -- access -------------------------------------------------------------------------------------------

    def upto(self, number: int) -> Total:
        """The totals of the entries in front of `number`, which must not lie in front of `base`."""
        if number == self.base:
            return self._base_total
        kept = self._memory.get(number - 1)
        if kept is not None:
            return kept
        record = self._record(number - 1)
        if record is None or record[3] != _TOTAL:
            raise Damaged(f"the total of entry {number - 1}")
        return Total(*record[:3])

    def single(self, number: int) -> int:
        """The weight of one message, also where totals do not reach."""
        if number >= self.base:
            return self.upto(number + 1).all - self.upto(number).all
        if number not in self._singles:
            record = self._record(number)
            if record is not None and record[3] == _SINGLE:
                self._singles[number] = record[0]
            else:
                self._singles[number] = self._weights(number, number + 1)[0]
                self._write({number: (self._singles[number], 0, 0, _SINGLE)})
        return self._singles[number]

    def _record(self, number: int) -> tuple[int, int, int, int] | None:
        if self._file < 0:
            return None
        block_number, place = divmod(number, _BLOCK_RECORDS)
        block = self._blocks.get(block_number, b"")
        if len(block) < (place + 1) * _RECORD.size:
            start = _HEADER.size + block_number * _BLOCK_RECORDS * _RECORD.size
            try:
                block = os.pread(self._file, _BLOCK_RECORDS * _RECORD.size, start)
            except OSError:
                return None
            if len(self._blocks) > 1024:
                self._blocks.clear()
            self._blocks[block_number] = block
        data = block[place * _RECORD.size : (place + 1) * _RECORD.size]
        if len(data) < _RECORD.size:
            return None
        *fields, own = _RECORD.unpack(data)
        return tuple(fields) if own == self._proof(data[:-4], number) else None

    def _proof(self, body: bytes, number: int) -> int:
        """The CRC of a record, seeded with its number, the counter and the index that it belongs to."""
        return zlib.crc32(body, (self._seed + number) & 0xFFFFFFFF)

    # -- counting -----------------------------------------------------------------------------------------

    def reach(self, number: int) -> None:
        """Count to the left until the totals begin at `number` or in front of it."""
        while self.base > number:
            self.step(number)

    def step(self, number: int = 0) -> None:
        """Count one step further to the left, to the start of a group, at most to `number` if it is one."""
        wanted = max(number, self.base - self._step, 0)
        self._step = min(self._step * 2, _STEP_MAX)
        start = self._index[wanted].start - 1 if wanted < len(self._index) else -1
        first = max(start, 0)
        counted = self._running(first, self.base, Total(0, 0, 0), [])
        shift = Total(*(a - b for a, b in zip(self._base_total, counted[-1], strict=True)))
        shifted = [Total(*(a + b for a, b in zip(total, shift, strict=True))) for total in counted]
        self._keep(first, shifted)
        self.base, self._base_total = first, shift
        self._write_header()
        if self._progress is not None:
            self._progress(len(self._index) - first, len(self._index))

    def _extend(self) -> None:
        """Count what the log grew by. An open call in front of it may be completed in it."""
        group: list[tuple[int, bool]] = []
        start = self._index.before(self.end).start - 1
        if start >= self.base and self._index[start].flags & turns.CALL:
            for number in range(start, self.end):
                flags = self._index[number].flags
                if flags & (turns.START | turns.RESULT):
                    group.append((self.single(number), bool(flags & turns.INCOMPLETE)))
                if flags & turns.DONE:
                    group = []
        while self.end < len(self._index):
            end = min(self.end + _STEP_MAX, len(self._index))
            self._keep(self.end, self._running(self.end, end, self.upto(self.end), group))
            self.end = end
        self._write_header()

    def _running(self, first: int, end: int, total: Total, group: list[tuple[int, bool]]) -> list[Total]:
        """The totals after each entry, from `total` on; `group` holds the members of the open group."""
        totals = []
        for number, weight in enumerate(self._weights(first, end), first):
            flags = self._index[number].flags
            if flags & turns.START:
                group.clear()
            if flags & (turns.START | turns.RESULT | turns.HEAD):
                group.append((weight, bool(flags & turns.INCOMPLETE)))
            sent = clean = 0
            if flags & turns.DONE:
                sent = sum(weight for weight, _ in group)
                clean = 0 if any(spoilt for _, spoilt in group) else sent
                group.clear()
            total = Total(total.all + weight, total.sent + sent, total.clean + clean)
            totals.append(total)
        return totals

    def _weights(self, first: int, end: int) -> list[int]:
        weights: list[int] = []
        batch: list[dict[str, Any] | None] = []
        size = 0
        for value, size_bytes in self._values(first, end):
            batch.append(value)
            size += size_bytes
            if size > _BATCH_BYTES:
                weights += self._weigh_batch(batch)
                batch, size = [], 0
        return weights + self._weigh_batch(batch)

    def _weigh_batch(self, batch: Sequence[dict[str, Any] | None]) -> list[int]:
        known = iter(self._weigh([value for value in batch if value is not None]))
        return [0 if value is None else next(known) for value in batch]

    def _values(self, first: int, end: int) -> Iterator[tuple[dict[str, Any] | None, int]]:
        for piece in self._index.pieces(first, end):
            value = piece.message
            if value is None and not piece.code:
                value = read_line(piece.stored)[0].message
            yield value, len(piece.stored)

    # -- keeping ------------------------------------------------------------------------------------------

    def _open(self, path: str) -> None:
        """Take over what is kept; start a new file where none is or it belongs to another index."""
        try:
            for attempt in (1, 2):
                self._file = caches.open_shared(path)
                self._writable = caches.try_lock(self._file)
                if self._load():
                    return
                if not self._writable:
                    break
                if attempt == 2 or not os.fstat(self._file).st_size:
                    self._write_header()
                    return
                caches.replace(path, [])
                self.close()
        except (OSError, MemctlError):
            pass
        self._writable = False
        self.close()

    def _load(self) -> bool:
        header = os.pread(self._file, _HEADER.size, 0)
        if len(header) < _HEADER.size:
            return False
        magic, generation, counter, base, end, *total, log_crc, own = _HEADER.unpack(header)
        if (
            magic != _MAGIC
            or own != zlib.crc32(header[:-4])
            or generation != self._index.generation
            or counter.rstrip(b"\0") != self._counter
            or not base <= end <= len(self._index)
            or log_crc != self._index.before(end).crc
        ):
            return False
        self.base, self.end, self._base_total = base, end, Total(*total)
        return True

    def _keep(self, first: int, totals: list[Total]) -> None:
        """Save the totals of entries from `first` on; those of a line without its LF stay in memory."""
        saved = max(0, min(len(totals), self._index.saved - first)) if self._writable else 0
        if saved and not self._write(
            {first + place: (*total, _TOTAL) for place, total in enumerate(totals[:saved])}
        ):
            saved = 0
        for place, total in enumerate(totals[saved:], first + saved):
            self._memory[place] = total

    def _write(self, records: dict[int, tuple[int, int, int, int]]) -> bool:
        """Write records with numbers that follow each other; whether it worked."""
        if not self._writable or not records:
            return False
        first = min(records)
        if max(records) >= self._index.saved:
            return False
        packed = []
        for number, record in records.items():
            body = _RECORD.pack(*record, 0)[:-4]
            packed.append(body + self._proof(body, number).to_bytes(4, "little"))
        try:
            files.overwrite(self._file, b"".join(packed), _HEADER.size + first * _RECORD.size)
        except OSError:
            self._writable = False
            return False
        self._blocks.clear()
        return True

    def _write_header(self) -> None:
        """Say which totals are kept: those from `base` on that are not only in memory."""
        end = min(self.end, self._index.saved)
        if not self._writable or any(number < end for number in self._memory):
            return
        base = min(self.base, end)
        total = self._base_total if base == self.base else self.upto(base)
        log_crc = self._index.before(end).crc
        body = _HEADER.pack(_MAGIC, self._index.generation, self._counter, base, end, *total, log_crc, 0)[:-4]
        header = body + zlib.crc32(body).to_bytes(4, "little")
        try:
            files.overwrite(self._file, header, 0)
        except OSError:
            self._writable = False

    def close(self) -> None:
        """Close the cache."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def discard(self) -> None:
        """Remove the kept totals, which have been found wrong."""
        if self._path is not None:
            caches.drop(self._path)
        self.close()
