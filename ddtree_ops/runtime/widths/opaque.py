"""Where a plugin's width may be decided by something that the search doesn't understand: its width isn't known then.

Other packages' bases, decorators and functions that get the server arguments, answers set on a class, attributes written by names
that aren't constants. SGLang and the standard library count as known: they don't know DDTREE.
"""

from __future__ import annotations

import ast
import builtins
import functools
import sys
from collections.abc import Iterator

from ddtree_ops.runtime.widths import algorithm
from ddtree_ops.runtime.widths.algorithm import Registration
from ddtree_ops.runtime.widths.runner import HOOK
from ddtree_ops.runtime.widths.sources import Module, Names, Scope, called, package_of

_BUILTINS = frozenset(dir(builtins))
_BY_NAME = frozenset({"getattr", "hasattr", "setattr"})
_FARTHEST = 3


def answer(names: Names, one: Registration) -> bool:
    """Whether the registered class's answer may come from elsewhere than its methods in this package."""
    if one.unread or any(HOOK.match(name) for name in names.writes) or any(_assigned_in_body(names)):
        return True
    if one.spec_class is None:
        return False
    return any(_outside(node, scope, names) for node, scope in _parts(names, one)) or any(
        _foreign(call, scope, names) or _by_variable(call)
        for call, scope in _calls(names)
        if any(isinstance(given, ast.Name) and given.id == one.spec_class for given in _given(call))
    )


def completion(names: Names, one: Registration, attribute: str) -> bool:
    """Whether the registered validation may write the attribute by a way that isn't read."""
    if one.unread:
        return True
    if one.validate is None or one.validator is None:
        return False
    if not _known(one.validator, one.scope, names):
        return True
    reached = algorithm.reachable(names, one.validate)
    for call, scope in _calls(names):
        if any(function.name in reached for function in scope.functions) and (
            _by_variable(call)
            or _writes_all(call)
            or (_foreign(call, scope, names) and any(_is_parameter(given, scope) for given in _given(call)))
        ):
            return True
    modules = {id(scope.module): scope.module for those in names.functions.values() for _, scope in those}
    return any(_names_by_text(module, attribute) for module in modules.values())


def _assigned_in_body(names: Names) -> Iterator[bool]:
    """For what classes assign in their body (also classes inside of functions): whether it is the answer."""
    for definition in (one for those in names.classes.values() for one, _ in those):
        lines = (line for line in definition.body if isinstance(line, ast.Assign | ast.AnnAssign))
        targets = (one for line in lines for one in (line.targets if isinstance(line, ast.Assign) else [line.target]))
        yield from (isinstance(one, ast.Name) and HOOK.match(one.id) is not None for one in targets)


def _parts(names: Names, one: Registration) -> Iterator[tuple[ast.expr, Scope]]:
    """The name of the class, its bases, decorators and metaclass, and those of its bases in this package."""
    seen: set[str] = set()
    waiting: list[tuple[ast.expr, Scope]] = [(ast.Name(one.spec_class or ""), one.scope)]
    while waiting:
        node, scope = waiting.pop()
        yield node, scope
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        if name in seen:
            continue
        seen.add(name)
        for definition, around in names.classes.get(name, ()):
            words = [word.value for word in definition.keywords]
            waiting.extend((part, around) for part in (*definition.bases, *definition.decorator_list, *words))


def _outside(node: ast.expr, scope: Scope, names: Names) -> bool:
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return not _known(node, scope, names)


def _calls(names: Names) -> Iterator[tuple[ast.Call, Scope]]:
    return (one for those in names.calls.values() for one in those)


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(word.value for word in call.keywords)]


def _is_parameter(node: ast.expr, scope: Scope) -> bool:
    given = [function.args for function in scope.functions]
    return isinstance(node, ast.Name) and any(
        one.arg == node.id for args in given for one in (*args.posonlyargs, *args.args, *args.kwonlyargs)
    )


def _by_variable(call: ast.Call) -> bool:
    return called(call) in ("setattr", "__setattr__") and not any(isinstance(one, ast.Constant) for one in call.args[:2])


def _writes_all(call: ast.Call) -> bool:
    """`vars(args).update(...)` or `args.__dict__.update(...)`, but for words, which are read."""
    if called(call) != "update" or not isinstance(call.func, ast.Attribute):
        return False
    receiver = call.func.value
    whole = isinstance(receiver, ast.Call) and called(receiver) == "vars"
    whole = whole or (isinstance(receiver, ast.Attribute) and receiver.attr == "__dict__")
    return whole and (bool(call.args) or any(word.arg is None for word in call.keywords))


def _foreign(call: ast.Call, scope: Scope, names: Names) -> bool:
    return not _known(call.func, scope, names)


def _known(node: ast.expr, scope: Scope, names: Names) -> bool:
    """Whether what is named is of this package, of SGLang or of the standard library."""
    last = node.attr if isinstance(node, ast.Attribute) else ""
    root: ast.AST = node
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return isinstance(root, ast.Constant | ast.JoinedStr)
    imported = _imports(scope.module).get(root.id)
    if imported is None and (last in names.functions or last in names.classes):
        return True
    return _is_known(root.id, scope, names)


def _is_known(name: str, scope: Scope, names: Names, left: int = _FARTHEST) -> bool:
    if imported := _imports(scope.module).get(name):
        return imported in ("sglang", package_of(scope.module.name)) or imported in sys.stdlib_module_names
    if name in names.functions or name in names.classes or name in _BUILTINS:
        return True
    for found in names.globals.get(name, ()):  # logger = logging.getLogger(...)
        value: ast.AST = found.value
        while isinstance(value, ast.Attribute | ast.Call | ast.Subscript):
            value = value.func if isinstance(value, ast.Call) else value.value
        if left and isinstance(value, ast.Name) and _is_known(value.id, found.scope, names, left - 1):
            return True
    return False


@functools.lru_cache(maxsize=512)
def _imports(module: Module) -> dict[str, str]:
    """The package that each imported name comes from, wherever in the module it is imported."""
    found: dict[str, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            package = package_of(module.name) if node.level else (node.module or "").split(".")[0]
            found |= {one.asname or one.name: package for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.asname or one.name.split(".")[0]: one.name.split(".")[0] for one in node.names}
    return found


def _names_by_text(module: Module, attribute: str) -> bool:
    """Whether a text of the attribute's name stands where no constant `getattr` or `setattr` reads it."""
    read: set[int] = set()
    texts: list[int] = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and called(node) in _BY_NAME:
            read |= {id(one) for one in node.args[1:2]}
        elif isinstance(node, ast.Constant) and node.value == attribute:
            texts.append(id(node))
    return any(one not in read for one in texts)
