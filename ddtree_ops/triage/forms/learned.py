"""Headers that no line shows by itself: they are known by what the lines before had.

- `NAME  | ` of docker compose, where `container_name:` gives the name (without a number behind it): compose pads all names
  to one column. A table looks alike, so a name counts if the log begins with it, if the line before had it too, or if a
  known name has its bar in the same column.
- `HOST program[7]: ` of a journal whose times were cut away: HOST once stood before `systemd[1]: `.
"""

from __future__ import annotations

import re

from ddtree_ops.triage.forms.headers import Header, timeless, within

_SERVICE = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]{0,100}) {2,80}\| ?")
_WRITER = re.compile(r"(?P<host>[\w.-]{1,253}) (?P<name>[^\s\[\]:]{1,64})(?:\[(?P<pid>\d{1,10})\]|(?<= kernel)): ")
_LIMIT = 64


class Learned:
    """Ask it of every line, in order, that has no header of its own."""

    def __init__(self) -> None:
        self._hosts: set[str] = set()
        self._services: set[str] = set()
        self._columns: set[int] = set()
        self._before: str | None = ""  # the service name that the line before may have had; empty: there was no line

    def note(self, header: Header | None) -> None:
        """A line had a header of its own."""
        self._before = None
        if header and header.hostname and header.realtime_us is header.monotonic_us is None and len(self._hosts) < _LIMIT:
            self._hosts.add(header.hostname)

    def read(self, text: str) -> Header | None:
        """The header of a line that has none of a known shape, or None."""
        before, self._before = self._before, None
        found = _SERVICE.match(text) if "  | " in text[:200] or text.endswith("  |") else None
        if found:
            self._before = found["name"]
            return self._service(text, found, before)
        if not self._hosts:
            return None
        writer = _WRITER.match(text)
        return timeless(writer) if writer and writer["host"] in self._hosts else None

    def _service(self, text: str, found: re.Match[str], before: str | None) -> Header | None:
        name, column = found["name"], text.index("|")
        if name not in self._services:
            if before not in ("", name) and column not in self._columns:
                return None
            if len(self._services) < _LIMIT:
                self._services.add(name)
                self._columns.add(column)
        return within(text, found.end(), name)
