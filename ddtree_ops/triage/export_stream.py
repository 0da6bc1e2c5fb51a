"""`journalctl -o export`: a stream of entries, each a block of fields that ends with an empty line.

A field is `NAME=text\\n`, or, for bytes that aren't clean text, `NAME\\n`, 8 bytes of little-endian length, the bytes and
`\\n` (systemd's JOURNAL_EXPORT_FORMATS document). The reader holds one entry at a time and at most `MESSAGE_LIMIT` bytes
of one field; longer ones are cut while they pass by.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from ddtree_ops.errors import UsageError
from ddtree_ops.triage.entry import MESSAGE_LIMIT, JournalEntry, from_fields

_LENGTH = struct.Struct("<Q")
_NAME_LIMIT = 256


def read_export(chunks: Iterable[bytes]) -> Iterator[JournalEntry]:
    """Entries of an export stream, each as soon as its closing empty line has arrived; an unfinished last one is dropped.

    Raises UsageError if the bytes aren't in export format.
    """
    reader = ExportReader()
    for chunk in chunks:
        yield from reader.feed(chunk)


class ExportReader:
    """The same, pushed: for callers that get bytes from a callback."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._fields: dict[str, str] = {}
        self._truncated = False
        self._skip = 0  # bytes of an overlong field that are still to come
        self._skip_line = False

    def feed(self, chunk: bytes) -> Iterator[JournalEntry]:
        """Take the next bytes, give every entry that they complete."""
        self._buffer += chunk
        while True:
            if not self._fields and not self._skip and not self._skip_line:
                yield from self._plain_entries()
            if not self._next_field():
                return
            if self._complete:
                yield self._entry()

    def _plain_entries(self) -> Iterator[JournalEntry]:
        """The quick way, for entries without binary fields (nearly all): one split for each entry.

        A binary field's name stands alone on its line, so the first line without `=` says that the quick way is wrong;
        every line before it was a real field.
        """
        start, buffer = 0, self._buffer
        while (end := buffer.find(b"\n\n", start)) >= 0:
            text = buffer[start:end].decode("utf-8", "replace")
            try:
                fields = dict([line.split("=", 1) for line in text.split("\n")])
            except ValueError:
                break
            if end - start > MESSAGE_LIMIT:
                break
            yield from_fields(fields, fields.get("MESSAGE", ""))
            start = end + 2
        del buffer[:start]

    _complete = False

    def _next_field(self) -> bool:
        """Consume one field, or the empty line after an entry; False if more bytes are needed."""
        self._complete = False
        buffer = self._buffer
        if self._skip or self._skip_line:
            return self._skip_rest()
        end = buffer.find(b"\n")
        if end < 0:
            return self._cut_text_field() if len(buffer) > MESSAGE_LIMIT else False
        if end == 0:
            del buffer[:1]
            self._complete = bool(self._fields)
            return True
        equals = buffer.find(b"=", 0, end)
        if equals < 0:
            return self._binary_field(end)
        self._set(bytes(buffer[:equals]), bytes(buffer[equals + 1 : end]))
        del buffer[: end + 1]
        return True

    def _binary_field(self, name_end: int) -> bool:
        buffer = self._buffer
        if name_end > _NAME_LIMIT:
            raise UsageError("not a journal in export format", hint="use journalctl -o export or -o json")
        start = name_end + 1 + _LENGTH.size
        if len(buffer) < start:
            return False
        (length,) = _LENGTH.unpack_from(buffer, name_end + 1)
        kept = min(length, MESSAGE_LIMIT)
        if len(buffer) < start + kept + (1 if kept == length else 0):
            return False
        self._set(bytes(buffer[:name_end]), bytes(buffer[start : start + kept]))
        if kept == length:
            if buffer[start + kept] != 0x0A:
                raise UsageError("not a journal in export format: a field's length is wrong")
            kept += 1
        else:
            self._truncated = True
            self._skip = length - kept + 1
        del buffer[: start + kept]
        return True

    def _cut_text_field(self) -> bool:
        name, separator, value = bytes(self._buffer).partition(b"=")
        if not separator or len(name) > _NAME_LIMIT:
            raise UsageError("not a journal in export format", hint="use journalctl -o export or -o json")
        self._set(name, value)
        self._truncated = self._skip_line = True
        self._buffer.clear()
        return True

    def _skip_rest(self) -> bool:
        buffer = self._buffer
        if self._skip:
            passed = min(self._skip, len(buffer))
            self._skip -= passed
            del buffer[:passed]
            return not self._skip
        end = buffer.find(b"\n")
        del buffer[: end + 1 if end >= 0 else len(buffer)]
        self._skip_line = end < 0
        return end >= 0

    def _set(self, name: bytes, value: bytes) -> None:
        self._fields[name.decode("ascii", "replace")] = value[:MESSAGE_LIMIT].decode("utf-8", "replace")

    def _entry(self) -> JournalEntry:
        fields, truncated = self._fields, self._truncated
        self._fields, self._truncated, self._complete = {}, False, False
        return from_fields(fields, fields.get("MESSAGE", ""), truncated)
