"""ddtree-ops status"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddtree_ops.cli import options
from ddtree_ops.errors import UsageError
from ddtree_ops.fleet import places

if TYPE_CHECKING:
    from ddtree_ops.flows.status import HostStatus

_HEALTH = {None: "no answer in time", 0: "refused"}
EPILOG = """\b
Examples:
  ddtree-ops status --host ct200
  ddtree-ops status --group all --format json
  ddtree-ops status --host ct200 --verify
  ddtree-ops status --group all --watch

\b
Exit codes: 0 every host serves, 1 one does not; 3 one can't be reached, 2 its spec is invalid; 130 --watch was ended.
"""


class _Seconds(click.FloatRange):
    """`nan` lies in no range, but is neither above nor below one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is no number of seconds", param, ctx)
        return number


@click.command(epilog=EPILOG)
@options.hosts
@options.inventory
@options.output_format
@click.option("--verify", is_flag=True, help="Hash every file of the current release, too (seconds to minutes).")
@click.option(
    "--watch", is_flag=True, help="Go on until Ctrl-C: a live table; a line for each change where there is no terminal."
)
@click.option(
    "--interval",
    type=_Seconds(0.5, 60.0),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --watch looks.",
)
def command(
    hosts: tuple[str, ...], group: str | None, inventory: Path, form: str, verify: bool, watch: bool, interval: float
) -> int:
    """Show what serves on each host.

    Release, unit state, phase and percent of a load, restarts, GPU memory, how long former loads took, an unfinished deploy,
    and drift: what differs from the current release as it was staged.
    """
    if watch:
        if verify:
            raise UsageError("--watch looks at what changes while one looks on", hint="ask for --verify without --watch")
        from ddtree_ops.cli.status_watch import watch as watched

        return watched(inventory, hosts, group, form, interval)
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.show import error_line, show_json
    from ddtree_ops.errors import DdtreeOpsError, exit_code
    from ddtree_ops.flows.status import read_status

    found = targets.each(
        targets.choose(targets.fleet(inventory), hosts, group),
        lambda _host, server: _document(read_status(server, thorough=verify)),
    )
    rows = [targets.error_row(host, row) | {"serving": False} if isinstance(row, DdtreeOpsError) else row for host, row in found]
    if form == "json":
        show_json({"schema": "ddtree-ops/status/v1", "hosts": rows})
    else:
        for host, row in found:
            if isinstance(row, DdtreeOpsError):
                click.echo(error_line(host.name, row))
            else:
                _print(row)
    return exit_code(row.get("exit_code", 0 if row["serving"] else 1) for row in rows)


def _document(status: HostStatus) -> dict[str, Any]:
    state = status.state
    return {
        "host": status.host,
        "serving": state.unit.serving,
        "release": state.serving or state.current,
        "current": state.current,
        "last_good": state.last_good,
        "unit": dataclasses.asdict(state.unit),
        "health": status.health,
        "gpus": [dataclasses.asdict(gpu) for gpu in status.gpus.rows],
        "gpu_problem": status.gpus.problem,
        "boots": [dataclasses.asdict(boot) for boot in status.boots],
        "drift": [dataclasses.asdict(change) for change in status.drift],
        "lock": state.lock and dataclasses.asdict(state.lock),
        "dead_man": state.dead_man and dataclasses.asdict(state.dead_man),
        "leftovers": [dataclasses.asdict(one) for one in state.leftovers],
    }


def _print(row: dict[str, Any]) -> None:
    from ddtree_ops.report.safe_text import one_line

    name = click.style(row["host"], bold=True)
    unit = row["unit"]
    word = click.style("serving", fg="green") if row["serving"] else click.style(unit["active"], fg="yellow")
    click.echo(f"{name}  {word}  release {row['release'] or 'none'}" + _remarks(row))
    told = one_line(unit["status_text"]) or unit["sub"] or "-"
    click.echo(f"  unit      {unit['active']} ({unit['sub'] or 'none'}), {told}, restarts {unit['restarts']}")
    click.echo(f"  /health   {_HEALTH.get(row['health'], row['health'])}")
    if row["gpus"]:
        used = sum(gpu["memory_used"] for gpu in row["gpus"]) / 1024
        total = sum(gpu["memory_total"] for gpu in row["gpus"]) / 1024
        click.echo(f"  GPUs      {len(row['gpus'])} x {row['gpus'][0]['name']}, {used:.0f} of {total:.0f} GiB used")
    if row["gpu_problem"]:
        click.echo(f"  GPUs      {click.style(one_line(row['gpu_problem']), fg='red')}")
    for line in _standing(row):
        click.echo(f"  {line}")
    if row["boots"]:
        click.echo(f"  boots     {', '.join(_boot(boot) for boot in row['boots'][-5:])}")


def _standing(row: dict[str, Any]) -> Iterator[str]:
    """What a person has to know before touching the host."""
    from ddtree_ops.report.safe_text import one_line

    if row["lock"]:
        holder = row["lock"]
        told = f"{holder['user']} at {holder['controller']}: {holder['command']}, since {holder['since']}"
        yield f"locked    by {one_line(told) if holder['since'] else 'a process of which the lock file says nothing'}"
    if row["dead_man"] and row["dead_man"]["damaged"]:
        yield click.style(f"dead-man  {places.DEAD_MAN} is damaged: the next deploy replaces it; or remove it", fg="yellow")
    elif row["dead_man"]:
        orders = row["dead_man"]
        left = "" if orders["seconds_left"] is None else f" in {max(0.0, orders['seconds_left']):.0f} s"
        back = f"goes back to {orders['back_to'] or 'no server'}{left} unless it is committed"
        then = back if orders["timer_active"] else "its timer does not run"
        yield one_line(f"unfinished deploy of {orders['release']}: {then}")
    for change in row["drift"]:
        if change["what"] not in ("server", "running release"):  # told above
            told = one_line(f"{change['what']}: {change['before']}", 200)
            yield click.style(f"drift     {told}", fg="yellow")


def _remarks(row: dict[str, Any]) -> str:
    remarks = [
        f"{name} is {row[key]}"
        for name, key in (("current", "current"), ("last good", "last_good"))
        if row[key] not in (None, row["release"])
    ]
    return f" ({', '.join(remarks)})" if remarks else ""


def _boot(boot: dict[str, Any]) -> str:
    return f"{boot['outcome']} {boot['seconds']:.1f} s"
