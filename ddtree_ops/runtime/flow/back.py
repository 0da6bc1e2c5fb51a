"""From where a value may come to a place: all places before it, without regard to which call a function was entered by.

Far fewer than a widely used value goes to: so a search forward looks only at these, once they are known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from ddtree_ops.runtime.extract.facts import ANY, KEYWORDS, RETURN, YIELD

from .builtin_methods import KEEP
from .ends import Target
from .graph import Edge
from .lookup import Lookup, last_name
from .paths import Path, unpacked
from .places import Environment, Field, Place, Result, Returned
from .program import ClassId, FunctionId, ModuleFile, Variable
from .steps import Steps

Wanted = tuple[Place | str, Path]
"""A place, or the name of an attribute of objects that nothing is known of; and which part of what it holds."""
_DEEP = 2  # keys of a wanted part that are regarded


class Back:
    """The places from which a target may be reached."""

    def __init__(self, steps: Steps, target: Target, *, bound: int) -> None:
        self.steps = steps
        self.lookup: Lookup = steps.lookup
        self.program = steps.program
        self.bound = bound
        self.whole = False
        """Whether all places were found."""
        self._seen: set[Wanted] = set()
        self._places: set[Place | str] = set()
        self._fields: dict[str, list[ClassId]] = {}
        self._unknown: set[str] = set()
        self._waiting: deque[Wanted] = deque()
        for variable in target.variables:
            self._reach(variable, ())
        for klass in target.classes:
            self._reach(Field(klass, target.query.name), ())
        self._reach(Environment(target.query.name), ())

    def run(self) -> bool:
        """Find them; False if there are more than the bound."""
        while self._waiting:
            if len(self._seen) > self.bound:
                return False
            for place, part in self._before(*self._waiting.popleft()):
                self._reach(place, part)
        self.whole = True
        return True

    def __contains__(self, place: Place) -> bool:
        if isinstance(place, Field):
            if place.name in self._unknown:
                return True
            return any(self.program.related(each, place.klass) for each in self._fields.get(place.name, ()))
        return place in self._places

    def _reach(self, place: Place | str, part: Path) -> None:
        if (place, part) in self._seen or (place, ()) in self._seen:
            return
        if isinstance(place, Field | Variable) and self.lookup.is_tensor(place):
            return
        self._seen.add((place, part))
        self._places.add(place)
        if isinstance(place, Field):
            self._fields.setdefault(place.name, []).append(place.klass)
        elif isinstance(place, str):
            self._unknown.add(place)
        self._waiting.append((place, part))

    def _before(self, place: Place | str, part: Path) -> Iterator[Wanted]:
        if isinstance(place, str):
            for klass in self.lookup.owners(place) if self.lookup.alone(place) else ():
                yield Field(klass, place), part
        elif isinstance(place, Variable):
            yield from self._before_variable(place, part)
        elif isinstance(place, Field):
            yield from self._before_field(place, part)
        elif isinstance(place, Result):
            yield from self._before_result(place, part)
        elif isinstance(place, Returned):
            graph = self.lookup.graph(place.function)
            yield from self._sources(place.function, graph.into.get(RETURN, ()), part)
            inner = part[1:] if part and unpacked((ANY,), part[0]) is not None else None if part else part
            if inner is not None:
                yield from self._sources(place.function, graph.into.get(YIELD, ()), inner)
        else:
            for function in self.program.functions_with(f"${place.name}"):
                yield from self._sources(function, self.lookup.graph(function).into.get(("$", place.name), ()), part)

    def _sources(self, function: FunctionId, edges: Iterable[Edge], part: Path) -> Iterator[Wanted]:
        for edge in edges:
            before = wanted(edge, part)
            if before is not None:
                for place in self._source(function, edge.source):
                    yield place, before

    def _source(self, function: FunctionId, source: Any) -> Iterator[Place | str]:
        if isinstance(source, int):
            yield Result(function, source)
        elif isinstance(source, str):
            yield Variable(function, source) if source.startswith("%") else self.steps.named(function, source)
        elif source[0] == "$":
            yield Environment(source[1])
        else:
            kinds = self.lookup.classes(function, source[0])
            if kinds is None:
                yield source[1]
            for klass in (*(kinds or ()), *self.lookup.stands_for(kinds, source[1])):
                yield Field(klass, source[1])
            for each in self.lookup.typing.of(function, source[0]) if source[0] is not None and not kinds else ():
                symbol = self.program.member(each.file, source[1]) if isinstance(each, ModuleFile) else None
                if isinstance(symbol, Variable):
                    yield symbol

    def _before_variable(self, place: Variable, part: Path) -> Iterator[Wanted]:
        function, name = place
        users = [function]
        if function.number == 0:
            users = list(self.program.functions_with(name))
        elif not name.startswith("%"):
            users += self.lookup.inside(function, name)
        for user in users:
            graph = self.lookup.graph(user)
            if user == function or self.program.symbol(user, name) == place or function.number == 0:
                yield from self._sources(user, graph.into.get(name, ()), part)
                yield from self._kept(user, name)
            if function.number == 0:
                yield from self._sources(user, graph.into.get((".", name), ()), part)
        if any(each[0] == name for each in self.program.function(function).parameters):
            yield from self._given(function, name, part)

    def _kept(self, function: FunctionId, base: Any) -> Iterator[Wanted]:
        """What append() and its like put into a receiver."""
        for number, (_, callee, _arguments) in enumerate(self.program.body(function).calls):
            if isinstance(callee, tuple) and len(callee) == 3 and callee[1] in KEEP:
                receiver = callee[0][1] if isinstance(callee[0], tuple) and len(callee[0]) == 3 else callee[0]
                if receiver == base:
                    yield from self._arguments(function, number)

    def _arguments(self, function: FunctionId, number: int) -> Iterator[Wanted]:
        graph = self.lookup.graph(function)
        for key, _, _sources in self.program.body(function).calls[number][2]:
            yield from self._sources(function, graph.into.get(("argument", number, key), ()), ())

    def _given(self, function: FunctionId, name: str, part: Path) -> Iterator[Wanted]:
        for call, _called in self.lookup.calls_of(function):
            graph = self.lookup.graph(call.function)
            for key, _, _sources in self.program.body(call.function).calls[call.number][2]:
                given = self._as_given(call, key, (function, name), part)
                if given is not None:
                    yield from self._sources(call.function, graph.into.get(("argument", call.number, key), ()), given)

    def _as_given(self, call: Result, key: Any, parameter: tuple[FunctionId, str], part: Path) -> Path | None:
        """Which part of an argument becomes the wanted part of a parameter; None if none of it does."""
        if key == "**":
            kind = next(each[1] for each in self.program.function(parameter[0]).parameters if each[0] == parameter[1])
            return part if kind == KEYWORDS else (parameter[1], *part)
        if isinstance(key, tuple):
            return ()
        for bound in self.lookup.binding.bind(call.function, call.number, key, ()):
            if bound.parameter is not None and bound.parameter[:2] == parameter:
                if not bound.path:
                    return part
                return part[1:] if not part or unpacked(bound.path[:1], part[0]) is not None else None
        return None

    def _before_field(self, place: Field, part: Path) -> Iterator[Wanted]:
        name = place.name
        for function in self.program.functions_with(name):
            graph = self.lookup.graph(function)
            for edge in graph.into.get((".", name), ()):
                kinds = self.lookup.classes(function, edge.target[0])
                if kinds is None or self.lookup.may_be(kinds, place):
                    yield from self._sources(function, (edge,), part)
            yield from self._kept(function, name)
        for klass in {*self.program.line(place.klass), *self.program.heirs(place.klass)}:
            facts = self.program.klass(klass)
            scope = FunctionId(klass.file, facts.scope)
            yield from self._sources(scope, self.lookup.graph(scope).into.get(name, ()), part)
            if name in facts.methods:
                yield Returned(FunctionId(klass.file, facts.methods[name])), part
            if facts.attributes.get(name, ((),))[0]:
                yield from self._constructed(klass, name, part)

    def _constructed(self, klass: ClassId, name: str, part: Path) -> Iterator[Wanted]:
        """Arguments of a dataclass's constructor, and of replace()."""
        made_as = {self.program.klass(each).name for each in self.program.heirs(klass)}
        users = {user for each in made_as for user in self.program.functions_with(each)}
        users.update(FunctionId(klass.file, number) for number in self.program.index.facts(klass.file).names.get("cls", ()))
        by_keyword = set(self.program.functions_with(name))
        for user in sorted(users | by_keyword):
            for number, (_, callee, arguments) in enumerate(self.program.body(user).calls):
                named = user in by_keyword and any(argument[0] == name for argument in arguments)
                if named or (user in users and self._may_make(user, callee, made_as)):
                    yield from self._made(user, number, arguments, Field(klass, name), part)

    def _may_make(self, user: FunctionId, callee: Any, made_as: set[str]) -> bool:
        last = last_name(callee)
        if last in made_as or last in ("cls", "replace"):
            return True
        return isinstance(callee, str) and isinstance(self.program.symbol(user, callee), Variable)

    def _made(self, user: FunctionId, number: int, arguments: Any, field: Field, part: Path) -> Iterator[Wanted]:
        for key, _, _sources in arguments:
            spread = key == "**" or isinstance(key, tuple)
            if not spread and isinstance(key, str) and key != field.name:
                continue
            if self._makes(user, number, field, key, spread):
                given = (field.name, *part)[:_DEEP] if key == "**" else () if spread else part
                yield from self._sources(user, self.lookup.graph(user).into.get(("argument", number, key), ()), given)

    def _makes(self, user: FunctionId, number: int, field: Field, key: Any, spread: bool) -> bool:
        binding = self.lookup.binding
        if spread:
            return any(
                isinstance(each, ClassId) and self.program.related(each, field.klass) for each in binding.callees(user, number)
            )
        return any(
            bound.attribute is not None
            and bound.attribute[1] == field.name
            and self.program.related(bound.attribute[0], field.klass)
            for bound in binding.bind(user, number, key, ())
        )

    def _before_result(self, place: Result, part: Path) -> Iterator[Wanted]:
        function, number = place
        yield from self._sources(function, self.lookup.graph(function).into.get(number, ()), part)
        plain = False
        for called in self.lookup.binding.callees(function, number):
            if isinstance(called, ClassId):
                plain = True
            elif not called.construct:
                yield Returned(called.function), part
        callee = self.program.body(function).calls[number][1]
        if plain or (isinstance(callee, tuple) and len(callee) == 3 and callee[1] == "join"):
            yield from self._arguments(function, number)


def wanted(edge: Edge, part: Path) -> Path | None:
    """Which part of an edge's source becomes the wanted part of its target; None if none of it does."""
    for key in edge.put:
        if not part:
            break
        if unpacked((key,), part[0]) is None:
            return None
        part = part[1:]
    return (*edge.taken, *part)[:_DEEP]
