"""ddtree-ops releases"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddtree_ops.cli import options

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host
    from ddtree_ops.flows.server import Server

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
    from ddtree_ops.cli.show import error_line, show_json
    from ddtree_ops.errors import DdtreeOpsError, exit_code

    found = targets.each(targets.choose(targets.fleet(inventory), hosts, group), _read)
    if form == "json":
        rows = [
            targets.error_row(host, releases)
            if isinstance(releases, DdtreeOpsError)
            else {"host": host.name, "releases": releases}
            for host, releases in found
        ]
        show_json({"schema": "ddtree-ops/releases/v1", "hosts": rows})
    else:
        for host, releases in found:
            if isinstance(releases, DdtreeOpsError):
                click.echo(error_line(host.name, releases))
                continue
            for one in releases or [{"id": "no releases", "created": "", "current": False, "last_good": False}]:
                marks = [name for name, key in (("current", "current"), ("last good", "last_good")) if one[key]]
                click.echo(f"{host.name}  {one['id']}  {one['created']}  {', '.join(marks)}".rstrip())
    return exit_code(releases.exit_code for _, releases in found if isinstance(releases, DdtreeOpsError))


def _read(_host: Host, server: Server) -> list[dict[str, Any]]:
    from ddtree_ops.flows.look import look_releases

    state = look_releases(server.shell)
    return [
        {"id": one.id, "created": one.created, "current": one.id == state.current, "last_good": one.id == state.last_good}
        for one in state.manifests
    ]
