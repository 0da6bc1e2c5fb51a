"""ddtree-ops releases"""

from __future__ import annotations

from pathlib import Path

import click

from ddtree_ops.cli import options

EPILOG = """\b
Example:
  ddtree-ops releases --host ct200
"""


@click.command(epilog=EPILOG)
@options.hosts
@options.inventory
@options.output_format
def command(hosts: tuple[str, ...], group: str | None, inventory: Path, form: str) -> int:
    """List the releases on each host.

    Newest first; `current` is what the unit starts, `last good` the last one that was committed.
    """
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.flows.look import look

    rows = []
    for host in targets.choose(targets.fleet(inventory), hosts, group):
        with targets.server(host) as server:
            state = look(server.shell, host.serving.port)
        for one in state.manifests:
            rows.append(
                {
                    "host": host.name,
                    "id": one.id,
                    "created": one.created,
                    "current": one.id == state.current,
                    "last_good": one.id == state.last_good,
                }
            )
    if form == "json":
        show_json({"schema": "ddtree-ops/releases/v1", "releases": rows})
        return 0
    for row in rows:
        marks = [name for name, key in (("current", "current"), ("last good", "last_good")) if row[key]]
        click.echo(f"{row['host']}  {row['id']}  {row['created']}  {', '.join(marks)}".rstrip())
    if not rows:
        click.echo("no releases")
    return 0
