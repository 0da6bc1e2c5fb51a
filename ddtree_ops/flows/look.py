"""Read-only looks at a host over one connection."""

from __future__ import annotations

import time

from ddtree_ops.errors import HostCommandFailed, HostTimedOut
from ddtree_ops.fleet import preflight, state
from ddtree_ops.fleet.preflight import Finding
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.state import Gpus, HostState, Releases
from ddtree_ops.ports import Shell
from ddtree_ops.units import systemctl
from ddtree_ops.units.systemctl import UnitState


def look(shell: Shell, port: int) -> HostState:
    """What the host is now. `port` is the wanted one; the unit is the one that runs, whatever port it has.

    Raises Unreachable.
    """
    found = look_releases(shell)
    current = found.manifest(found.current)
    unit = _running_unit(shell, systemctl.unit_name((current and current.port) or port))
    running = state.parse_running(shell.run(state.running(unit.main_pid)).stdout) if unit.main_pid else None
    digest = state.parse_digest(shell.run(state.unit_digest(unit.name)).stdout)
    return HostState(found.current, found.last_good, found.manifests, unit, running, digest)


def _running_unit(shell: Shell, likely: str) -> UnitState:
    """The unit by that name, unless it has no process and another one of ours has (an interrupted change of port)."""
    first = unit_state(shell, likely)
    if first.main_pid:
        return first
    others = (name for name in systemctl.parse_servers(shell.run(systemctl.servers()).stdout) if name != likely)
    return next((one for one in (unit_state(shell, name) for name in others) if one.main_pid), first)


def look_releases(shell: Shell) -> Releases:
    """Links and manifests only: neither systemd nor the GPUs' driver is asked. Raises Unreachable."""
    links = state.parse_links(shell.run(state.links()).stdout)
    manifests = state.parse_manifests(shell.run(state.manifests()).stdout)
    return Releases(links.get("current"), links.get("last-good"), manifests)


def look_at_gpus(shell: Shell) -> Gpus:
    """What nvidia-smi shows. Raises Unreachable."""
    try:
        return state.read_gpus(shell.run(state.gpus()))
    except HostTimedOut:  # it hangs inside the driver, where even SIGKILL doesn't end it
        return Gpus((), "nvidia-smi hangs and can't be ended")


def preflight_findings(shell: Shell, release: Release) -> tuple[Finding, ...]:
    """What would stop a deploy of `release` to this host. Raises Unreachable, HostCommandFailed."""
    try:
        host = preflight.parse(shell.run(preflight.look_at_host(release, time.time())))
        models = preflight.parse(shell.run(preflight.look_at_models(release)))
    except HostTimedOut as error:  # its message would quote the whole program
        raise HostCommandFailed(
            f"{shell.host}: the look before the deploy did not end in {preflight.TIMEOUT_SECONDS:.0f} s",
            hint="does a file system of the models hang?",
        ) from error
    return (*host, *preflight.shortened(models))


def unit_state(shell: Shell, unit: str) -> UnitState:
    """What systemd says of a unit."""
    return systemctl.parse_show(shell.run(systemctl.show(unit)).stdout)
