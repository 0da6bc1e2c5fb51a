"""What is gathered while a function's statements are walked."""

from __future__ import annotations

import ast
import marshal
import re
from typing import Any

LIKE_A_NAME = re.compile(r"(?:--)?[A-Za-z_][\w-]{1,79}\Z", re.ASCII)
_DOTTED = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)


class Module:
    """One file's functions and classes, as they are found."""

    def __init__(self) -> None:
        self.functions: list[Scope] = []
        self.classes: list[Klass] = []
        self.imports: dict[str, tuple[str, str | None]] = {}
        self.constants: dict[str, tuple[str, int]] = {}
        self.flags: list[tuple[str, int, int, tuple[Any, ...]]] = []


class Klass:
    """One class, as it is found."""

    def __init__(self, node: ast.ClassDef, qualified: str, parent: int, scope: int) -> None:
        self.node = node
        self.qualified = qualified
        self.parent = parent
        self.scope = scope
        self.decorators: tuple[str, ...] = ()
        self.bases: tuple[str, ...] = ()
        self.methods: dict[str, int] = {}
        self.attributes: dict[str, tuple[tuple[str, ...], int, tuple[int, ...]]] = {}

    def stores(self, name: str, annotation: tuple[str, ...], line: int, function: int) -> None:
        """An attribute is declared or assigned."""
        known = self.attributes.get(name)
        if known is None:
            self.attributes[name] = (annotation, line, (function,))
        else:
            functions = known[2] if function in known[2] else (*known[2], function)
            self.attributes[name] = (known[0] or annotation, known[1], functions)

    def packed(self) -> tuple[Any, ...]:
        """As facts.Class has it."""
        node = self.node
        names = (node.name, self.qualified, node.lineno, self.parent, self.bases)
        return (*names, self.decorators, self.scope, self.methods, self.attributes)


class Scope:
    """A function, lambda, class body or module while it is walked."""

    __slots__ = (
        "annotations",
        "blind",
        "calls",
        "checks",
        "decorators",
        "flows",
        "free",
        "imports",
        "inner",
        "itself",
        "kind",
        "line",
        "local",
        "module",
        "name",
        "names",
        "number",
        "owner",
        "parameters",
        "parent",
        "qualified",
        "returns",
        "temporary",
        "uses",
    )

    def __init__(self, module: Module, kind: str, name: str, line: int, parent: Scope | None, owner: int = -1) -> None:
        self.number: int = len(module.functions)
        self.qualified: str
        self.module = module
        self.kind, self.name, self.line, self.owner = kind, name, line, owner
        self.parent = -1 if parent is None else parent.number
        outer = "" if parent is None else parent.qualified
        self.qualified = f"{outer}.{name}" if outer else name if parent is not None else ""
        module.functions.append(self)
        self.flows: list[Any] = []
        self.calls: list[Any] = []
        self.uses: list[Any] = []
        self.checks: list[Any] = []
        self.blind: list[tuple[int, str]] = []
        self.names: set[str] = set()
        self.local: set[str] = set()
        self.free: set[str] = set()
        self.imports: dict[str, tuple[str, str | None]] = {}
        self.inner: dict[str, tuple[str, int]] = {}
        self.annotations: dict[str, tuple[str, ...]] = {}
        self.parameters: tuple[tuple[str, int, tuple[str, ...], int], ...] = ()
        self.decorators: tuple[str, ...] = ()
        self.returns: tuple[str, ...] = ()
        self.itself = ""
        self.temporary = 0

    def packed(self) -> tuple[Any, ...]:
        """As facts.Function has it."""
        body = marshal.dumps(
            (
                tuple(self.flows),
                tuple(self.calls),
                tuple(self.uses),
                tuple(self.checks),
                tuple(self.blind),
                tuple(self.local - self.free),
                self.imports,
                self.inner,
                self.annotations,
            )
        )
        head = (self.name, self.qualified, self.line, self.parent, self.owner, self.kind)
        return (*head, self.parameters, self.decorators, self.returns, body)

    def temp(self, line: int, sources: list[Any]) -> str:
        """A name of its own for a value in the middle of an expression."""
        self.temporary += 1
        name = f"%{self.temporary}"
        self.local.add(name)
        self.flows.append((line, name, tuple(sources)))
        return name


def annotation(node: ast.expr | None) -> tuple[str, ...]:
    """The dotted names in an annotation, quoted ones too: `Optional["ServerArgs"]` gives Optional and ServerArgs."""
    if node is None:
        return ()
    if isinstance(node, ast.Name):
        return (node.id,)
    found: list[str] = []
    _gather(node, found, 0)
    return tuple(found)


def _gather(node: ast.AST, found: list[str], depth: int) -> None:
    if isinstance(node, ast.Name):
        found.append(node.id)
    elif isinstance(node, ast.Attribute):
        found.append(dotted(node))
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str) and len(node.value) < 400:
            found.extend(_DOTTED.findall(node.value))
    elif depth < 20:
        for child in ast.iter_child_nodes(node):
            _gather(child, found, depth + 1)


def dotted(node: ast.AST) -> str:
    """`a.b.c` as text, or what of it can be named; a call or subscript counts as what is called or subscripted."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            break
    parts.append(node.id if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(parts))
