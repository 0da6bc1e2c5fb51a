"""Lines of text: a program's own output, journalctl's short forms, dmesg, syslog, container logs, and mixtures of them.

What stands before a line's text is told line by line (headers.py). journalctl indents the further lines of a message by
the width of the header: they get the header of their first line; dmesg does so too. A line without a header has no fields.
"""

from __future__ import annotations

import re

from ddtree_ops.triage.entry import MESSAGE_LIMIT, JournalEntry
from ddtree_ops.triage.forms.colours import painted_width, uncoloured
from ddtree_ops.triage.forms.headers import KERNEL, LIMIT, Header, read_header
from ddtree_ops.triage.forms.learned import Learned
from ddtree_ops.triage.forms.manager_unit import manager_unit
from ddtree_ops.triage.forms.numbers_but import dated, other_number
from ddtree_ops.triage.forms.parts import Parts
from ddtree_ops.triage.forms.sieve import Spelling

_NARROWEST = 16  # no header of journalctl is shorter, so indented code isn't taken for a message's further line
_NARROWEST_OF_KERNEL = 15  # `[    0.000000] `
_MANAGERS = ("systemd", "systemd-executor")
_LOOK_BACK = 1 << 16
_REMARK = re.compile(
    r"-- (?:Boot (?P<boot>[0-9a-f]{32})|Reboot|No entries|cursor: [\x21-\x7e]{1,512}|(?:Logs|Journal) begins? at .{1,200}) --$"
    r"|-- cursor: [\x21-\x7e]{1,512}$"
)
_NO_HEADER = Header(0)


def _pid(number: int) -> bytes:
    return rb"\[%d\]: " % number


def _unheard(numbers: frozenset[int], ranked: bool) -> bytes:
    return rb"\[" + other_number(numbers, rb"\]: ") + dated(ranked)


class TextLines:
    """Reads one line after the other. `now_us`: for times without a year (times.py)."""

    separator = b"\n"
    line_limit, drop_rest = MESSAGE_LIMIT, False
    spelling = Spelling(always=(rb"\[1\]: ", rb"\n-- Boot [0-9a-f]", rb" (?:stdout|stderr) P"), pid=_pid, unheard=_unheard)

    def __init__(self, now_us: int | None = None) -> None:
        self._now_us = now_us
        self._boot: str | None = None
        self._last = _NO_HEADER
        self._parts = Parts()
        self._learned = Learned()

    @property
    def holds(self) -> bool:
        """Whether a part of a line waits for its rest."""
        return bool(self._parts)

    def decode(self, line: bytes) -> JournalEntry | None:
        """The entry of a line (without its newline), or None: a remark of journalctl, or a part of a line."""
        text = line.decode("utf-8", "replace")
        if text.startswith("-- "):
            remark = _REMARK.match(text)
            if remark:
                self._boot = remark["boot"] or self._boot
                return None
        header = self._header(text)
        if header is None:
            header = self._further(text)
        else:
            self._last = header
        message = self._parts.join(header.transport, text[header.width :], partial=header.partial)
        return None if message is None else self._entry(header, message)

    def flush(self) -> JournalEntry | None:
        """What is still held, at the end."""
        held = self._parts.flush()
        return self._entry(Header(0, transport=held[0]), held[1]) if held else None

    def recall(self, data: bytes, before: int) -> None:
        """Lines were left out: find the header that an indented line at `before` belongs to."""
        self._last = _NO_HEADER
        if data[before : before + 1] != b" ":
            return
        end, least = before - 1, max(0, before - _LOOK_BACK)
        while end > least:
            start = data.rfind(b"\n", 0, end) + 1
            if data[start : start + 1] != b" ":
                self._last = read_header(data[start : start + LIMIT].decode("utf-8", "replace"), self._now_us) or _NO_HEADER
                return
            end = start - 1

    def count(self, data: bytes, start: int, end: int) -> int:
        """Each line is an entry."""
        return data.count(b"\n", start, end)

    def _header(self, text: str) -> Header | None:
        head = text[:LIMIT]
        painted = head.startswith("\x1b[")
        plain = uncoloured(head) if painted else head
        header = read_header(plain, self._now_us)
        if header is None:
            header = self._learned.read(plain)
        else:
            self._learned.note(header)
        return header._replace(width=painted_width(head, header.width)) if painted and header else header

    def _further(self, text: str) -> Header:
        """The header of the message that an indented line goes on, or none."""
        width = self._last.width
        least = _NARROWEST_OF_KERNEL if self._last.comm == KERNEL else _NARROWEST
        if width >= least and text.startswith(" " * width):
            return self._last
        self._last = _NO_HEADER
        return _NO_HEADER

    def _entry(self, header: Header, message: str) -> JournalEntry:
        comm = header.comm or ""
        manager = header.pid is not None and (comm in _MANAGERS or comm.startswith("("))
        return JournalEntry(
            None,
            header.realtime_us,
            header.monotonic_us,
            self._boot,
            None,
            header.unit or (manager_unit(message) if manager else None),
            header.pid,
            header.comm,
            header.transport,
            None,
            message[:MESSAGE_LIMIT],
            None,
            len(message) > MESSAGE_LIMIT,
            header.hostname,
        )
