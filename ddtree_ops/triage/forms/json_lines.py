"""One JSON object per line: `journalctl -o json`, `-o json-seq`, `-o json-sse`, and docker's json-file log driver.

A value is a string; an array of numbers for bytes that aren't clean UTF-8 text (a `\\r` is enough); null for more than
4096 bytes without `--all`; an array of such values where the field occurs several times (journalctl(1), --output=json).
docker writes `{"log": "text\\n", "stream": "stderr", "time": "..."}` and cuts lines at 16 KiB: only the last part ends
with a newline.
"""

from __future__ import annotations

import json

import orjson

from ddtree_ops.triage.entry import MESSAGE_LIMIT, JournalEntry, from_fields
from ddtree_ops.triage.forms import times
from ddtree_ops.triage.forms.numbers_but import dated, other_number
from ddtree_ops.triage.forms.parts import Parts
from ddtree_ops.triage.forms.sieve import Spelling

LINE_LIMIT = 6 * MESSAGE_LIMIT  # a byte of a binary message takes up to four characters


def _units(name: str | None) -> tuple[bytes, ...]:
    value = b"" if name is None else json.dumps(name).encode()
    return (b'"_SYSTEMD_UNIT":' + value, b'"_SYSTEMD_UNIT": ' + value) if name else (b'"_SYSTEMD_UNIT":',)


def _pid(number: int) -> bytes:
    return rb'"_PID" ?: ?"%d"' % number


def _unheard(numbers: frozenset[int], ranked: bool) -> bytes:
    writer, message = rb'"_PID" ?: ?"' + other_number(numbers, b'"'), rb'"MESSAGE" ?: ?"' + dated(ranked)
    return rb"(?:%s[^\n]*%s|%s[^\n]*%s)" % (writer, message, message, writer)


class JsonLines:
    """Reads one line after the other.

    A line that is no JSON object becomes an entry without fields whose message is the line, so that nothing is lost
    silently; journalctl's own remarks (`-- No entries --`) and empty lines are left out.
    """

    separator = b"\n"
    line_limit, drop_rest = LINE_LIMIT, True
    spelling = Spelling(
        # Bytes, the manager's, a part of a line (journald's, docker's).
        always=(rb'"MESSAGE" ?: ?\[', rb'"_PID" ?: ?"1"', rb'"_LINE_BREAK"', rb'(?:[^n]|[^\\]n)", ?"stream"'),
        pid=_pid,
        unheard=_unheard,
        escape=rb"\\u001[bB]",
        units=_units,
    )

    def __init__(self) -> None:
        self._parts = Parts()

    @property
    def holds(self) -> bool:
        """Whether a part of a line waits for its rest."""
        return bool(self._parts)

    def decode(self, line: bytes) -> JournalEntry | None:
        """The entry of a line, or None: an empty one, a remark of journalctl, or a part of a docker line."""
        text = line.strip(b" \t\r\x1e")
        if text.startswith(b"data:"):
            text = text[5:].lstrip()
        if not text or text.startswith(b"-- "):
            return None
        data = _load(text)
        if not isinstance(data, dict):
            return _raw(text)
        log = data.get("log")
        # ansible-runner's events and docker's `inspect` have forms of their own
        if "MESSAGE" not in data and ("event_data" in data or "OOMKilled" in data):
            return _raw(text)
        if isinstance(log, str) and "MESSAGE" not in data:
            return self._docker(log, data)
        return _journal(data) if "MESSAGE" in data or "__CURSOR" in data else _raw(text)  # else a program's own JSON

    def flush(self) -> JournalEntry | None:
        """What is still held, at the end."""
        held = self._parts.flush()
        return from_fields({"_TRANSPORT": held[0] or ""}, held[1]) if held else None

    def recall(self, data: bytes, before: int) -> None:
        """Lines may be left out: each stands for itself."""

    def count(self, data: bytes, start: int, end: int) -> int:
        """Empty lines are no entries (`-o json-sse` has one after each)."""
        if data.find(b"\n\n", start, end) < 0:
            return data.count(b"\n", start, end)
        return sum(1 for line in data[start:end].split(b"\n") if line)

    def _docker(self, log: str, data: dict[str, object]) -> JournalEntry | None:
        stream = _text(data.get("stream"))
        text = self._parts.join(stream, log, partial=not log.endswith("\n"))
        if text is None:
            return None
        entry = from_fields({"_TRANSPORT": stream}, text.removesuffix("\n")[:MESSAGE_LIMIT], len(text) > MESSAGE_LIMIT)
        return entry._replace(realtime_us=times.rfc3339(_text(data.get("time"))))


def parse_json_line(line: bytes | str) -> JournalEntry:
    """One line of `journalctl -o json`."""
    raw = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    data = _load(raw)
    return _journal(data) if isinstance(data, dict) else _raw(raw)


def _load(text: bytes) -> object:
    """The value, or None if it is no JSON. Python's own reader takes what orjson refuses: NaN, halves of surrogate pairs."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if text[:1] not in (b"{", b"["):
            return None
    try:
        return _whole(json.loads(text.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def _whole(value: object) -> object:
    """Without halves of surrogate pairs, which no encoding can write."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return {_whole(name): _whole(item) for name, item in value.items()} if isinstance(value, dict) else value


def _raw(text: bytes) -> JournalEntry:
    return from_fields({}, text.decode("utf-8", "replace")[:MESSAGE_LIMIT], len(text) > MESSAGE_LIMIT)


def _journal(data: dict[str, object]) -> JournalEntry:
    message = data.get("MESSAGE", "")
    text = message if isinstance(message, str) else _text(message)
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
