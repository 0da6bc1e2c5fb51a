"""What the inventory says of a host, for those that are read over SSH."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddtree_ops.errors import DdtreeOpsError

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host


@dataclass(frozen=True)
class Identity:
    """What the inventory says; None where it doesn't, or can't be understood: that is other commands' to tell."""

    hardware: str | None = None
    model: str | None = None


def identity(host: Host) -> Identity:
    """Of one host. Reading its spec takes some milliseconds: ask once for each inventory."""
    try:
        hardware = host.hardware.name
    except DdtreeOpsError:
        hardware = None
    try:
        model = host.serving.model.path.rstrip("/").rpartition("/")[2]
    except DdtreeOpsError:
        model = None
    return Identity(hardware, model)


def identities(hosts: Iterable[Host]) -> dict[str, Identity]:
    """By name."""
    return {host.name: identity(host) for host in hosts}
