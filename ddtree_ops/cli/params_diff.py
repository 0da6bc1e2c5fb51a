"""ddtree-ops params diff"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddtree_ops.cli import options
from ddtree_ops.cli.params_output import show_lines
from ddtree_ops.report.safe_text import one_line

if TYPE_CHECKING:
    from ddtree_ops.runtime.parameters import Differences, Effect, Parameter
    from ddtree_ops.runtime.source.model import SourceTree

DIFFERENT = 6
EPILOG = """\b
Examples:
  ddtree-ops params diff sglang-0.5.12.post1.whl sglang-0.5.13.post1.whl
  ddtree-ops params diff 0.5.12.post1 0.5.13.post1
  ddtree-ops params diff ct200 ct200:planned --host ct200
  ddtree-ops params diff ct200:lab-1a2b3c4d5e .venv

\b
A and B are a path (checkout, venv, wheel, sdist), a version whose source was read before,
HOST (what serves there), HOST:RELEASE or HOST:planned (what its spec asks for).
Exit codes: 0 the same, 6 different.
"""


@click.command(epilog=EPILOG)
@click.argument("a")
@click.argument("b")
@click.option("--host", metavar="HOST", help="Say what going from A to B does to the spec of this host.")
@options.inventory
@options.output_format
def command(a: str, b: str, host: str | None, inventory: Path, form: str) -> int:
    """Compare the server arguments of two runtimes: added, removed, renamed, changed."""
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.inputs import release_of
    from ddtree_ops.cli.params_sides import tree_of
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.runtime.parameters import compare, declared, environment, for_spec

    chosen = targets.fleet(inventory).host(host) if host is not None else None
    before, after = tree_of(a, inventory), tree_of(b, inventory)
    found = compare(declared(before), declared(after), environment(before), environment(after))
    effects: tuple[Effect, ...] | None = None
    if chosen is not None:
        server = release_of(chosen).server
        effects = for_spec(found, server["argv"], server["environment"])
    if form == "json":
        show_json(_document(found, before, after, effects))
    else:
        show_lines((*_heads(before, after), *_lines(found), *_effects(effects, host)))
    return 0 if found.empty else DIFFERENT


def _heads(*trees: SourceTree) -> Iterator[str]:
    for mark, tree in zip(("---", "+++"), trees, strict=True):
        yield click.style(f"{mark} {one_line(tree.version or 'unknown version')}  {one_line(tree.root)}", bold=True)


def _flag(one: Parameter) -> str:
    return one_line(one.flags[0] if one.flags else one.name)


def _lines(found: Differences) -> Iterator[str]:
    for pair in found.renamed:
        yield f"~ {_flag(pair.before)} is called {click.style(_flag(pair.after), bold=True)} now: {one_line(str(pair.evidence))}"
    for one in found.removed:
        yield click.style(f"- {_flag(one)}", fg="red") + _dim(one.file, one.line)
    for one in found.added:
        default = f" = {one_line(one.default, 60)}" if one.default is not None else ""
        yield click.style(f"+ {_flag(one)}", fg="green") + default + _dim(one.file, one.line)
    for change in found.changed:
        before, after = (one_line(text, 200) if text is not None else "none" for text in (change.before, change.after))
        place = _dim(change.parameter.file, change.parameter.line)
        yield f"~ {_flag(change.parameter)} {change.what}: {before} -> {after}{place}"
    for variable in found.environment_removed:
        yield click.style(f"- ${one_line(variable.name)}", fg="red") + _dim(variable.file, variable.line)
    for variable in found.environment_added:
        yield click.style(f"+ ${one_line(variable.name)}", fg="green") + _dim(variable.file, variable.line)
    for moved in found.environment_changed:
        before, after = (one_line(text, 200) if text is not None else "none" for text in (moved.before, moved.after))
        yield f"~ ${one_line(moved.variable.name)} {moved.what}: {before} -> {after}"


def _dim(file: str, line: int) -> str:
    return click.style(f"  {one_line(file)}:{line}", dim=True)


def _effects(effects: tuple[Effect, ...] | None, host: str | None) -> Iterator[str]:
    if effects is None or host is None:
        return
    yield click.style(f"what it does to {one_line(host)}", bold=True) + ("" if effects else ": nothing")
    for one in effects:
        word, colour = ("breaks", "red") if one.breaks else (one.kind.value.replace("_", " "), "yellow")
        yield f"  {click.style(word, fg=colour)}: {one_line(one.message)}"
        yield f"    fix: {one_line(one.fix)}"


def _document(found: Differences, before: SourceTree, after: SourceTree, effects: tuple[Effect, ...] | None) -> dict[str, Any]:
    rows = dataclasses.asdict(found)
    for name in ("before", "after", "environment_before", "environment_after"):
        rows.pop(name)
    trees = {"before": before, "after": after}
    return {
        "schema": "ddtree-ops/params-diff/v1",
        **{name: {"root": tree.root, "version": tree.version} for name, tree in trees.items()},
        **rows,
        "spec": None if effects is None else [dataclasses.asdict(one) for one in effects],
    }
