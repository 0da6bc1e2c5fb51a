"""Drive lab/hosts.sh from tests: one Lab object is one lab with a name of its own, so that tests never meet a demo lab."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).resolve().parents[2] / "lab" / "hosts.sh"
UP_TIMEOUT_S = 1200.0  # with a cold cache the root file system is built first
COMMAND_TIMEOUT_S = 600.0
GPU_STATE = "/run/ddtree-lab/gpu-state.json"


def wait_for(what: str, holds: Callable[[], object], seconds: float) -> None:
    """Ask twice a second until it holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.5)


class LabError(AssertionError):
    """A command of the lab failed; the message is what it said."""


class HostState(StrEnum):
    """What `ls` says of a host."""

    UP = "up"
    DOWN = "down"
    FROZEN = "frozen"


@dataclass(frozen=True)
class LabHost:
    """One line of `ls`: `ct200 10.99.1.11 up rtx-pro-6000-8x`."""

    name: str
    address: str
    state: HostState
    profile: str


@dataclass(frozen=True)
class Lab:
    """A lab by its name (DDTREE_LAB). Every method raises LabError if the command fails or takes too long."""

    name: str

    @property
    def state(self) -> Path:
        """The lab's state directory."""
        return Path("/var/lib/ddtree-lab") / self.name

    @property
    def ssh_config(self) -> Path:
        """For `ssh -F`: one `Host` entry per lab host."""
        return self.state / "ssh_config"

    def up(self, *hosts: str) -> None:
        """Boot hosts (`name` or `name=profile`; none: ct200 and b300) and wait for ssh; heals what is there already."""
        self.run("up", *hosts, timeout=UP_TIMEOUT_S)

    def down(self) -> None:
        """Remove everything the lab made; fine if there is nothing."""
        self.run("down")

    def start(self, host: str) -> None:
        """Boot a stopped or crashed host and wait for ssh."""
        self.run("start", host)

    def stop(self, host: str) -> None:
        """Shut a host down cleanly."""
        self.run("stop", host)

    def crash(self, host: str) -> None:
        """Take a host's power away."""
        self.run("crash", host)

    def reboot(self, host: str) -> None:
        """Reboot and wait until the new boot answers ssh."""
        self.run("reboot", host)

    def freeze(self, host: str) -> None:
        """Hang the whole host, until `thaw`."""
        self.run("freeze", host)

    def thaw(self, host: str) -> None:
        """Let a frozen host go on."""
        self.run("thaw", host)

    def cut(self, host: str) -> None:
        """Let all packets of a host vanish silently, until `heal`."""
        self.run("cut", host)

    def heal(self, host: str) -> None:
        """End a `cut`."""
        self.run("heal", host)

    def unplug(self, host: str) -> None:
        """Pull the cable: the host sees its carrier go."""
        self.run("unplug", host)

    def plug(self, host: str) -> None:
        """Put the cable back."""
        self.run("plug", host)

    def delay(self, host: str, round_trip_ms: float, loss_percent: float = 0) -> None:
        """Make a host's link slow and lossy (each way); 0 ends it."""
        self.run("delay", host, f"{round_trip_ms:g}", f"{loss_percent:g}")

    def hosts(self) -> dict[str, LabHost]:
        """All hosts of the lab by name."""
        rows = (line.split() for line in self.run("ls").splitlines())
        return {name: LabHost(name, address, HostState(state), profile) for name, address, state, profile in rows}

    def sh(self, host: str, *command: str, stdin: str | None = None) -> str:
        """Run a command inside, without the network (works on a cut host); returns its stdout."""
        return self.run("sh", host, *command, stdin=stdin)

    def ssh(
        self, host: str, command: str, *, timeout: float = COMMAND_TIMEOUT_S, connect_timeout: int = 5
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell command over ssh; the caller looks at the exit code (255: no connection)."""
        argv = ("ssh", "-F", str(self.ssh_config), "-o", f"ConnectTimeout={connect_timeout}", "-o", "BatchMode=yes")
        return subprocess.run(
            (*argv, host, command), capture_output=True, text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL
        )

    def boot_id(self, host: str) -> str:
        """Differs from boot to boot (boot_id in proc_sys_kernel(5))."""
        return self.sh(host, "cat", "/proc/sys/kernel/random/boot_id").strip()

    def gpu_state(self, host: str, state: Mapping[str, Any] | None) -> None:
        """Say what happened to a host's GPUs (the document of lab/gpu_state.py); None: all is well again."""
        if state is None:
            self.sh(host, "rm", "-f", GPU_STATE)
        else:
            self.sh(host, "tee", GPU_STATE, stdin=json.dumps(state))

    def simulator(self, host: str, **settings: str) -> None:
        """Write the simulator's settings file; it counts from the next start of the server on."""
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        self.sh(host, "tee", "/etc/ddtree-lab/sim.env", stdin=lines)

    @contextmanager
    def standing_still(self, host: str, unit: str) -> Iterator[None]:
        """No process of the unit moves meanwhile: a load goes on for as long as the test needs, however slow this machine is."""
        self.sh(host, "systemctl", "kill", "--signal=STOP", unit)
        try:
            yield
        finally:
            self.sh(host, "systemctl", "kill", "--signal=CONT", unit)

    def run(self, *args: str, stdin: str | None = None, timeout: float = COMMAND_TIMEOUT_S) -> str:
        """Run one command of lab/hosts.sh; returns its stdout."""
        done = subprocess.run(
            ("bash", str(SCRIPT), *args),
            env={**os.environ, "DDTREE_LAB": self.name},
            input="" if stdin is None else stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != 0:
            message = f"lab {self.name}: {' '.join(args)}: exit code {done.returncode}: {done.stderr.strip()}"
            raise LabError(message)
        return done.stdout
