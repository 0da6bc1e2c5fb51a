"""ddtree-ops params show"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli import options
from ddtree_ops.cli.params_output import show_lines
from ddtree_ops.cli.params_source import Asked, source_options
from ddtree_ops.report.safe_text import one_line

if TYPE_CHECKING:
    from ddtree_ops.runtime.parameters import Parameter

EPILOG = """\b
Examples:
  ddtree-ops params show tp-size --host ct200
  ddtree-ops params show --speculative-ddtree-budget --source .venv
"""


@click.command(epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@click.argument("name")
@source_options
@options.output_format
def command(name: str, host: str | None, source: Path | None, release: str | None, inventory: Path, form: str) -> int:
    """Show one server argument, by flag, alias or field."""
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.runtime.parameters import declared, find

    found = find(name, declared(Asked(host, source, release, inventory).tree()))
    if form == "json":
        show_json({"schema": "ddtree-ops/params-show/v1", **dataclasses.asdict(found)})
    else:
        show_lines(parameter_lines(found))
    return 0


def parameter_lines(one: Parameter) -> Iterator[str]:
    """Everything that the source says of it."""
    yield click.style(", ".join(map(one_line, one.flags)) or f"{one_line(one.name)} (no flag)", bold=True)
    rows = (
        ("field", one.record or one.name),
        ("type", one.type),
        ("default", _default(one)),
        ("choices", ", ".join(one.choices) + (", and what plugins add" if one.choices_open else "") if one.choices else None),
        ("deprecated", one.deprecated),
        ("use instead", one.successor),
        ("of", one.owner),
        ("defined", f"{one.file}:{one.line}"),
        ("flag", f"{one.flag_file}:{one.flag_line}" if one.flag_line and one.flag_line != one.line else None),
    )
    yield from (f"  {label:<12} {one_line(text)}" for label, text in rows if text)
    if one.help:
        yield from (f"    {line}" for line in wrap(one_line(one.help), 100))


def _default(one: Parameter) -> str | None:
    if one.value is not None and one.value != one.default:
        return f"{one.value}  ({one.default})" if one.default else one.value
    return one.default
