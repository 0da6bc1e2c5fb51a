"""A lab host with a good release, the spec of the next one, and the questions that every fault is asked afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ddtree_ops.cli.inputs import release_of
from ddtree_ops.fleet.inventory import load_fleet
from tests.faults.command import Deploying, Ended, deploying
from tests.faults.found import PORT, Found, look, until
from tests.hosts.lab import Lab, LabError

PROFILES = {"ct200": "rtx-pro-6000-8x", "b300": "b300-8x"}
# Load and smoke test are long enough to be struck in.
ENVIRONMENT = {"SIM_LOAD_SECONDS": "2.5", "SIM_CRASH_SETTLE_SECONDS": "0"}
SMOKE = [{"prompt": "The capital of France is", "expect": "Paris"}, *({"prompt": f"Tell me about {n}"} for n in range(20))]
SMALL_MIB = {"/opt/ddtree": 400, "/var/lib/ddtree": 4}
BACK_SECONDS = 180.0
QUIET_SECONDS = 60.0


@dataclass(frozen=True)
class Arena:
    """One host and how it is deployed to. `numbers` makes specs that differ."""

    lab: Lab
    inventory: Path
    host: str
    folder: Path
    numbers: Iterator[int]
    small_disks: bool = False

    @property
    def runtime(self) -> dict[str, Any]:
        """The spec's section of that name; a small disk is no reason to refuse here."""
        return {"free_mib": 16} if self.small_disks else {}

    def slow_spec(self, load_seconds: str) -> None:
        """As spec(), with a longer load."""
        self.spec(environment=ENVIRONMENT | {"SIM_LOAD_SECONDS": load_seconds})

    def spec(self, **sections: Any) -> None:
        """Write a spec that no host has seen; sections are laid over the usual ones."""
        usual: dict[str, Any] = {
            "port": int(PORT),
            "environment": ENVIRONMENT,
            "smoke": SMOKE,
            "server_args": {"max-running-requests": next(self.numbers)},
            "runtime": self.runtime,
        }
        path = self.inventory / "host_vars" / f"{self.host}.yml"
        path.write_text(yaml.safe_dump({"ddtree_serving": usual | sections}))

    def release(self) -> str:
        """The id of the release that the spec asks for."""
        return release_of(load_fleet(self.inventory).host(self.host)).id

    def deploying(self, *options: str) -> AbstractContextManager[Deploying]:
        return deploying(self.inventory, self.folder, *options, host=self.host)

    def deploy(self, *options: str) -> Ended:
        """A plain deploy, to its end."""
        with self.deploying(*options) as running:
            return running.end()

    def settle(self) -> None:
        """The host is up, clean and serves a committed release; one that can't be mended is made anew."""
        try:
            found = look(self.lab, self.host)
            if found.serves and not found.untidy():
                return
        except LabError:
            pass
        self._boot()
        self.spec()
        done = self.deploy()
        if done.code != 0:
            self.lab.down()  # the next test gets a new one
            raise AssertionError(f"the host can't be made ready: {done.code} {done.everything}")

    def _boot(self) -> None:
        self.lab.up(f"{self.host}={PROFILES[self.host]}")
        if self.small_disks:
            for folder, size in SMALL_MIB.items():
                self.lab.sh(self.host, "mkdir", "-p", folder)
                if self.lab.ssh(self.host, f"mountpoint -q {folder}").returncode != 0:
                    self.lab.sh(self.host, "mount", "-t", "tmpfs", "-o", f"size={size}m,mode=755", "tmpfs", folder)

    def look(self) -> Found:
        return look(self.lab, self.host)

    def until_serving(self, *, any_of: set[str]) -> Found:
        """Until one of these releases answers, or the time in which systemd or the dead-man would bring it back is over."""
        return until(self.lab, self.host, lambda found: found.serves in any_of, BACK_SECONDS)

    def until_quiet(self) -> Found:
        """Until nothing of a finished deploy is left."""
        return until(self.lab, self.host, lambda found: found.serves is not None and not found.untidy(), QUIET_SECONDS)
