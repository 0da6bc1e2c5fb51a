"""Follow a value from where it starts, the shortest ways first.

A value that enters a function by a call comes back to that call only (each function is followed once for each parameter that a
value enters by, and the calls are noted beside it). Once it is kept in an attribute, it can come out anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from .cost import Cost
from .paths import Path
from .places import Given, Line, Move, Place, Result, Returned
from .program import FunctionId, Variable
from .steps import Steps

Entry = tuple[Given, Path] | None


class Within(Protocol):
    """The places that matter."""

    def __contains__(self, place: Place) -> bool: ...


class State(NamedTuple):
    """A place that holds the value; `entry`: by which parameter it came into the function."""

    place: Place
    path: Path
    entry: Entry


class Origin(NamedTuple):
    """How a state was reached: from another, by these lines. `before`: of a value that a call gave back, the one that went in."""

    state: State | None
    lines: tuple[Line, ...]
    before: State | None = None


class Search:
    """One value's way through a program.

    `origins`: all states reached, the nearest first. `within`: places outside of it are left alone.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.lookup = steps.lookup
        self.within: Within | None = None
        self.ended = False
        """Whether everything was followed, or all that could be a better way."""
        self.origins: dict[State, Origin] = {}
        self.followed: dict[State, int] = {}
        """States in the order in which they were followed, with their cost."""
        self._found: tuple[int, State] | None = None
        self._cost = Cost(steps.program)
        self._best: dict[State, int] = {}
        self._heap: list[tuple[int, int, State]] = []
        self._count = 0
        self._calls: dict[Entry, list[tuple[Result, State]]] = {}
        self._ends: dict[Entry, list[State]] = {}
        self._callers: dict[FunctionId, tuple[Result, ...]] = {}

    def start(self, places: Iterable[tuple[Place, Path, tuple[Line, ...]]]) -> None:
        """Begin at these places."""
        for place, path, lines in places:
            self._reach(State(place, path, None), Origin(None, lines), 0)

    def run(self, rank: Callable[[State], int | None], bound: int) -> State | None:
        """Follow until a state is found, to the end, or so many states further.

        `rank`: None for a state that isn't looked for, else how many steps a better one may be further away.
        """
        for _ in range(bound):
            found = self._found
            if not self._heap or (found is not None and self._heap[0][0] >= found[0]):
                self.ended = True
                break
            cost, _, state = heappop(self._heap)
            if state in self.followed or (self.within is not None and state.place not in self.within):
                continue
            self.followed[state] = cost
            off = rank(state)
            if off is not None and (found is None or cost + off < found[0]):
                self._found = (cost + off, state)
            for following, origin in self._after(state):
                self._reach(following, origin, cost + self._cost.of(following.place, origin.lines))
        return self._found[1] if self._found else None

    def _reach(self, state: State, origin: Origin, cost: int) -> None:
        best = self._best.get(state)
        if best is None or (cost < best and state not in self.followed):
            self._best[state] = cost
            self.origins[state] = origin
            self._count += 1
            heappush(self._heap, (cost, self._count, state))

    def _after(self, state: State) -> Iterator[tuple[State, Origin]]:
        if isinstance(state.place, Returned):
            yield from self._returned(state, state.place)
            return
        for move in self.steps.after(state.place, state.path):
            if move.entered is not None:
                yield from self._entered(state, move, move.entered)
            else:
                yield State(move.place, move.path, state.entry if move.local else None), Origin(state, move.lines)

    def _entered(self, state: State, move: Move, call: Result) -> Iterator[tuple[State, Origin]]:
        if not isinstance(move.place, Variable) or self.lookup.is_bound_early(call):
            yield State(move.place, move.path, None), Origin(state, move.lines)
            return
        entry = (Given(move.place.function, move.place.name), move.path)
        self._calls.setdefault(entry, []).append((call, state))
        yield State(move.place, move.path, entry), Origin(state, move.lines)
        for end in self._ends.get(entry, ()):
            yield self._back(end, call, state)

    def _returned(self, state: State, place: Returned) -> Iterator[tuple[State, Origin]]:
        read = self.lookup.read_as_attribute(place.function)
        if read is not None:
            yield State(read, state.path, None), Origin(state, ())
        if state.entry is not None:
            self._ends.setdefault(state.entry, []).append(state)
            for call, before in self._calls.get(state.entry, ()):
                yield self._back(state, call, before)
            return
        calls = self._callers.get(place.function)
        if calls is None:
            calls = self._callers[place.function] = tuple(self.lookup.callers(place.function))
        for call in calls:
            yield State(call, state.path, None), Origin(state, ())

    def _back(self, end: State, call: Result, before: State) -> tuple[State, Origin]:
        entry = before.entry if _function(before.place) == call.function else None
        return State(call, end.path, entry), Origin(end, (), before)

    def way(self, state: State) -> tuple[Line, ...]:
        """The lines of the way to a state."""
        lines: list[Line] = []
        for line in self._way(state, 0):
            if not lines or lines[-1] != line:
                lines.append(line)
        return tuple(lines)

    def _way(self, state: State, depth: int) -> list[Line]:
        parts: list[list[Line]] = []
        here: State | None = state
        seen: set[State] = set()
        while here is not None and here not in seen:
            seen.add(here)
            origin = self.origins[here]
            parts.append(list(origin.lines))
            if origin.before is not None and origin.state is not None and isinstance(here.place, Result) and depth < _NESTED:
                parts.append(self._inside(origin.state, here.place, origin.before, depth))
                here = origin.before
            else:
                here = origin.state
        return [line for part in reversed(parts) for line in part]

    def _inside(self, end: State, call: Result, before: State, depth: int) -> list[Line]:
        """The lines from a call into the function, to its return."""
        whole = self._way(end, depth + 1)
        if end.entry is None:
            return whole
        given, path = end.entry
        entry = State(Variable(given.function, given.name), path, end.entry)
        if entry not in self.origins:
            return whole
        return self._into(call, before, entry) + whole[len(self._way(entry, depth + 1)) :]

    def _into(self, call: Result, before: State, entry: State) -> list[Line]:
        for move in self.steps.after(before.place, before.path):
            if move.entered == call and move.place == entry.place and move.path == entry.path:
                return list(move.lines)
        return []


_NESTED = 20  # calls within calls that are told in a way


def _function(place: Place) -> FunctionId | None:
    return place.function if isinstance(place, Variable | Result | Returned) else None
