"""Read-only looks at a host: everything in one command over one connection."""

from __future__ import annotations

import time

from ddtree_ops.errors import HostTimedOut
from ddtree_ops.fleet import look as host_look
from ddtree_ops.fleet import state
from ddtree_ops.fleet.look import Look
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.state import Gpus, HostState, Releases
from ddtree_ops.ports import Command, Completed, Shell
from ddtree_ops.units import systemctl
from ddtree_ops.units.systemctl import UnitState


def look(shell: Shell, port: int, *, every_release: bool = False) -> HostState:
    """What the host is now. `port` is the wanted one; the unit is the one that runs, whatever port it has.

    `every_release`: compare the files of those not in use, too. Raises Unreachable, HostCommandFailed, Refused (no python3).
    """
    return host_look.parse(_run(shell, host_look.command(port, every_release=every_release)), shell.host, port).state


def look_and_find(shell: Shell, release: Release) -> Look:
    """What the host is now, and what would stop a deploy of `release` to it. Raises as look()."""
    port = release.spec.port
    return host_look.parse(_run(shell, host_look.command(port, release, time.time())), shell.host, port)


def look_releases(shell: Shell) -> Releases:
    """Links and manifests only: neither systemd nor the GPUs' driver is asked. Raises as look()."""
    return host_look.parse_releases(_run(shell, host_look.releases_only()), shell.host)


def _run(shell: Shell, command: Command) -> Completed:
    try:
        return shell.run(command)
    except HostTimedOut as error:  # its message would quote the whole program
        text = f"{shell.host}: the look at the host did not end in {host_look.TIMEOUT_SECONDS:.0f} s"
        raise HostTimedOut(text, hint="is the host overloaded, or does one of its file systems hang?") from error


def look_at_gpus(shell: Shell) -> Gpus:
    """What nvidia-smi shows. Raises Unreachable."""
    try:
        return state.read_gpus(shell.run(state.gpus()))
    except HostTimedOut:  # it hangs inside the driver, where even SIGKILL doesn't end it
        return Gpus((), "nvidia-smi hangs and can't be ended")


def unit_state(shell: Shell, unit: str) -> UnitState:
    """What systemd says of a unit."""
    return systemctl.parse_show(shell.run(systemctl.show(unit)).stdout)
