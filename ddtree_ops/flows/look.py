"""One read-only look at a host over one connection."""

from __future__ import annotations

from ddtree_ops.fleet import state
from ddtree_ops.fleet.state import HostState
from ddtree_ops.ports import Shell
from ddtree_ops.units import systemctl
from ddtree_ops.units.systemctl import UnitState


def look(shell: Shell, port: int) -> HostState:
    """What the host is now. Raises Unreachable."""
    links = state.parse_links(shell.run(state.links()).stdout)
    gpus = shell.run(state.gpus())
    return HostState(
        unit=unit_state(shell, systemctl.unit_name(port)),
        current=links.get("current"),
        last_good=links.get("last-good"),
        manifests=state.parse_manifests(shell.run(state.manifests()).stdout),
        gpus=state.parse_gpus(gpus.stdout),
        gpu_problem=(gpus.stderr or gpus.stdout).strip() if gpus.exit_code else None,
        listeners=state.parse_listeners(shell.run(state.listeners(port)).stdout),
    )


def unit_state(shell: Shell, unit: str) -> UnitState:
    """What systemd says of a unit."""
    return systemctl.parse_show(shell.run(systemctl.show(unit)).stdout)
