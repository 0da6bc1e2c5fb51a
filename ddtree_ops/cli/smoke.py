"""ddtree-ops smoke"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli import options
from ddtree_ops.errors import UsageError

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host

DIED = 4
EPILOG = """\b
Examples:
  ddtree-ops smoke --host ct200
  ddtree-ops smoke --host ct200 --gate
  ddtree-ops smoke --host ct200 --record-gate baselines/kimi-k2.6.json

\b
Exit codes: 0 every answer is right, 1 a wrong answer, 4 the server is not there or died;
with --gate 7 refused by the gate, 10 inconclusive (also with --record-gate: nothing was recorded).
"""


@click.command(epilog=EPILOG)
@options.one_host
@options.inventory
@options.output_format
@click.option("--gate", is_flag=True, help="Run the acceptance gate of the spec instead, as a deploy does.")
@click.option(
    "--record-gate",
    "record",
    metavar="FILE",
    type=options.PathName(path_type=Path, dir_okay=False),
    help="Write what the server answers to the gate's prompts: a baseline for the spec's gate.baseline.",
)
def command(host: str, inventory: Path, form: str, gate: bool, record: Path | None) -> int:
    """Ask the server the smoke questions and judge its answers.

    The questions are `smoke` of the serving spec; they go through the SSH tunnel to the server's loopback port.
    """
    from ddtree_ops.cli import targets

    if gate and record is not None:
        raise UsageError("--gate and --record-gate are two things: record first, then name the file in the spec")
    chosen = targets.fleet(inventory).host(host)
    if gate or record is not None:
        from ddtree_ops.cli import smoke_gate

        return smoke_gate.run(chosen, form) if record is None else smoke_gate.record(chosen, record, form)
    return _smoke(chosen, form)


def _smoke(chosen: Host, form: str) -> int:
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.flows import smoke
    from ddtree_ops.report.safe_text import one_line

    with targets.server(chosen) as server:
        results = smoke.run(server).results
        serving = server.state().serving
    if form == "json":
        rows = [dataclasses.asdict(result) | {"ok": result.ok} for result in results]
        show_json({"schema": "ddtree-ops/smoke/v1", "host": chosen.name, "results": rows})
    else:
        for result in results:
            mark = click.style("ok", fg="green") if result.ok else click.style("WRONG", fg="red")
            told = result.problem or result.text.strip()
            click.echo(f"{mark}  {result.seconds:.2f} s  {result.prompt!r}: {one_line(told)}")
    if all(result.ok for result in results):
        return 0
    return 1 if serving else DIED
