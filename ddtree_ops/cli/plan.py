"""ddtree-ops plan"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddtree_ops.cli import options

if TYPE_CHECKING:
    from ddtree_ops.fleet.plan import Plan

PENDING, REFUSED = 6, 7
EPILOG = """\b
Examples:
  ddtree-ops plan --host ct200
  ddtree-ops plan --group all --format json

\b
Exit codes: 0 nothing to do, 6 changes pending, 7 refused by a finding.
"""


@click.command(epilog=EPILOG)
@options.hosts
@options.inventory
@options.output_format
def command(hosts: tuple[str, ...], group: str | None, inventory: Path, form: str) -> int:
    """Show what a deploy would do, and what speaks against it.

    Reads only: nothing on the host changes.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.inputs import release_of
    from ddtree_ops.cli.show import plan_lines, show_json
    from ddtree_ops.fleet.plan import make_plan
    from ddtree_ops.flows.look import look

    plans = []
    for host in targets.choose(targets.fleet(inventory), hosts, group):
        release = release_of(host)
        with targets.server(host) as server:
            plans.append(make_plan(host.name, release, host.hardware, look(server.shell, host.serving.port)))
    if form == "json":
        show_json({"schema": "ddtree-ops/plan/v1", "hosts": [_document(plan) for plan in plans]})
    else:
        for plan in plans:
            click.echo(f"{click.style(plan.host, bold=True)}  {_verdict(plan)}")
            for line in plan_lines(plan):
                click.echo(line)
    return max(_code(plan) for plan in plans)


def _code(plan: Plan) -> int:
    if plan.errors:
        return REFUSED
    return 0 if plan.nothing_to_do else PENDING


def _verdict(plan: Plan) -> str:
    if plan.errors:
        return click.style("would be refused", fg="red")
    if plan.nothing_to_do:
        return click.style(f"nothing to do: serves {plan.release.id}", fg="green")
    staged = " (already staged)" if plan.is_staged else ""
    return click.style(f"would deploy {plan.release.id}{staged}", fg="yellow")


def _document(plan: Plan) -> dict[str, Any]:
    return {
        "host": plan.host,
        "release": plan.release.id,
        "current": plan.state.current,
        "staged": plan.is_staged,
        "nothing_to_do": plan.nothing_to_do,
        "changes": [dataclasses.asdict(change) for change in plan.changes],
        "findings": [dataclasses.asdict(finding) for finding in plan.findings],
    }
