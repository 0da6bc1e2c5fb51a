"""ddtree-ops params trace"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli import options
from ddtree_ops.cli.params_output import show_lines
from ddtree_ops.cli.params_source import Asked, index_of, source_options

INCONCLUSIVE = 10
if TYPE_CHECKING:
    from ddtree_ops.runtime.source.model import SourceTree

EPILOG = """\b
Examples:
  ddtree-ops params trace speculative_num_draft_tokens --to num_tokens_per_bs --source .venv
  ddtree-ops params trace --mem-fraction-static --host ct200
  ddtree-ops params trace CudaGraphRunner.num_tokens_per_bs --source sglang-0.5.13.post1-py3-none-any.whl

\b
A name is a field, flag, environment variable, attribute, constant or variable; `Class.name` and `file.py:name` narrow it.
A value reaches another by assignment, argument, return or attribute; being compared with it is not reaching it.
Exit codes: 0 (also for a clear no), 2 unknown name, 10 no way was found but there was too much to follow.
"""


@click.command(epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.option("--to", metavar="OTHER", help="Say whether the value gets there, and on which way.")
@click.option("--all", "everything", is_flag=True, help="Every place, not only some of each kind.")
@source_options
@options.output_format
def command(
    name: str,
    to: str | None,
    everything: bool,
    host: str | None,
    source: Path | None,
    release: str | None,
    inventory: Path,
    form: str,
) -> int:
    """Follow a parameter through a runtime's source: defined, set, checked, read, derived, and whether it reaches OTHER."""
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.runtime.trace import trace

    index = index_of(Asked(host, source, release, inventory).tree())
    found = trace(index, _field(name, index.tree), _field(to, index.tree) if to is not None else None)
    if form == "json":
        show_json(found.as_data())
    else:
        from ddtree_ops.cli.params_trace_view import trace_lines

        show_lines(trace_lines(found, index, everything=everything))
    return INCONCLUSIVE if found.to is not None and not found.to.reaches and not found.to.complete else 0


def _field(name: str, tree: SourceTree) -> str:
    """The field that a flag sets: it may be called otherwise (`--tensor-parallel-size`), and be shortened as argparse takes it.

    Raises UsageError for dashes that no flag of the tree has.
    """
    if not name.startswith("-"):
        return name
    from ddtree_ops.runtime.parameters import declared, find

    every = declared(tree)
    if not every:  # no server's tree: the dashes are only a way to write the name
        return name
    flags = {flag: one for one in every for flag in one.flags}
    known = {(one.record or one.name) for flag, one in flags.items() if flag.startswith(name)}
    if name not in flags and len(known) == 1:
        return known.pop()
    parameter = find(name, every)
    return parameter.record or parameter.name
