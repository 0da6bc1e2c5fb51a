"""The few modules of a tree that declare parameters, parsed on demand, with what their top level names."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.runtime.source.model import SourceFile, SourceTree

MOST_BYTES = 3 << 20  # of one file: the largest that declares parameters has 0.5 MB
MOST_MODULES = 250

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Imported:
    """`from module import name`, or `import module` where `name` is None."""

    module: str
    name: str | None


Binding = ast.expr | Function | ast.ClassDef | Imported


@dataclass(eq=False)
class Module:
    """One parsed file. `name` is as an import names it."""

    name: str
    file: str
    body: list[ast.stmt] = field(repr=False)
    is_package: bool
    bindings: dict[str, Binding] = field(default_factory=dict)
    content: bytes = field(default=b"", repr=False)
    mutations: dict[str, list[ast.expr]] = field(default_factory=dict)
    writes: dict[str, list[ast.expr]] = field(default_factory=dict)
    classes: dict[str, tuple[ast.ClassDef, dict[str, Any]]] = field(default_factory=dict, repr=False)

    @property
    def owner(self) -> str:
        """The package at the top."""
        return self.file.split("/")[0].removesuffix(".py")

    def absolute(self, node: ast.ImportFrom) -> str:
        """The module that an import statement names, without leading dots."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + (1 if self.is_package else 0)]
        return ".".join([*base, *([node.module] if node.module else [])])


class Modules:
    """Modules of a tree by name. What can't be read or parsed counts as not there."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.files = {file.name: file for file in tree.files}
        self._known: dict[str, Module | None] = {}

    def named(self, name: str) -> Module | None:
        """The module that `import name` would give."""
        path = name.replace(".", "/")
        file = self.files.get(f"{path}.py") or self.files.get(f"{path}/__init__.py")
        return self.of(file) if file is not None else None

    def of(self, file: SourceFile) -> Module | None:
        """A file as a module."""
        if file.name not in self._known:
            self._known[file.name] = self._parse(file) if len(self._known) < MOST_MODULES else None
        return self._known[file.name]

    def _parse(self, file: SourceFile) -> Module | None:
        try:
            content = file.read()
            if len(content) > MOST_BYTES:
                raise ValueError(f"larger than {MOST_BYTES >> 20} MiB")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                body = ast.parse(content).body
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        name = file.name.removesuffix(".py").replace("/", ".")
        is_package = name.endswith(".__init__") or name == "__init__"
        module = Module(name.removesuffix(".__init__"), file.name, body, is_package, content=content)
        for statement in statements(body):
            _bind(module, statement)
        return module


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements in order, with those inside of if, try and with, but not of functions and classes."""
    waiting = list(reversed(body))
    while waiting:
        statement = waiting.pop()
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            inner = [*statement.body, *getattr(statement, "orelse", [])]
            for handler in getattr(statement, "handlers", []):
                inner += handler.body
            waiting.extend(reversed([*inner, *getattr(statement, "finalbody", [])]))


def imports(module: Module, statement: ast.stmt) -> Iterator[tuple[str, Imported]]:
    """The names that an import statement gives."""
    if isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name, Imported(module.absolute(statement), alias.name)
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            whole = alias.asname is not None or "." not in alias.name
            yield alias.asname or alias.name.split(".")[0], Imported(alias.name if whole else alias.name.split(".")[0], None)


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _bind(module: Module, statement: ast.stmt) -> None:
    if isinstance(statement, Function | ast.ClassDef):
        module.bindings[statement.name] = statement
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            _bind_target(module, target, statement.value)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        _bind_target(module, statement.target, statement.value)
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        module.mutations.setdefault(statement.target.id, []).append(statement.value)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        _bind_mutation(module, statement.value)
    else:
        module.bindings.update(imports(module, statement))


def _bind_target(module: Module, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Name):
        # `X = make("X", ...)` after `class X` builds the same record anew: its fields stay those of the class.
        if not isinstance(module.bindings.get(target.id), ast.ClassDef):
            module.bindings[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            _bind_target(module, one, value)
    elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        module.writes.setdefault(f"{target.value.id}.{target.attr}", []).append(value)


def _bind_mutation(module: Module, call: ast.Call) -> None:
    """`NAMES.append(x)`, `.add(x)` and `.extend(xs)` as lists to be added."""
    func = call.func
    if not (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and len(call.args) == 1):
        return
    if func.attr in ("append", "add"):
        added: ast.expr = ast.List([call.args[0]], ast.Load())
    elif func.attr in ("extend", "update"):
        added = call.args[0]
    else:
        return
    module.mutations.setdefault(func.value.id, []).append(added)
