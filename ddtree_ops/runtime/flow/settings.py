"""Classes that declare a server's settings, for objects that stand for them without having the attributes themselves.

SGLang 0.5.23 assembles ServerArgs of namespaces (`class Spec`) when it is imported, and reads them as `get_spec().name`, of an
object with `__getattr__`. No annotation tells which namespace that is: but a setting is declared only once.
"""

from __future__ import annotations

from ddtree_ops.runtime.extract.facts import Class

from .program import ClassId, Program

_MANY = 12  # annotated attributes of a class that make it one of settings
_FAMILIES = 2


class Settings:
    """Finds the class that declares a setting."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._declared: dict[str, tuple[ClassId, ...]] = {}
        self._hollow: dict[tuple[ClassId, str], bool] = {}

    def declared(self, name: str) -> tuple[ClassId, ...]:
        """Classes of settings that declare one of this name; none if there are several that have nothing to do with another."""
        found = self._declared.get(name)
        if found is None:
            every = [
                ClassId(file, number)
                for file in self.program.files(name)
                for facts in (self.program.index.facts(file),)
                for number in range(facts.class_count)
                if _declares(facts.klass(number), name)
            ]
            named = [
                each for each in every if "arg" in each.file.rpartition("/")[0] or self.program.klass(each).name.endswith("Args")
            ]
            found = self._declared[name] = tuple(named or every) if len(named or every) <= _FAMILIES else ()
        return found

    def is_hollow(self, klass: ClassId, name: str) -> bool:
        """Whether neither a class nor its relatives have an attribute of that name: it gets it from elsewhere."""
        key = (klass, name)
        found = self._hollow.get(key)
        if found is None:
            family = {*self.program.line(klass), *self.program.heirs(klass)}
            found = self._hollow[key] = not any(self._has(each, name) for each in family)
        return found

    def _has(self, klass: ClassId, name: str) -> bool:
        facts = self.program.klass(klass)
        return name in facts.attributes or name in facts.methods


def _declares(klass: Class, name: str) -> bool:
    own = klass.attributes.get(name)
    if not own or not own[0] or klass.scope not in own[2]:
        return False
    return sum(1 for annotation, _, functions in klass.attributes.values() if annotation and klass.scope in functions) >= _MANY
