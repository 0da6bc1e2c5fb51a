"""What a call calls, and what becomes of its arguments there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ddtree_ops.runtime.extract.facts import ANY, KEYWORDS, PLAIN, REST, UNKNOWN, Operand

from .kinds import Callable_, ClassObject, Instance, SuperOf, ordered
from .paths import NAME, Path, unpacked
from .program import ClassId, External, FunctionId, ModuleFile, Program
from .settings import Settings
from .types import Typing

_BY_NAME_FILES = 80
_BY_NAME_GROUPS = 3


class Called(NamedTuple):
    """A function that a call runs, with so many places taken; `construct`: the call gives an object, not what it returns."""

    function: FunctionId
    bound: int
    construct: bool = False


class Bound(NamedTuple):
    """An argument becomes this parameter, or this attribute of a dataclass's object, or (neither) the call's own value."""

    parameter: tuple[FunctionId, str, int] | None
    attribute: tuple[ClassId, str, int] | None
    path: Path


class Binding:
    """Resolves calls, remembering what they call."""

    def __init__(self, program: Program, typing: Typing, settings: Settings) -> None:
        self.settings = settings
        self.program = program
        self.typing = typing
        self._callees: dict[tuple[FunctionId, int], tuple[Called | ClassId, ...]] = {}
        self._named: dict[str, tuple[FunctionId, ...]] = {}
        self._methods_named: dict[str, bool] = {}

    def callees(self, function: FunctionId, number: int) -> tuple[Called | ClassId, ...]:
        """What a call may run: functions, or classes without a constructor of their own (dataclasses, enumerations)."""
        key = (function, number)
        found = self._callees.get(key)
        if found is None:
            self._callees[key] = ()
            callee = self.program.body(function).calls[number][1]
            found = self._callees[key] = tuple(dict.fromkeys(self._resolve(function, callee)))
        return found

    def _resolve(self, function: FunctionId, callee: Operand) -> Iterator[Called | ClassId]:
        if isinstance(callee, tuple) and len(callee) == 3 and callee[0] != "$":
            yield from self._resolve_method(function, callee[0], callee[1])
            return
        for each in ordered(self.typing.of(function, callee)):
            yield from self._run(each)

    def _resolve_method(self, function: FunctionId, base: Operand, name: str) -> Iterator[Called | ClassId]:
        receivers = self.typing.of(function, base) if base is not None else frozenset()
        found = False
        for each in ordered(receivers):
            if isinstance(each, Instance | ClassObject):
                klass = each.klass if isinstance(each, Instance) else each.of
                methods = self._methods(klass, name, isinstance(each, ClassObject))
                found = found or bool(methods)
                yield from methods
        if found:
            return
        for each in ordered(self.typing.attribute(function, base, name)):
            found = found or not isinstance(each, External)
            yield from self._run(each)
        if not found and base is not None and (not receivers or (tells_much(name) and not self._is_module(receivers))):
            yield from (Called(method, 1) for method in self.by_name(name))

    def _methods(self, klass: ClassId, name: str, of_class_object: bool) -> list[Called]:
        first = self.program.method(klass, name)
        every = [*([first] if first else []), *self.program.overrides(klass, name)]
        found = []
        for method in every:
            decorators = self.program.function(method).decorators
            bound = 0 if "staticmethod" in decorators or (of_class_object and "classmethod" not in decorators) else 1
            found.append(Called(method, bound))
        return found

    def _run(self, each: Any) -> Iterator[Called | ClassId]:
        if isinstance(each, Callable_):
            yield Called(each.function, each.bound)
        elif isinstance(each, ClassObject):
            method = self._constructor(each.of)
            yield Called(method, 1, True) if method else each.of
        elif isinstance(each, Instance):
            method = self.program.method(each.klass, "__call__") or self.program.method(each.klass, "forward")
            if method:
                yield Called(method, 1)
        elif isinstance(each, SuperOf):
            return

    def _is_module(self, receivers: Iterable[Any]) -> bool:
        return any(isinstance(each, ModuleFile) for each in receivers)

    def _constructor(self, klass: ClassId) -> FunctionId | None:
        """The first __init__; None where that is a dataclass's own."""
        for each in self.program.line(klass):
            facts = self.program.klass(each)
            if "__init__" in facts.methods:
                return FunctionId(each.file, facts.methods["__init__"])
            if any(name.rpartition(".")[2] == "dataclass" for name in facts.decorators):
                return None
        return None

    def by_name(self, name: str) -> tuple[FunctionId, ...]:
        """Methods of a name where the receiver is unknown: all of them if few classes have it or the name says much."""
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = tuple(self._by_name(name))
        return found

    def _by_name(self, name: str) -> list[FunctionId]:
        files = self.program.files(name)
        if name.startswith("__") or len(files) > _BY_NAME_FILES or "_" not in name.strip("_"):
            return []
        methods: list[FunctionId] = []
        owners: list[ClassId] = []
        for file in files:
            facts = self.program.index.facts(file)
            for number in range(facts.class_count):
                method = facts.klass(number).methods.get(name)
                if method is not None:
                    methods.append(FunctionId(file, method))
                    owners.append(ClassId(file, number))
        if tells_much(name) or self.groups(owners) <= _BY_NAME_GROUPS:
            return methods
        return []

    def is_method(self, name: str) -> bool:
        """Whether any class of the tree has a method of that name; else it is a library's own."""
        found = self._methods_named.get(name)
        if found is None:
            found = self._methods_named[name] = any(
                name in facts.klass(number).methods
                for file in self.program.files(name)
                for facts in (self.program.index.facts(file),)
                for number in range(facts.class_count)
            )
        return found

    def groups(self, classes: list[ClassId]) -> int:
        """How many families of related classes there are among these (bounded)."""
        heads: list[ClassId] = []
        for each in classes:
            if not any(self.program.related(each, head) for head in heads):
                heads.append(each)
            if len(heads) > 8:
                break
        return len(heads)

    def bind(self, function: FunctionId, number: int, key: Any, path: Path) -> Iterator[Bound]:
        """What an argument with a value at this path becomes."""
        if isinstance(key, tuple):  # ("*", place): the rest of the places from a sequence
            if path and isinstance(path[0], int):
                key, path = key[1] + path[0], path[1:]
            else:
                rest = unpacked(path, ANY)
                key, path = ("rest", key[1]), rest if rest is not None else path
        elif key == "**":
            if not path or not isinstance(path[0], str) or path[0] in (ANY, UNKNOWN, NAME):
                return
            key, path = path[0], path[1:]
        callees = self.callees(function, number)
        for called in callees:
            if isinstance(called, ClassId):
                yield from self._field(called, key, path)
                continue
            for bound in self._parameter(called, key, path):
                yield bound
                if isinstance(key, str) and bound.parameter is not None and bound.parameter[1] != key:
                    yield from self._set_by_keyword(function, number, key, path)
        if not callees:
            yield from self._replaced(function, number, key, path)

    def _set_by_keyword(self, function: FunctionId, number: int, key: str, path: Path) -> Iterator[Bound]:
        """`declare(server_args, tp_size=2)` of a function with **fields: it writes that field of its first argument."""
        for place, _, sources in self.program.body(function).calls[number][2]:
            if place != 0 or len(sources) != 1:
                continue
            for each in ordered(self.typing.of(function, sources[0])):
                if isinstance(each, Instance):
                    yield from self._its_field(each.klass, key, path)

    def _its_field(self, klass: ClassId, name: str, path: Path) -> Iterator[Bound]:
        owners = self.settings.declared(name) if self.settings.is_hollow(klass, name) else ()
        for field, owner, line in self.fields(klass):
            if field == name:
                yield Bound(None, (owner, field, line), path)
        for owner in owners:
            yield Bound(None, (owner, name, self.program.klass(owner).attributes[name][1]), path)

    def _parameter(self, called: Called, key: Any, path: Path) -> Iterator[Bound]:
        facts = self.program.function(called.function)
        plain = [each for each in facts.parameters if each[1] == PLAIN]
        if isinstance(key, int):
            place = key + called.bound
            if place < len(plain):
                yield Bound((called.function, plain[place][0], plain[place][3]), None, path)
                return
            key_path: Path = (place - len(plain), *path)
            rest = REST
        elif isinstance(key, tuple):
            key_path, rest = (ANY, *path), REST
        else:
            for each in facts.parameters:
                if each[0] == key and each[1] != REST:
                    yield Bound((called.function, each[0], each[3]), None, path)
                    return
            key_path, rest = (key, *path), KEYWORDS
        for each in facts.parameters:
            if each[1] == rest:
                yield Bound((called.function, each[0], each[3]), None, key_path)

    def _field(self, klass: ClassId, key: Any, path: Path) -> Iterator[Bound]:
        if self._is_enumeration(klass):
            if key == 0:
                yield Bound(None, None, path)
            return
        fields = self.fields(klass)
        name = key if isinstance(key, str) else fields[key][0] if isinstance(key, int) and key < len(fields) else None
        for field, owner, line in fields:
            if field == name:
                yield Bound(None, (owner, field, line), path)
                if isinstance(key, int) and "NamedTuple" in self._bases(klass):
                    yield Bound(None, None, (key, *path))

    def fields(self, klass: ClassId) -> list[tuple[str, ClassId, int]]:
        """A dataclass's fields in order, those of its bases first: (name, class that has it, line)."""
        found: dict[str, tuple[ClassId, int]] = {}
        for each in reversed(self.program.line(klass)):
            for name, (annotation, line, functions) in self.program.klass(each).attributes.items():
                if annotation and functions[0] == self.program.klass(each).scope and "ClassVar" not in annotation:
                    found.setdefault(name, (each, line))
        return [(name, owner, line) for name, (owner, line) in found.items()]

    def _bases(self, klass: ClassId) -> set[str]:
        return {base.rpartition(".")[2] for each in self.program.line(klass) for base in self.program.klass(each).bases}

    def _is_enumeration(self, klass: ClassId) -> bool:
        return any(base.endswith(("Enum", "Flag")) for base in self._bases(klass))

    def _replaced(self, function: FunctionId, number: int, key: Any, path: Path) -> Iterator[Bound]:
        """dataclasses.replace(object, field=value)."""
        callee, arguments = self.program.body(function).calls[number][1:]
        if not isinstance(key, str):
            return
        kinds = self.typing.of(function, callee)
        if External("dataclasses.replace") not in kinds or not arguments:
            return
        for source in arguments[0][2]:
            for each in ordered(self.typing.of(function, source)):
                if isinstance(each, Instance):
                    yield Bound(None, (each.klass, key, self.program.klass(each.klass).line), path)


def tells_much(name: str) -> bool:
    """Whether a name is of so many words that things of that name are the same thing."""
    return name.strip("_").count("_") >= 3
