"""ddtree-ops plan"""

from __future__ import annotations

import dataclasses
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddtree_ops.cli import options

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host
    from ddtree_ops.fleet.plan import Plan
    from ddtree_ops.flows.server import Server

PENDING, REFUSED = 6, 7
EPILOG = """\b
Examples:
  ddtree-ops plan --host ct200
  ddtree-ops plan --host ct200 --verbose
  ddtree-ops plan --host ct200 --probe
  ddtree-ops plan --group all --format json

\b
Exit codes: 0 nothing to do, 6 changes pending, 7 refused by a finding.
"""


@click.command(epilog=EPILOG)
@options.hosts
@options.inventory
@options.output_format
@click.option("-v", "--verbose", is_flag=True, help="Notes, too, and all the evidence.")
@click.option("--probe", is_flag=True, help="Load the GPUs for a minute or two: compile a kernel, let all ranks exchange data.")
def command(hosts: tuple[str, ...], group: str | None, inventory: Path, form: str, verbose: bool, probe: bool) -> int:
    """Show what a deploy would do, and what speaks against it.

    Reads only: nothing on the host changes. A finding that you decide to live with can be waived in the spec, under
    `ddtree_serving.waivers`, with a reason and an end.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.inputs import release_of
    from ddtree_ops.cli.plan_view import plan_lines, verdict
    from ddtree_ops.cli.show import error_line, show_json
    from ddtree_ops.errors import DdtreeOpsError, exit_code
    from ddtree_ops.flows.judgement import judged_plan
    from ddtree_ops.flows.look import look_and_find
    from ddtree_ops.flows.probing import probed

    today = date.today()

    def read(host: Host, server: Server) -> Plan:
        release = release_of(host)
        seen = look_and_find(server.shell, release)
        plan = judged_plan(server.shell, release, seen, today, always=True)
        return probed(server.shell, plan, today) if probe else plan

    found = targets.each(targets.choose(targets.fleet(inventory), hosts, group), read)
    if form == "json":
        rows = [targets.error_row(host, plan) if isinstance(plan, DdtreeOpsError) else _document(plan) for host, plan in found]
        show_json({"schema": "ddtree-ops/plan/v1", "hosts": rows})
    else:
        for host, plan in found:
            if isinstance(plan, DdtreeOpsError):
                click.echo(error_line(host.name, plan))
                continue
            click.echo(f"{click.style(plan.host, bold=True)}  {verdict(plan)}")
            for line in plan_lines(plan, verbose=verbose):
                click.echo(line)
    return exit_code(plan.exit_code if isinstance(plan, DdtreeOpsError) else _code(plan) for _, plan in found)


def _code(plan: Plan) -> int:
    if plan.errors:
        return REFUSED
    return 0 if plan.nothing_to_do else PENDING


def _document(plan: Plan) -> dict[str, Any]:
    return {
        "host": plan.host,
        "release": plan.release.id,
        "current": plan.state.current,
        "staged": plan.is_staged,
        "repair": plan.repair,
        "nothing_to_do": plan.nothing_to_do,
        "changes": [dataclasses.asdict(change) for change in plan.changes],
        "findings": [finding.as_data() for finding in plan.findings],
    }
