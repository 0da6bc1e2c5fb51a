"""ddtree-ops triage"""

from __future__ import annotations

from pathlib import Path

import click

from ddtree_ops.cli import options
from ddtree_ops.cli.triage_asked import Asked
from ddtree_ops.errors import UsageError

EPILOG = """\b
Examples:
  ddtree-ops triage --host ct200
  ddtree-ops triage --host ct200 --since -2h --format json
  ddtree-ops triage --host ct200 --follow
  ddtree-ops triage --list --host ct200
  ddtree-ops triage --file crash.log.gz --format html > crash.html
  journalctl -u ddtree-server@30000 -o export | ddtree-ops triage -
  ddtree-ops triage --compare before.json after.json

\b
Exit codes: 0 no failure found (--compare: the same failure), 4 a failure was found, 6 --compare: different failures,
10 inconclusive.
"""


@click.command(epilog=EPILOG)
@click.argument("stdin", required=False, type=click.Choice(["-"]), metavar="[-]")
@click.option("--host", metavar="HOST", help="Read the journal of a host of the inventory.")
@click.option("--file", "path", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Read a saved log.")
@click.option("--gateway", metavar="URL", help="Read a systemd-journal-gatewayd: http://HOST:19531.")
@options.inventory
@click.option("--unit", metavar="UNIT", help="Only this unit. Default: the server's on a host, all that is in a file.")
@click.option("--since", metavar="TIME", help="As journalctl takes it. Default: the latest run of the unit.")
@click.option("--invocation", metavar="ID", help="A run of the unit: of those that --list shows, or any in the journal.")
@click.option("--follow", is_flag=True, help="Wait for the next failure and report it the moment it happens.")
@click.option("--list", "listing", is_flag=True, help="The crashes that the host keeps.")
@click.option(
    "--compare", nargs=2, metavar="A B", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Same failure?"
)
@click.option(
    "--source",
    "source_tree",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Show code from here.",
)
@click.option(
    "--server-info",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What /server_info answered.",
)
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown", "html"]), default="text", show_default=True)
def command(
    stdin: str | None,
    host: str | None,
    path: Path | None,
    gateway: str | None,
    inventory: Path,
    unit: str | None,
    since: str | None,
    invocation: str | None,
    follow: bool,
    listing: bool,
    compare: tuple[Path, Path] | None,
    source_tree: Path | None,
    server_info: Path | None,
    form: str,
) -> int:
    """Say why a server failed: from a host's journal, a saved log or stdin.

    A log is taken in any form: journalctl's (export, json, short and its relatives), docker, kubernetes, plain text, all also
    packed with gzip or zstd.
    """
    from ddtree_ops.cli import triage_modes as modes
    from ddtree_ops.cli.show import show_failure

    if compare:
        if host or path or gateway or stdin or form not in ("text", "json"):
            raise UsageError("--compare takes two files and no other source; its forms are text and json")
        return modes.compare(*compare, form)
    if unit is not None and "." not in unit:
        unit = f"{unit}.service"  # as systemctl and journalctl read it
    asked = Asked(host, path, gateway, stdin is not None, inventory, unit, since, invocation, source_tree, server_info, form)
    asked.check(listing=listing, follow=follow)
    if listing:
        return modes.list_crashes(asked)
    if follow:
        return modes.follow(asked)
    return show_failure(modes.once(asked), form)
