"""Which rows a reader asked for, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ddtree_ops.exporter.page.board import Drawn
from ddtree_ops.exporter.sight.model import RANK, State
from ddtree_ops.exporter.sight.order import natural
from ddtree_ops.exporter.sight.words import plain

MOST_QUERY = 100


def _largest(value: float | None) -> tuple[bool, float]:
    return value is None, -(value or 0.0)


SORTS: Mapping[str, Callable[[Drawn], tuple[object, ...]]] = {
    "worst": lambda one: (RANK[one.server.state],),
    "host": lambda _one: (),
    "model": lambda one: (one.row.model, one.row.release),
    "requests": lambda one: _largest(one.server.traffic.running),
    "tokens": lambda one: _largest(one.server.traffic.tokens),
    "acceptance": lambda one: _largest(one.server.traffic.acceptance),
    "restarts": lambda one: _largest(one.server.restarts),
    "drift": lambda one: _largest(one.sight.drift_items),
    "failure": lambda one: _largest(one.row.failure.last if one.row.failure else None),
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

    @property
    def parameters(self) -> dict[str, str]:
        """As an address gives it."""
        sort = self.sort if self.sort != "worst" else ""
        return {"q": self.query, "state": str(self.state or ""), "sort": sort}

    def choose(self, drawn: Iterable[Drawn]) -> list[Drawn]:
        """The rows to show, in order. All words of the query have to be in a row."""
        words = self.query.casefold().split()
        found = [one for one in drawn if self.state in (None, one.server.state) and _has(one, words)]
        order = SORTS[self.sort]
        return sorted(found, key=lambda one: (*order(one), natural(one.row.host)))


def _has(one: Drawn, words: Iterable[str]) -> bool:
    row = one.row
    told = (row.host, row.hardware, row.model, row.release, row.word, row.failure.kind if row.failure else "")
    haystack = "\n".join(told).casefold() if words else ""
    return all(word in haystack for word in words)
