"""Values that the reading of a source knows besides Python's own constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from ddtree_ops.runtime.parameters.modules import Binding, Function, Module


class Special(Enum):
    """Marks that are no constants of the source."""

    UNKNOWN = "unknown"
    PARSER = "parser"
    """An argparse parser, or a group of one, that is the server's."""


UNKNOWN = Special.UNKNOWN
PARSER = Special.PARSER
_LONGEST_LITERAL = 400  # what is longer can't be read


@dataclass(eq=False)
class Scope:
    """Where an expression stands: names of the functions around it, the innermost first, then its module's."""

    module: Module
    names: dict[str, object] = field(default_factory=dict)
    outer: Scope | None = None

    def look_up(self, name: str) -> object | Binding | None:
        """A local value, the module's binding, or None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return self.module.bindings.get(name)


@dataclass(frozen=True, eq=False)
class ClassValue:
    """A class of the tree."""

    module: Module
    node: ast.ClassDef


@dataclass(frozen=True, eq=False)
class FunctionValue:
    """A function of the tree; `owner` is the class that it was looked up in."""

    scope: Scope
    node: Function
    owner: ClassValue | None = None


@dataclass(frozen=True, eq=False)
class ModuleValue:
    """A module of the tree."""

    module: Module


@dataclass(frozen=True, eq=False)
class FieldValue:
    """A field of a record (a dataclass, a struct), as written. `negatable`: a bool of it has a flag `--no-...`, too."""

    name: str
    annotation: ast.expr | None
    default: ast.expr | None
    scope: Scope
    line: int
    doc: str | None
    negatable: bool = False


@dataclass(frozen=True, eq=False)
class FieldsValue:
    """The fields of a class, or what a function made of each of them."""

    fields: tuple[FieldValue, ...]

    def named(self, name: str) -> FieldValue | None:
        """One of them."""
        return next((one for one in self.fields if one.name == name), None)


@dataclass(frozen=True)
class Member:
    """A member of an enum class."""

    name: str
    value: object


class Reading(Protocol):
    """What gives values to expressions."""

    def value(self, node: ast.expr | None, scope: Scope) -> object: ...
    def attribute(self, base: object, name: str) -> object: ...
    def module(self, name: str) -> Module | None: ...


def words(values: object) -> tuple[str, ...] | None:
    """Choices as the words one writes on a command line; None if one of them isn't constant."""
    if isinstance(values, dict):
        values = list(values)
    if not isinstance(values, list | tuple | set | frozenset):
        return None
    found = tuple(_word(one) for one in values)
    known = tuple(one for one in found if one is not None)
    if len(known) != len(found):
        return None
    return tuple(sorted(known)) if isinstance(values, set | frozenset) else known


def _word(value: object) -> str | None:
    value = value.value if isinstance(value, Member) else value
    return str(value) if isinstance(value, str | int | float) else None


def is_constant(value: object) -> bool:
    """Whether a value consists of Python's constants alone."""
    if isinstance(value, list | tuple | set | frozenset):
        return all(is_constant(one) for one in value)
    if isinstance(value, dict):
        return all(is_constant(one) for pair in value.items() for one in pair)
    return value is None or isinstance(value, str | bytes | int | float | complex)


def literal(value: object) -> str | None:
    """A constant as Python writes it; None for anything else, and for what is too long to be read."""
    if not is_constant(value):
        return None
    if isinstance(value, set | frozenset) and value:
        return "{" + ", ".join(sorted(map(repr, value)))[:_LONGEST_LITERAL] + "}"
    text = repr(value)
    return text if len(text) <= _LONGEST_LITERAL else None


def pieces(value: object) -> Iterator[object] | None:
    """What a loop over a value gives; None if that isn't known."""
    if isinstance(value, FieldsValue):
        return iter(value.fields)
    if isinstance(value, dict | list | tuple):
        return iter(value)
    if isinstance(value, set | frozenset):
        return iter(sorted(value, key=repr))
    return None
