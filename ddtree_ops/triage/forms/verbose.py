"""`journalctl -o verbose`: a line with time and cursor, then the fields, one a line and indented by four columns.

Further lines of a value are indented by four columns and the width of `NAME=` (journalctl(1), systemd 252).
"""

from __future__ import annotations

import re

from ddtree_ops.triage.entry import FIELDS, MESSAGE_LIMIT, JournalEntry, from_fields
from ddtree_ops.triage.forms import times
from ddtree_ops.triage.forms.sieve import WholeForm

START = re.compile(
    rb"[A-Z][a-z]{2} (?P<date>\d{4}-\d\d-\d\d) (?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d{6}) [\w:+-]{1,9} "
    rb"\[(?P<cursor>s=[\x21-\x7e]{1,512})\]\s*"
)
_LINE_COST = 60  # bytes that a short line takes in memory
_SIZE_LIMIT = 8 * MESSAGE_LIMIT
_FIELD = re.compile(r" {4}(?P<name>[A-Z_][A-Z0-9_]{0,63})=")


class Verbose(WholeForm):
    """Reads one line after the other; an entry comes with the first line of the next one."""

    line_limit, drop_rest = MESSAGE_LIMIT, False

    def __init__(self) -> None:
        self._fields: dict[str, list[str]] | None = None  # each with its lines
        self._name = ""
        self._size = 0

    def decode(self, line: bytes) -> JournalEntry | None:
        """Take a line; give the entry before it, if one begins here."""
        found = START.fullmatch(line)
        if found:
            entry = self.flush()
            at = times.instant(found["date"].decode(), found["clock"].decode(), found["fraction"].decode(), None)
            self._fields = {"__CURSOR": [found["cursor"].decode()], "__REALTIME_TIMESTAMP": [str(at or "")]}
            return entry
        text = line.decode("utf-8", "replace")
        if self._fields is None:
            return from_fields({}, text[:MESSAGE_LIMIT]) if text.strip() and not text.startswith("-- ") else None
        self._take(self._fields, text)
        return None

    def flush(self) -> JournalEntry | None:
        """The entry that is being read."""
        fields, self._fields, self._size = self._fields, None, 0
        if fields is None:
            return None
        joined = {name: "\n".join(lines) for name, lines in fields.items()}
        message = joined.get("MESSAGE", "")
        return from_fields(joined, message[:MESSAGE_LIMIT], len(message) > MESSAGE_LIMIT)

    def _take(self, fields: dict[str, list[str]], text: str) -> None:
        self._size += len(text) + _LINE_COST
        if self._size > _SIZE_LIMIT:
            return
        found = _FIELD.match(text)
        if found:
            self._name = found["name"]
            if self._name in FIELDS:
                fields.setdefault(self._name, [text[found.end() :]])
        elif self._name in fields and text.startswith(" " * (indent := len(self._name) + 5)):
            fields[self._name].append(text[indent:])
