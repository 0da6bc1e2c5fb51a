"""Where a name is read, written or tested, whether or not a value goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ddtree_ops.runtime.extract.facts import Check

from .lookup import Lookup
from .places import Environment, Field, Line, Place
from .program import FunctionId, Variable


class Tested(NamedTuple):
    """A check in a function."""

    function: FunctionId
    check: Check


class Mentions:
    """Looks for places in the code of functions."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.program = lookup.program

    def users(self, place: Place) -> Iterator[FunctionId]:
        """Functions that may mention a place."""
        if isinstance(place, Field):
            yield from self.program.functions_with(place.name)
        elif isinstance(place, Environment):
            yield from self.program.functions_with(f"${place.name}")
        elif isinstance(place, Variable) and place.function.number == 0:
            yield from self.program.functions_with(place.name)
        elif isinstance(place, Variable):
            yield place.function

    def is_here(self, function: FunctionId, operand: Any, place: Place) -> bool:
        """Whether an operand is the place."""
        if isinstance(place, Environment):
            return isinstance(operand, tuple) and operand[0] == "$" and operand[1] == place.name
        if isinstance(place, Variable):
            return operand == place.name and self.program.symbol(function, place.name) == place
        if not (isinstance(place, Field) and isinstance(operand, tuple) and len(operand) == 3 and operand[0] != "$"):
            return False
        if operand[1] != place.name:
            return False
        kinds = self.lookup.classes(function, operand[0])
        return self.lookup.may_be(kinds, place)

    def reads(self, place: Place) -> Iterator[Line]:
        """Lines that read it."""
        for function in self.users(place):
            body = self.program.body(function)
            for part, line_of in ((body.flows, _flow_line), (body.calls, _call_line)):
                for each in part:
                    for operand in operands(each[2]):
                        if self.is_here(function, operand, place):
                            yield function, operand[2] if isinstance(operand, tuple) else line_of(each)
            for each in body.calls:
                yield from self._lines(function, operands(each[1]), place)
            yield from self._lines(function, (operand for use in body.uses for operand in operands(use)), place)

    def _lines(self, function: FunctionId, found: Iterator[Any], place: Place) -> Iterator[Line]:
        for operand in found:
            if isinstance(operand, tuple) and self.is_here(function, operand, place):
                yield function, operand[2]

    def writes(self, place: Place) -> Iterator[Line]:
        """Lines that assign it."""
        for function in self.users(place):
            for line, target, _ in self.program.body(function).flows:
                for aim in _targets(target):
                    if self.is_here(function, aim, place):
                        yield function, aim[2] if isinstance(aim, tuple) else line

    def checks(self, place: Place) -> Iterator[Tested]:
        """Tests that depend on it and end in an error, a warning or a clamp."""
        for function in self.users(place):
            for check in self.program.body(function).checks:
                if any(self.is_here(function, operand, place) for operand in check[3]):
                    yield Tested(function, Check(*check))


def operands(found: Any) -> Iterator[Any]:
    """All operands in sources, receivers of receivers too."""
    waiting = [found]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, tuple) and each:
            if len(each) == 3 and isinstance(each[1], str) and isinstance(each[2], int) and each[0] not in ("{", "[", "}"):
                yield each
                if each[0] != "$":
                    waiting.append(each[0])
            else:
                waiting.extend(each)


def _targets(target: Any) -> Iterator[Any]:
    if isinstance(target, tuple) and target and target[0] == "{":
        for _, inner in target[1]:
            yield from _targets(inner)
    elif target is not None:
        yield target


def _flow_line(flow: Any) -> int:
    line: int = flow[0]
    return line


_call_line: Callable[[Any], int] = _flow_line
