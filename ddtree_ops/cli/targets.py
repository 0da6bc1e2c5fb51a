"""From options to hosts: load the inventory, choose hosts, open connections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ddtree_ops.errors import DdtreeOpsError, InvalidInventory, UsageError

if TYPE_CHECKING:
    from ddtree_ops.adapters.ssh import SshShell
    from ddtree_ops.fleet.inventory import Fleet, Host
    from ddtree_ops.flows.server import Server

T = TypeVar("T")
# Connections that are opened at the same time; beyond it a controller of few cores only gets slower.
AT_ONCE = 16
_EARLY: dict[str, SshShell] = {}


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


def connect_early(hosts: Iterable[Host]) -> None:
    """Begin to connect to the first of these hosts, beside what comes before their first use: server() takes over."""
    from ddtree_ops.adapters.early import begin

    _EARLY.update(begin(islice(hosts, AT_ONCE)))


@contextmanager
def server(host: Host) -> Iterator[Server]:
    """The server of a host, over one SSH connection that is closed at the end."""
    from ddtree_ops.adapters.audit_file import AuditFile
    from ddtree_ops.adapters.clock import SystemClock
    from ddtree_ops.adapters.http import TunnelledHttp
    from ddtree_ops.adapters.ssh import SshShell
    from ddtree_ops.flows.server import Server

    spec = host.serving
    with _EARLY.pop(host.name, None) or SshShell(host) as shell:
        yield Server(shell, TunnelledHttp(shell), SystemClock(), spec, spec.port, AuditFile())


def each(hosts: Iterable[Host], read: Callable[[Host, Server], T]) -> list[tuple[Host, T | DdtreeOpsError]]:
    """What `read` says of every host, several at a time; one that can't be read doesn't hide the others."""
    from ddtree_ops.cli.parallel import in_parallel

    chosen = list(hosts)
    connect_early(chosen)
    if len(chosen) == 1:
        return [(chosen[0], _read(chosen[0], read))]
    return list(zip(chosen, in_parallel(lambda host: _read(host, read), chosen, AT_ONCE), strict=True))


def _read(host: Host, read: Callable[[Host, Server], T]) -> T | DdtreeOpsError:
    try:
        with server(host) as opened:
            return read(host, opened)
    except DdtreeOpsError as error:
        return error


def error_row(host: Host, error: DdtreeOpsError) -> dict[str, Any]:
    """A host that can't be read, in a JSON document."""
    return {"host": host.name, "error": error.message, "hint": error.hint, "exit_code": error.exit_code}


def _names(found: Fleet) -> str:
    return ", ".join(host.name for host in found.hosts) or "none"
