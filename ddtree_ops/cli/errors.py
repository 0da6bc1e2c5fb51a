"""How an expected error is shown: one line, the fix, and the lines that show it; as a document for --format json."""

from __future__ import annotations

import itertools
import json
import sys
from textwrap import indent

import click

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.report.safe_text import block, one_line

SCHEMA = "ddtree-ops/error/v1"


def show(error: DdtreeOpsError) -> None:
    """Print to stderr; with `--format json` on the command line also a document to stdout."""
    click.echo(f"{click.style('error:', fg='red', bold=True)} {one_line(error.message)}", err=True)
    for line in error.evidence:
        click.echo(indent(block(line), "  "), err=True)
    if error.hint:
        click.echo(f"{click.style('fix:', fg='green')} {one_line(error.hint)}", err=True)
    if wants_json():
        click.echo(json.dumps(document(error), indent=2))


def document(error: DdtreeOpsError) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "error": type(error).__name__,
        "message": error.message,
        "hint": error.hint,
        "evidence": list(error.evidence),
        "exit_code": error.exit_code,
    }


def wants_json() -> bool:
    """Was JSON asked for? Asked of argv, because the error may come before the options were parsed."""
    words = sys.argv[1:]
    return "--format=json" in words or any(pair == ("--format", "json") for pair in itertools.pairwise(words))
