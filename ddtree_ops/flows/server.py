"""The server of one host, as all flows talk to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ddtree_ops.flows.attempt import Unrecorded
from ddtree_ops.flows.look import unit_state
from ddtree_ops.ports import AuditLog, Clock, Http, Shell
from ddtree_ops.units.systemctl import UnitState, unit_name

if TYPE_CHECKING:
    from ddtree_ops.fleet.spec import ServingSpec


@dataclass(frozen=True)
class Server:
    """The server of one host as the flows talk to it. `port` is the spec's, or that of the release in question."""

    shell: Shell
    http: Http
    clock: Clock
    spec: ServingSpec
    port: int
    audit: AuditLog = field(default_factory=Unrecorded)

    @property
    def unit(self) -> str:
        return unit_name(self.port)

    def state(self) -> UnitState:
        return unit_state(self.shell, self.unit)
