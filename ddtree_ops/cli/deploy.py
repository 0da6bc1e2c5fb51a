"""ddtree-ops deploy"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli import options

if TYPE_CHECKING:
    from ddtree_ops.cli.view import LiveView, PlainView
    from ddtree_ops.fleet.inventory import Host
    from ddtree_ops.fleet.release import Release
    from ddtree_ops.report.deployment import DeploymentReport

EPILOG = """\b
Examples:
  ddtree-ops deploy --host ct200
  ddtree-ops deploy --host ct200 --dry-run
  ddtree-ops deploy --group rtx --yes --format json
"""


@click.command(epilog=EPILOG)
@options.hosts
@options.inventory
@options.output_format
@click.option("--full", is_flag=True, help="Run every step even if nothing differs (a new secret value is no difference).")
@click.option("--dry-run", is_flag=True, help="Show the plan; change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask before changing a host.")
def command(hosts: tuple[str, ...], group: str | None, inventory: Path, form: str, full: bool, dry_run: bool, yes: bool) -> int:
    """Bring hosts to what the inventory says; switch back if that fails.

    Looks, plans, stages a release beside the old one, lets its own SGLang check the arguments, switches, waits until a
    real generation came back, asks the smoke questions, commits. If anything fails after the switch, the former release
    serves again and the report says why.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.inputs import release_of
    from ddtree_ops.cli.show import show_deployments
    from ddtree_ops.cli.view import make_view
    from ddtree_ops.errors import exit_code

    # Every host's spec is read before the first host changes: a mistake in the last one stops them all.
    chosen = [(host, release_of(host)) for host in targets.choose(targets.fleet(inventory), hosts, group)]
    ask = not yes and not dry_run and form == "text" and sys.stdin.isatty()
    try:
        with make_view() as view:
            reports = [_one(*one, inventory, view, full=full, dry_run=dry_run, ask=ask) for one in chosen]
    except KeyboardInterrupt:
        click.echo("nothing was undone on the host: the same deploy again takes it up, `ddtree-ops rollback` goes back", err=True)
        raise
    show_deployments(reports, form)
    return exit_code(report.exit_code for report in reports)


def _one(
    host: Host, release: Release, inventory: Path, view: PlainView | LiveView, *, full: bool, dry_run: bool, ask: bool
) -> DeploymentReport:
    from ddtree_ops.adapters.playbook import AnsiblePlaybooks
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.confirm import asker
    from ddtree_ops.flows.deploy import Deploy

    with targets.server(host) as server:
        deploy = Deploy(server, AnsiblePlaybooks(inventory), release, view)
        return deploy.run(dry_run=dry_run, full=full, confirm=asker(view) if ask else None)
