"""The classes of a source tree, on top of its modules."""

from __future__ import annotations

from collections.abc import Iterator

from .modules import ClassId, External, Facts, FunctionId, HasFiles, HasName, ModuleFile, Modules, Symbol, Variable

__all__ = [
    "ClassId",
    "External",
    "Facts",
    "FunctionId",
    "HasFiles",
    "HasName",
    "ModuleFile",
    "Modules",
    "Program",
    "Symbol",
    "Variable",
]
_MOST_HEIRS = 400
_LONGEST_LINE = 100


class Program(Modules):
    """A source tree as one program."""

    def __init__(self, index: Facts) -> None:
        super().__init__(index)
        self._named: dict[str, tuple[ClassId, ...]] = {}
        self._lines: dict[ClassId, tuple[ClassId, ...]] = {}
        self._heirs: dict[ClassId, frozenset[ClassId]] = {}
        self._related: dict[tuple[ClassId, ClassId], bool] = {}

    def classes_named(self, name: str) -> tuple[ClassId, ...]:
        """Classes of a name, wherever they are."""
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = tuple(
                ClassId(file, number)
                for file in self.files(name)
                for facts in (self.index.facts(file),)
                for number in range(facts.class_count)
                if facts.klass(number).name == name
            )
        return found

    def line(self, klass: ClassId) -> tuple[ClassId, ...]:
        """A class and those it inherits from, the nearest first."""
        found = self._lines.get(klass)
        if found is None:
            order: dict[ClassId, None] = {}
            waiting = [klass]
            while waiting and len(order) < _LONGEST_LINE:
                each = waiting.pop()
                if each not in order:
                    order[each] = None
                    waiting.extend(reversed(self._bases(each)))
            found = self._lines[klass] = tuple(order)
        return found

    def _bases(self, klass: ClassId) -> list[ClassId]:
        facts = self.klass(klass)
        found = (self.dotted(FunctionId(klass.file, facts.parent), base) for base in facts.bases)
        return [each for each in found if isinstance(each, ClassId)]

    def heirs(self, klass: ClassId) -> frozenset[ClassId]:
        """A class and all that inherit from it."""
        found = self._heirs.get(klass)
        if found is None:
            self._heirs[klass] = frozenset({klass})
            every = {klass}
            waiting = [klass]
            while waiting and len(every) < _MOST_HEIRS:
                for below in self._below(waiting.pop()):
                    if below not in every:
                        every.add(below)
                        waiting.append(below)
            found = self._heirs[klass] = frozenset(every)
        return found

    def _below(self, klass: ClassId) -> Iterator[ClassId]:
        name = self.klass(klass).name
        for file in self.files(name):
            facts = self.index.facts(file)
            for number in range(facts.class_count):
                below = facts.klass(number)
                for base in below.bases:
                    if base.rpartition(".")[2] == name and self.dotted(FunctionId(file, below.parent), base) == klass:
                        yield ClassId(file, number)

    def related(self, one: ClassId, other: ClassId) -> bool:
        """Whether one object can be both: a class and its base, or two bases of a class."""
        if one == other:
            return True
        key = (one, other) if one < other else (other, one)
        found = self._related.get(key)
        if found is None:
            found = one in self.line(other) or other in self.line(one) or bool(self.heirs(one) & self.heirs(other))
            self._related[key] = found
        return found

    def method(self, klass: ClassId, name: str, *, after: bool = False) -> FunctionId | None:
        """A method by name, inherited ones too; `after`: as super() finds it."""
        for each in self.line(klass)[1 if after else 0 :]:
            number = self.klass(each).methods.get(name)
            if number is not None:
                return FunctionId(each.file, number)
        return None

    def overrides(self, klass: ClassId, name: str) -> list[FunctionId]:
        """Methods of a name in the classes that inherit from this one."""
        found = []
        for each in sorted(self.heirs(klass)):
            number = self.klass(each).methods.get(name)
            if number is not None:
                found.append(FunctionId(each.file, number))
        return found

    def owner(self, function: FunctionId) -> ClassId | None:
        """The class whose method, or body, a function is."""
        owner = self.function(function).owner
        return ClassId(function.file, owner) if owner >= 0 else None
