"""Expressions: which sources' values an expression has.

`value` appends sources to `out`, `use` only notes what is read, `operand` gives the one thing that a receiver is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .scope import LIKE_A_NAME, Scope

Out = list[Any]
Handler = Callable[[Scope, Any, Out], None]


class _Table(dict[type, Handler]):
    """Handlers by class of node; what has none gives no value."""

    def __missing__(self, _node: type) -> Handler:
        return _nothing


def _nothing(_scope: Scope, _node: Any, _out: Out) -> None:
    return


VALUE = _Table()


def value(scope: Scope, node: Any, out: Out) -> None:
    """Append the sources of an expression's value."""
    VALUE[node.__class__](scope, node, out)


def sources(scope: Scope, node: Any) -> tuple[Any, ...]:
    """The sources of an expression's value."""
    out: Out = []
    VALUE[node.__class__](scope, node, out)
    return tuple(out)


def use(scope: Scope, node: Any) -> None:
    """Note what is read, and follow the calls, where the value itself goes nowhere."""
    out: Out = []
    VALUE[node.__class__](scope, node, out)
    for source in out:
        noted(scope, source)


def noted(scope: Scope, source: Any) -> None:
    """Put the operands of a source among the uses."""
    if source.__class__ is tuple:
        if source[0] == "{":
            for _, inner in source[1]:
                for each in inner:
                    noted(scope, each)
        elif source[0] in ("[", "}"):
            for each in source[1]:
                noted(scope, each)
        else:
            scope.uses.append(source)
    elif source.__class__ is str and source.isupper():
        scope.uses.append(source)


def operand(scope: Scope, node: Any) -> Any:
    """The operand that a receiver is; a value of several sources gets a name of its own."""
    cls = node.__class__
    if cls is ast.Name:
        scope.names.add(node.id)
        return node.id
    if cls is ast.Attribute:
        scope.names.add(node.attr)
        return (operand(scope, node.value), node.attr, node.end_lineno)
    out: Out = []
    VALUE[cls](scope, node, out)
    if not out:
        return None
    if len(out) == 1 and not (out[0].__class__ is tuple and out[0][0] in ("{", "[", "}")):
        return out[0]
    return scope.temp(node.lineno, out)


def _name(scope: Scope, node: ast.Name, out: Out) -> None:
    scope.names.add(node.id)
    out.append(node.id)


def _attribute(scope: Scope, node: ast.Attribute, out: Out) -> None:
    scope.names.add(node.attr)
    out.append((operand(scope, node.value), node.attr, node.end_lineno))


def constant(scope: Scope, node: ast.Constant, _out: Out) -> None:
    """A text that looks like a name is found by it."""
    if node.value.__class__ is str and LIKE_A_NAME.match(node.value):
        scope.names.add(node.value)


def _binary(scope: Scope, node: ast.BinOp, out: Out) -> None:
    value(scope, node.left, out)
    if node.op.__class__ is ast.Mod and node.left.__class__ is ast.Constant and isinstance(node.left.value, str):
        return use(scope, node.right)  # a message
    return value(scope, node.right, out)


def _boolean(scope: Scope, node: ast.BoolOp, out: Out) -> None:
    for each in node.values:
        value(scope, each, out)


def _unary(scope: Scope, node: ast.UnaryOp, out: Out) -> None:
    if node.op.__class__ is ast.Not:
        use(scope, node.operand)
    else:
        value(scope, node.operand, out)


def _compare(scope: Scope, node: ast.Compare, _out: Out) -> None:
    use(scope, node.left)
    for each in node.comparators:
        use(scope, each)


def _conditional(scope: Scope, node: ast.IfExp, out: Out) -> None:
    use(scope, node.test)
    value(scope, node.body, out)
    value(scope, node.orelse, out)


def _inner(scope: Scope, node: Any, out: Out) -> None:
    value(scope, node.value, out)


def _formatted(scope: Scope, node: ast.JoinedStr, out: Out) -> None:
    for each in node.values:
        if each.__class__ is ast.FormattedValue:
            value(scope, each.value, out)


def _walrus(scope: Scope, node: ast.NamedExpr, out: Out) -> None:
    scope.names.add(node.target.id)
    scope.local.add(node.target.id)
    scope.flows.append((node.lineno, node.target.id, sources(scope, node.value)))
    out.append(node.target.id)


def _subscript(scope: Scope, node: ast.Subscript, out: Out) -> None:
    index = node.slice
    if index.__class__ is ast.Slice:
        use_parts(scope, index)
        return value(scope, node.value, out)
    base = operand(scope, node.value)
    key = constant_key(index)
    if key is None:
        key_sources = sources(scope, index)
        for each in key_sources:
            noted(scope, each)
        if key_sources:
            out.append(("[", key_sources))
    elif key.__class__ is str:
        scope.names.add(key)
        if is_environment(base):
            scope.names.add(f"${key}")
            out.append(("$", key, node.lineno))
            return None
        if base.__class__ is tuple and len(base) == 3 and base[1] == "__dict__":
            out.append((base[0], key, node.lineno))
            return None
    out.append((base, key, node.end_lineno, 0))
    return None


def use_parts(scope: Scope, node: Any) -> None:
    """Note what the bounds of a slice read."""
    for each in (node.lower, node.upper, node.step):
        if each is not None:
            use(scope, each)


def constant_key(node: Any) -> str | int | None:
    """The key of a subscript if it is a text or a number, else None."""
    if node.__class__ is ast.Constant and node.value.__class__ in (str, int):
        key: str | int = node.value
        return key
    return None


def is_environment(base: Any) -> bool:
    """Whether an operand is os.environ."""
    return base == "environ" or (base.__class__ is tuple and len(base) == 3 and base[1] == "environ" and base[0] == "os")


VALUE.update(
    {
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Constant: constant,
        ast.BinOp: _binary,
        ast.BoolOp: _boolean,
        ast.UnaryOp: _unary,
        ast.Compare: _compare,
        ast.IfExp: _conditional,
        ast.Await: _inner,
        ast.Starred: _inner,
        ast.JoinedStr: _formatted,
        ast.FormattedValue: _inner,
        ast.NamedExpr: _walrus,
        ast.Subscript: _subscript,
    }
)
