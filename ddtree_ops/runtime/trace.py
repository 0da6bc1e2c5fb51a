"""What becomes of a parameter in a source tree, and whether it reaches another: without importing any of it.

`trace` gives the whole document, `reaches` only the answer. Loaded is only what a value may come through.
"""

from __future__ import annotations

import difflib
import functools
import threading
from collections.abc import Callable, Iterable

from ddtree_ops.errors import UsageError
from ddtree_ops.runtime.collection import without_collection
from ddtree_ops.runtime.flow.back import Back
from ddtree_ops.runtime.flow.code import Code
from ddtree_ops.runtime.flow.ends import Ends, Query, Target, parse
from ddtree_ops.runtime.flow.lookup import Lookup
from ddtree_ops.runtime.flow.mentions import Mentions, Tested
from ddtree_ops.runtime.flow.nearest import Nearest
from ddtree_ops.runtime.flow.paths import Path
from ddtree_ops.runtime.flow.places import Environment, Field, Line, Place, Result, Returned
from ddtree_ops.runtime.flow.program import Facts, FunctionId, Program, Variable
from ddtree_ops.runtime.flow.search import Search, State
from ddtree_ops.runtime.flow.steps import Steps
from ddtree_ops.runtime.trace_data import BlindSpot, Defined, Derived, Reach, Step, Trace, Validation

__all__ = ["Reach", "Step", "Trace", "reaches", "trace"]

_SOON = 60  # places that are followed before it is looked where the target's values come from
_BEFORE = 400  # places before the target
_BOUND = 30_000  # places that are followed before a search gives up
_NEAR = 200  # places that are followed to tell how near a value comes
_ABOUT = 250  # places that are followed to tell about a name
_MOST = 200
_SPOTS = 20
_DEPTH_OF_CHECKS = 4

_LOCK = threading.Lock()  # what one thread finds out is kept for the others

Start = tuple[Place, Path, tuple[Line, ...]]


def trace(index: Facts, name: str, to: str | None = None) -> Trace:
    """All about `name`; with `to`, whether its value reaches that. Raises UsageError for names that the tree doesn't have."""
    with _LOCK, without_collection(keep=True):
        return _tracer(index).trace(name, to)


def reaches(index: Facts, name: str, to: str) -> Reach:
    """Whether a value flows from one name to the other. Raises UsageError for names that the tree doesn't have."""
    with _LOCK, without_collection(keep=True):
        return _tracer(index).reach(name, to)[0]


@functools.lru_cache(maxsize=1)
def _tracer(index: Facts) -> _Tracer:
    """What was found out about a tree serves the next question, too."""
    return _Tracer(index)


class _Tracer:
    def __init__(self, index: Facts) -> None:
        self.program = Program(index)
        self.lookup = Lookup(self.program)
        self.steps = Steps(self.lookup)
        self.ends = Ends(self.program, self.lookup.settings)
        self.mentions = Mentions(self.lookup)
        self.code = Code(self.program)

    def trace(self, name: str, to: str | None) -> Trace:
        query = parse(name)
        starts = self._starts(query)
        reach, search = self.reach(name, to) if to is not None else (None, None)
        about = Search(self.steps)
        about.start(starts)
        about.run(lambda _: None, _ABOUT)
        tree = self.program.index.tree
        places = list(dict.fromkeys(place for place, _, _ in starts))
        return Trace(
            name=name,
            root=str(tree.root),
            version=tree.version,
            definitions=tuple(self._definitions(query, starts)),
            validations=tuple(self._validations(about)),
            writes=self._steps(line for place in places for line in self.mentions.writes(place)),
            reads=self._steps(line for place in places for line in self.mentions.reads(place)),
            derived=tuple(self._derived(about, starts))[:_MOST],
            blind_spots=tuple(self._blind(search or about, reach)),
            to=reach,
        )

    def reach(self, name: str, to: str) -> tuple[Reach, Search]:
        starts = self._starts(parse(name))
        target = self._target(parse(to))
        found, search = self._search(starts, target)
        if found is not None and target.query.owner is None and len(target.classes) > 1:
            found, search = self._likeliest(starts, target) or (found, search)
        if found is not None:
            return Reach(to, True, self._steps(search.way(found), once=False), ()), search
        reads = [line for place in {place for place, _, _ in starts} for line in self.mentions.reads(place)]
        around = Search(self.steps)
        around.start(starts)
        around.run(lambda _: None, _NEAR)
        near = Nearest(self.program, target, self._written(target)).choose(around, reads)
        return Reach(to, False, (), self._steps(near, once=False), search.ended), search

    def _search(self, starts: list[Start], target: Target) -> tuple[State | None, Search]:
        search = Search(self.steps)
        search.start(starts)
        first = frozenset(place for place, _, _ in starts)

        def rank(state: State) -> int | None:
            return None if state.place in first else target.rank(self.program, state.place)

        found = search.run(rank, _SOON)
        if not search.ended:
            found = self._filtered(search, target, rank)
        return found, search

    def _likeliest(self, starts: list[Start], target: Target) -> tuple[State, Search] | None:
        """The way to the class that is meant most likely, where several have an attribute of that name."""
        for one in self.ends.likeliest(target):
            found, search = self._search(starts, one)
            if found is not None:
                return found, search
        return None

    def _filtered(self, search: Search, target: Target, rank: Callable[[State], int | None]) -> State | None:
        """Go on only where the target's values may come from, if that is few places."""
        back = Back(self.steps, target, bound=_BEFORE)
        if back.run():
            search.within = back
        return search.run(rank, _BOUND)

    def _starts(self, query: Query) -> list[Start]:
        starts = self.ends.starts(query)
        if not starts:
            raise self._unknown(query)
        return starts

    def _target(self, query: Query) -> Target:
        found = self.ends.target(query)
        if found is None:
            raise self._unknown(query)
        return found

    def _unknown(self, query: Query) -> UsageError:
        close = difflib.get_close_matches(query.name, list(self.program.index.every_name()), 4, 0.75)
        hint = f"close to it: {', '.join(close)}" if close else "name a field, flag, environment variable, attribute or variable"
        return UsageError(f"{self.program.index.tree.root} has no {query.text}", hint=hint)

    def _written(self, target: Target) -> frozenset[FunctionId]:
        found: set[FunctionId] = {each.function for each in target.variables}
        for klass in target.classes:
            attribute = self.program.klass(klass).attributes.get(target.query.name)
            if attribute:
                found.update(FunctionId(klass.file, number) for number in attribute[2])
        return frozenset(found)

    def _steps(self, lines: Iterable[Line], *, once: bool = True) -> tuple[Step, ...]:
        found: dict[tuple[str, int], Step] = {}
        several: list[Step] = []
        for function, line in lines:
            step = Step(function.file, line, self.code.function(function), self.code.statement(function.file, line))
            if not several or (several[-1].file, several[-1].line) != (step.file, step.line):
                several.append(step)
            found.setdefault((function.file, line), step)
        return tuple(sorted(found.values(), key=lambda each: (each.file, each.line))) if once else tuple(several)

    def _definitions(self, query: Query, starts: list[Start]) -> Iterable[Defined]:
        seen: set[tuple[str, int]] = set()
        for kind, (function, line) in self.ends.definitions(query, starts):
            if (function.file, line) not in seen:
                seen.add((function.file, line))
                code = (
                    self.code.joined(function.file, line, line + 1)
                    if kind == "flag"
                    else self.code.statement(function.file, line)
                )
                yield Defined(function.file, line, kind, code)

    def _validations(self, about: Search) -> Iterable[Validation]:
        seen: set[tuple[str, int]] = set()
        for place in self._near(about):
            for tested in self.mentions.checks(place):
                key = (tested.function.file, tested.check.line)
                if key not in seen:
                    seen.add(key)
                    yield self._validation(tested)

    def _near(self, about: Search) -> Iterable[Place]:
        """Places of few steps' distance."""
        depth: dict[State, int] = {}
        seen: set[Place] = set()
        for state in about.followed:
            origin = about.origins[state]
            depth[state] = depth[origin.state] + 1 if origin.state in depth else 0
            if depth[state] <= _DEPTH_OF_CHECKS and state.place not in seen:
                seen.add(state.place)
                if not isinstance(state.place, Result | Returned):
                    yield state.place

    def _validation(self, tested: Tested) -> Validation:
        file, check = tested.function.file, tested.check
        condition = self.code.span(file, check.span)
        code = self.code.joined(file, check.line, max(check.line, check.span[2]))
        outcome = self.code.joined(file, *check.outcome)
        return Validation(file, check.line, self.code.function(tested.function), code, check.kind, condition, outcome)

    def _derived(self, about: Search, starts: list[Start]) -> Iterable[Derived]:
        first = {place for place, _, _ in starts}
        seen: set[tuple[str, str]] = set()
        for state in about.followed:
            place, origin = state.place, about.origins[state]
            if place in first or not origin.lines or isinstance(place, Result | Returned):
                continue
            name = self._name(place)
            file = origin.lines[-1][0].file
            if name.startswith("%") or (name, file) in seen:
                continue
            seen.add((name, file))
            line = origin.lines[-1][1]
            yield Derived(name, file, line, self.code.statement(file, line))

    def _name(self, place: Place) -> str:
        if isinstance(place, Field):
            return f"{self.program.klass(place.klass).name}.{place.name}"
        return place.name if isinstance(place, Variable | Environment) else ""

    def _functions(self, state: State, search: Search) -> Iterable[FunctionId]:
        if isinstance(state.place, Variable | Result | Returned):
            yield state.place.function
        for function, _ in search.origins[state].lines:
            yield function

    def _blind(self, search: Search, to: Reach | None) -> Iterable[BlindSpot]:
        spots: dict[tuple[str, int], tuple[FunctionId, str]] = {}
        passed = {function: None for state in search.followed for function in self._functions(state, search)}
        for function in passed:
            for line, why in self.program.body(function).blind if function.number else ():
                spots.setdefault((function.file, line), (function, why))
        for (file, line), (function, why) in self.lookup.blind.items():
            if function in passed:
                spots.setdefault((file, line), (function, why))
        if to is not None and not (to.reaches or to.complete):
            yield BlindSpot("", 0, "", "", f"gave up after {len(search.followed)} places")
        for (file, line), (function, why) in list(spots.items())[:_SPOTS]:
            yield BlindSpot(file, line, self.code.function(function), self.code.statement(file, line), why)
        for file, why in self.program.index.unreadable[:_SPOTS]:
            yield BlindSpot(file, 0, "", "", f"can't be read: {why}")
