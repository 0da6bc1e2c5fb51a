"""The list of findings that can be waived is the checks' own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ddtree_ops.fleet.finding import NO_WAIVERS
from ddtree_ops.fleet.finding_ids import KNOWN
from ddtree_ops.runtime.parameters.problem import ProblemKind
from ddtree_preflight.catalogue import KINDS

PACKAGE = Path(__file__).resolve().parents[2] / "ddtree_ops"


def made(tree: ast.Module) -> Iterator[str]:
    """First arguments of Finding(...) and of helpers that make one; module constants are looked up."""
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Finding", "_error") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant):
                yield str(first.value)
            elif isinstance(first, ast.Name) and first.id in constants:
                yield str(constants[first.id])


def test_every_finding_is_in_the_list_and_nothing_else() -> None:
    paths = (*(PACKAGE / "fleet").glob("*.py"), PACKAGE / "flows" / "judgement.py", PACKAGE / "flows" / "probing.py")
    texts = [path.read_text() for path in paths]
    ours = {name for text in texts for name in made(ast.parse(text))}
    known = {kind.id for kind in KINDS} | set(map(str, ProblemKind)) | ours
    assert {"port", "token_width_mismatch", "release_damaged", "waiver_unused"} <= known
    assert not known - KNOWN, "add them to fleet/finding_ids.py"
    # What a helper makes of a table is only a word in the source.
    assert not [one for one in KNOWN - known if not any(f'"{one}"' in text for text in texts if "_GPUS = (" not in text)]


def test_what_cant_be_waived_exists() -> None:
    assert NO_WAIVERS.keys() <= KNOWN
