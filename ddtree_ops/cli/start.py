"""ddtree-ops start"""

from __future__ import annotations

from pathlib import Path

import click

from ddtree_ops.cli import options

EPILOG = """\b
Example:
  ddtree-ops start --host ct200

\b
Exit codes: 0 ready, 1 failed, 2 usage or invalid inventory, 3 unreachable, 4 the server died, 5 stalled or
timed out, 9 locked by another command or the lock was lost, 130 interrupted.
"""


@click.command(epilog=EPILOG)
@options.one_host
@options.inventory
@options.output_format
@options.break_lock
def command(host: str, inventory: Path, form: str, break_lock: bool) -> int:
    """Start the server and wait until it is ready.

    A server that already serves is left as it is.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.show import show_interrupted, show_unfinished
    from ddtree_ops.cli.view import make_view
    from ddtree_ops.cli.wait import show_waited
    from ddtree_ops.flows.switching import start_and_wait

    chosen = targets.fleet(inventory).host(host)
    with targets.server(chosen) as server:
        try:
            with make_view() as view:
                waited = start_and_wait(server, view, break_lock=break_lock)
        except KeyboardInterrupt:
            return show_interrupted(server, "start", form)
        show_unfinished(server, form)
    return show_waited(host, waited, form)
