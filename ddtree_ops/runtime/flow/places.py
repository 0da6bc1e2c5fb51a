"""Where a value can be, and how it moves on."""

from __future__ import annotations

from typing import NamedTuple

from .paths import Path
from .program import ClassId, FunctionId, Variable


class Field(NamedTuple):
    """An attribute of a class's objects."""

    klass: ClassId
    name: str


class Result(NamedTuple):
    """What a call gives."""

    function: FunctionId
    number: int


class Returned(NamedTuple):
    """What a function gives back."""

    function: FunctionId


class Environment(NamedTuple):
    """An environment variable."""

    name: str


class Given(NamedTuple):
    """A parameter, entered by a call; what it leads to comes back to that call only."""

    function: FunctionId
    name: str


Place = Variable | Field | Result | Returned | Environment
Line = tuple[FunctionId, int]


class Move(NamedTuple):
    """A value goes on to `place`; `lines` are those that show it.

    `local`: it stays in the call that it is in. `entered`: the call whose parameter it becomes.
    """

    place: Place
    path: Path
    lines: tuple[Line, ...]
    local: bool = False
    entered: Result | None = None
