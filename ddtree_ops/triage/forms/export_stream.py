"""`journalctl -o export`: a stream of entries, each a block of fields that ends with an empty line.

A field is `NAME=text\\n`, or, for bytes that aren't clean text, `NAME\\n`, 8 bytes of little-endian length, the bytes and
`\\n` (systemd's JOURNAL_EXPORT_FORMATS document). The reader holds one entry at a time and at most `MESSAGE_LIMIT` bytes
of one field; longer ones are cut while they pass by.

Where the bytes are no fields the entry is given up and reading goes on at the next empty line or the next `__CURSOR=`,
the field that begins an entry; an entry that says how many bytes were lost (entry.py, `unreadable`) stands in their place.
Every step takes bytes away, so damage can neither stop the reader nor make it run in circles.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator

from ddtree_ops.errors import UsageError
from ddtree_ops.triage.entry import FIELDS, MESSAGE_LIMIT, JournalEntry, from_fields, unreadable
from ddtree_ops.triage.forms.export_records import END, ODD, ExportRecords
from ddtree_ops.triage.forms.sieve import Item, OddRecordError, Sieve
from ddtree_ops.triage.forms.sifter import Sifter

_LENGTH = struct.Struct("<Q")
_DATA_LIMIT = 768 << 20  # the longest field that systemd itself would read (src/shared/journal-importer.h, DATA_SIZE_MAX)
_CURSOR = b"__CURSOR="
_START_TAIL = 600
_START = re.compile(rb"\n\n|__CURSOR=[\x21-\x7e]{1,512}\n")


def read_export(chunks: Iterable[bytes]) -> Iterator[JournalEntry]:
    """Entries of an export stream, each as soon as its closing empty line has arrived; an unfinished last one is dropped.

    Raises UsageError if the bytes aren't in export format at all.
    """
    for item in sift_export(chunks, None):
        if isinstance(item, JournalEntry):
            yield item


def sift_export(chunks: Iterable[bytes], sieve: Sieve | None) -> Iterator[Item]:
    """The same through a sieve."""
    reader = ExportReader(sieve)
    for chunk in chunks:
        yield from reader.feed(chunk)
    yield from reader.close()


class ExportReader:
    """The same, pushed: for callers that get bytes from a callback."""

    def __init__(self, sieve: Sieve | None = None) -> None:
        self._buffer = bytearray()
        self._fields: dict[str, str] = {}
        self._records = ExportRecords()
        self._sifter = Sifter(self._records, sieve) if sieve else None
        if sieve:
            sieve.begin(ExportRecords.spelling)
        self._inside = self._truncated = self._complete = False
        self._searched = 0  # bytes that hold no end of an entry and nothing odd
        self._skip = 0  # bytes of an overlong field that are still to come, with the newline behind it
        self._skip_line = False
        self._seeking = False  # after damage: nothing is understood before the next entry begins
        self._careful = False  # after damage until an entry is whole: field by field
        self._lost = 0
        self._last: JournalEntry | None = None

    def feed(self, chunk: bytes) -> Iterator[Item]:
        """Take the next bytes, give every entry that they complete. Raises UsageError if nothing so far is an entry."""
        self._buffer += chunk
        while True:
            if not (self._inside or self._skip or self._skip_line or self._careful):
                yield from self._sifted(self._sifter) if self._sifter else self._plain_entries()
                if self._sifter and self._is_only_unfinished():
                    break
            if not self._next_field():
                break
            if self._complete:
                yield from self._entry()
        if self._last is None and self._lost > MESSAGE_LIMIT:
            raise _foreign()

    def close(self) -> Iterator[Item]:
        """The end of the stream: what a field's wrong length would have swallowed is read, and the last loss is told.

        Raises UsageError if there was no entry, and not because the stream ended too early.
        """
        if self._sifter:
            yield from self._sifter.close()
            self._sifter = None
        if self._seeking:
            self._lost += len(self._buffer)
        elif self._skip and self._last:
            self._lost += MESSAGE_LIMIT  # so much at least went by
        lost, last = self._lost, self._last
        while self._waits_for_bytes():
            self._damage(1)
            yield from self.feed(b"")
        if self._last is last:  # the length was right: the last entry is unfinished
            self._lost = lost
        if self._lost and self._last is None:
            raise _foreign()
        yield from self._loss()

    def _plain_entries(self) -> Iterator[JournalEntry]:
        """The quick way, for entries without binary fields (nearly all): one split for each entry."""
        start, buffer = 0, self._buffer
        while start < (end := buffer.find(END, start)) <= start + MESSAGE_LIMIT:
            try:
                entry = self._records.decode(buffer[start:end])
            except OddRecordError:
                break
            yield from self._give(entry)
            start = end + len(END)
        del buffer[:start]

    def _sifted(self, sifter: Sifter) -> Iterator[Item]:
        """The quick way through a sieve: up to an odd entry, or the last one that is whole."""
        end = self._buffer.rfind(END, max(0, self._searched - 1)) + len(END)
        if end < len(END):
            return
        self._searched = 0
        block = bytes(self._buffer[:end])
        for item in sifter.feed(block):
            if isinstance(item, JournalEntry):
                yield from self._give(item)
            else:
                yield item
        del self._buffer[: len(block) - len(sifter.rest)]

    def _is_only_unfinished(self) -> bool:
        """Whether what is left is the beginning of an entry that the quick way can read."""
        buffer, start = self._buffer, max(0, self._searched - _START_TAIL)
        plain = len(buffer) <= MESSAGE_LIMIT and buffer.find(END, start) < 0 and not ODD.search(buffer, start)
        self._searched = len(buffer) if plain else 0
        return plain

    def _next_field(self) -> bool:
        """Consume one field, or the empty line after an entry; False if more bytes are needed."""
        self._complete = False
        buffer = self._buffer
        if self._seeking:
            return self._seek()
        if self._skip or self._skip_line:
            return self._skip_rest()
        end = buffer.find(b"\n")
        if end < 0:
            return self._cut_text_field() if len(buffer) > MESSAGE_LIMIT else False
        if end == 0:
            del buffer[:1]
            self._complete = self._inside
            return True
        equals = buffer.find(b"=", 0, end)
        name = buffer[: equals if equals >= 0 else min(end, 65)].decode("ascii", "replace")
        if name == "__CURSOR" and self._inside:
            return self._damage(0)
        if not self._records.is_name(name) or self._joins_two(name, end):
            return self._damage(1)
        return self._binary_field(name, end + 1) if equals < 0 else self._text_field(name, equals + 1, end)

    def _joins_two(self, name: str, end: int) -> bool:
        """Whether bytes are missing between two entries: each has the journal's own fields once, and no other in them."""
        return name.startswith("__") and (name in self._fields or self._buffer.find(_CURSOR, 1, end) >= 0)

    def _text_field(self, name: str, start: int, end: int) -> bool:
        try:
            self._set(name, self._buffer[start:end].decode(), cut=end - start > MESSAGE_LIMIT)
        except UnicodeDecodeError:  # journalctl writes such bytes as a binary field
            return self._damage(1)
        del self._buffer[: end + 1]
        return True

    def _binary_field(self, name: str, length_at: int) -> bool:
        buffer = self._buffer
        start = length_at + _LENGTH.size
        if len(buffer) < start:
            return False
        (length,) = _LENGTH.unpack_from(buffer, length_at)
        if length > _DATA_LIMIT:
            return self._damage(1)
        end = start + min(length, MESSAGE_LIMIT)
        cut = length > MESSAGE_LIMIT
        if len(buffer) <= end:
            return False
        if not cut and buffer[end] != 0x0A:
            return self._damage(1)
        self._set(name, buffer[start:end].decode("utf-8", "replace"), cut=cut)
        self._skip = length - MESSAGE_LIMIT + 1 if cut else 0
        del buffer[: end if cut else end + 1]
        return True

    def _cut_text_field(self) -> bool:
        name, separator, value = self._buffer.partition(b"=")
        text = name[:65].decode("ascii", "replace")
        if not separator or not self._records.is_name(text):
            return self._damage(1)
        self._set(text, value.decode("utf-8", "replace"), cut=True)
        self._skip_line = True
        self._buffer.clear()
        return True

    def _skip_rest(self) -> bool:
        buffer = self._buffer
        if self._skip:
            passed = min(self._skip - 1, len(buffer))
            self._skip -= passed
            del buffer[:passed]
            if not buffer:
                return False
            self._skip = 0
            return True if buffer.startswith(b"\n") and self._drop(1) else self._damage(0)
        end = buffer.find(b"\n")
        self._drop(end + 1 if end >= 0 else len(buffer))
        self._skip_line = end < 0
        return end >= 0

    def _damage(self, at_least: int) -> bool:
        """Give up the entry and look for the next one, behind the first `at_least` bytes."""
        self._fields, self._inside, self._truncated, self._skip_line = {}, False, False, False
        self._lost += max(1, at_least)
        self._skip = 0
        self._seeking = self._careful = True
        return self._drop(at_least)

    def _seek(self) -> bool:
        buffer = self._buffer
        found = _START.search(buffer)
        if found is None:  # the beginning of one may be at the end
            passed = max(0, len(buffer) - _START_TAIL)
        else:
            passed = found.end() if buffer[found.start()] == 0x0A else found.start()
        self._lost += passed
        self._seeking = found is None
        self._drop(passed)
        return found is not None

    def _waits_for_bytes(self) -> bool:
        """Whether the stream ended within a binary field, as its length has it."""
        line, newline, rest = self._buffer.partition(b"\n")
        return bool(newline and line and not self._seeking and not self._skip and not self._skip_line and len(rest) >= 8)

    def _drop(self, count: int) -> bool:
        del self._buffer[:count]
        return True

    def _set(self, name: str, value: str, *, cut: bool) -> None:
        self._inside = True
        self._truncated = self._truncated or cut
        if name in FIELDS:  # an entry may have any number of others, of any size
            self._fields[name] = value[:MESSAGE_LIMIT]

    def _entry(self) -> Iterator[JournalEntry]:
        fields, truncated = self._fields, self._truncated
        self._fields, self._truncated, self._inside = {}, False, False
        self._complete = self._careful = False
        yield from self._give(from_fields(fields, fields.get("MESSAGE", ""), truncated))

    def _give(self, entry: JournalEntry) -> Iterator[JournalEntry]:
        if self._lost:
            yield from self._loss()
        self._last = entry
        yield entry

    def _loss(self) -> Iterator[JournalEntry]:
        lost, self._lost = self._lost, 0
        if lost:
            yield unreadable(lost, self._last)


def _foreign() -> UsageError:
    return UsageError("not a journal in export format", hint="use journalctl -o export or -o json")
