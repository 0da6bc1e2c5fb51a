"""Whole entries of the export format, for the quick way: those whose every line is `NAME=text`."""

from __future__ import annotations

import re

from ddtree_ops.triage.entry import JournalEntry, from_fields
from ddtree_ops.triage.forms.numbers_but import dated, other_number
from ddtree_ops.triage.forms.sieve import OddRecordError, Spelling

END = b"\n\n"
# A line that isn't `NAME=text` (a binary field's name stands alone), or the begin of an entry where none may begin.
_ODD = rb"(?:\A|\n)(?:[A-Z0-9_]+[^A-Z0-9_=]|[^A-Z0-9_\n])|[^\n]\n?__CURSOR="
ODD = re.compile(_ODD)
_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")  # systemd.journal-fields(7); 64 is journald's limit
_KNOWN_LIMIT = 1024


def _units(name: str | None) -> tuple[bytes, ...]:
    return (b"\n_SYSTEMD_UNIT=",) if name is None else (b"\n_SYSTEMD_UNIT=%s\n" % name.encode(),)


def _pid(number: int) -> bytes:
    return rb"\n_PID=%d\n" % number


def _unheard(numbers: frozenset[int], ranked: bool) -> bytes:
    writer, message, between = rb"_PID=" + other_number(numbers, rb"\n"), rb"MESSAGE=" + dated(ranked), rb"(?:[^\n]+\n)*"
    return rb"\n(?:%s%s%s|%s[^\n]*\n%s%s)" % (writer, between, message, message, between, writer)


class ExportRecords:
    """Reads one entry after the other."""

    separator = END
    holds = False
    spelling = Spelling(always=(_ODD, rb"\n_PID=1\n", rb"\n_LINE_BREAK="), pid=_pid, unheard=_unheard, units=_units)

    def __init__(self) -> None:
        self._names: set[str] = set()  # field names that were looked at and are right

    def decode(self, record: bytes | bytearray) -> JournalEntry:
        """The entry. Raises OddRecordError for one that needs to be read field by field."""
        if record.find(b"__CURSOR=", 1) >= 0:  # quoted, or of another entry
            raise OddRecordError
        try:
            fields = dict([line.split("=", 1) for line in record.decode().split("\n")])
        except ValueError:
            raise OddRecordError from None
        if not (fields.keys() <= self._names or all(map(self.is_name, fields))):
            raise OddRecordError
        return from_fields(fields, fields.get("MESSAGE", ""))

    def recall(self, data: bytes, before: int) -> None:
        """Entries may be left out: each stands for itself."""

    def count(self, data: bytes, start: int, end: int) -> int:
        """Each ends with an empty line."""
        return data.count(END, start, end)

    def is_name(self, name: str) -> bool:
        """Whether a field may be called so."""
        right = name in self._names or _NAME.fullmatch(name) is not None
        if right and len(self._names) < _KNOWN_LIMIT:
            self._names.add(name)
        return right
