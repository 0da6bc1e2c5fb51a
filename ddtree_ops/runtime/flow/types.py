"""What the receiver of an attribute or a call is, as far as annotations, constructors and conventions tell."""

from __future__ import annotations

from collections.abc import Iterable

from ddtree_ops.runtime.extract.facts import LATER, PARTIAL, RETURN, Operand

from .conventions import Conventions
from .kinds import NOTHING, Callable_, ClassObject, Instance, SuperOf, Type, Types, is_property, ordered
from .program import ClassId, External, FunctionId, ModuleFile, Program, Symbol, Variable

_DEPTH = 14
_SOURCES = 8  # assignments of a name that are looked at
_NO_CLASSES = frozenset(
    ["Any", "Optional", "Union", "List", "Dict", "Tuple", "Set", "Sequence", "Iterable", "Mapping", "None", "Self", "object"]
)


class Typing:
    """Types of operands, remembered."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[tuple[FunctionId, Operand], Types] = {}
        self._attributes: dict[tuple[ClassId, str], Types] = {}
        self._returned: dict[FunctionId, Types] = {}
        self._conventions = Conventions(program, self.annotated)
        self._depth = 0

    def of(self, function: FunctionId, operand: Operand) -> Types:
        """What an operand in a function can be; empty if nothing is known."""
        key = (function, operand)
        found = self._known.get(key)
        if found is None:
            if self._depth > _DEPTH:
                return NOTHING
            self._known[key] = NOTHING  # asked again while it is found out
            self._depth += 1
            try:
                found = self._known[key] = self._of(function, operand)
            finally:
                self._depth -= 1
        return found

    def _of(self, function: FunctionId, operand: Operand) -> Types:
        if isinstance(operand, str):
            return self._name(function, operand)
        if isinstance(operand, int):
            return self.called(function, operand)
        if not isinstance(operand, tuple):
            return NOTHING
        if operand[0] == "{":
            return self._all(function, (source for _, sources in operand[1] for source in sources))
        if operand[0] in ("}", "["):
            return self._all(function, operand[1])
        if operand[0] == PARTIAL:
            return frozenset(
                Callable_(each.function, each.bound + operand[2]) if isinstance(each, Callable_) else each
                for each in self.of(function, self.program.body(function).calls[operand[1]][1])
            )
        if operand[0] == LATER:
            return self.of(function, operand[1])
        if operand[0] == "$":
            return NOTHING
        if len(operand) == 3:
            return self.attribute(function, operand[0], operand[1])
        return self.of(function, operand[0])  # an element counts as its container

    def _all(self, function: FunctionId, sources: Iterable[Operand]) -> Types:
        found: set[Type] = set()
        for number, source in enumerate(sources):
            if number >= _SOURCES:
                break
            found |= self.of(function, source)
        return frozenset(found)

    def _name(self, function: FunctionId, name: str) -> Types:
        if name.startswith("<lambda:"):
            return frozenset({Callable_(FunctionId(function.file, int(name[8:-1])), 0)})
        symbol = self.program.symbol(function, name)
        if isinstance(symbol, Variable):
            return self.variable(symbol)
        return self.meaning(symbol)

    def meaning(self, symbol: Symbol | None) -> Types:
        """The type of what a symbol stands for."""
        if isinstance(symbol, FunctionId):
            return frozenset({Callable_(symbol, 0)})
        if isinstance(symbol, ClassId):
            return frozenset({ClassObject(symbol)})
        if isinstance(symbol, ModuleFile | External):
            return frozenset({symbol})
        return self.variable(symbol) if isinstance(symbol, Variable) else NOTHING

    def variable(self, variable: Variable) -> Types:
        """What a variable holds."""
        function, name = variable
        key = (function, ("variable", name))
        found = self._known.get(key)
        if found is None:
            self._known[key] = NOTHING
            found = self._known[key] = (
                self._parameter(function, name) or self._assigned(function, name) or self._conventions.of(name)
            )
        return found

    def _parameter(self, function: FunctionId, name: str) -> Types:
        facts = self.program.function(function)
        for place, parameter in enumerate(facts.parameters):
            if parameter[0] == name:
                outer = FunctionId(function.file, max(facts.parent, 0))
                annotated = self.annotated(outer, parameter[2])
                if annotated:
                    return annotated
                if place == 0 and facts.owner >= 0 and "staticmethod" not in facts.decorators:
                    owner = ClassId(function.file, facts.owner)
                    is_class = "classmethod" in facts.decorators or facts.name in ("__new__", "__init_subclass__")
                    return frozenset({ClassObject(owner) if is_class else Instance(owner)})
        return NOTHING

    def _assigned(self, function: FunctionId, name: str) -> Types:
        body = self.program.body(function)
        annotated = self.annotated(function, body.annotations.get(name, ()))
        if annotated:
            return annotated
        found: set[Type] = set()
        seen = 0
        for _, target, sources in body.flows:
            if target == name or (isinstance(target, tuple) and target[0] == "{"):
                for source in sources if target == name else _unpacked(target, name, sources):
                    found |= self.of(function, source)
                    seen += 1
                if seen > _SOURCES:
                    break
        return frozenset(found)

    def annotated(self, function: FunctionId, names: tuple[str, ...]) -> Types:
        """What an annotation, given as the names in it, says."""
        found: set[Type] = set()
        as_class = False
        for name in names:
            if name in _NO_CLASSES or name == "?":
                continue
            if name.rpartition(".")[2] in ("Callable", "Literal"):
                return NOTHING
            if name in ("Type", "type", "typing.Type"):
                as_class = True
                continue
            symbol = self.program.dotted(function, name)
            if isinstance(symbol, ClassId):
                found.add(ClassObject(symbol) if as_class else Instance(symbol))
            elif isinstance(symbol, External) and not symbol.dotted.startswith(
                ("typing.", "typing_extensions.", "collections.abc.")
            ):
                found.add(symbol)
            elif symbol is None and name in ("int", "str", "float", "bool", "bytes"):
                found.add(External(name))
        if any(isinstance(each, Instance | ClassObject) for each in found):
            found = {each for each in found if not isinstance(each, External)}
        return frozenset(found)

    def attribute(self, function: FunctionId, base: Operand, name: str) -> Types:
        """What `base.name` is."""
        found: set[Type] = set()
        known = self.of(function, base) if base is not None else NOTHING
        for each in known:
            if isinstance(each, ModuleFile):
                found |= self.meaning(self.program.member(each.file, name) or self._below(each.file, name))
            elif isinstance(each, External):
                found.add(External(f"{each.dotted}.{name}"))
            elif isinstance(each, SuperOf):
                method = self.program.method(each.below, name, after=True)
                found |= {Callable_(method, 1)} if method else NOTHING
            elif isinstance(each, Instance | ClassObject):
                found |= self.of_class(each.klass if isinstance(each, Instance) else each.of, name, isinstance(each, ClassObject))
        return frozenset(found) or (NOTHING if base is None else self._conventions.of(name))

    def _below(self, file: str, name: str) -> Symbol | None:
        found = self.program.module(f"{file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}.{name}", file)
        return ModuleFile(found) if found else None

    def of_class(self, klass: ClassId, name: str, of_class_object: bool) -> Types:
        """What an attribute of a class's objects is."""
        method = self.program.method(klass, name)
        if method is not None:
            facts = self.program.function(method)
            if is_property(facts.decorators):
                return self.returned(method)
            bound = 0 if "staticmethod" in facts.decorators or (of_class_object and "classmethod" not in facts.decorators) else 1
            return frozenset({Callable_(method, bound)})
        key = (klass, name)
        found = self._attributes.get(key)
        if found is None:
            self._attributes[key] = NOTHING
            found = self._attributes[key] = self._stored(klass, name)
        return found

    def _stored(self, klass: ClassId, name: str) -> Types:
        program = self.program
        for each in (*program.line(klass), *(sorted(program.heirs(klass)) if len(program.heirs(klass)) < 12 else ())):
            facts = program.klass(each)
            inner = program.body(FunctionId(each.file, facts.scope)).inner.get(name)
            if inner is not None and inner[0] == "class":
                return frozenset({ClassObject(ClassId(each.file, inner[1]))})
            if name not in facts.attributes:
                continue
            annotation, _, functions = facts.attributes[name]
            found = self.annotated(FunctionId(each.file, functions[0]), annotation)
            for number in functions[:4] if not found else ():
                found |= self._stored_in(FunctionId(each.file, number), name)
            if found:
                return found
        return NOTHING

    def _stored_in(self, function: FunctionId, name: str) -> Types:
        facts = self.program.function(function)
        itself = facts.parameters[0][0] if facts.parameters else ""
        found: set[Type] = set()
        for _, target, sources in self.program.body(function).flows:
            own = target == name if facts.kind == "class" else isinstance(target, tuple) and target[:2] == (itself, name)
            if own:
                found |= self._all(function, sources)
            elif isinstance(target, tuple) and target[0] == "{":
                for place, each in target[1]:
                    if isinstance(each, tuple) and each[:2] == (itself, name):
                        found |= self._all(function, _places(sources, place))
        return frozenset(found)

    def called(self, function: FunctionId, number: int) -> Types:
        """What a call gives."""
        callee, arguments = self.program.body(function).calls[number][1:]
        found: set[Type] = set()
        if callee == "super":
            owner = self._around(function)
            return frozenset({SuperOf(owner)}) if owner else NOTHING
        for each in ordered(self.of(function, callee)):
            if isinstance(each, ClassObject):
                found.add(Instance(each.of))
            elif isinstance(each, Callable_):
                found |= self.returned(each.function)
            elif isinstance(each, Instance):
                called = self.program.method(each.klass, "__call__") or self.program.method(each.klass, "forward")
                found |= self.returned(called) if called else NOTHING
            elif isinstance(each, External):
                if each.dotted in ("dataclasses.replace", "copy.copy", "copy.deepcopy") and arguments:
                    return self._all(function, arguments[0][2])
                found.add(External(f"{each.dotted}()"))
        return frozenset(found)

    def _around(self, function: FunctionId) -> ClassId | None:
        while function.number > 0:
            owner = self.program.owner(function)
            if owner is not None:
                return owner
            function = FunctionId(function.file, self.program.function(function).parent)
        return None

    def returned(self, function: FunctionId) -> Types:
        """What a function gives."""
        found = self._returned.get(function)
        if found is None:
            self._returned[function] = NOTHING
            facts = self.program.function(function)
            found = self.annotated(FunctionId(function.file, max(facts.parent, 0)), facts.returns)
            if not found and "Self" in facts.returns and facts.owner >= 0:
                found = frozenset({Instance(ClassId(function.file, facts.owner))})
            if not found:
                sources = (
                    each for _, target, several in self.program.body(function).flows if target == RETURN for each in several
                )
                found = self._all(function, sources)
            self._returned[function] = found
        return found


def _unpacked(target: Operand, name: str, sources: tuple[Operand, ...]) -> list[Operand]:
    """The sources that unpacking gives to a name."""
    found: list[Operand] = []
    for place, each in target[1]:
        if each == name:
            found += _places(sources, place)
        elif isinstance(each, tuple) and each[0] == "{":
            found += _unpacked(each, name, tuple(_places(sources, place)))
    return found


def _places(sources: tuple[Operand, ...], place: object) -> list[Operand]:
    found: list[Operand] = []
    for source in sources:
        if isinstance(source, tuple) and source[0] == "{":
            found += [each for key, inner in source[1] if key == place or "*" in (key, place) for each in inner]
        elif place == "*":
            found.append(source)
    return found
