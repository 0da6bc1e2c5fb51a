"""The edges of one function: from operands to what they flow into, with what is taken out of and put into containers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ddtree_ops.runtime.extract.facts import ANY, PARTIAL, Body, Call, Flow, Operand

from .builtin_methods import HAND_ON, OF_A_KEY
from .paths import NAME, Path, unpacked


class Edge(NamedTuple):
    """`source` and `target`: "name" | call number | (base, attribute, line) | ("$", variable, line).

    As a target also ("argument", call, key, line); a call's number as a target: the value of a method of its receiver.
    """

    source: Operand
    taken: Path
    target: Any
    put: Path
    line: int


class Graph:
    """Edges by what they come from and by what they lead to."""

    __slots__ = ("_into", "body", "by_source")

    def __init__(self, body: Body) -> None:
        self.body = body
        self.by_source: dict[Any, list[Edge]] = {}
        self._into: dict[Any, list[Edge]] | None = None
        for edge in _edges(body):
            self.by_source.setdefault(key_of(edge.source), []).append(edge)

    @property
    def into(self) -> dict[Any, list[Edge]]:
        """Edges by their target."""
        if self._into is None:
            self._into = {}
            for edges in self.by_source.values():
                for edge in edges:
                    self._into.setdefault(key_of(edge.target), []).append(edge)
        return self._into


def key_of(end: Any) -> Any:
    """What an end is found by: attributes by their name alone, whatever the receiver."""
    if end.__class__ is tuple:
        if end[0] == "argument":
            return end[:3]
        return ("$", end[1]) if end[0] == "$" else (".", end[1])
    return end


def _edges(body: Body) -> Iterator[Edge]:
    for flow in body.flows:
        yield from _of_flow(flow)
    for number, call in enumerate(body.calls):
        yield from _of_call(number, call)


def _of_flow(flow: Flow) -> Iterator[Edge]:
    line, target, sources = flow
    aims = tuple(_aims(target, (), ()))
    for source in sources:
        for root, taken, put in _roots(source):
            for aim, aim_taken, aim_put in aims:
                joined = _joined(taken, put, aim_taken, aim_put)
                if joined is not None:
                    yield Edge(root, joined[0], aim, joined[1], line)


def _of_call(number: int, call: Call) -> Iterator[Edge]:
    for key, line, sources in call[2]:
        for source in sources:
            for root, taken, put in _roots(source):
                yield Edge(root, taken, ("argument", number, key, line), put, line)
    callee = call[1]
    if callee.__class__ is tuple and len(callee) == 3 and callee[1] in HAND_ON and not (callee[1] in OF_A_KEY and call[2]):
        for root, taken, put in _roots(callee[0]):
            joined = _joined(taken, put, (ANY,), (ANY, 1)) if callee[1] == "items" else (taken, put)
            if joined is not None:
                yield Edge(root, joined[0], number, joined[1], call[0])


def _roots(source: Any) -> Iterator[tuple[Any, Path, Path]]:
    """(operand without subscripts, keys taken out, keys put into) of a source."""
    if source.__class__ is not tuple:
        if source is not None:
            yield source, (), ()
        return
    head = source[0]
    if head == "{":
        for key, inner in source[1]:
            for root, taken, put in _all_roots(inner):
                yield root, taken, (key, *put)
    elif head in ("}", "["):
        yield from _taken(_all_roots(source[1]), ANY if head == "}" else NAME)
    elif head == PARTIAL:
        return
    elif len(source) == 4:
        yield from _taken(_roots(source[0]), source[1])
    else:
        yield source, (), ()


def _all_roots(sources: Any) -> Iterator[tuple[Any, Path, Path]]:
    for each in sources:
        yield from _roots(each)


def _taken(roots: Iterator[tuple[Any, Path, Path]], key: Any) -> Iterator[tuple[Any, Path, Path]]:
    for root, taken, put in roots:
        joined = _joined(taken, put, (key,), ())
        if joined is not None:
            yield root, *joined


def _joined(taken: Path, put: Path, then_taken: Path, then_put: Path) -> tuple[Path, Path] | None:
    for key in then_taken:
        if put:
            rest = unpacked(put, key)
            if rest is None:
                return None
            put = rest
        else:
            taken = (*taken, key)
    return taken, (*then_put, *put)


def _aims(target: Any, taken: Path, put: Path) -> Iterator[tuple[Any, Path, Path]]:
    if target is None:
        return
    if target.__class__ is tuple and target[0] == "{":
        for key, inner in target[1]:
            yield from _aims(inner, (*taken, key), put)
    elif target.__class__ is tuple and len(target) == 4:
        yield from _aims(target[0], taken, (target[1], *put))
    elif target.__class__ is not int:
        yield target, taken, put
