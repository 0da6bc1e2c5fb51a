"""Whether the places that golden cases name are in the source at all: read with ast, without the engine that they judge."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path


def lacking(root: Path, place: str) -> list[str]:
    """Of `file:function | file:function`: those that aren't in the tree."""
    alternatives = [alternative.strip().partition(":") for alternative in place.split("|")]
    return [f"{file}:{function}" for file, _, function in alternatives if not _has(root, file, function)]


def lacks_code(root: Path, file: str, code: str) -> bool:
    """Whether a file doesn't have this piece of code, spaces and line ends apart."""
    return "".join(code.split()) not in _squeezed(root / file)


def _has(root: Path, file: str, function: str) -> bool:
    found = [root / file] if (root / file).is_file() else sorted(root.glob(f"**/{file}*/*.py"))
    return any(not function or function in _functions(path) for path in found)


@functools.cache
def _squeezed(path: Path) -> str:
    return "".join(path.read_text(errors="replace").split())


@functools.cache
def _functions(path: Path) -> frozenset[str]:
    return frozenset(_qualified(ast.parse(path.read_bytes()), ""))


def _qualified(node: ast.AST, prefix: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{prefix}{child.name}"
            yield from _qualified(child, f"{prefix}{child.name}.")
        else:
            yield from _qualified(child, prefix)
