"""The few files of a tree that decide token widths, parsed, with their names looked up by kind. Nothing of them is run."""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from ddtree_ops.runtime.widths.terms import Place

MOST_BYTES = 1 << 20  # the largest file that decides a width (server_args.py of 0.5.13) has 0.4 MB
_MOST_NODES = 400_000
_MOST_CODE = 160
_LEAVES = (ast.Constant, ast.Name, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class SourceFile(Protocol):
    """A file of a tree: its name relative to the root, and its content."""

    @property
    def name(self) -> str: ...
    def read(self) -> bytes: ...


@dataclass(frozen=True, eq=False)
class Module:
    """One parsed file."""

    name: str
    tree: ast.Module
    lines: tuple[str, ...]

    def place(self, node: ast.AST) -> Place:
        """Where a node stands."""
        line = getattr(node, "lineno", 1)
        code = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        return Place(self.name, line, "".join(one if one.isprintable() else "?" for one in code[:_MOST_CODE]))


@dataclass(frozen=True, eq=False)
class Scope:
    """Where an expression stands: its module, the functions around it (the innermost last) and the class around those."""

    module: Module
    functions: tuple[Function, ...] = ()
    inside: ast.ClassDef | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """An expression and where it stands."""

    value: ast.expr
    scope: Scope
    node: ast.AST


@dataclass
class Names:
    """What names stand for, over all modules. Attributes are looked up by their name alone: rather too much than too little."""

    functions: dict[str, list[tuple[Function, Scope]]] = field(default_factory=lambda: defaultdict(list))
    classes: dict[str, list[tuple[ast.ClassDef, Scope]]] = field(default_factory=lambda: defaultdict(list))
    writes: dict[str, list[Found]] = field(default_factory=lambda: defaultdict(list))
    globals: dict[str, list[Found]] = field(default_factory=lambda: defaultdict(list))
    calls: dict[str, list[tuple[ast.Call, Scope]]] = field(default_factory=lambda: defaultdict(list))


def package_of(name: str) -> str:
    """The package, or the module of its own, that a file belongs to; directories before site-packages don't count."""
    return name.rpartition("site-packages/")[2].split("/", 1)[0].removesuffix(".py")


def parse(file: SourceFile) -> Module | None:
    """The file as a syntax tree; None for what can't be parsed within bounds."""
    try:
        content = file.read()
        if len(content) > MOST_BYTES:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(content)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Module(file.name, tree, tuple(content.decode("utf-8", "replace").splitlines()))


def names_of(modules: Iterable[Module]) -> Names:
    """Look up every definition, write and call. A tree beyond 400,000 nodes with parts is read up to there."""
    names = Names()
    left = _MOST_NODES
    for module in modules:
        for node, scope in _walk(module):
            left -= 1
            if left < 0:
                return names
            _take(names, node, scope)
    return names


def _walk(module: Module) -> Iterator[tuple[ast.AST, Scope]]:
    waiting: list[tuple[ast.AST, Scope]] = [(module.tree, Scope(module))]
    while waiting:
        node, scope = waiting.pop()
        yield node, scope
        inner = scope
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = Scope(module, (*scope.functions, node), scope.inside)
        elif isinstance(node, ast.ClassDef):
            inner = Scope(module, scope.functions, node)
        children = [(child, inner) for child in ast.iter_child_nodes(node) if not isinstance(child, _LEAVES)]
        waiting.extend(reversed(children))


def _take(names: Names, node: ast.AST, scope: Scope) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        names.functions[node.name].append((node, scope))
    elif isinstance(node, ast.ClassDef):
        names.classes[node.name].append((node, scope))
    elif isinstance(node, ast.Call):
        _take_call(names, node, scope)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            _take_target(names, target, Found(node.value, scope, node))


def _take_target(names: Names, target: ast.expr, found: Found) -> None:
    if isinstance(target, ast.Tuple | ast.List):
        value = found.value
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts) else None
        for place, one in enumerate(target.elts):
            _take_target(names, one, Found(parts[place], found.scope, found.node) if parts else found)
    elif isinstance(target, ast.Attribute):
        names.writes[target.attr].append(found)
    elif isinstance(target, ast.Name) and not found.scope.functions:
        (names.writes if found.scope.inside else names.globals)[target.id].append(found)


def _take_call(names: Names, call: ast.Call, scope: Scope) -> None:
    names.calls[called(call)].append((call, scope))
    # 0.5.23 completes its arguments by calls: override(..., speculative_num_draft_tokens=8), arg_groups/speculative_hook.py.
    for word in call.keywords:
        if word.arg and word.arg.startswith("speculative_"):
            names.writes[word.arg].append(Found(word.value, scope, call))
    if called(call) == "setattr" and len(call.args) == 3 and isinstance(call.args[1], ast.Constant):
        names.writes[str(call.args[1].value)].append(Found(call.args[2], scope, call))


def called(call: ast.Call) -> str:
    """The last name of what is called: `f` of `f()` and of `a.b.f()`; empty for anything else."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
