"""Kinds of things that an expression can be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .modules import ClassId, External, FunctionId, ModuleFile

_PROPERTY = ("property", "cached_property")


class Instance(NamedTuple):
    """An object of a class of the tree (or a container of such)."""

    klass: ClassId


class ClassObject(NamedTuple):
    """The class itself."""

    of: ClassId


class Callable_(NamedTuple):
    """A function with so many places taken already."""

    function: FunctionId
    bound: int


class SuperOf(NamedTuple):
    """`super()` in a method of this class."""

    below: ClassId


Type = Instance | ClassObject | Callable_ | SuperOf | ModuleFile | External
Types = frozenset[Type]
NOTHING: Types = frozenset()


def is_property(decorators: tuple[str, ...]) -> bool:
    """Whether a method is read as an attribute."""
    return any(each.rpartition(".")[2] in _PROPERTY for each in decorators)


def ordered(types: Types) -> Iterable[Type]:
    """The same in every process: the order of a set isn't, and of ways that are as good the first is taken."""
    return types if len(types) < 2 else sorted(types, key=str)
