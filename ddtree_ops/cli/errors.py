"""How an expected error is shown: one line, the fix, and the lines that show it; as a document for --format json."""

from __future__ import annotations

import itertools
import json
import sys
from textwrap import indent

import click

from ddtree_ops.cli.terminal import colour_wanted
from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.report.redaction import redacted
from ddtree_ops.report.safe_text import block, one_line

SCHEMA = "ddtree-ops/error/v1"
INTERRUPTED = 130


def show(error: DdtreeOpsError) -> None:
    """Print to stderr; with `--format json` on the command line also a document to stdout."""
    colour = None if colour_wanted() else False  # the command's context, which says so, is left
    click.echo(f"{click.style('error:', fg='red', bold=True)} {one_line(error.message)}", err=True, color=colour)
    for line in error.evidence:
        click.echo(indent(block(line), "  "), err=True, color=colour)
    if error.hint:
        click.echo(f"{click.style('fix:', fg='green')} {one_line(error.hint)}", err=True, color=colour)
    show_document(type(error).__name__, error.message, error.exit_code, error.hint, error.evidence)


def show_document(kind: str, message: str, exit_code: int, hint: str | None = None, evidence: tuple[str, ...] = ()) -> None:
    """The error as the one document on stdout, where JSON was asked for."""
    if wants_json():
        document = {
            "schema": SCHEMA,
            "error": kind,
            "message": redacted(message),
            "hint": hint,
            "evidence": [redacted(line) for line in evidence],
            "exit_code": exit_code,
        }
        click.echo(json.dumps(document, indent=2))


def wants_json() -> bool:
    """Was JSON asked for? Asked of argv, because the error may come before the options were parsed."""
    words = sys.argv[1:]
    given = [word.partition("=")[2] for word in words if word.startswith("--format=")]
    given += [value for name, value in itertools.pairwise(words) if name == "--format"]
    return given[-1:] == ["json"]
