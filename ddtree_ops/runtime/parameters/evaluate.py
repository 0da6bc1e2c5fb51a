"""Constant expressions of a source, followed over modules. Nothing of the source is run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ddtree_ops.runtime.parameters import calls, records
from ddtree_ops.runtime.parameters.modules import Function, Imported, Module, Modules
from ddtree_ops.runtime.parameters.values import (
    UNKNOWN,
    ClassValue,
    FieldsValue,
    FieldValue,
    FunctionValue,
    Member,
    ModuleValue,
    Scope,
    pieces,
)

DEEPEST = 40
MOST_PARTS = 20_000  # of one value

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
}


class Evaluator:
    """Values of expressions. What depends on more than the source is UNKNOWN."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.depth = 0
        self.steps = 400_000

    def value(self, node: ast.expr | None, scope: Scope) -> object:
        """What an expression comes to."""
        reader = _READERS.get(type(node))
        if node is None or reader is None or self.depth >= DEEPEST or self.steps <= 0:
            return UNKNOWN
        self.depth += 1
        self.steps -= 1
        try:
            return reader(self, node, scope)
        except (TypeError, ValueError, KeyError, IndexError, ArithmeticError, AttributeError):
            return UNKNOWN
        finally:
            self.depth -= 1

    def module(self, name: str) -> Module | None:
        """A module of the tree."""
        return self.modules.named(name)

    def named(self, name: str, scope: Scope) -> object:
        """What a name stands for."""
        found = scope.look_up(name)
        if isinstance(found, Imported):
            return self.imported(found)
        if isinstance(found, ast.ClassDef):
            return ClassValue(scope.module, found)
        if isinstance(found, Function):
            return FunctionValue(Scope(scope.module), found)
        if isinstance(found, ast.expr):
            return self._global(name, found, Scope(scope.module))
        return UNKNOWN if found is None else found

    def _global(self, name: str, node: ast.expr, scope: Scope) -> object:
        value = self.value(node, scope)
        for added in scope.module.mutations.get(name, ()):
            value = joined(value, self.value(added, scope))
        return value

    def imported(self, imported: Imported) -> object:
        """What an import gives; a re-export is followed."""
        module = self.modules.named(imported.module)
        if imported.name is None:
            return UNKNOWN if module is None else ModuleValue(module)
        if module is not None and imported.name in module.bindings:
            self.depth += 1
            try:
                return UNKNOWN if self.depth > DEEPEST else self.named(imported.name, Scope(module))
            finally:
                self.depth -= 1
        inner = self.modules.named(f"{imported.module}.{imported.name}")
        return UNKNOWN if inner is None else ModuleValue(inner)

    def attribute(self, base: object, name: str) -> object:
        """`base.name`."""
        if isinstance(base, ModuleValue):
            return self.named(name, Scope(base.module))
        if isinstance(base, FieldValue):
            return self._of_field(base, name)
        if isinstance(base, Member):
            return {"name": base.name, "value": base.value}.get(name, UNKNOWN)
        return records.class_attribute(self, base, name) if isinstance(base, ClassValue) else UNKNOWN

    def _of_field(self, field: FieldValue, name: str) -> object:
        if name == "name":
            return field.name
        return records.default_value(self, field) if name == "default" else UNKNOWN


def joined(value: object, added: object) -> object:
    """A collection with what was added to it; a part that isn't known is left out of neither: then all is unknown."""
    if isinstance(value, set):
        return value | set(added) if isinstance(added, list | tuple | set) else UNKNOWN
    if isinstance(value, list):
        return [*value, *added] if isinstance(added, list | tuple | set) else UNKNOWN
    if isinstance(value, tuple):
        return (*value, *added) if isinstance(added, tuple) else UNKNOWN
    return UNKNOWN


def _constant(_: Evaluator, node: ast.Constant, __: Scope) -> object:
    return node.value


def _name(evaluator: Evaluator, node: ast.Name, scope: Scope) -> object:
    return evaluator.named(node.id, scope)


def _attribute(evaluator: Evaluator, node: ast.Attribute, scope: Scope) -> object:
    return evaluator.attribute(evaluator.value(node.value, scope), node.attr)


def _elements(evaluator: Evaluator, nodes: list[ast.expr], scope: Scope) -> list[object] | None:
    found: list[object] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            inner = pieces(evaluator.value(node.value, scope))
            if inner is None:
                return None
            found += inner
        else:
            found.append(evaluator.value(node, scope))
        if len(found) > MOST_PARTS:
            return None
    return found


def _sequence(evaluator: Evaluator, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> object:
    found = _elements(evaluator, node.elts, scope)
    if found is None:
        return UNKNOWN
    return found if isinstance(node, ast.List) else tuple(found) if isinstance(node, ast.Tuple) else set(found)


def _dict(evaluator: Evaluator, node: ast.Dict, scope: Scope) -> object:
    found: dict[object, object] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = evaluator.value(value, scope)
            if not isinstance(inner, dict):
                return UNKNOWN
            found.update(inner)
        else:
            found[evaluator.value(key, scope)] = evaluator.value(value, scope)
    return UNKNOWN if UNKNOWN in found else found


def _text(evaluator: Evaluator, node: ast.JoinedStr, scope: Scope) -> object:
    parts: list[str] = []
    for one in node.values:
        value = evaluator.value(one.value if isinstance(one, ast.FormattedValue) else one, scope)
        if not isinstance(value, str | int | float):
            return UNKNOWN
        parts.append(str(value))
    return "".join(parts)


def _binary(evaluator: Evaluator, node: ast.BinOp, scope: Scope) -> object:
    left, right = evaluator.value(node.left, scope), evaluator.value(node.right, scope)
    if isinstance(node.op, ast.Pow | ast.LShift) and isinstance(left, int) and isinstance(right, int):
        small = abs(left) < 1 << 20 and 0 <= right < 64
        return (left**right if isinstance(node.op, ast.Pow) else left << right) if small else UNKNOWN
    if UNKNOWN in (left, right) or _too_large(left, right):
        return UNKNOWN
    act = _BINARY.get(type(node.op))
    return act(left, right) if act is not None else UNKNOWN


def _too_large(left: object, right: object) -> bool:
    """Whether a product or a sum could take all memory."""
    sizes = [len(one) if isinstance(one, str | bytes | list | tuple | set | dict) else 0 for one in (left, right)]
    if any(sizes) and not all(sizes) and any(isinstance(one, int) and one > MOST_PARTS for one in (left, right)):
        return True
    huge = any(isinstance(one, int) and one.bit_length() > 4096 for one in (left, right))
    return huge or sum(sizes) > MOST_PARTS


def _unary(evaluator: Evaluator, node: ast.UnaryOp, scope: Scope) -> object:
    value: Any = evaluator.value(node.operand, scope)
    if isinstance(node.op, ast.Not):
        return UNKNOWN if value is UNKNOWN else not value
    return -value if isinstance(node.op, ast.USub) else UNKNOWN


def _either(evaluator: Evaluator, node: ast.BoolOp, scope: Scope) -> object:
    value: object = UNKNOWN
    for one in node.values:
        value = evaluator.value(one, scope)
        if value is UNKNOWN or bool(value) is isinstance(node.op, ast.Or):
            return value
    return value


def _choice(evaluator: Evaluator, node: ast.IfExp, scope: Scope) -> object:
    test = evaluator.value(node.test, scope)
    return UNKNOWN if test is UNKNOWN else evaluator.value(node.body if test else node.orelse, scope)


def _compare(evaluator: Evaluator, node: ast.Compare, scope: Scope) -> object:
    left: Any = evaluator.value(node.left, scope)
    right: Any = evaluator.value(node.comparators[0], scope)
    if len(node.ops) != 1 or UNKNOWN in (left, right):
        return UNKNOWN
    match node.ops[0]:
        case ast.Eq() | ast.Is():
            return left == right
        case ast.NotEq() | ast.IsNot():
            return left != right
        case ast.In():
            return left in right
        case ast.NotIn():
            return left not in right
        case _:
            return UNKNOWN


def _subscript(evaluator: Evaluator, node: ast.Subscript, scope: Scope) -> object:
    base: Any = evaluator.value(node.value, scope)
    key: Any = evaluator.value(node.slice, scope)
    if isinstance(base, FieldsValue):
        return base.named(key) or UNKNOWN
    return base[key] if isinstance(base, dict | list | tuple | str) and key is not UNKNOWN else UNKNOWN


def _comprehension(evaluator: Evaluator, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope) -> object:
    one = node.generators[0]
    if len(node.generators) != 1 or one.ifs or not isinstance(one.target, ast.Name):
        return UNKNOWN
    over = records.iterated(evaluator, evaluator.value(one.iter, scope))
    if over is None:
        return UNKNOWN
    found = [evaluator.value(node.elt, Scope(scope.module, {one.target.id: part}, scope)) for part in over]
    return set(found) if isinstance(node, ast.SetComp) else found


def _call(evaluator: Evaluator, node: ast.Call, scope: Scope) -> object:
    return calls.call(evaluator, node, scope)


_READERS: dict[type | None, Callable[[Evaluator, Any, Scope], object]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.JoinedStr: _text,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _either,
    ast.IfExp: _choice,
    ast.Compare: _compare,
    ast.Subscript: _subscript,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Call: _call,
}
