"""ddtree-ops smoke"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from ddtree_ops.cli import options

DIED = 4
EPILOG = """\b
Example:
  ddtree-ops smoke --host ct200

\b
Exit codes: 0 every answer is right, 1 a wrong answer, 4 the server is not there or died.
"""


@click.command(epilog=EPILOG)
@options.one_host
@options.inventory
@options.output_format
def command(host: str, inventory: Path, form: str) -> int:
    """Ask the server the smoke questions and judge its answers.

    The questions are `smoke` of the serving spec; they go through the SSH tunnel to the server's loopback port.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.flows import smoke
    from ddtree_ops.report.safe_text import one_line

    chosen = targets.fleet(inventory).host(host)
    with targets.server(chosen) as server:
        results = smoke.run(server).results
        serving = server.state().serving
    if form == "json":
        rows = [dataclasses.asdict(result) | {"ok": result.ok} for result in results]
        show_json({"schema": "ddtree-ops/smoke/v1", "host": host, "results": rows})
    else:
        for result in results:
            mark = click.style("ok", fg="green") if result.ok else click.style("WRONG", fg="red")
            told = result.problem or result.text.strip()
            click.echo(f"{mark}  {result.seconds:.2f} s  {result.prompt!r}: {one_line(told)}")
    if all(result.ok for result in results):
        return 0
    return 1 if serving else DIED
