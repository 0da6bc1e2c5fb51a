"""ddtree-ops logs"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli import options

if TYPE_CHECKING:
    from ddtree_ops.triage.entry import JournalEntry

EPILOG = """\b
Examples:
  ddtree-ops logs --host ct200
  ddtree-ops logs --host ct200 -f
  ddtree-ops logs --host ct200 --since -10min --lines 1000
"""


@click.command(epilog=EPILOG)
@options.one_host
@options.inventory
@options.output_format
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines as they come.")
@click.option("-n", "--lines", type=click.IntRange(min=1), default=200, show_default=True, help="The newest N entries.")
@click.option("--since", metavar="TIME", help="As journalctl takes it: -1h, '2026-11-29 18:00', @1795977363.")
def command(host: str, inventory: Path, form: str, follow: bool, lines: int, since: str | None) -> int:
    """Print or follow the server's journal.

    Each line has time, process and text; json prints one object per line. The line that tells why a server failed is marked.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.triage import journal

    chosen = targets.fleet(inventory).host(host)
    with targets.server(chosen) as server:
        argv = journal.read(server.unit, since=since) + (f"--lines={lines}",) + (("--follow",) if follow else ())
        with server.shell.stream(argv) as stream:
            entries = journal.read_export(stream.chunks())
            if follow:
                for entry in entries:
                    click.echo(_json(entry, None) if form == "json" else _text(entry))
            else:
                _show_marked(list(entries), form)
    return 0


def _show_marked(entries: list[JournalEntry], form: str) -> None:
    from ddtree_ops.report.entries import triage_entries
    from ddtree_ops.report.root_line import root_cursor
    from ddtree_ops.report.safe_text import one_line

    report = triage_entries(entries)
    cursor = root_cursor(report.failures) if report.root else None
    for entry in entries:
        root = cursor is not None and entry.cursor == cursor
        if form == "json":
            click.echo(_json(entry, root))
        else:
            click.echo(click.style(f"> {_text(entry)}", bold=True) if root else _text(entry))
        if root and form != "json" and report.root:
            click.echo(click.style(f"> {report.root.kind.value}: {one_line(report.root.title)}", fg="red", bold=True))


def _text(entry: JournalEntry) -> str:
    from ddtree_ops.report.safe_text import block
    from ddtree_ops.triage.lines import split_message

    who = f"{entry.comm or '?'}[{entry.pid or '?'}]"
    return "\n".join(f"{_time(entry)} {who}: {block(text)}" for text, _ in split_message(entry.message))


def _json(entry: JournalEntry, root: bool | None) -> str:
    """`root`: whether it is the line that tells why; None where that isn't known yet."""
    import json

    return json.dumps({**entry._asdict(), "root": root}, ensure_ascii=True)


def _time(entry: JournalEntry) -> str:
    if entry.realtime_us is None:
        return "-"
    when = datetime.datetime.fromtimestamp(entry.realtime_us / 1e6).astimezone()
    return when.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
