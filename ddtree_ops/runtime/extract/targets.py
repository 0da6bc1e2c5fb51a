"""The left sides of assignments."""

from __future__ import annotations

import ast
from typing import Any

from .facts import ANY, UNKNOWN
from .scope import Scope
from .values import Out, constant_key, is_environment, operand, use, use_parts


def bind(scope: Scope, node: Any, found: tuple[Any, ...], line: int, *, element: bool = False) -> None:
    """A value flows into a target: one flow. `element`: what flows are the elements of the value."""
    aim = target(scope, node)
    if element:
        aim = ("{", ((ANY, aim),))
    scope.flows.append((line, aim, found))


def target(scope: Scope, node: Any) -> Any:
    """The target that an assignment's left side is."""
    cls = node.__class__
    if cls is ast.Name:
        scope.names.add(node.id)
        scope.local.add(node.id)
        return node.id
    if cls is ast.Attribute:
        scope.names.add(node.attr)
        base = operand(scope, node.value)
        if base == scope.itself and base:
            scope.module.classes[scope.owner].stores(node.attr, (), node.lineno, scope.number)
        return (base, node.attr, node.end_lineno)
    if cls is ast.Subscript:
        return _subscript_target(scope, node)
    if cls is ast.Tuple or cls is ast.List:
        return _unpacking(scope, node)
    if cls is ast.Starred:
        return target(scope, node.value)
    return None


def _unpacking(scope: Scope, node: Any) -> Any:
    held: Out = []
    starred = False
    for place, each in enumerate(node.elts):
        if each.__class__ is ast.Starred:
            starred = True
            held.append((("from", place), target(scope, each.value)))
        else:
            held.append((ANY if starred else place, target(scope, each)))
    return ("{", tuple(held))


def _subscript_target(scope: Scope, node: ast.Subscript) -> Any:
    base = operand(scope, node.value)
    if node.slice.__class__ is ast.Slice:
        use_parts(scope, node.slice)
        return (base, ANY, node.lineno, 0)
    key = constant_key(node.slice)
    if key is None:
        use(scope, node.slice)
        if is_environment(base):
            scope.blind.append((node.lineno, "writes an environment variable of computed name"))
            return None
        return (base, UNKNOWN, node.lineno, 0)
    if key.__class__ is str:
        scope.names.add(str(key))
        if is_environment(base):
            scope.names.add(f"${key}")
            return ("$", key, node.lineno)
        if base.__class__ is tuple and len(base) == 3 and base[1] == "__dict__":
            return (base[0], key, node.lineno)
    return (base, key, node.lineno, 0)
