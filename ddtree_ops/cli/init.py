"""ddtree-ops init"""

from __future__ import annotations

from pathlib import Path

import click

from ddtree_ops.cli import options
from ddtree_ops.errors import UsageError

EPILOG = """\b
Example:
  ddtree-ops init --host ct200 --address 192.0.2.7 --hardware rtx-pro-6000-8x \\
      --model /srv/models/kimi-k2.6 --draft-model /srv/models/kimi-k2.6-dflash
"""


@click.command(epilog=EPILOG)
@click.option("--host", required=True, metavar="NAME", help="Name of the host in the inventory.")
@click.option("--address", metavar="ADDRESS", help="Its address; default: the name itself, as ssh resolves it.")
@click.option("--hardware", required=True, metavar="PROFILE", help="Hardware profile: rtx-pro-6000-8x or b300-8x.")
@click.option("--model", default="/srv/models/kimi-k2.6", show_default=True, help="Path of the model on the host.")
@click.option("--draft-model", default="/srv/models/kimi-k2.6-dflash", show_default=True, help="Path of the draft model.")
@click.option(
    "-o",
    "--output",
    type=options.PathName(path_type=Path),
    default=Path("inventory"),
    show_default=True,
    help="Where to write.",
)
def command(host: str, address: str | None, hardware: str, model: str, draft_model: str, output: Path) -> int:
    """Write a commented starter inventory for a host.

    Existing files are never overwritten.
    """
    from ddtree_ops.cli.new_files import write_new
    from ddtree_ops.fleet.starter import starter_inventory

    for word in (host, address or ""):
        if any(character.isspace() or not character.isprintable() for character in word):
            raise UsageError(f"{word!r} is no host name or address")
    files = starter_inventory(host, address, hardware, model, draft_model)
    write_new(output, files)
    for name in files:
        click.echo(f"wrote {output / name}")
    click.echo(f"next: read them, then  ddtree-ops doctor -i {output} --host {host}")
    return 0
