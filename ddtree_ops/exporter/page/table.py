"""Which rows a reader asked for, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ddtree_ops.exporter.page.row import Row
from ddtree_ops.exporter.sight.model import RANK, HostSight, Server, State
from ddtree_ops.exporter.sight.words import plain

MOST_QUERY = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """A row with what it is sorted and searched by."""

    sight: HostSight
    server: Server
    row: Row

    @property
    def haystack(self) -> str:
        row = self.row
        words = (row.host, row.hardware, row.model, row.release, row.word, row.failure.kind if row.failure else "")
        return "\n".join(words).casefold()


def _largest(value: float | None) -> tuple[bool, float]:
    return value is None, -(value or 0.0)


def _newest_failure(entry: Entry) -> float | None:
    return entry.server.last_failure.last if entry.server.last_failure else None


SORTS: Mapping[str, Callable[[Entry], tuple[object, ...]]] = {
    "worst": lambda entry: (RANK[entry.server.state],),
    "host": lambda _entry: (),
    "model": lambda entry: (entry.row.model, entry.row.release),
    "requests": lambda entry: _largest(entry.server.traffic.running),
    "tokens": lambda entry: _largest(entry.server.traffic.tokens),
    "acceptance": lambda entry: _largest(entry.server.traffic.acceptance),
    "restarts": lambda entry: _largest(entry.server.restarts),
    "drift": lambda entry: _largest(entry.sight.drift_items),
    "failure": lambda entry: _largest(_newest_failure(entry)),
}


@dataclass(frozen=True, slots=True)
class Selection:
    """What the address asks for. What it can't mean is as if it weren't there."""

    query: str = ""
    state: State | None = None
    sort: str = "worst"

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Selection:
        state, sort = query.get("state", ""), query.get("sort", "")
        return cls(
            plain(query.get("q", "").strip(), MOST_QUERY),
            State(state) if state in tuple(State) else None,
            sort if sort in SORTS else "worst",
        )

    def choose(self, entries: Iterable[Entry]) -> list[Entry]:
        """All words of the query have to be in a row."""
        words = self.query.casefold().split()
        found = [
            entry
            for entry in entries
            if (self.state is None or entry.server.state is self.state)
            and (not words or all(word in entry.haystack for word in words))
        ]
        order = SORTS[self.sort]
        return sorted(found, key=lambda entry: (*order(entry), natural(entry.row.host)))


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """`ct9` before `ct10`."""
    parts, number = [], ""
    for character in name + "\0":
        if character.isascii() and character.isdigit() and len(number) < 15:
            number += character
            continue
        if number:
            parts.append((False, int(number), ""))
            number = ""
        parts.append((True, 0, character))
    return tuple(parts)


def counts(entries: Iterable[Entry]) -> list[tuple[State, int]]:
    """How many servers are in which state, worst first."""
    counted = Counter(entry.server.state for entry in entries)
    return [(state, counted[state]) for state in State if counted[state]]
