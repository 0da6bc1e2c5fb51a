"""The facts of one Python file, as values flow in it: plain tuples that marshal stores, decoded piece by piece.

    operand    what a value is read from: "name" | number of a call | None (nothing that is followed)
               | (operand, attribute, line)            `a.b`
               | (operand, key, line, 0)               `a[key]`; key None: not known when reading the source
               | ("$", variable, line)                 an environment variable
    source     an operand | ("{", ((key, sources), ...)) a container | ("}", sources) the elements of these
               | ("[", sources) what is looked up by a key of these sources
    target     "name" | (operand, attribute, line) | (operand, key, line, 0) | None (nothing that is followed)
               | ("{", ((key, target), ...)) unpacking; key ("from", n): the rest from place n on
    flow       (line, target, sources): each of the sources flows into the target; "<return>" and "<yield>" are targets, too
    call       (line, operand called, ((key, line, sources), ...)): key is a place, a keyword, ("*", place) or "**"; what is
               called is (LATER, operand) where partial() binds the arguments
               As a source (PARTIAL, call, places taken, 0, 0) stands for the function with these arguments.

A comparison, a test, a log message or len() is no flow: its operands are in `uses`.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import Any, NamedTuple

Operand = Any
Source = Any
Target = Any
Sources = tuple[Source, ...]
Flow = tuple[int, Target, Sources]
Argument = tuple[int | str, int, Sources]
Call = tuple[int, Operand, tuple[Argument, ...]]

RETURN, YIELD = "<return>", "<yield>"
ANY, UNKNOWN = "*", "?"
"""Keys: any place of a sequence; a key of a mapping that isn't known when reading the source."""
LATER, PARTIAL = "~", "&"
PLAIN, REST, ONLY_KEYWORD, KEYWORDS = range(4)
"""Kinds of parameters: `a`, `*a`, `a` after the star, `**a`."""


class Parameter(NamedTuple):
    """A parameter; `annotation` are the dotted names that occur in it."""

    name: str
    kind: int
    annotation: tuple[str, ...]
    line: int


class Check(NamedTuple):
    """A test whose outcome is an error, a warning or a clamp. `span` is (line, column, end line, end column) of the condition."""

    kind: str
    line: int
    span: tuple[int, int, int, int]
    mentions: tuple[Operand, ...]
    outcome: tuple[int, int]


class Body(NamedTuple):
    """What a function does."""

    flows: tuple[Flow, ...]
    calls: tuple[Call, ...]
    uses: tuple[Operand, ...]
    checks: tuple[Check, ...]
    blind: tuple[tuple[int, str], ...]
    local: tuple[str, ...]
    imports: Mapping[str, tuple[str, str | None]]
    inner: Mapping[str, tuple[str, int]]
    """Functions ("def") and classes ("class") defined inside, with their numbers."""
    annotations: Mapping[str, tuple[str, ...]]


class Function(NamedTuple):
    """A function, a lambda, a class's body or (number 0) the module's. `owner` is the number of a method's class, or -1."""

    name: str
    qualified: str
    line: int
    parent: int
    owner: int
    kind: str
    """def, lambda, class or module"""
    parameters: tuple[Parameter, ...]
    decorators: tuple[str, ...]
    returns: tuple[str, ...]
    body: bytes


class Class(NamedTuple):
    """A class. `attributes`: name -> (annotation, line, numbers of the functions that store it)."""

    name: str
    qualified: str
    line: int
    parent: int
    bases: tuple[str, ...]
    decorators: tuple[str, ...]
    scope: int
    methods: Mapping[str, int]
    attributes: Mapping[str, tuple[tuple[str, ...], int, tuple[int, ...]]]


class FileFacts:
    """One file's facts. Cheap to load: functions and names are decoded when they are asked for."""

    __slots__ = ("_bodies", "_classes", "_functions", "_names", "_raw", "name")

    def __init__(self, raw: tuple[Any, ...]) -> None:
        self._raw = raw
        self.name: str = raw[0]
        self._functions: dict[int, Function] = {}
        self._bodies: dict[int, Body] = {}
        self._classes: dict[int, Class] = {}
        self._names: dict[str, tuple[int, ...]] | None = None

    @classmethod
    def load(cls, data: bytes) -> FileFacts:
        """Facts from `dump`'s bytes. Raises ValueError, EOFError or TypeError if they are none."""
        raw = marshal.loads(data)  # noqa: S302 - our own cache, verified by its reader
        if not (isinstance(raw, tuple) and len(raw) == 8):
            raise ValueError("no facts of a file")
        return cls(raw)

    def dump(self) -> bytes:
        """The facts as bytes, for this version of the extractor only."""
        return marshal.dumps(self._raw)

    def renamed(self, name: str) -> FileFacts:
        """The same content at another place."""
        return FileFacts((name, *self._raw[1:]))

    @property
    def problem(self) -> str | None:
        """Why nothing is known of this file, if so."""
        reason: str | None = self._raw[1]
        return reason

    @property
    def names(self) -> Mapping[str, tuple[int, ...]]:
        """Identifiers, attributes and string constants that look like one -> numbers of the functions where they occur.

        An environment variable that is read or written is also there as `$NAME`.
        """
        if self._names is None:
            self._names = marshal.loads(self._raw[2])  # noqa: S302
        return self._names

    @property
    def class_count(self) -> int:
        """Classes are numbered from 0."""
        return len(self._raw[4])

    @property
    def imports(self) -> Mapping[str, tuple[str, str | None]]:
        """The module's imports: name here -> (module with leading dots, name there or None); "*0", "*1"... for star imports."""
        found: dict[str, tuple[str, str | None]] = self._raw[5]
        return found

    @property
    def constants(self) -> Mapping[str, tuple[str, int]]:
        """The module's string constants: name -> (text, line)."""
        found: dict[str, tuple[str, int]] = self._raw[6]
        return found

    @property
    def flags(self) -> tuple[tuple[str, int, int, tuple[Operand, ...]], ...]:
        """Command line flags: (flag, line, 1 if of add_argument, else of a table's row, operands and strings beside it)."""
        found: tuple[tuple[str, int, int, tuple[Operand, ...]], ...] = self._raw[7]
        return found

    def function(self, number: int) -> Function:
        """Function by number."""
        found = self._functions.get(number)
        if found is None:
            found = self._functions[number] = Function(*self._raw[3][number])
        return found

    def klass(self, number: int) -> Class:
        """Class by number."""
        found = self._classes.get(number)
        if found is None:
            found = self._classes[number] = Class(*self._raw[4][number])
        return found

    def body(self, number: int) -> Body:
        """What a function does."""
        found = self._bodies.get(number)
        if found is None:
            found = self._bodies[number] = Body(*marshal.loads(self._raw[3][number][9]))  # noqa: S302
        return found
