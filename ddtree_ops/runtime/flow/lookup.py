"""Who reads, writes and calls what: found by name, then judged by the receiver's type. Shared by both directions of following."""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_ops.runtime.extract.facts import LATER, Operand

from .binding import Binding, Called, tells_much
from .graph import Edge, Graph
from .kinds import ClassObject, Instance, is_property
from .places import Field, Result
from .program import ClassId, External, FunctionId, ModuleFile, Program, Variable
from .settings import Settings
from .types import Typing

Classes = tuple[ClassId, ...] | None
_CALLED_FILES = 500  # a function that more files may call by its name says nothing
_CALLED_VAGUELY = 60  # the same for a name of one word


class Lookup:
    """Remembers graphs of functions and the readers of attributes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.typing = Typing(program)
        self.settings = Settings(program)
        self.binding = Binding(program, self.typing, self.settings)
        self.blind: dict[tuple[str, int], tuple[FunctionId, str]] = {}
        """(file, line) where a flow was lost -> function, why."""
        self._graphs: dict[FunctionId, Graph] = {}
        self._owners: dict[str, tuple[ClassId, ...]] = {}
        self._alone: dict[str, bool] = {}
        self._readers: dict[str, list[tuple[FunctionId, Edge, Classes]]] = {}

    def graph(self, function: FunctionId) -> Graph:
        """The edges of a function."""
        found = self._graphs.get(function)
        if found is None:
            found = self._graphs[function] = Graph(self.program.body(function))
        return found

    def readers(self, name: str) -> list[tuple[FunctionId, Edge, Classes]]:
        """Edges out of attributes of a name, with the classes that the receiver may have (None: unknown)."""
        found = self._readers.get(name)
        if found is None:
            found = self._readers[name] = []
            for function in self.program.functions_with(name):
                for edge in self.graph(function).by_source.get((".", name), ()):
                    kinds = self.classes(function, edge.source[0])
                    if kinds != ():
                        found.append((function, edge, kinds))
        return found

    def classes(self, function: FunctionId, base: Operand) -> Classes:
        """The classes that a receiver may have; None if nothing is known of it, empty if it is no object of the tree."""
        if base is None:
            return None
        kinds = self.typing.of(function, base)
        if not kinds:
            return None
        return tuple(
            each.klass if isinstance(each, Instance) else each.of for each in kinds if isinstance(each, Instance | ClassObject)
        )

    def may_be(self, kinds: Classes, field: Field) -> bool:
        """Whether an attribute of the field's name, read of such a receiver, can be this field."""
        if kinds is None:
            return self.alone(field.name) and self.program.related(self.owners(field.name)[0], field.klass)
        if any(self.program.related(each, field.klass) for each in kinds):
            return True
        return field.klass in self.stands_for(kinds, field.name)

    def stands_for(self, kinds: Classes, name: str) -> tuple[ClassId, ...]:
        """The classes of settings whose attribute it is that objects without such an attribute give."""
        if kinds and all(self.settings.is_hollow(each, name) for each in kinds):
            return self.settings.declared(name)
        return ()

    def owners(self, name: str) -> tuple[ClassId, ...]:
        """Classes that declare or assign an attribute."""
        found = self._owners.get(name)
        if found is None:
            found = self._owners[name] = tuple(
                ClassId(file, number)
                for file in self.program.files(name)
                for facts in (self.program.index.facts(file),)
                for number in range(facts.class_count)
                if name in facts.klass(number).attributes
            )
        return found

    def alone(self, name: str) -> bool:
        """Whether all classes that have an attribute are of one family: then it is theirs, whatever the receiver."""
        found = self._alone.get(name)
        if found is None:
            owners = self.owners(name)
            found = self._alone[name] = bool(owners) and self.binding.groups(list(owners)) == 1
        return found

    def callers(self, function: FunctionId) -> Iterator[Result]:
        """The calls that may run a function (not those that make an object)."""
        for result, called in self.calls_of(function):
            if not called.construct:
                yield result

    def calls_of(self, function: FunctionId) -> Iterator[tuple[Result, Called]]:
        """The calls that may run a function, and how."""
        facts = self.program.function(function)
        owner = self.program.owner(function)
        for user in self._users(function, facts.name, facts.kind, facts.parent):
            for number, (_, callee, _arguments) in enumerate(self.program.body(user).calls):
                if not self._may_call(user, callee, facts.name, facts.kind, owner):
                    continue
                for called in self.binding.callees(user, number):
                    if isinstance(called, Called) and called.function == function:
                        yield Result(user, number), called

    def _users(self, function: FunctionId, name: str, kind: str, parent: int) -> Iterator[FunctionId]:
        if kind == "lambda":
            yield FunctionId(function.file, parent)
            return
        owner = self.program.owner(function)
        if name == "__init__" and owner is not None:
            names = {self.program.klass(each).name for each in self.program.heirs(owner)} | {"cls", "super"}
            seen: set[FunctionId] = set()
            for each in sorted(names - {"cls", "super"}):
                seen.update(self.program.functions_with(each))
            for heir in sorted(self.program.heirs(owner)):
                facts = self.program.index.facts(heir.file)
                seen.update(FunctionId(heir.file, number) for word in ("cls", "super") for number in facts.names.get(word, ()))
            yield from sorted(seen)
            return
        files = len(self.program.files(name))
        if files <= _CALLED_VAGUELY or tells_much(name) or ("_" in name.strip("_") and files <= _CALLED_FILES):
            yield from self.program.functions_with(name)

    def _may_call(self, user: FunctionId, callee: Operand, name: str, kind: str, owner: ClassId | None) -> bool:
        last = last_name(callee)
        if kind == "lambda" or last == name or (name == "__init__" and owner is not None):
            return True
        # A local variable may hold the function (`by = partial(scale, 2)`).
        return isinstance(callee, str) and isinstance(self.program.symbol(user, callee), Variable)

    def is_bound_early(self, call: Result) -> bool:
        """Whether a call only binds arguments (partial): the function itself may be called anywhere."""
        callee = self.program.body(call.function).calls[call.number][1]
        return isinstance(callee, tuple) and callee[0] == LATER

    def is_builtin(self, function: FunctionId, number: int) -> bool:
        """Whether a method that hands its receiver on is Python's own, or reads a descriptor."""
        _, callee, arguments = self.program.body(function).calls[number]
        return (callee[1] == "get" and not arguments) or not self.binding.callees(function, number)

    def is_external(self, function: FunctionId, base: Operand) -> bool:
        """Whether a receiver is a module, or of a library outside of the tree."""
        return any(
            isinstance(each, External | ModuleFile) for each in (self.typing.of(function, base) if base is not None else ())
        )

    def read_as_attribute(self, function: FunctionId) -> Field | None:
        """The attribute that a property is read as."""
        facts = self.program.function(function)
        if facts.owner >= 0 and is_property(facts.decorators):
            return Field(ClassId(function.file, facts.owner), facts.name)
        return None

    def inside(self, function: FunctionId, name: str) -> Iterator[FunctionId]:
        """Functions inside a function that use its variable."""
        facts = self.program.index.facts(function.file)
        for number in facts.names.get(name, ()):
            inner = FunctionId(function.file, number)
            if number != function.number and self.program.symbol(inner, name) == Variable(function, name):
                yield inner

    def is_tensor(self, place: Field | Variable) -> bool:
        """Whether a place is declared to hold a tensor: what is made of a number there is the number no more."""
        if isinstance(place, Variable):
            names = next((each[2] for each in self.program.function(place.function).parameters if each[0] == place.name), ())
            names = names or self.program.body(place.function).annotations.get(place.name, ())
        else:
            names = ()
            for each in self.program.line(place.klass):
                found = self.program.klass(each).attributes.get(place.name)
                if found is not None and found[0]:
                    names = found[0]
                    break
        return any(each.rpartition(".")[2] == "Tensor" for each in names) and not {"int", "float", "Any"} & set(names)


def last_name(callee: Operand) -> str | None:
    """The name that a callee is called by."""
    if isinstance(callee, str):
        return callee
    if isinstance(callee, tuple) and callee and callee[0] == LATER:
        return last_name(callee[1])
    return callee[1] if isinstance(callee, tuple) and len(callee) == 3 else None
