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

    Each line has time, process and text; json prints one object per line.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.triage import journal

    chosen = targets.fleet(inventory).host(host)
    with targets.server(chosen) as server:
        argv = journal.read(server.unit, since=since) + (f"--lines={lines}",) + (("--follow",) if follow else ())
        with server.shell.stream(argv) as stream:
            for entry in journal.read_export(stream.chunks()):
                click.echo(_json(entry) if form == "json" else _text(entry))
    return 0


def _text(entry: JournalEntry) -> str:
    from ddtree_ops.report.safe_text import block
    from ddtree_ops.triage.lines import split_message

    who = f"{entry.comm or '?'}[{entry.pid or '?'}]"
    return "\n".join(f"{_time(entry)} {who}: {block(text)}" for text, _ in split_message(entry.message))


def _json(entry: JournalEntry) -> str:
    import json

    return json.dumps(entry._asdict(), ensure_ascii=True)


def _time(entry: JournalEntry) -> str:
    if entry.realtime_us is None:
        return "-"
    when = datetime.datetime.fromtimestamp(entry.realtime_us / 1e6).astimezone()
    return when.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
