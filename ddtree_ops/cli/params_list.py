"""ddtree-ops params list"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli import options
from ddtree_ops.cli.params_output import show_lines
from ddtree_ops.cli.params_source import Asked, source_options
from ddtree_ops.errors import UsageError
from ddtree_ops.report.safe_text import one_line
from ddtree_ops.runtime.parameters.model import EnvironmentVariable

if TYPE_CHECKING:
    from ddtree_ops.runtime.parameters import Parameter

EPILOG = """\b
Examples:
  ddtree-ops params list --host ct200
  ddtree-ops params list --source .venv --grep 'graph|attention'
  ddtree-ops params list --source sglang-0.5.23.whl --environment --format json
"""


@click.command(epilog=EPILOG)
@source_options
@click.option("--grep", metavar="REGEX", help="Only those whose name, flags or help match.")
@click.option("--environment", "variables", is_flag=True, help="The environment variables that the runtime reads instead.")
@options.output_format
def command(
    host: str | None, source: Path | None, release: str | None, inventory: Path, grep: str | None, variables: bool, form: str
) -> int:
    """List the server arguments of a runtime, with default and place."""
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.runtime import parameters

    tree = Asked(host, source, release, inventory).tree()
    every = parameters.environment(tree) if variables else parameters.declared(tree)
    chosen = [one for one in every if _matches(grep, one.name, *getattr(one, "flags", ()), getattr(one, "help", None) or "")]
    if form == "json":
        rows = [dataclasses.asdict(one) for one in chosen]
        kind = "environment" if variables else "arguments"
        show_json({"schema": "ddtree-ops/params-list/v1", "root": tree.root, "version": tree.version, kind: rows})
        return 0
    show_lines(map(_line, chosen))
    click.echo(f"{len(chosen)} of {len(every)}" + (f" in {tree.version}" if tree.version else ""), err=True)
    return 0


def _line(one: Parameter | EnvironmentVariable) -> str:
    name = one_line(one.name if isinstance(one, EnvironmentVariable) else shown_name(one))
    default = "" if one.default is None else f" = {one_line(one.default, 60)}"
    note = click.style("  deprecated", fg="yellow") if one.deprecated else ""
    return f"{click.style(name, bold=True)}{default}{note}  {click.style(one_line(f'{one.file}:{one.line}'), dim=True)}"


def shown_name(one: Parameter) -> str:
    """The first flag, or the field's name where no flag sets it."""
    return one.flags[0] if one.flags else f"{one.name} (no flag)"


def _matches(pattern: str | None, *texts: str) -> bool:
    if pattern is None:
        return True
    try:
        wanted = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise UsageError(
            f"--grep {pattern!r}: {error}", hint="quote characters that mean something in a regular expression"
        ) from None
    return any(wanted.search(text[:2000]) for text in texts)
