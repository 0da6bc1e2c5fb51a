"""ddtree-ops triage"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from ddtree_ops.cli import options
from ddtree_ops.errors import UsageError

if TYPE_CHECKING:
    from ddtree_ops.report.failure import FailureReport
    from ddtree_ops.triage.entry import JournalEntry

FOUND, INCONCLUSIVE = 4, 10
CHUNK = 65536
EPILOG = """\b
Examples:
  ddtree-ops triage --host ct200
  ddtree-ops triage --host ct200 --since -2h --format json
  journalctl -u ddtree-server@30000 -o export | ddtree-ops triage -

\b
Exit codes: 0 no failure found, 4 a failure was found, 10 inconclusive.
"""


@click.command(epilog=EPILOG)
@click.argument("stdin", required=False, type=click.Choice(["-"]), metavar="[-]")
@click.option("--host", metavar="HOST", help="Read the journal of a host of the inventory.")
@click.option("--file", "path", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Read a saved journal.")
@options.inventory
@click.option("--unit", metavar="UNIT", help="Only this unit. Default: the server's on a host, all that is in a file.")
@click.option("--since", metavar="TIME", help="As journalctl takes it. Default: the latest run of the unit.")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
def command(
    stdin: str | None, host: str | None, path: Path | None, inventory: Path, unit: str | None, since: str | None, form: str
) -> int:
    """Say why a server failed: from a host's journal, a file or stdin.

    Files and stdin are read as journalctl writes them with `-o export` or `-o json`.
    """
    if sum(source is not None for source in (stdin, host, path)) != 1:
        raise UsageError("give one source: --host HOST, --file FILE or -")
    if unit is not None and "." not in unit:
        unit = f"{unit}.service"  # as systemctl and journalctl read it
    if host is not None:
        report = _of_host(host, inventory, unit, since)
    elif path is not None:
        with path.open("rb") as stream:
            report = _of_stream(stream, str(path), unit)
    else:
        report = _of_stream(sys.stdin.buffer, "stdin", unit)
    return _show(report, form)


def _of_host(name: str, inventory: Path, unit: str | None, since: str | None) -> FailureReport:
    from ddtree_ops.cli import targets
    from ddtree_ops.flows import triage

    chosen = targets.fleet(inventory).host(name)
    with targets.server(chosen) as server:
        return triage.of_unit(server.shell, unit or server.unit, since)


def _of_stream(stream: BinaryIO, name: str, unit: str | None) -> FailureReport:
    from ddtree_ops.report.entries import of_one_unit, triage_entries
    from ddtree_ops.triage.journal import read_export, read_json

    chunks: Iterator[bytes] = iter(lambda: stream.read(CHUNK), b"")
    first = next(chunks, b"")
    whole = itertools.chain((first,), chunks)
    start = first.lstrip()
    entries: Iterable[JournalEntry]
    if start.startswith(b"{"):
        entries = read_json(whole)
    elif not start or start.startswith((b"_", b"MESSAGE")):
        entries = read_export(whole)
    else:
        raise UsageError(f"{name}: neither `journalctl -o export` nor `journalctl -o json`", hint="save it with -o export")
    return triage_entries(entries, unit=unit) if unit is None else of_one_unit(entries, unit)


def _show(report: FailureReport, form: str) -> int:
    from ddtree_ops.cli.show import failure_text
    from ddtree_ops.triage.model import Verdict

    if form == "json":
        click.echo(report.to_json())
    elif form == "markdown":
        click.echo(report.to_markdown(), nl=False)
    else:
        click.echo(failure_text(report))
    return {Verdict.FAILURE: FOUND, Verdict.INCONCLUSIVE: INCONCLUSIVE}.get(report.verdict, 0)
