"""`journalctl -o json`: one JSON object per line.

A value is a string; an array of numbers for bytes that aren't clean UTF-8 text (a `\\r` is enough); null for more than
4096 bytes without `--all`; an array of such values where the field occurs several times (journalctl(1), --output=json).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from ddtree_ops.triage.entry import MESSAGE_LIMIT, JournalEntry, from_fields

_LINE_LIMIT = 16 * MESSAGE_LIMIT  # a byte of a binary message takes up to five characters


def read_json(chunks: Iterable[bytes]) -> Iterator[JournalEntry]:
    """Entries of a JSON journal, each as soon as its line is complete.

    A line that is no JSON object becomes an entry without fields whose message is the line, so that nothing is lost
    silently; journalctl's own remarks (`-- No entries --`) and empty lines are left out.
    """
    for line in _lines(chunks):
        text = line.strip()
        if text and not text.startswith(b"-- "):
            yield parse_json_line(text)


def parse_json_line(line: bytes | str) -> JournalEntry:
    """One line of `journalctl -o json`."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raw = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        return from_fields({}, raw[:MESSAGE_LIMIT], len(raw) > MESSAGE_LIMIT)
    message = data.get("MESSAGE", "")
    if isinstance(message, str):
        fields = {name: value if isinstance(value, str) else _text(value) for name, value in data.items()}
        return from_fields(fields, message[:MESSAGE_LIMIT], len(message) > MESSAGE_LIMIT)
    text = _text(message)
    fields = {name: value if isinstance(value, str) else _text(value) for name, value in data.items()}
    return from_fields(fields, text[:MESSAGE_LIMIT], message is None or len(text) > MESSAGE_LIMIT)


def _text(value: object) -> str:
    while isinstance(value, list):
        if all(type(item) is int and 0 <= item < 256 for item in value):
            return bytes(value).decode("utf-8", "replace")
        value = value[-1]  # a field that occurs several times: the last one counts, as in the export format
    if isinstance(value, str):
        return value
    return "" if value is None else str(value)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        rest += chunk
        *lines, rest = rest.split(b"\n")
        yield from lines
        if len(rest) > _LINE_LIMIT:
            yield rest
            rest = b""
    if rest:
        yield rest
