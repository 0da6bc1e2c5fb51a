"""ddtree-ops deploy"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ddtree_ops.cli import options

EPILOG = """\b
Examples:
  ddtree-ops deploy --host ct200
  ddtree-ops deploy --host ct200 --dry-run
  ddtree-ops deploy --group rtx --yes --format json
  ddtree-ops deploy --group rtx --canary ct200 --serial 25% --max-failures 2

\b
Several hosts: all are looked at first, and one question shows all plans. Then the first host that has to
change (or --canary) goes alone; the others follow if it ended well. Every host that was begun is also
finished; hosts that were not begun are reported so (exit code 6 if nothing worse occurred).
Ctrl-C begins no more hosts and ends the running ones at their next step; a second one waits 3 s at most for
their reports, a third one for nothing. What was switched and not committed the host undoes by itself.

\b
Exit codes: 0 done or nothing to do, 1 failed, 2 usage or invalid inventory, 3 unreachable, 4 the server died
and there is no former release, 5 stalled or timed out likewise, 6 changes pending (--dry-run, a no, or not
begun), 7 refused, 8 it failed and the former release serves again, 9 locked by another command or the lock
was lost, 10 the gate had too little to judge by, 130 interrupted.
"""


@click.command(epilog=EPILOG)
@options.hosts
@options.inventory
@options.output_format
@options.rollout
@options.break_lock
@click.option("--full", is_flag=True, help="Run every step even if nothing differs (a new secret value is no difference).")
@click.option("--dry-run", is_flag=True, help="Show the plan; change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask before changing a host.")
def command(
    hosts: tuple[str, ...],
    group: str | None,
    inventory: Path,
    form: str,
    full: bool,
    dry_run: bool,
    yes: bool,
    break_lock: bool,
    **rollout: options.RolloutValue,
) -> int:
    """Bring hosts to what the inventory says; switch back if that fails.

    Looks, plans, stages a release beside the old one, lets its own SGLang check the arguments, switches, waits until a
    real generation came back, asks the smoke questions, lets the acceptance gate judge the tree, commits. If anything
    fails after the switch, the former release serves again and the report says why.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.policy import policy

    found = targets.choose(targets.fleet(inventory), hosts, group)
    rules = policy(found, **rollout)
    targets.connect_early(found)

    # Loaded while the hosts' sshd does its part of the handshake.
    from ddtree_ops.cli.deploying import Deploying
    from ddtree_ops.cli.inputs import release_of
    from ddtree_ops.cli.rollout import run
    from ddtree_ops.cli.show import show_deployments

    # Every host's spec is read before the first host changes: a mistake in the last one stops them all.
    releases = {host.name: (host, release_of(host)) for host in found}
    workers = None if rollout["workers"] is None else int(rollout["workers"])
    job = Deploying(inventory, releases, workers=workers, full=full, dry_run=dry_run, break_lock=break_lock)
    reports, code = run(rules, job, ask=not yes and not dry_run and form == "text" and sys.stdin.isatty())
    show_deployments(reports, form)
    return code
