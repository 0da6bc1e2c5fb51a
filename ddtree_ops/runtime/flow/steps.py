"""Where a value goes next: the successors of a place, over functions, classes and files."""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_ops.runtime.extract.facts import ANY, RETURN, YIELD, Operand

from .builtin_methods import KEEP
from .graph import Edge
from .kinds import ClassObject, Instance, ordered
from .lookup import Lookup
from .paths import Path, through
from .places import Environment, Field, Line, Move, Place, Result, Returned
from .program import ClassId, FunctionId, ModuleFile, Variable

_DEEP = 4  # keys of a path that are kept


class Steps:
    """Successors of places."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.program = lookup.program

    def after(self, place: Place, path: Path) -> Iterator[Move]:
        """Where a value in a place goes next. What a function returns to one call only is the search's to know."""
        for move in self._after(place, path):
            if isinstance(move.place, Field | Variable) and self.lookup.is_tensor(move.place):
                continue
            yield move

    def _after(self, place: Place, path: Path) -> Iterator[Move]:
        if isinstance(place, Variable):
            yield from self._from_variable(place, path)
        elif isinstance(place, Field):
            for function, edge, kinds in self.lookup.readers(place.name):
                if self.lookup.may_be(kinds, place):
                    yield from _anywhere(self._along(function, edge, path))
        elif isinstance(place, Result):
            for edge in self.lookup.graph(place.function).by_source.get(place.number, ()):
                yield from self._along(place.function, edge, path)
        elif isinstance(place, Environment):
            for function in self.program.functions_with(f"${place.name}"):
                for edge in self.lookup.graph(function).by_source.get(("$", place.name), ()):
                    yield from self._along(function, edge, path)

    def _from_variable(self, place: Variable, path: Path) -> Iterator[Move]:
        function, name = place
        for edge in self.lookup.graph(function).by_source.get(name, ()):
            yield from self._along(function, edge, path)
        if name.startswith("%"):
            return
        if function.number == 0:
            yield from self._from_global(place, path)
            return
        for inner in self.lookup.inside(function, name):
            for edge in self.lookup.graph(inner).by_source.get(name, ()):
                yield from _anywhere(self._along(inner, edge, path))

    def _from_global(self, place: Variable, path: Path) -> Iterator[Move]:
        for user in self.program.functions_with(place.name):
            if user == place.function:
                continue
            graph = self.lookup.graph(user)
            named = graph.by_source.get(place.name, ())
            if named and self.program.symbol(user, place.name) == place:
                for edge in named:
                    yield from self._along(user, edge, path)
            for edge in graph.by_source.get((".", place.name), ()):
                if self.is_member(user, edge.source[0], place):
                    yield from self._along(user, edge, path)

    def is_member(self, user: FunctionId, base: Operand, place: Variable) -> bool:
        """Whether `base.NAME` is the module's variable."""
        kinds = self.lookup.typing.of(user, base) if base is not None else ()
        return any(isinstance(each, ModuleFile) and self.program.member(each.file, place.name) == place for each in kinds)

    def _along(self, function: FunctionId, edge: Edge, path: Path) -> Iterator[Move]:
        after = through(path, edge.taken, edge.put)
        if after is None:
            return
        target, here = edge.target, ((function, shown(edge)),)
        if isinstance(target, str):
            yield from self._into_name(function, target, after, here)
        elif isinstance(target, int):
            if self.lookup.is_builtin(function, target):
                yield Move(Result(function, target), after, here, local=True)
        elif target[0] == "argument":
            yield from self._into_call(function, target[1], target[2], after, here)
        elif target[0] == "$":
            yield Move(Environment(target[1]), after, here)
        else:
            yield from self._into_attribute(function, target, after, here)

    def _into_name(self, function: FunctionId, name: str, path: Path, lines: tuple[Line, ...]) -> Iterator[Move]:
        if name == RETURN:
            yield Move(Returned(function), path, lines, local=True)
        elif name == YIELD:
            yield Move(Returned(function), (ANY, *path)[:_DEEP], lines, local=True)
        elif name.startswith("%"):
            yield Move(Variable(function, name), path, lines, local=True)
        else:
            place = self.named(function, name)
            yield Move(place, path, lines, local=isinstance(place, Variable) and place.function == function)

    def named(self, function: FunctionId, name: str) -> Variable | Field:
        """The place that a name is where a function assigns it."""
        facts = self.program.function(function)
        if facts.kind == "class" and facts.owner >= 0:
            return Field(ClassId(function.file, facts.owner), name)
        symbol = self.program.symbol(function, name)
        return symbol if isinstance(symbol, Variable) else Variable(FunctionId(function.file, 0), name)

    def _into_attribute(self, function: FunctionId, target: Operand, path: Path, lines: tuple[Line, ...]) -> Iterator[Move]:
        base, name = target[0], target[1]
        kinds = self.lookup.typing.of(function, base) if base is not None else frozenset()
        for each in ordered(kinds):
            if isinstance(each, Instance | ClassObject):
                klass = each.klass if isinstance(each, Instance) else each.of
                for owner in (klass, *self.lookup.stands_for((klass,), name)):
                    yield Move(Field(owner, name), path, lines)
            elif isinstance(each, ModuleFile):
                yield Move(Variable(FunctionId(each.file, 0), name), path, lines)
        if kinds:
            return
        if self.lookup.alone(name):
            yield Move(Field(self.lookup.owners(name)[0], name), path, lines)
        else:
            self._lost(function, target[2], f"assigns .{name} of an object of unknown class")

    def _lost(self, function: FunctionId, line: int, why: str) -> None:
        self.lookup.blind.setdefault((function.file, line), (function, why))

    def _into_call(self, function: FunctionId, number: int, key: object, path: Path, lines: tuple[Line, ...]) -> Iterator[Move]:
        found = False
        for bound in self.lookup.binding.bind(function, number, key, path):
            found = True
            if bound.parameter is not None:
                callee, name, line = bound.parameter
                yield Move(Variable(callee, name), bound.path, (*lines, (callee, line)), entered=Result(function, number))
            elif bound.attribute is not None:
                klass, name, line = bound.attribute
                scope = FunctionId(klass.file, self.program.klass(klass).scope)
                yield Move(Field(klass, name), bound.path, (*lines, (scope, line)))
            else:
                yield Move(Result(function, number), bound.path, lines, local=True)
        if not found:
            yield from self._into_builtin(function, number, key, path, lines)

    def _into_builtin(
        self, function: FunctionId, number: int, key: object, path: Path, lines: tuple[Line, ...]
    ) -> Iterator[Move]:
        """Methods of containers that keep their argument."""
        line, callee, _ = self.program.body(function).calls[number]
        if not (isinstance(callee, tuple) and len(callee) == 3):
            return
        base, name = callee[0], callee[1]
        if self.lookup.binding.callees(function, number) or self.lookup.is_external(function, base):
            return
        if name == "join" and key == 0:
            yield Move(Result(function, number), (), lines, local=True)
        elif name not in KEEP:
            if self.lookup.binding.is_method(name):
                self._lost(function, line, f"calls .{name}() of an object of unknown class")
        elif isinstance(base, str):
            yield from self._into_name(function, base, kept(name, key, path), lines)
        elif isinstance(base, tuple) and len(base) == 3 and base[0] != "$":
            yield from self._into_attribute(function, base, kept(name, key, path), lines)


def shown(edge: Edge) -> int:
    """The line that shows a flow: of several that a statement takes, where the target or the returned value stands."""
    line = edge.line
    if edge.target.__class__ is tuple and len(edge.target) == 3:
        line = edge.target[2]
    elif edge.target == RETURN and edge.source.__class__ is tuple:
        line = edge.source[2]
    return line


def kept(method: str, key: object, path: Path) -> Path:
    """Where in the receiver an argument of append(), update()... is afterwards."""
    if isinstance(key, str):
        return (key, *path)[:_DEEP]
    return path if method in ("extend", "update") else (ANY, *path)[:_DEEP]


def _anywhere(moves: Iterator[Move]) -> Iterator[Move]:
    """Out of an attribute or an outer function's variable a value is in no call of its own."""
    for move in moves:
        yield move._replace(local=False)
