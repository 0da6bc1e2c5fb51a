"""Calls whose result the reading knows: built-in functions, methods of constants, fields of a record, small functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ddtree_ops.runtime.parameters import records
from ddtree_ops.runtime.parameters.modules import called, imports, statements
from ddtree_ops.runtime.parameters.values import (
    PARSER,
    UNKNOWN,
    ClassValue,
    FieldsValue,
    FieldValue,
    FunctionValue,
    Reading,
    Scope,
)

_MOST_TEXT = 100_000
_MOST_STATEMENTS = 200
_COLLECTIONS: dict[str, Callable[[Any], object]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "sorted": sorted,
}
_PLAIN: dict[str, Callable[..., object]] = {"str": str, "int": int, "float": float, "bool": bool, "len": len}
_OF_TEXT = frozenset({"lower", "upper", "strip", "lstrip", "rstrip", "replace", "removeprefix", "removesuffix", "split", "title"})
#: Functions that give a record's fields, or something for each of them.
_FIELDS = frozenset({"fields", "record_fields", "get_type_hints", "get_kwargs"})


def call(reading: Reading, node: ast.Call, scope: Scope) -> object:
    """What a call comes to."""
    if isinstance(node.func, ast.Attribute):
        base = reading.value(node.func.value, scope)
        if base is not UNKNOWN:
            return _method(reading, node, scope, base)
    name = called(node)
    arguments = [reading.value(one, scope) for one in node.args if not isinstance(one, ast.Starred)]
    return _function(reading, node, scope, name, arguments)


def _function(reading: Reading, node: ast.Call, scope: Scope, name: str, arguments: list[Any]) -> object:
    first = arguments[0] if arguments else UNKNOWN
    if isinstance(node.func, ast.Name) and scope.look_up(name) is None:
        if name in _COLLECTIONS:
            over = () if not node.args else records.iterated(reading, first)
            return UNKNOWN if over is None else _COLLECTIONS[name](over)
        if name in _PLAIN and not any(one is UNKNOWN for one in arguments):
            return _PLAIN[name](*arguments)
    if isinstance(first, FieldsValue):
        return first
    if isinstance(first, ClassValue):
        return _of_class(reading, node, scope, first, arguments)
    function = reading.value(node.func, scope)
    return _small(reading, function, node, scope) if isinstance(function, FunctionValue) else UNKNOWN


def _of_class(reading: Reading, node: ast.Call, scope: Scope, cls: ClassValue, arguments: list[Any]) -> object:
    found = records.fields(reading, cls)
    if len(arguments) == 2 and isinstance(arguments[1], str):  # get_field(Class, "name"), getattr(Class, "name")
        field = found.named(arguments[1])
        return UNKNOWN if field is None else records.default_value(reading, field)
    if called(node) not in _FIELDS:
        return UNKNOWN
    function = reading.value(node.func, scope)
    if isinstance(function, FunctionValue) and b"BooleanOptionalAction" in function.scope.module.content:
        return FieldsValue(tuple(_negatable(one) for one in found.fields))
    return found


def _negatable(field: FieldValue) -> FieldValue:
    return FieldValue(field.name, field.annotation, field.default, field.scope, field.line, field.doc, True)


def _method(reading: Reading, node: ast.Call, scope: Scope, base: Any) -> object:
    name = called(node)
    arguments: list[Any] = [reading.value(one, scope) for one in node.args if not isinstance(one, ast.Starred)]
    if base is PARSER:
        return PARSER if name in ("add_argument_group", "add_mutually_exclusive_group") else UNKNOWN
    if isinstance(base, FieldsValue):
        return [(one.name, one) for one in base.fields] if name == "items" else UNKNOWN
    if arguments and isinstance(arguments[0], FieldsValue):
        return arguments[0]  # something that completes what was made of the fields
    if isinstance(base, FieldValue):
        return arguments[1] if name in ("pop", "get") and len(arguments) == 2 else UNKNOWN
    if isinstance(base, dict):
        return _of_dict(base, name, arguments)
    if isinstance(base, str) and name in _OF_TEXT and UNKNOWN not in arguments and len(base) < _MOST_TEXT:
        return getattr(base, name)(*arguments)
    function = reading.attribute(base, name)
    if isinstance(function, FunctionValue):
        return _small(reading, function, node, scope)
    return _function(reading, node, scope, name, arguments) if arguments else UNKNOWN


def _of_dict(base: dict[Any, Any], name: str, arguments: list[Any]) -> object:
    if name in ("keys", "values", "items"):
        return list(getattr(base, name)())
    if name == "get" and arguments and UNKNOWN not in arguments:
        return base.get(*arguments)
    return UNKNOWN


def _small(reading: Reading, function: FunctionValue, node: ast.Call, scope: Scope) -> object:
    """The result of a function that only looks something up: the first return that is known."""
    inner = Scope(function.scope.module, {}, function.scope)
    names = [one.arg for one in function.node.args.args]
    if function.owner is not None and names[:1] == ["cls"]:
        inner.names[names.pop(0)] = function.owner
    inner.names.update(dict.fromkeys(names, UNKNOWN))
    inner.names.update(zip(names, (reading.value(one, scope) for one in node.args), strict=False))
    for statement in list(statements(function.node.body))[:_MOST_STATEMENTS]:
        for name, imported in imports(function.scope.module, statement):
            inner.names[name] = imported
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            inner.names[statement.targets[0].id] = reading.value(statement.value, inner)
        elif isinstance(statement, ast.Return):
            value = reading.value(statement.value, inner)
            if value is not UNKNOWN:
                return value
    return UNKNOWN
