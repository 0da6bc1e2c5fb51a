"""Statements: flows into targets, returned values, and tests that end in an error or a warning."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import calls  # noqa: F401 - registers how calls are read
from .containers import iterated
from .facts import RETURN, YIELD
from .known_calls import LOG_METHODS
from .scope import LIKE_A_NAME, Scope, annotation
from .targets import bind, target
from .values import VALUE, Out, sources, use

Handler = Callable[[Scope, Any], None]


class _Table(dict[type, Handler]):
    def __missing__(self, _node: type) -> Handler:
        return _nothing


def _nothing(_scope: Scope, _node: Any) -> None:
    return


STATEMENT = _Table()


def walk(scope: Scope, body: list[ast.stmt]) -> None:
    """Gather the facts of a block."""
    for node in body:
        STATEMENT[node.__class__](scope, node)


def _assign(scope: Scope, node: ast.Assign) -> None:
    found = sources(scope, node.value)
    for each in node.targets:
        scope.flows.append((node.lineno, target(scope, each), found))
    _clamp(scope, node)


def _annotated(scope: Scope, node: ast.AnnAssign) -> None:
    names = annotation(node.annotation)
    scope.names.update(names)
    aim = target(scope, node.target)
    if aim.__class__ is str:
        scope.annotations[aim] = names
        if scope.kind == "class":
            scope.module.classes[scope.owner].stores(aim, names, node.lineno, scope.number)
    elif aim.__class__ is tuple and len(aim) == 3 and aim[0] == scope.itself and scope.itself:
        scope.module.classes[scope.owner].stores(aim[1], names, node.lineno, scope.number)
    if node.value is not None:
        scope.flows.append((node.lineno, aim, sources(scope, node.value)))
        _clamp(scope, node)


def _augmented(scope: Scope, node: ast.AugAssign) -> None:
    found = sources(scope, node.value)
    scope.flows.append((node.lineno, target(scope, node.target), found))


def _expression(scope: Scope, node: ast.Expr) -> None:
    if node.value.__class__ is not ast.Constant:
        use(scope, node.value)


def _return(scope: Scope, node: ast.Return) -> None:
    if node.value is not None:
        found = sources(scope, node.value)
        if found:
            scope.flows.append((node.lineno, RETURN, found))


def _yield(scope: Scope, node: ast.Yield, _out: Out) -> None:
    if node.value is not None:
        scope.flows.append((node.lineno, YIELD, sources(scope, node.value)))


def _yield_from(scope: Scope, node: ast.YieldFrom, out: Out) -> None:
    scope.flows.append((node.lineno, YIELD, (("}", sources(scope, node.value)),)))
    out.extend(sources(scope, node.value))


def _if(scope: Scope, node: Any) -> None:
    use(scope, node.test)
    found = _outcome(node.body)
    if found is not None:
        check(scope, found[0], node.lineno, node.test, found[1])
    walk(scope, node.body)
    walk(scope, node.orelse)


def _for(scope: Scope, node: Any) -> None:
    bind(scope, node.target, iterated(scope, node.iter), node.lineno, element=True)
    walk(scope, node.body)
    walk(scope, node.orelse)


def _with(scope: Scope, node: Any) -> None:
    for item in node.items:
        found = sources(scope, item.context_expr)
        if item.optional_vars is not None:
            scope.flows.append((node.lineno, target(scope, item.optional_vars), found))
    walk(scope, node.body)


def _try(scope: Scope, node: Any) -> None:
    walk(scope, node.body)
    for handler in node.handlers:
        if handler.name:
            scope.local.add(handler.name)
        walk(scope, handler.body)
    walk(scope, node.orelse)
    walk(scope, node.finalbody)


def _raise(scope: Scope, node: ast.Raise) -> None:
    for each in (node.exc, node.cause):
        if each.__class__ is ast.Call:
            for inner in (*each.args, *(keyword.value for keyword in each.keywords)):
                use(scope, inner)
        elif each is not None:
            use(scope, each)


def _assert(scope: Scope, node: ast.Assert) -> None:
    use(scope, node.test)
    if node.msg is not None:
        use(scope, node.msg)
    check(scope, "assert", node.lineno, node.test, node)


def _delete(scope: Scope, node: ast.Delete) -> None:
    for each in node.targets:
        if isinstance(each, ast.Subscript | ast.Attribute):
            use(scope, each.value)


def _match(scope: Scope, node: ast.Match) -> None:
    subject = sources(scope, node.subject)
    for case in node.cases:
        for each in ast.walk(case.pattern):
            name = getattr(each, "name", None) or getattr(each, "rest", None)
            if isinstance(name, str):
                scope.local.add(name)
                scope.names.add(name)
                scope.flows.append((each.lineno, name, subject))  # type: ignore[attr-defined]
        if case.guard is not None:
            use(scope, case.guard)
        walk(scope, case.body)


def _free(scope: Scope, node: ast.Global | ast.Nonlocal) -> None:
    scope.names.update(node.names)
    scope.free.update(node.names)


def _outcome(body: list[ast.stmt]) -> tuple[str, ast.stmt] | None:
    """The first statement of a branch that raises or warns, if one does."""
    for node in body:
        if node.__class__ is ast.Raise:
            return "raise", node
        if node.__class__ is ast.Expr and isinstance(node.value, ast.Call):
            func = node.value.func
            name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
            if name == "error" or (name in LOG_METHODS and name.startswith("warn")) or name == "exit":
                return ("raise" if name == "exit" else "warning"), node
    return None


def check(scope: Scope, kind: str, line: int, test: ast.expr, outcome: ast.stmt) -> None:
    """Note a test and where its outcome stands."""
    span = (test.lineno, test.col_offset, test.end_lineno, test.end_col_offset)
    end = (outcome.lineno, outcome.end_lineno)
    scope.checks.append((kind, line, span, mentions(test), end))


def mentions(test: ast.expr) -> tuple[Any, ...]:
    """The names and attribute chains of a condition."""
    found: dict[Any, None] = {}
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute):
            if (chain := _chain(node)) is not None:
                found[chain] = None
        elif isinstance(node, ast.Name):
            found[node.id] = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and LIKE_A_NAME.match(node.value):
            found[("$", node.value, node.lineno)] = None
    return tuple(found)


def _chain(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return (_chain(node.value), node.attr, node.end_lineno)
    return None


def _clamp(scope: Scope, node: ast.Assign | ast.AnnAssign) -> None:
    found = node.value
    if (
        isinstance(found, ast.Call)
        and isinstance(found.func, ast.Name)
        and found.func.id in ("min", "max")
        and len(found.args) > 1
    ):
        check(scope, "clamp", node.lineno, found, node)


STATEMENT.update(
    {
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.AugAssign: _augmented,
        ast.Expr: _expression,
        ast.Return: _return,
        ast.If: _if,
        ast.While: _if,
        ast.For: _for,
        ast.AsyncFor: _for,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: _try,
        ast.TryStar: _try,
        ast.Raise: _raise,
        ast.Assert: _assert,
        ast.Delete: _delete,
        ast.Match: _match,
        ast.Global: _free,
        ast.Nonlocal: _free,
    }
)
VALUE[ast.Yield] = _yield
VALUE[ast.YieldFrom] = _yield_from
