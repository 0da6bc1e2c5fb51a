"""ddtree-ops stop"""

from __future__ import annotations

from pathlib import Path

import click

from ddtree_ops.cli import options

EPILOG = """\b
Example:
  ddtree-ops stop --host ct200

\b
Exit codes: 0 stopped, 1 failed, 2 usage or invalid inventory, 3 unreachable, 9 locked by another command
or the lock was lost, 130 interrupted.
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
    from ddtree_ops.cli.show import show_interrupted, show_json
    from ddtree_ops.flows.switching import stop_locked

    chosen = targets.fleet(inventory).host(host)
    with targets.server(chosen) as server:
        try:
            stop_locked(server, break_lock=break_lock)
            state = server.state()
        except KeyboardInterrupt:
            return show_interrupted(server, "stop", form)
    if form == "json":
        show_json({"schema": "ddtree-ops/stop/v1", "host": host, "active": state.active.value, "result": state.result})
    else:
        click.echo(f"{click.style(host, bold=True)}  {state.active.value} (result {state.result})")
    return 0
