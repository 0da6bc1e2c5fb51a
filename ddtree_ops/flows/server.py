"""The server of one host, as all flows talk to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ddtree_ops.errors import Unreachable
from ddtree_ops.flows.attempt import Unrecorded
from ddtree_ops.flows.look import unit_state
from ddtree_ops.ports import AuditLog, Clock, Http, HttpRequest, HttpResponse, Shell
from ddtree_ops.units.systemctl import UnitState, unit_name

if TYPE_CHECKING:
    from ddtree_ops.fleet.spec import ServingSpec

T = TypeVar("T")


def once_more(read: Callable[[], T]) -> T:
    """`read()`, and again over a new connection if that was lost meanwhile: a session that was cut says nothing of the server.

    For what changes nothing. Raises what the second try raises.
    """
    try:
        return read()
    except Unreachable:
        return read()


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

    def ask(self, request: HttpRequest) -> HttpResponse:
        """Like http.request, for questions that change nothing. Raises Unreachable, TimeoutError."""
        return once_more(lambda: self.http.request(request))

    def state(self) -> UnitState:
        return unit_state(self.shell, self.unit)
