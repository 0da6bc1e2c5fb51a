"""Unit verbs over SSH: restart, start, stop; at most one of our servers runs on a host."""

from __future__ import annotations

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.flows.attempt import attempt
from ddtree_ops.flows.progress import Tell
from ddtree_ops.flows.server import Server
from ddtree_ops.flows.wait import Mark, Waited, mark, wait_after, wait_running
from ddtree_ops.units import systemctl
from ddtree_ops.units.systemctl import Active, UnitState

# A stop may take the drain and then the kill of the whole tree.
STOP_MARGIN_SECONDS = 120.0


def restart(server: Server) -> Mark:
    """Restart the unit, whatever state it is in; returns at once: wait with the mark.

    A server on another port (the release before had that one) is stopped for good first: both would want all GPUs.
    """
    shell = server.shell
    others = systemctl.parse_servers(shell.run(systemctl.servers()).stdout)
    for other in others:
        if other != server.unit:
            shell.run(systemctl.disable_now(other, server.spec.drain + STOP_MARGIN_SECONDS))
    before = mark(server)
    shell.run(systemctl.reset_failed(server.unit))
    shell.run(systemctl.restart(server.unit))
    return before


def stop(server: Server) -> None:
    """Drain and stop the unit. The caller holds the lock. Raises DdtreeOpsError if there is no unit."""
    _existing(server)
    server.shell.run(systemctl.stop(server.unit, server.spec.drain + STOP_MARGIN_SECONDS))


def stop_locked(server: Server, *, break_lock: bool = False) -> None:
    """stop() as an attempt of its own. Raises Locked."""
    _existing(server)
    with attempt(server.shell, server.audit, "stop", force=break_lock) as made:
        stop(server)
        made.result |= {"outcome": "stopped", "exit_code": 0}


def start_and_wait(server: Server, tell: Tell, *, break_lock: bool = False) -> Waited:
    """Start the unit unless it is up or on its way, and wait. Raises Locked, DdtreeOpsError if there is no unit."""
    state = _existing(server)
    if state.active in (Active.ACTIVE, Active.ACTIVATING) and not state.failed:
        return wait_running(server, tell)
    return _restarted(server, tell, "start", force=break_lock)


def restart_and_wait(server: Server, tell: Tell, *, break_lock: bool = False) -> Waited:
    """Restart the unit and wait. Raises Locked, DdtreeOpsError if there is no unit."""
    _existing(server)
    return _restarted(server, tell, "restart", force=break_lock)


def _restarted(server: Server, tell: Tell, event: str, *, force: bool) -> Waited:
    with attempt(server.shell, server.audit, event, force=force) as made:
        waited = wait_after(server, restart(server), tell)
        made.result |= {"outcome": type(waited.verdict).__name__.lower(), "seconds": round(waited.verdict.seconds, 2)}
        return waited


def _existing(server: Server) -> UnitState:
    state = server.state()
    if not state.exists:
        host = server.shell.host
        raise DdtreeOpsError(f"{host}: there is no {server.unit}", hint=f"ddtree-ops deploy --host {host}")
    return state
