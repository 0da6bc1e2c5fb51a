"""ddtree-ops exporter"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli import options

if TYPE_CHECKING:
    from ddtree_ops.cli.exporter_discovery import Told

EPILOG = """\b
Examples:
  ddtree-ops exporter --once
  ddtree-ops exporter --state /var/lib/ddtree-exporter
  ddtree-ops exporter --listen '[::]:9736' --web-config /etc/ddtree-exporter/web.yml
  ddtree-ops exporter --inventory inventory --group all
  ddtree-ops exporter --inventory inventory --file-sd /etc/prometheus/ddtree/targets.json --once

\b
Exit codes: 0 ended by SIGTERM or Ctrl-C, or --once printed it; 1 the address can't be listened on;
2 usage, a web config or a directory of --state that can't be used, or that another exporter uses; with --file-sd --once a mistake
in the inventory.

\b
SIGHUP has the web config and the inventory read again; both are followed without it, too.
"""
LISTEN = "127.0.0.1:9736"


@click.command(epilog=EPILOG)
@click.option("--listen", metavar="HOST:PORT", default=LISTEN, show_default=True, help="Where to serve; [::]:9736 is everywhere.")
@click.option(
    "--web-config",
    metavar="FILE",
    type=options.PathName(path_type=Path),
    help="TLS and basic auth, in the form of Prometheus' exporter-toolkit.",
)
@click.option(
    "--check-web-config",
    metavar="FILE",
    type=options.PathName(path_type=Path),
    help="Only say whether FILE would do as --web-config; run it as who may read what it names.",
)
@click.option("--state", metavar="DIR", type=options.PathName(path_type=Path), help="Where counters are kept over restarts.")
@options.hosts
@click.option(
    "-i",
    "--inventory",
    metavar="PATH",
    type=options.PathName(path_type=Path),
    help="Tell Prometheus the targets of this inventory, at /sd/JOB; followed as it changes.",
)
@click.option(
    "--file-sd",
    metavar="FILE",
    type=options.PathName(path_type=Path),
    help="Also keep them in this .json file, for a Prometheus that can't ask us; with --once only write it; - prints them.",
)
@click.option("--once", is_flag=True, help="Read everything once, print the exposition and end.")
@click.option("--hash-password", is_flag=True, help="Ask for a password and print its hash for basic_auth_users.")
def command(
    listen: str,
    web_config: Path | None,
    check_web_config: Path | None,
    state: Path | None,
    hosts: tuple[str, ...],
    group: str | None,
    inventory: Path | None,
    file_sd: Path | None,
    once: bool,
    hash_password: bool,
) -> int:
    """Serve what is known of this host to Prometheus, and to people as a page.

    Reads systemd, the journal, the server's own port, GPUs and releases, each on its own period, and needs no root: the
    group systemd-journal is enough.

    With --host or --group: of these hosts of the inventory, over SSH and without their journals, each at /probe?host=HOST.
    """
    if hash_password:
        from ddtree_ops.exporter.web.passwords import make_hash

        click.echo(make_hash(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)))
        return 0
    if check_web_config is not None:
        from ddtree_ops.exporter.web.guard import Guard

        Guard(check_web_config)
        return 0
    from ddtree_ops.cli import exporter_discovery

    serves = not once and file_sd != exporter_discovery.STDOUT
    if serves:
        from ddtree_ops.exporter import memory, signals

        signals.hold()
        memory.give_back()
    told = exporter_discovery.told(inventory, file_sd)
    if file_sd is not None and not serves:
        return told.write_once()
    if hosts or group:
        from ddtree_ops.cli.exporter_fleet import FleetExporter

        fleet = FleetExporter(inventory, hosts, group, state)
        with fleet.claimed():
            fleet.once() if once else fleet.serve(listen, web_config, told, _announce)
        return 0
    from ddtree_ops.exporter.state_directory import claimed

    with claimed(state) if state is not None else nullcontext():
        _print_once(state, told) if once else _serve(listen, web_config, state, told)
    return 0


def _print_once(state: Path | None, told: Told) -> None:
    from ddtree_ops.adapters.clock import SystemClock
    from ddtree_ops.exporter.exposition import render
    from ddtree_ops.exporter.sampler import Sampler
    from ddtree_ops.exporter.wiring import collectors, local_target

    sampler = Sampler((*collectors(local_target(), state), *told.collectors), SystemClock())
    try:
        click.echo(render(sampler.read_once()), nl=False)
    finally:
        sampler.close()


def _serve(listen: str, web_config: Path | None, state: Path | None, told: Told) -> None:
    from ddtree_ops.exporter.web.door import opened

    with opened(listen, web_config) as door:
        from ddtree_ops.adapters.clock import SystemClock
        from ddtree_ops.exporter.app import serve
        from ddtree_ops.exporter.sampler import Sampler
        from ddtree_ops.exporter.wiring import collectors, local_target, routes

        target = local_target()
        sampler = Sampler((*collectors(target, state), *told.collectors), SystemClock())
        try:
            sampler.start()
            told.start()
            serve(door, (*routes(target, sampler, state), *told.routes), ready=_announce, reread=told.reread)
        finally:
            told.close()
            sampler.close()


def _announce(where: tuple[str, int]) -> None:
    from ddtree_ops.exporter.app import tell_systemd
    from ddtree_ops.exporter.web.address import Address

    click.echo(f"serving on {Address(*where)}", err=True)
    tell_systemd("READY=1")
