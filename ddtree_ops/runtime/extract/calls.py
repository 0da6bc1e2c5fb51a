"""Calls: Python's own are told apart when a file is read, the rest become call records that the solver resolves."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .facts import ANY, LATER, PARTIAL
from .known_calls import ELEMENTS, HAND_ON, HAND_ON_OF, LOG_METHODS, LOGGERS, NO_VALUE, OF_A_KEY
from .scope import LIKE_A_NAME, Scope, dotted
from .values import VALUE, Out, constant_key, is_environment, operand, sources, use, value

Special = Callable[[Scope, ast.Call, Out], bool]


def call(scope: Scope, node: ast.Call, out: Out) -> None:
    """Sources of a call's value."""
    func = node.func
    if func.__class__ is ast.Name:
        special = _BY_NAME.get(func.id)
        if special is not None and special(scope, node, out):
            scope.names.add(func.id)
            return
    elif func.__class__ is ast.Attribute:
        if _method(scope, node, out):
            return
        if func.attr == "add_argument":
            _flag(scope, node)
    out.append(record(scope, node, operand(scope, func)))


def _flag(scope: Scope, node: ast.Call) -> None:
    flags = [str(each.value) for each in node.args if isinstance(each, ast.Constant) and str(each.value).startswith("--")]
    beside = tuple(
        _text(keyword.value) if keyword.value.__class__ is ast.Constant else operand(scope, keyword.value)
        for keyword in node.keywords
        if keyword.arg in ("dest", "const")
    )
    for flag in flags:
        scope.module.flags.append((flag, node.lineno, 1, tuple(each for each in beside if each is not None)))


def _text(node: ast.Constant) -> Any:
    return ("text", node.value, node.lineno) if isinstance(node.value, str) else None


def record(scope: Scope, node: ast.Call, callee: Any) -> int:
    """A call record; returns its number."""
    arguments: list[Any] = []
    names = scope.names
    for place, each in enumerate(node.args):
        cls = each.__class__
        if cls is ast.Constant:
            if each.value.__class__ is str and LIKE_A_NAME.match(each.value):  # type: ignore[attr-defined]
                names.add(each.value)  # type: ignore[attr-defined]
        elif cls is ast.Starred:
            arguments.append((("*", place), each.lineno, sources(scope, each.value)))  # type: ignore[attr-defined]
        else:
            found = sources(scope, each)
            if found:
                arguments.append((place, each.lineno, found))
    for keyword in node.keywords:
        name = keyword.arg
        if name is not None:
            names.add(name)
        found = sources(scope, keyword.value)
        if found:
            arguments.append((name or "**", keyword.value.lineno, found))
    # The callee may hold calls of its own, so the number is given only now.
    scope.calls.append((node.func.end_lineno, callee, tuple(arguments)))
    return len(scope.calls) - 1


def _hand_on(scope: Scope, node: ast.Call, out: Out) -> bool:
    name = node.func.id  # type: ignore[attr-defined]
    arguments = node.args[1:] if name == "cast" else node.args
    if name in ELEMENTS and len(node.args) == 1:
        inner = sources(scope, node.args[0])
        if inner:
            out.append(("}", inner))
    else:
        for each in arguments:
            value(scope, each, out)
    for keyword in node.keywords:
        if keyword.arg in ("default", "start", "memo"):
            value(scope, keyword.value, out)
        else:
            use(scope, keyword.value)
    return True


def _no_value(scope: Scope, node: ast.Call, _out: Out) -> bool:
    for each in node.args:
        use(scope, each)
    for keyword in node.keywords:
        use(scope, keyword.value)
    return True


def _getattr(scope: Scope, node: ast.Call, out: Out) -> bool:
    if not 2 <= len(node.args) <= 3:
        return False
    base = operand(scope, node.args[0])
    key = constant_key(node.args[1])
    if key.__class__ is str:
        scope.names.add(str(key))
        out.append((base, key, node.lineno))
    else:
        use(scope, node.args[1])
        scope.blind.append((node.lineno, "reads an attribute of computed name"))
    for default in node.args[2:]:
        value(scope, default, out)
    return True


def _setattr(scope: Scope, node: ast.Call, _out: Out) -> bool:
    if len(node.args) != 3:
        return False
    base = operand(scope, node.args[0])
    key = constant_key(node.args[1])
    found = sources(scope, node.args[2])
    if key.__class__ is str:
        scope.names.add(str(key))
        scope.flows.append((node.lineno, (base, key, node.lineno), found))
        if base == scope.itself and base:
            scope.module.classes[scope.owner].stores(str(key), (), node.lineno, scope.number)
    else:
        use(scope, node.args[1])
        scope.blind.append((node.lineno, "writes an attribute of computed name"))
    return True


def _vars(scope: Scope, node: ast.Call, out: Out) -> bool:
    if len(node.args) == 1:
        out.append((operand(scope, node.args[0]), "__dict__", node.lineno))
    return True


def _dict(scope: Scope, node: ast.Call, out: Out) -> bool:
    for each in node.args:
        value(scope, each, out)
    held: list[Any] = []
    for keyword in node.keywords:
        inner = sources(scope, keyword.value)
        if keyword.arg is None:
            out.extend(inner)
        elif inner:
            scope.names.add(keyword.arg)
            held.append((keyword.arg, inner))
    if held:
        out.append(("{", tuple(held)))
    return True


def _run(scope: Scope, node: ast.Call, _out: Out) -> bool:
    scope.blind.append((node.lineno, f"{node.func.id} of text"))  # type: ignore[attr-defined]
    return _no_value(scope, node, _out)


def _partial(scope: Scope, node: ast.Call, out: Out) -> bool:
    """`partial(f, x)` binds as a call of f does; its value stands for f with so many places taken (see flow)."""
    if not node.args:
        return False
    inner = ast.Call(func=node.args[0], args=node.args[1:], keywords=node.keywords)
    inner.func.end_lineno = node.lineno
    number = record(scope, inner, (LATER, operand(scope, node.args[0])))
    out.append((PARTIAL, number, len(node.args) - 1, 0, 0))
    return True


def _environment(scope: Scope, node: ast.Call, out: Out) -> bool:
    """os.getenv(NAME, default), os.environ.get(NAME, default) and their like."""
    if not node.args:
        return False
    key = constant_key(node.args[0])
    if key.__class__ is str:
        scope.names.update((str(key), f"${key}"))
        out.append(("$", key, node.lineno))
    else:
        out.append(("[", sources(scope, node.args[0])))
    for default in node.args[1:]:
        value(scope, default, out)
    return True


def _method(scope: Scope, node: ast.Call, out: Out) -> bool:
    func = node.func
    name, base = func.attr, func.value  # type: ignore[attr-defined]
    if base.__class__ is ast.Name or base.__class__ is ast.Attribute:
        if name in LOG_METHODS and _is_logger(base):
            return _no_value(scope, node, out)
        owner = dotted(base)
        if name in HAND_ON_OF.get(owner, ()):
            return _hand_all_on(scope, node, out)
        if owner == "functools" and name == "partial":
            return _partial(scope, node, out)
        if owner == "os" and name == "getenv":
            return _environment(scope, node, out)
    if name == "append" and len(node.args) == 1:
        held = sources(scope, node.args[0])
        scope.flows.append((node.lineno, (operand(scope, base), ANY, node.lineno, 0), held))
        scope.names.add(name)
        return True
    if name in OF_A_KEY and node.args:
        return _of_a_key(scope, node, out)
    return False


def _of_a_key(scope: Scope, node: ast.Call, out: Out) -> bool:
    base = operand(scope, node.func.value)  # type: ignore[attr-defined]
    if is_environment(base):
        return _environment(scope, node, out)
    key = constant_key(node.args[0])
    if key is None:
        key_sources = sources(scope, node.args[0])
        if key_sources:
            out.append(("[", key_sources))
    elif base.__class__ is tuple and len(base) == 3 and base[1] == "__dict__" and key.__class__ is str:
        out.append((base[0], key, node.lineno))
    out.append((base, key, node.lineno, 0))
    for default in node.args[1:]:
        value(scope, default, out)
    number = record(scope, node, (base, node.func.attr, node.lineno))  # type: ignore[attr-defined]
    line, callee, arguments = scope.calls[number]
    scope.calls[number] = (line, callee, arguments or ((0, line, ()),))  # told apart from .get() without a key
    out.append(number)
    return True


def _hand_all_on(scope: Scope, node: ast.Call, out: Out) -> bool:
    arguments = node.args[1:] if node.func.attr == "cast" else node.args  # type: ignore[attr-defined]
    for each in arguments:
        value(scope, each, out)
    for keyword in node.keywords:
        value(scope, keyword.value, out)
    return True


def _is_logger(node: Any) -> bool:
    name = node.id if node.__class__ is ast.Name else node.attr
    return name in LOGGERS or "logger" in name.lower()


_BY_NAME: dict[str, Special] = {
    **dict.fromkeys(HAND_ON, _hand_on),
    **dict.fromkeys(NO_VALUE, _no_value),
    **dict.fromkeys(("getattr",), _getattr),
    **dict.fromkeys(("setattr",), _setattr),
    **dict.fromkeys(("vars",), _vars),
    **dict.fromkeys(("dict",), _dict),
    **dict.fromkeys(("exec", "eval"), _run),
    **dict.fromkeys(("partial",), _partial),
    **dict.fromkeys(("getenv",), _environment),
}
VALUE[ast.Call] = call
