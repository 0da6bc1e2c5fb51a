"""One unit of a log of several.

Journal fields name the unit of every entry. In the text forms only what the manager says names one (manager_unit.py), so
there a process is known to be another unit's in two cases: the manager named its unit with its process id, or it spoke
before the log's first word of the wanted unit, and that word is that the unit starts.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.sieve import Item

_NAMED = 8
_HELD_LIMIT = 2000
_PROCESSES = 256
_MANAGER = 1
_BEGINS = ("Starting ", "Started ")


class Units:
    """Which entries are fed: the unit's own, and those of which nothing tells whose they are. `others`: what else there was."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self.found = False
        self.others: dict[str, None] = {}  # some of the other units
        self._held: list[Item] = []
        self._open = True  # the wanted unit wasn't named yet
        self._strangers: dict[int, None] = {}  # processes of other units

    @property
    def holds(self) -> bool:
        """Whether entries wait until it is known whose they are: none may be left out then."""
        return bool(self._held)

    def take(self, item: Item) -> list[Item]:
        """What is to be fed now, in order."""
        if not isinstance(item, JournalEntry):
            return self._later(item) if self._held else [item]
        if item.unit == self.wanted:
            return [*self._settle(begins=item.pid == _MANAGER and item.message.startswith(_BEGINS)), item]
        if item.unit is not None:
            self._other(item.unit, item.pid)
            return []
        if _nobodys(item) and item.pid in self._strangers:
            return []
        return self._later(item) if self._held or (self._open and _nobodys(item)) else [item]

    def rest(self) -> list[Item]:
        """What still waits, at the end."""
        held, self._held = self._held, []
        return held

    def _later(self, item: Item) -> list[Item]:
        self._held.append(item)
        if len(self._held) < _HELD_LIMIT:
            return []
        self._open = False
        return self.rest()

    def _settle(self, *, begins: bool) -> Iterator[Item]:
        """The wanted unit was named: if it only begins here, no process before was one of its own."""
        waited, self.found, self._open = self._open, True, False
        for item in self.rest():
            if not (waited and begins and isinstance(item, JournalEntry) and _nobodys(item)):
                yield item

    def _other(self, unit: str, pid: int | None) -> None:
        if len(self.others) < _NAMED:
            self.others[unit] = None
        if pid is not None and pid != _MANAGER and len(self._strangers) < _PROCESSES:
            self._strangers[pid] = None


def _nobodys(entry: JournalEntry) -> bool:
    """Whether a process wrote it whose unit a field would tell, if the form had fields."""
    return entry.cursor is None and entry.unit is None and entry.pid is not None and entry.pid != _MANAGER
