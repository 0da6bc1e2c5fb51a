"""ddtree-ops rollback"""

from __future__ import annotations

from pathlib import Path

import click

from ddtree_ops.cli import options

EPILOG = """\b
Examples:
  ddtree-ops rollback --host ct200
  ddtree-ops rollback --host ct200 --to lab-3fa9

\b
Exit codes: 0 done or nothing to do, 1 failed, 2 usage or no such release, 3 unreachable, 4 the server died,
5 stalled or timed out, 7 refused, 8 it failed and the former release serves again, 9 locked by another
command or the lock was lost, 10 the gate had too little to judge by, 130 interrupted.
"""


@click.command(epilog=EPILOG)
@options.one_host
@options.inventory
@options.output_format
@options.break_lock
@click.option("--to", "wanted", metavar="RELEASE", help="Release id or the beginning of one. Default: the one before.")
def command(host: str, inventory: Path, form: str, break_lock: bool, wanted: str | None) -> int:
    """Switch back to an earlier release.

    The unit text of that release comes back with it; the server is restarted, awaited and asked the smoke questions.
    """
    from ddtree_ops.adapters.playbook import AnsiblePlaybooks
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.show import show_deployments
    from ddtree_ops.cli.view import make_view
    from ddtree_ops.flows.rollback import Rollback

    chosen = targets.fleet(inventory).host(host)
    with targets.server(chosen) as server, make_view() as view:
        report = Rollback(server, AnsiblePlaybooks(inventory), wanted, view).run(break_lock=break_lock)
    show_deployments([report], form)
    return report.exit_code
