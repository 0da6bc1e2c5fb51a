"""ddtree-ops doctor"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli import options

if TYPE_CHECKING:
    from ddtree_ops.cli.checkup import Check

EPILOG = """\b
Examples:
  ddtree-ops doctor
  ddtree-ops doctor --host ct200
  ddtree-ops doctor --metrics ct200 --metrics b300
"""
_MARKS = {True: ("ok", "green"), False: ("BAD", "red")}


@click.command(epilog=EPILOG)
@options.hosts
@click.option(
    "--metrics",
    "measured",
    metavar="HOST",
    multiple=True,
    help="Compare what this host's server and exporter tell Prometheus with what our dashboards and rules need; repeatable.",
)
@options.inventory
@options.output_format
def command(hosts: tuple[str, ...], group: str | None, measured: tuple[str, ...], inventory: Path, form: str) -> int:
    """Check this machine and the way to each host.

    Without --host or --group only this machine and the inventory are checked. Exit code 1 if anything is bad.
    """
    import dataclasses

    from ddtree_ops.cli import checkup, targets
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.errors import DdtreeOpsError

    checks = list(checkup.controller())
    try:
        fleet = targets.fleet(inventory)
        checks.append(checkup.Check(str(inventory), "inventory", True, f"{len(fleet.hosts)} hosts"))
        if hosts or group:
            for host in targets.choose(fleet, hosts, group):
                checks.extend(checkup.host(host))
        if measured:
            from ddtree_ops.cli import doctor_metrics

            checks.extend(doctor_metrics.checks(targets.choose(fleet, measured, None)))
    except DdtreeOpsError as error:
        checks.append(checkup.Check(str(inventory), "inventory", False, error.message, error.hint))
    if form == "json":
        show_json({"schema": "ddtree-ops/doctor/v1", "checks": [dataclasses.asdict(check) for check in checks]})
    else:
        for check in checks:
            _print(check)
    return 0 if all(check.ok for check in checks) else 1


def _print(check: Check) -> None:
    from ddtree_ops.report.safe_text import one_line

    word, colour = _MARKS[check.ok]
    click.echo(f"{click.style(f'{word:<4}', fg=colour)} {check.where:<12} {check.what:<14} {one_line(check.found)}")
    if check.fix and not check.ok:
        click.echo(f"     {click.style('fix:', fg='green')} {one_line(check.fix)}")
