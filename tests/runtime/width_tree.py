"""Source trees for tests of token widths: our plugin, the simulator, the naive plugin, and small ones in width_trees.

A file there holds a whole tree; a line `=== NAME` begins a file of it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from ddtree_ops.runtime.source.model import SourceFile, SourceTree

ROOT = Path(__file__).resolve().parents[2]
TREES = Path(__file__).parent / "width_trees"
_REAL = {
    "ours": ROOT / "deploy" / "runtime" / "sglang_ddtree" / "src" / "sglang_ddtree",
    "naive": ROOT / "tests" / "gpu" / "naive_ddtree.py",
    "simulator": ROOT / "lab" / "simulator" / "src" / "sglang",
}


def file(name: str, content: bytes) -> SourceFile:
    """A file of a tree, in memory."""
    return SourceFile(name, None, (hashlib.sha256(content).hexdigest(),), lambda: content)


def tree(*names: str, changes: dict[str, tuple[str, str]] | None = None) -> SourceTree:
    """Several trees side by side; `changes` are replacements {file: (before, after)}, which have to be possible."""
    found: dict[str, bytes] = {}
    for name in names:
        found |= _real(_REAL[name]) if name in _REAL else _small(TREES / f"{name}.txt")
    for changed, (before, after) in (changes or {}).items():
        assert before.encode() in found[changed], f"{changed} doesn't hold {before!r}"
        found[changed] = found[changed].replace(before.encode(), after.encode())
    return SourceTree("/tree", None, tuple(file(name, content) for name, content in sorted(found.items())))


def _real(start: Path) -> dict[str, bytes]:
    files = [start] if start.is_file() else sorted(start.rglob("*.py"))
    return {str(one.relative_to(start.parent)): one.read_bytes() for one in files}


def _small(path: Path) -> dict[str, bytes]:
    parts = path.read_text(encoding="utf-8").split("=== ")[1:]
    return {name: text.encode() for name, _, text in (part.partition("\n") for part in parts)}
