"""One journal entry, the unit of everything that triage reads."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

#: Bytes of a message that are kept. journald itself splits a service's output at 48 KiB (journald.conf(5), LineMax=);
#: only entries from the native protocol are larger.
MESSAGE_LIMIT = 1 << 20

#: The fields that `JournalEntry` needs; __CURSOR, the two timestamps and _BOOT_ID come always (journalctl(1), --output-fields=).
OUTPUT_FIELDS = (
    "MESSAGE",
    "PRIORITY",
    "UNIT",
    "INVOCATION_ID",
    "_PID",
    "_COMM",
    "_TRANSPORT",
    "_SYSTEMD_UNIT",
    "_SYSTEMD_INVOCATION_ID",
    "_LINE_BREAK",
)


#: All that an entry is made of. The host's name is not asked for over SSH, where it is known.
FIELDS = frozenset((*OUTPUT_FIELDS, "__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_BOOT_ID", "_HOSTNAME"))

#: The `transport` of an entry that stands for bytes which were no entry.
UNREADABLE = "unreadable"
#: The `transport` of the kernel's own lines (systemd.journal-fields(7), _TRANSPORT=).
KERNEL = "kernel"


class LineBreak(StrEnum):
    """Why an entry ends where no newline stood (systemd.journal-fields(7), _LINE_BREAK=)."""

    NUL = "nul"
    LINE_MAX = "line-max"
    EOF = "eof"
    PID_CHANGE = "pid-change"


class JournalEntry(NamedTuple):
    """One entry, immutable. A tuple and not a dataclass: 100,000 of them a second are built.

    Times are microseconds: `realtime_us` since the epoch, `monotonic_us` since boot. `message` is text whatever bytes
    the entry held (wrong UTF-8 becomes U+FFFD) and may hold control characters. What the manager (PID 1) says about a
    unit has that unit's name and invocation here. `truncated`: journalctl or our limit left part of the message out.
    """

    cursor: str | None
    realtime_us: int | None
    monotonic_us: int | None
    boot_id: str | None
    invocation_id: str | None
    unit: str | None
    pid: int | None
    comm: str | None
    transport: str | None
    priority: int | None
    message: str
    line_break: LineBreak | None
    truncated: bool = False
    hostname: str | None = None


_DIGITS = 20  # of the largest 64-bit number
_LINE_BREAKS = {item.value: item for item in LineBreak}


def number(text: str | None) -> int | None:
    """A field that should be a decimal number, or None."""
    return int(text) if text is not None and len(text) <= _DIGITS and text.isascii() and text.isdigit() else None


def unreadable(size: int, after: JournalEntry | None) -> JournalEntry:
    """Stands for at least `size` bytes that could not be read; it has the place (cursor, times, run) of the entry before."""
    message = f"{size:,} bytes or more of the journal's export could not be read here"
    before = after or from_fields({}, "")
    return before._replace(
        message=message, unit=None, pid=None, comm=None, transport=UNREADABLE, line_break=None, truncated=False
    )


def from_fields(get: Mapping[str, str], message: str, truncated: bool = False) -> JournalEntry:
    """Build the entry from journal field names (systemd.journal-fields(7)) as text."""
    field = get.get
    return JournalEntry(
        field("__CURSOR"),
        number(field("__REALTIME_TIMESTAMP")),
        number(field("__MONOTONIC_TIMESTAMP")),
        field("_BOOT_ID"),
        field("INVOCATION_ID") or field("_SYSTEMD_INVOCATION_ID"),
        field("UNIT") or field("_SYSTEMD_UNIT"),
        number(field("_PID")),
        field("_COMM"),
        field("_TRANSPORT"),
        number(field("PRIORITY")),
        message,
        _LINE_BREAKS.get(field("_LINE_BREAK") or ""),
        truncated,
        field("_HOSTNAME"),
    )
