"""From options to hosts: load the inventory, choose hosts, open connections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ddtree_ops.errors import DdtreeOpsError, InvalidInventory, UsageError

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Fleet, Host
    from ddtree_ops.flows.wait import Server

T = TypeVar("T")


def fleet(inventory: Path) -> Fleet:
    """The inventory's hosts. Raises InvalidInventory."""
    from ddtree_ops.fleet.inventory import load_fleet

    if not (inventory.is_dir() or inventory.is_file()):
        raise InvalidInventory(
            f"no inventory at {inventory}",
            hint="give --inventory DIR, set DDTREE_OPS_INVENTORY, or write one with `ddtree-ops init`",
        )
    return load_fleet(inventory)


def choose(found: Fleet, hosts: tuple[str, ...], group: str | None) -> tuple[Host, ...]:
    """The hosts that --host and --group name. Raises UsageError."""
    if bool(hosts) == bool(group):
        raise UsageError("give --host HOST (repeatable) or --group GROUP", hint="hosts here: " + _names(found))
    if group:
        return found.group(group)
    return tuple(found.host(name) for name in dict.fromkeys(hosts))


@contextmanager
def server(host: Host) -> Iterator[Server]:
    """The server of a host, over one SSH connection that is closed at the end."""
    from ddtree_ops.adapters.clock import SystemClock
    from ddtree_ops.adapters.http import TunnelledHttp
    from ddtree_ops.adapters.ssh import SshShell
    from ddtree_ops.flows.wait import Server

    spec = host.serving
    with SshShell(host) as shell:
        yield Server(shell, TunnelledHttp(shell), SystemClock(), spec, spec.port)


def each(hosts: Iterable[Host], read: Callable[[Host, Server], T]) -> list[tuple[Host, T | DdtreeOpsError]]:
    """What `read` says of every host; one that can't be read doesn't hide the others."""
    found: list[tuple[Host, T | DdtreeOpsError]] = []
    for host in hosts:
        try:
            with server(host) as opened:
                found.append((host, read(host, opened)))
        except DdtreeOpsError as error:
            found.append((host, error))
    return found


def error_row(host: Host, error: DdtreeOpsError) -> dict[str, Any]:
    """A host that can't be read, in a JSON document."""
    return {"host": host.name, "error": error.message, "hint": error.hint, "exit_code": error.exit_code}


def _names(found: Fleet) -> str:
    return ", ".join(host.name for host in found.hosts) or "none"
