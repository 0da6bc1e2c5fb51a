"""A frame's function and statement in the source that is at hand, which need not be the very file that ran."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from ddtree_ops.triage.block import Frame

#: Bytes of a file that is still parsed: the largest one of SGLang 0.5.23 (server_args.py) has 0.5 MB.
SIZE_LIMIT = 2 << 20
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Place:
    """A frame in the tree: its statement (of a compound one only the head), the function and the class around it."""

    file: str
    lines: tuple[str, ...]
    function: Function
    owner: str | None
    heads: tuple[ast.AST, ...]

    def code(self, node: ast.AST) -> str:
        """The node's first line, without indentation."""
        line = getattr(node, "lineno", 0)
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""


def parse(content: bytes) -> ast.Module | None:
    """The syntax tree; None for what is none, or is too large or too deep to be one."""
    if len(content) > SIZE_LIMIT or b"\0" in content:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def locate(frame: Frame, file: str, content: bytes) -> Place | None:
    """Where the frame stands in this file: at its own line, else where its function has the same code. None: nowhere."""
    tree = parse(content)
    if tree is None or frame.line is None:
        return None
    lines = tuple(content.decode("utf-8-sig", "replace").splitlines())
    code = (frame.code or "").split("\n", 1)[0].strip()
    found = [(function, owner) for function, owner in _functions(tree) if function.name == frame.function]
    best: tuple[int, Function, str | None, int] | None = None
    for function, owner in found:
        for line in _lines_with(code, frame.line, function, lines):
            distance = abs(line - frame.line)
            if best is None or distance < best[0]:
                best = (distance, function, owner, line)
    if best is None:
        return None
    _, function, owner, line = best
    return Place(file, lines, function, owner, tuple(_heads(function, line)))


def _lines_with(code: str, line: int, function: Function, lines: tuple[str, ...]) -> Iterator[int]:
    end = min(function.end_lineno or function.lineno, len(lines))
    if not code:
        yield from (line,) if function.lineno <= line <= end else ()
        return
    for number in range(function.lineno, end + 1):
        if lines[number - 1].strip() == code:
            yield number


def _functions(tree: ast.Module) -> Iterator[tuple[Function, str | None]]:
    """Every function with the class that it is a method of. Without recursion: the source may nest as deep as it likes."""
    todo: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while todo:
        node, owner = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function):
                yield child, owner
            if isinstance(child, ast.stmt | ast.excepthandler):
                todo.append((child, child.name if isinstance(child, ast.ClassDef) else owner))


def _heads(function: Function, line: int) -> Iterator[ast.AST]:
    """What is evaluated by the innermost statement at a line."""
    statement: ast.stmt | None = None
    body: list[ast.AST] = list(function.body)
    while body:
        inside = [item for item in body if getattr(item, "lineno", line + 1) <= line <= (getattr(item, "end_lineno", 0) or 0)]
        if not inside:
            break
        node = inside[0]
        statement = node if isinstance(node, ast.stmt) else statement
        body = [item for item in ast.iter_child_nodes(node) if isinstance(item, ast.stmt | ast.excepthandler)]
    if statement is not None:
        yield from (item for item in ast.iter_child_nodes(statement) if isinstance(item, ast.expr | ast.withitem))
