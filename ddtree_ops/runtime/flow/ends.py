"""What people name: a field, flag, environment variable, constant, attribute, parameter or local, as places in the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .paths import NAME, Path
from .places import Environment, Field, Line, Place
from .program import ClassId, FunctionId, Program, Variable
from .settings import Settings

_VARIABLES = 200
_LIKELY = 3


class Definition(NamedTuple):
    """Where a name is defined; `kind` as in the trace document."""

    kind: str
    line: Line


@dataclass(frozen=True)
class Query:
    """A name as given, taken apart: `Class.attribute`, `file.py:name`, `--a-flag`."""

    text: str
    name: str
    owner: str | None
    file: str | None


def parse(text: str) -> Query:
    """Take a name apart."""
    file, colon, rest = text.strip().rpartition(":")
    owner, _, name = rest.rpartition(".")
    if name.startswith("-") or ("-" in name and "_" not in name):
        name = name.lstrip("-").replace("-", "_")
    return Query(text, name, owner or None, file if colon and file else None)


class Ends:
    """Finds the places that a name means."""

    def __init__(self, program: Program, settings: Settings) -> None:
        self.program = program
        self.settings = settings

    def starts(self, query: Query) -> list[tuple[Place, Path, tuple[Line, ...]]]:
        """Where a value of this name begins. Empty if the tree has no such name."""
        found = [(Field(klass, query.name), (), (line,)) for klass, line in self._starting_fields(query)]
        starts: list[tuple[Place, Path, tuple[Line, ...]]] = list(found)
        if query.owner is None and (query.name.isupper() or not starts):
            starts += self._environment(query.name, ())
            starts += [(each, (), self._line(each)) for each in self._globals(query)]
        if query.owner is None and not starts:
            starts += self._flag_table(query)
        return starts or [(each, (), self._line(each)) for each in self.variables(query)]

    def _starting_fields(self, query: Query) -> list[tuple[ClassId, Line]]:
        every = list(self.fields(query))
        if query.owner is not None or query.name.isupper():
            return every
        arguments = [each for each in every if self.program.klass(each[0]).name.endswith("Args")]
        declared = [each for each in every if self._is_declared(each[0], query.name)]
        settings = [(klass, self._attribute_line(klass, query.name)) for klass in self.settings.declared(query.name)]
        return self._of_main_package(arguments) or settings or declared or every

    def _of_main_package(self, found: list[tuple[ClassId, Line]]) -> list[tuple[ClassId, Line]]:
        """Where several classes of arguments have a field, those named as the one that most flags are read into."""
        main = [each for each in found if self.program.klass(each[0]).name in ("ServerArgs", "EngineArgs")]
        return main or found

    def _is_declared(self, klass: ClassId, name: str) -> bool:
        facts = self.program.klass(klass)
        return name in facts.attributes and facts.scope in facts.attributes[name][2]  # not so where a property has the name

    def fields(self, query: Query) -> Iterator[tuple[ClassId, Line]]:
        """Classes that have the attribute, with the line that declares or first assigns it."""
        owners = self.program.classes_named(query.owner) if query.owner else ()
        if owners and all(self.settings.is_hollow(owner, query.name) for owner in owners):
            for klass in self.settings.declared(query.name):
                yield klass, self._attribute_line(klass, query.name)
        for file in self.program.files(query.name):
            facts = self.program.index.facts(file)
            if query.file and not _is_file(file, query.file):
                continue
            for number in range(facts.class_count):
                klass = ClassId(file, number)
                attributes = facts.klass(number).attributes
                if query.name not in attributes and query.name not in facts.klass(number).methods:
                    continue
                if query.name not in attributes and not self._is_property(klass, query.name):
                    continue
                if query.owner is None or any(self._is_or_shares(owner, klass) for owner in owners):
                    yield klass, self._attribute_line(klass, query.name)

    def _is_property(self, klass: ClassId, name: str) -> bool:
        method = FunctionId(klass.file, self.program.klass(klass).methods[name])
        return any("property" in each for each in self.program.function(method).decorators)

    def _is_or_shares(self, owner: ClassId, klass: ClassId) -> bool:
        return owner == klass or klass in self.program.line(owner) or owner in self.program.line(klass)

    def _attribute_line(self, klass: ClassId, name: str) -> Line:
        facts = self.program.klass(klass)
        if name in facts.attributes:
            _, line, functions = facts.attributes[name]
            return FunctionId(klass.file, functions[0]), line
        method = FunctionId(klass.file, facts.methods[name])
        return method, self.program.function(method).line

    def _environment(self, name: str, before: tuple[Line, ...]) -> list[tuple[Place, Path, tuple[Line, ...]]]:
        found: list[tuple[Place, Path, tuple[Line, ...]]] = []
        for file in self.program.files(name):
            facts = self.program.index.facts(file)
            for constant, (text, line) in facts.constants.items():
                if text == name:
                    top = FunctionId(file, 0)
                    found.append((Variable(top, constant), (NAME,), (*before, (top, line))))
        if self.program.files(f"${name}"):
            found.append((Environment(name), (), before))
        return found

    def _globals(self, query: Query) -> Iterator[Variable]:
        for file in self.program.files(query.name):
            if query.file and not _is_file(file, query.file):
                continue
            symbol = self.program.member(file, query.name)
            if symbol == Variable(FunctionId(file, 0), query.name):
                yield Variable(FunctionId(file, 0), query.name)

    def _flag_table(self, query: Query) -> list[tuple[Place, Path, tuple[Line, ...]]]:
        """A flag that no field has: what stands beside it in its table, or as its `const`, is an environment variable's name."""
        found: list[tuple[Place, Path, tuple[Line, ...]]] = []
        for file, line, _, beside in self.flags(query.name):
            at = (FunctionId(file, 0), line)
            for each in beside:
                if isinstance(each, str):
                    symbol = self.program.symbol(FunctionId(file, 0), each)
                    if isinstance(symbol, Variable):
                        found.append((symbol, (NAME,), (at,)))
                        text = self.program.index.facts(symbol.function.file).constants.get(symbol.name)
                        found += self._environment(text[0], (at,)) if text else []
                elif isinstance(each, tuple) and each[0] == "text":
                    found += self._environment(each[1], (at,)) if each[1].isupper() else []
        return found

    def flags(self, name: str) -> Iterator[tuple[str, int, int, tuple[object, ...]]]:
        """Where a flag is declared: (file, line, 1 for add_argument, what stands beside it)."""
        flag = "--" + name.replace("_", "-")
        for file in self.program.files(flag):
            for text, line, kind, beside in self.program.index.facts(file).flags:
                if text == flag:
                    yield file, line, kind, beside

    def variables(self, query: Query) -> list[Variable]:
        """Parameters and locals of that name."""
        found = []
        for function in self.program.functions_with(query.name):
            facts = self.program.function(function)
            if query.file and not _is_file(function.file, query.file):
                continue
            if query.owner and query.owner not in (facts.name, facts.qualified, facts.qualified.rpartition(".")[0]):
                continue
            if facts.kind != "class" and query.name in self.program.body(function).local:
                found.append(Variable(function, query.name))
        return found[:_VARIABLES]

    def _line(self, variable: Variable) -> tuple[Line, ...]:
        function, name = variable
        for parameter in self.program.function(function).parameters:
            if parameter[0] == name:
                return ((function, parameter[3]),)
        for line, target, _ in self.program.body(function).flows:
            if target == name:
                return ((function, line),)
        return ()

    def target(self, query: Query) -> Target | None:
        """What is to be reached; None if the tree has no such name.

        Where a class has an attribute of that name, that is what is meant, not the many locals and parameters called so.
        """
        fields = frozenset(klass for klass, _ in self.fields(query))
        owners = self.program.classes_named(query.owner) if query.owner else ()
        variables = frozenset(self.variables(query)) if not fields else frozenset()
        globals_ = frozenset(self._globals(query)) if query.owner is None else frozenset()
        if not (fields or variables or globals_ or self._environment(query.name, ())):
            return None
        return Target(query, frozenset(owners) or fields, variables | globals_)

    def likeliest(self, target: Target) -> Iterator[Target]:
        """The classes of a target one by one, those first that most files speak of: the one that people mean."""
        named = sorted(target.classes, key=lambda each: (-len(self.program.files(self.program.klass(each).name)), each))
        yield from (Target(target.query, frozenset({each}), frozenset()) for each in named[:_LIKELY])

    def definitions(self, query: Query, starts: Iterable[tuple[Place, Path, tuple[Line, ...]]]) -> Iterator[Definition]:
        """Where the name is defined, as field, flag, environment variable or attribute."""
        for place, path, lines in starts:
            if lines:
                kind = "env" if path == (NAME,) or isinstance(place, Environment) else "attribute"
                if isinstance(place, Field):
                    kind = "field" if self._is_annotated(place) else "env" if place.name.isupper() else "attribute"
                yield Definition(kind, lines[-1])
        for file, line, _, _ in self.flags(query.name):
            yield Definition("flag", (FunctionId(file, 0), line))

    def _is_annotated(self, field: Field) -> bool:
        found = self.program.klass(field.klass).attributes.get(field.name)
        return bool(found and found[0])


@dataclass(frozen=True)
class Target:
    """The end of a way."""

    query: Query
    classes: frozenset[ClassId]
    variables: frozenset[Variable]

    def rank(self, program: Program, place: Place) -> int | None:
        """None if a place isn't it; else 0, or for an attribute of a related class what a nearer one may cost more."""
        if isinstance(place, Field):
            if place.name != self.query.name:
                return None
            if place.klass in self.classes:
                return 0
            return _RELATED if any(program.related(place.klass, each) for each in self.classes) else None
        if isinstance(place, Variable):
            return 0 if place in self.variables else None
        return 0 if isinstance(place, Environment) and place.name == self.query.name else None


_RELATED = 40


def _is_file(file: str, asked: str) -> bool:
    return f"/{file}".endswith(f"/{asked}")
