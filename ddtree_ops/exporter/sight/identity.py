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


class Identities:
    """Of the hosts of an inventory that is read again and again: only the specs of those that changed are read."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, Identity]] = {}

    def update(self, hosts: Iterable[Host]) -> None:
        """These are the hosts now."""
        former, fresh = self._known, dict[str, tuple[object, Identity]]()
        for host in hosts:
            said = (host.groups, host.variables)
            known = former.get(host.name)
            fresh[host.name] = known if known is not None and known[0] == said else (said, _identity(host))
        self._known = fresh

    def of(self, host: str) -> Identity:
        """An empty one for a host that isn't in the inventory any more."""
        known = self._known.get(host)
        return Identity() if known is None else known[1]


def _identity(host: Host) -> Identity:
    """Reading the spec takes some milliseconds."""
    try:
        hardware = host.hardware.name
    except DdtreeOpsError:
        hardware = None
    try:
        model = host.serving.model.path.rstrip("/").rpartition("/")[2]
    except DdtreeOpsError:
        model = None
    return Identity(hardware, model)
