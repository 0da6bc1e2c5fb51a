"""Functions, lambdas, classes, imports, and the module itself."""

from __future__ import annotations

import ast
from typing import Any

from .facts import KEYWORDS, ONLY_KEYWORD, PLAIN, REST, RETURN
from .scope import Klass, Module, Scope, annotation, dotted
from .statements import STATEMENT, walk
from .values import VALUE, Out, sources, use

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def _function(scope: Scope, node: Definition) -> None:
    for decorator in node.decorator_list:
        use(scope, decorator)
    owner = scope.owner if scope.kind == "class" else -1
    inner = Scope(scope.module, "def", node.name, node.lineno, scope, owner)
    scope.names.add(node.name)
    scope.local.add(node.name)
    scope.inner[node.name] = ("def", inner.number)
    inner.decorators = tuple(dotted(each) for each in node.decorator_list)
    inner.returns = annotation(node.returns)
    _parameters(inner, node.args)
    inner.names.add(node.name)
    inner.names.update(inner.returns)
    if owner >= 0:
        _as_method(inner, scope.module.classes[owner], node)
    walk(inner, node.body)


def _as_method(inner: Scope, owner: Klass, node: Definition) -> None:
    if not any(each.endswith((".setter", ".deleter")) for each in inner.decorators):
        owner.methods[node.name] = inner.number
    if "staticmethod" not in inner.decorators and inner.parameters:
        inner.itself = inner.parameters[0][0]


def _parameters(scope: Scope, arguments: ast.arguments) -> None:
    positional = [*arguments.posonlyargs, *arguments.args]
    found: list[Any] = [_parameter(scope, each, PLAIN) for each in positional]
    if arguments.vararg is not None:
        found.append(_parameter(scope, arguments.vararg, REST))
    found.extend(_parameter(scope, each, ONLY_KEYWORD) for each in arguments.kwonlyargs)
    if arguments.kwarg is not None:
        found.append(_parameter(scope, arguments.kwarg, KEYWORDS))
    scope.parameters = tuple(found)
    behind = positional[len(positional) - len(arguments.defaults) :] if arguments.defaults else []
    for each, default in (
        *zip(behind, arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ):
        if default is not None and default.__class__ is not ast.Constant:
            scope.flows.append((each.lineno, each.arg, sources(scope, default)))


def _parameter(scope: Scope, node: ast.arg, kind: int) -> tuple[str, int, tuple[str, ...], int]:
    names = annotation(node.annotation)
    scope.names.add(node.arg)
    scope.names.update(names)
    scope.local.add(node.arg)
    return (node.arg, kind, names, node.lineno)


def _lambda(scope: Scope, node: ast.Lambda, out: Out) -> None:
    inner = Scope(scope.module, "lambda", "<lambda>", node.lineno, scope, -1)
    _parameters(inner, node.args)
    inner.flows.append((node.body.lineno, RETURN, sources(inner, node.body)))
    out.append(f"<lambda:{inner.number}>")


def _class(scope: Scope, node: ast.ClassDef) -> None:
    for decorator in node.decorator_list:
        use(scope, decorator)
    module = scope.module
    number = len(module.classes)
    inner = Scope(module, "class", node.name, node.lineno, scope, number)
    klass = Klass(node, inner.qualified, scope.number, inner.number)
    module.classes.append(klass)
    klass.decorators = tuple(dotted(each) for each in node.decorator_list)
    klass.bases = tuple(dotted(each) for each in node.bases)
    scope.names.add(node.name)
    scope.local.add(node.name)
    scope.inner[node.name] = ("class", number)
    for base in klass.bases:
        inner.names.update(base.split("."))
    inner.names.add(node.name)
    walk(inner, node.body)
    for flow in inner.flows:
        if flow[1].__class__ is str and flow[1] not in klass.attributes and not flow[1].startswith("%"):
            klass.stores(flow[1], (), flow[0], inner.number)


def _import(scope: Scope, node: ast.Import) -> None:
    for each in node.names:
        if each.asname:
            scope.imports[each.asname] = (each.name, None)
        else:
            root = each.name.partition(".")[0]
            scope.imports[root] = (root, None)
        scope.names.update(each.name.split("."))
        scope.local.add(each.asname or each.name.partition(".")[0])


def _import_from(scope: Scope, node: ast.ImportFrom) -> None:
    module = "." * node.level + (node.module or "")
    for each in node.names:
        if each.name == "*":
            scope.imports[f"*{len(scope.imports)}"] = (module, "*")
            continue
        name = each.asname or each.name
        scope.imports[name] = (module, each.name)
        scope.local.add(name)
        scope.names.add(each.name)


def module_of(tree: ast.Module) -> Module:
    """Walk a whole file."""
    module = Module()
    top = Scope(module, "module", "", 1, None)
    walk(top, tree.body)
    module.imports = top.imports
    _constants(module, tree.body)
    return module


def _constants(module: Module, body: list[ast.stmt]) -> None:
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        found = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(found, ast.Constant) and isinstance(found.value, str) and len(found.value) < 80:
            for each in targets:
                if isinstance(each, ast.Name):
                    module.constants[each.id] = (found.value, node.lineno)


STATEMENT.update(
    {
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.ClassDef: _class,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
    }
)
VALUE[ast.Lambda] = _lambda
