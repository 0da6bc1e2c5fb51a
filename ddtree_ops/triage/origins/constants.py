"""What a plugin's own code makes of a number that is in no argument: `BUDGET + 1`, with `BUDGET = 32` at the top of its file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ddtree_ops.triage.origins.located import parse

_FOUND = 3  # in one file; a number that stands everywhere says nothing
_LARGEST = 1 << 40


@dataclass(frozen=True, slots=True)
class Constant:
    """An expression that is the number: its text, the constant's name and file:line, where the expression stands."""

    expression: str
    name: str
    file: str
    line: int
    defined: int


def constants(value: int, file: str, content: bytes) -> tuple[Constant, ...]:
    """Expressions `NAME`, `NAME + n` or `NAME - n` of this value where NAME is an integer constant of the file's top level.

    A computed one goes before the bare name: it says more. Numbers below 3 are in every file and tell nothing.
    """
    tree = parse(content) if value > 2 else None
    known = dict(_top_level(tree)) if tree else {}
    if tree is None or not known:
        return ()
    computed: dict[Constant, None] = {}
    bare: dict[Constant, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            named = _computed(node, known)
            if named and named[1] == value:
                computed[Constant(ast.unparse(node), named[0], file, node.lineno, known[named[0]][1])] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and known.get(node.id, (None,))[0] == value:
            bare[Constant(node.id, node.id, file, node.lineno, known[node.id][1])] = None
    distinct = {(item.expression, item.name): item for item in reversed((*computed, *bare))}
    return tuple(reversed(distinct.values()))[:_FOUND]


def _top_level(tree: ast.Module) -> Iterator[tuple[str, tuple[int, int]]]:
    """(name, (value, line)) of constants; a name that is given twice is none."""
    seen: dict[str, tuple[int, int] | None] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        for target in targets:
            if isinstance(target, ast.Name):
                number = _integer(value)
                seen[target.id] = None if target.id in seen or number is None else (number, node.lineno)
    yield from ((name, known) for name, known in seen.items() if known)


def _integer(node: ast.expr | None) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value if abs(node.value) < _LARGEST else None
    return None


def _computed(node: ast.BinOp, known: dict[str, tuple[int, int]]) -> tuple[str, int] | None:
    left, right = node.left, node.right
    if isinstance(node.op, ast.Add) and isinstance(right, ast.Name):
        left, right = right, left
    offset = _integer(right)
    if not isinstance(left, ast.Name) or left.id not in known or offset is None:
        return None
    base = known[left.id][0]
    if isinstance(node.op, ast.Add):
        return left.id, base + offset
    return (left.id, base - offset) if isinstance(node.op, ast.Sub) else None
