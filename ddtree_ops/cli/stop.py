"""ddtree-ops stop"""

from __future__ import annotations

from pathlib import Path

import click

from ddtree_ops.cli import options

EPILOG = """\b
Example:
  ddtree-ops stop --host ct200
"""


@click.command(epilog=EPILOG)
@options.one_host
@options.inventory
@options.output_format
@options.break_lock
def command(host: str, inventory: Path, form: str, break_lock: bool) -> int:
    """Drain and stop the server.

    It stays enabled: a reboot starts it again.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.flows.switching import stop_locked

    chosen = targets.fleet(inventory).host(host)
    with targets.server(chosen) as server:
        stop_locked(server, break_lock=break_lock)
        state = server.state()
    if form == "json":
        show_json({"schema": "ddtree-ops/stop/v1", "host": host, "active": state.active.value, "result": state.result})
    else:
        click.echo(f"{click.style(host, bold=True)}  {state.active.value} (result {state.result})")
    return 0
