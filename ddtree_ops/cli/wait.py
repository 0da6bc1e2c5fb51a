"""ddtree-ops wait"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddtree_ops.cli import options

if TYPE_CHECKING:
    from ddtree_ops.flows.wait import Waited

EPILOG = """\b
Example:
  ddtree-ops wait --host ct200

\b
Exit codes: 0 ready, 3 unreachable, 4 the server died, 5 stalled or timed out.
"""


@click.command(epilog=EPILOG)
@options.one_host
@options.inventory
@options.output_format
def command(host: str, inventory: Path, form: str) -> int:
    """Follow a load until the server is ready, died, stalled or timed out.

    Journal, systemd and HTTP are watched together and the first news wins: a crash is told from the journal, up to a
    minute before systemd notices.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.view import make_view
    from ddtree_ops.flows.wait import wait_running

    chosen = targets.fleet(inventory).host(host)
    with targets.server(chosen) as server, make_view() as view:
        waited = wait_running(server, view)
    return show_waited(host, waited, form)


def show_waited(host: str, waited: Waited, form: str) -> int:
    """Print the verdict; returns the exit code."""
    from ddtree_ops.cli.show import failure_text, show_json
    from ddtree_ops.report.safe_text import one_line
    from ddtree_ops.units.readiness import Died, Ready

    verdict = waited.verdict
    code = 0 if isinstance(verdict, Ready) else 4 if isinstance(verdict, Died) else 5
    if form == "json":
        show_json(document(host, waited))
        return code
    if waited.failure is not None:
        click.echo(failure_text(waited.failure))
    reason = f"({verdict.source} said so first)" if isinstance(verdict, Ready) else f": {one_line(verdict.reason)}"
    word = type(verdict).__name__.lower()
    click.echo(f"{click.style(host, bold=True)}  {word} after {verdict.seconds:.1f} s {reason}")
    return code


def document(host: str, waited: Waited) -> dict[str, Any]:
    import dataclasses

    return {
        "schema": "ddtree-ops/wait/v1",
        "host": host,
        "verdict": type(waited.verdict).__name__.lower(),
        **dataclasses.asdict(waited.verdict),
        "failure": waited.failure.to_data() if waited.failure else None,
    }
