"""Switch a host to a staged release and start it: Ansible writes link and unit, SSH does the unit verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.flows.progress import Tell
from ddtree_ops.flows.wait import Mark, Server, Waited, mark, wait_after, wait_running
from ddtree_ops.ports import Playbooks, TaskResult
from ddtree_ops.units import systemctl
from ddtree_ops.units.systemctl import Active

# A stop may take the drain and then the kill of the whole tree.
STOP_MARGIN_SECONDS = 120.0


class Switcher:
    """Switches releases on one host."""

    def __init__(self, server: Server, playbooks: Playbooks, on_task: Callable[[TaskResult], None]) -> None:
        self._server = server
        self._playbooks = playbooks
        self._on_task = on_task

    def switch(self, variables: Mapping[str, Any]) -> Mark:
        """Make `release_id` of the variables current and restart; the mark separates old journal lines from new."""
        self._playbooks.run("switch", self._server.shell.host, variables, self._on_task)
        return restart(self._server)


def restart(server: Server) -> Mark:
    """Restart the unit, whatever state it is in; returns at once: wait with the mark."""
    before = mark(server)
    server.shell.run(systemctl.reset_failed(server.unit))
    server.shell.run(systemctl.restart(server.unit))
    return before


def stop(server: Server) -> None:
    """Drain and stop the unit. Raises DdtreeOpsError if there is no unit."""
    _existing(server)
    server.shell.run(systemctl.stop(server.unit, server.spec.drain + STOP_MARGIN_SECONDS))


def start_and_wait(server: Server, tell: Tell) -> Waited:
    """Start the unit unless it is up or on its way, and wait. Raises DdtreeOpsError if there is no unit."""
    state = _existing(server)
    if state.active in (Active.ACTIVE, Active.ACTIVATING) and not state.failed:
        return wait_running(server, tell)
    return wait_after(server, restart(server), tell)


def restart_and_wait(server: Server, tell: Tell) -> Waited:
    """Restart the unit and wait. Raises DdtreeOpsError if there is no unit."""
    _existing(server)
    return wait_after(server, restart(server), tell)


def _existing(server: Server) -> systemctl.UnitState:
    state = server.state()
    if not state.exists:
        host = server.shell.host
        raise DdtreeOpsError(f"{host}: there is no {server.unit}", hint=f"ddtree-ops deploy --host {host}")
    return state
