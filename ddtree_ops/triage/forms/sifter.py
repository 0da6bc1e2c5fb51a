"""Passing a log's bytes through a sieve (sieve.py)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.sieve import Item, OddRecordError, Records, Sieve, Skipped

_PAST_BYTES = 1 << 19


class Sifter:
    """Passes blocks of whole records through a sieve."""

    def __init__(self, records: Records, sieve: Sieve) -> None:
        self._records, self._sieve = records, sieve
        self._past: deque[bytes] = deque()  # the last records that were left out: not counted yet, for they may be wanted
        self._past_size = 0
        self._begun = False
        #: What is left of a block from an odd record on.
        self.rest = b""

    def feed(self, block: bytes) -> Iterator[Item]:
        """What comes out of a block; it ends early before an odd record (`rest`)."""
        data, left, position, self.rest = block, 0, 0, b""
        while position < len(data):
            wanted = not self._begun or self._sieve.attentive or self._records.holds
            at = position if wanted else self._sieve.find(data, position)
            if at < 0:
                break
            first = self._start(data, position, at)
            if self._past and left == 0:  # what was left out before reaches into this block
                past = self._take_past()
                data, first, at = past + data, first + len(past), at + len(past)
            stop = self._end(data, at)
            begin = first if wanted else self._back(data, left, first)
            if begin > left:
                yield self._skipped(data, left, begin)
                self._records.recall(data, begin)
            yield from self._decoded(data, begin, stop)
            if self.rest:
                return
            left = position = stop
        yield from self._leave(data[left:])

    def close(self) -> Iterator[Item]:
        """At the end: the last record is decoded, because it has the time of the end, and those before it."""
        data = self._take_past()
        at = self._sieve.last(data) if data else -1
        if at < 0:
            yield self._skipped(data, 0, len(data))
            return
        first, stop = self._start(data, 0, at), self._end(data, at)
        begin = self._back(data, 0, first)
        if begin > 0:
            yield self._skipped(data, 0, begin)
            self._records.recall(data, begin)
        yield from self._decoded(data, begin, stop)
        yield self._skipped(data, stop, len(data))

    def _decoded(self, data: bytes, begin: int, stop: int) -> Iterator[JournalEntry]:
        """The entries of these records; `rest` if one is odd."""
        self._begun = True
        while begin < stop:
            end = self._end(data, begin)
            try:
                entry = self._records.decode(data[begin : end - len(self._records.separator)])
            except OddRecordError:
                self.rest = data[begin:]
                return
            if entry is not None:
                yield entry
            begin = end

    def _skipped(self, data: bytes, start: int, end: int) -> Skipped:
        return Skipped(self._sieve.counted(self._records.count(data, start, end), data, start, end))

    def _start(self, data: bytes, position: int, at: int) -> int:
        """Where the record of the byte `at` begins."""
        found = data.rfind(self._records.separator, position, at)
        return position if found < 0 else found + len(self._records.separator)

    def _end(self, data: bytes, at: int) -> int:
        found = data.find(self._records.separator, at)
        return len(data) if found < 0 else found + len(self._records.separator)

    def _back(self, data: bytes, left: int, first: int) -> int:
        """Where the wanted context begins."""
        separator = self._records.separator
        begin = first
        for _ in range(self._sieve.context(first - left)):
            if begin <= left:
                break
            found = data.rfind(separator, left, begin - len(separator))
            begin = left if found < 0 else found + len(separator)
        return begin

    def _leave(self, data: bytes) -> Iterator[Item]:
        if data:
            self._past.append(data)
            self._past_size += len(data)
        while self._past and self._past_size - len(self._past[0]) >= _PAST_BYTES:
            oldest = self._past.popleft()
            self._past_size -= len(oldest)
            yield self._skipped(oldest, 0, len(oldest))

    def _take_past(self) -> bytes:
        data = b"".join(self._past)
        self._past.clear()
        self._past_size = 0
        return data
