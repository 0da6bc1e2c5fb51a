"""Containers as they stand in an expression, and comprehensions."""

from __future__ import annotations

import ast
from typing import Any

from .facts import ANY, UNKNOWN
from .scope import LIKE_A_NAME, Scope
from .targets import bind
from .values import VALUE, Out, constant, sources, use, value

_MANY = 64  # elements of a literal beyond which their places are no longer told apart


def _sequence(scope: Scope, node: Any, out: Out) -> None:
    elements = node.elts
    told_apart = len(elements) <= _MANY and node.__class__ is not ast.Set
    held: Out = []
    for place, each in enumerate(elements):
        if each.__class__ is ast.Constant:
            constant(scope, each, out)
            if each.value.__class__ is str and each.value.startswith("--"):
                _row(scope, node, each.value)
            continue
        inner = sources(scope, each)
        if each.__class__ is ast.Starred:
            told_apart = False
            out.extend(inner)
        elif inner:
            held.append((place if told_apart else ANY, inner))
    if held:
        out.append(("{", tuple(held)))


def _row(scope: Scope, node: Any, flag: str) -> None:
    """A row of a table of flags, such as ("--tree-budget", "TREE_BUDGET", "help")."""
    beside = [each.id for each in node.elts if each.__class__ is ast.Name]
    texts = [("text", each.value, each.lineno) for each in node.elts if each.__class__ is ast.Constant and each.value != flag]
    found = (*beside, *(each for each in texts if isinstance(each[1], str) and LIKE_A_NAME.match(each[1])))
    if found:
        scope.module.flags.append((flag, node.lineno, 0, found))


def _dictionary(scope: Scope, node: ast.Dict, out: Out) -> None:
    held: Out = []
    for key, each in zip(node.keys, node.values, strict=True):
        if key is None:
            value(scope, each, out)
            continue
        name: Any = UNKNOWN
        if key.__class__ is ast.Constant:
            constant(scope, key, out)
            if isinstance(key.value, str | int):
                name = key.value
        else:
            use(scope, key)
        inner = sources(scope, each)
        if inner:
            held.append((name, inner))
    if held:
        out.append(("{", tuple(held)))


def _generators(scope: Scope, node: Any) -> None:
    for each in node.generators:
        bind(scope, each.target, iterated(scope, each.iter), each.target.lineno, element=True)
        for test in each.ifs:
            use(scope, test)


def _comprehension(scope: Scope, node: Any, out: Out) -> None:
    _generators(scope, node)
    inner = sources(scope, node.elt)
    if inner:
        out.append(("{", ((ANY, inner),)))


def _dict_comprehension(scope: Scope, node: ast.DictComp, out: Out) -> None:
    _generators(scope, node)
    use(scope, node.key)
    inner = sources(scope, node.value)
    if inner:
        out.append(("{", ((UNKNOWN, inner),)))


def iterated(scope: Scope, node: Any) -> tuple[Any, ...]:
    """Sources of what a loop runs over; zip and enumerate give pairs by place."""
    if node.__class__ is ast.Call and node.func.__class__ is ast.Name and node.args:
        if node.func.id == "enumerate":
            return (("{", ((ANY, (("{", ((1, (("}", sources(scope, node.args[0])),)),)),)),)),)
        if node.func.id == "zip":
            held = tuple((place, (("}", inner),)) for place, each in enumerate(node.args) if (inner := sources(scope, each)))
            return (("{", ((ANY, (("{", held),)),)),)
    return sources(scope, node)


VALUE.update(
    {
        ast.List: _sequence,
        ast.Tuple: _sequence,
        ast.Set: _sequence,
        ast.Dict: _dictionary,
        ast.ListComp: _comprehension,
        ast.SetComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.DictComp: _dict_comprehension,
    }
)
