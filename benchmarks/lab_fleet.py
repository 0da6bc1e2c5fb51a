"""Lab hosts for a benchmark: boot them, put them back to where they were, delay their links, ask when their units moved."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from ddtree_ops.fleet.places import SERVICE_USER
from tests.hosts.lab import Lab, LabError

PROJECT = Path(__file__).resolve().parents[1]
PORT = 30000
UNIT = f"ddtree-server@{PORT}.service"
READY_SECONDS = 120.0
T = TypeVar("T")

# Everything that a deploy made; the service user stays, as on a host that served before.
_WIPE = f"""
systemctl disable --now {UNIT} 2>/dev/null
rm -rf /opt/ddtree /var/lib/ddtree /var/cache/ddtree /etc/systemd/system/{UNIT} /etc/systemd/system/{UNIT}.d
systemctl stop 'ddtree-*' 2>/dev/null
rm -rf /etc/systemd/system/ddtree-deadman* "$HOME/.cache/uv" "$HOME/.cache/pip"
userdel {SERVICE_USER} 2>/dev/null
systemctl daemon-reload
systemctl reset-failed
true
"""
# Back to a release that is there, without any tool: links, unit, and no other release.
_RESTORE = f"""
set -e
cd /opt/ddtree
for release in releases/* releases/.bench-*; do
  case $release in releases/$1 | 'releases/*' | 'releases/.bench-*') ;; *) rm -rf "$release" ;; esac
done
for link in current last-good; do ln -sfn releases/$1 .$link && mv -T .$link $link; done
cp releases/$1/ddtree-server@.service /etc/systemd/system/{UNIT}
systemctl daemon-reload
systemctl enable --quiet {UNIT}
systemctl reset-failed {UNIT} 2>/dev/null || true
systemctl restart {UNIT}
"""


@dataclass(frozen=True)
class LabFleet:
    """Hosts of one lab, all with the same spec."""

    lab: Lab
    hosts: tuple[str, ...]

    def each(self, do: Callable[[str], T]) -> list[T]:
        """For all hosts, a few at a time."""
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(do, self.hosts))

    def first(self, count: int) -> LabFleet:
        """The same lab with fewer hosts."""
        return LabFleet(self.lab, self.hosts[:count])

    def inventory(self, target: Path, **sections: Any) -> Path:
        """Write the lab's inventory for these hosts; `sections` are laid over their `ddtree_serving`."""
        shutil.copytree(PROJECT / "inventories" / "lab" / "group_vars", target / "group_vars", dirs_exist_ok=True)
        connection = target / "group_vars" / "all" / "connection.yml"
        connection.write_text(connection.read_text().replace("/var/lib/ddtree-lab/demo", str(self.lab.state)))
        groups = {"rtx_pro_6000": {"hosts": dict.fromkeys(self.hosts)}}
        (target / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": groups}}))
        for host in self.hosts:
            path = target / "host_vars" / f"{host}.yml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(yaml.safe_dump({"ddtree_serving": {"port": PORT, **sections}}))
        return target

    def wipe(self) -> None:
        """Every host as before its first deploy."""
        self.each(lambda host: self.lab.sh(host, "sh", "-c", _WIPE))

    def restore(self, release: str) -> None:
        """Every host back on `release`, and serving."""
        self.each(lambda host: self.lab.sh(host, "sh", "-c", _RESTORE, "restore", release))
        self.wait_serving()

    def wait_serving(self) -> None:
        """Until every unit is active. Raises LabError."""
        for host in self.hosts:
            self._wait(host)

    def _wait(self, host: str) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self.unit(host, "ActiveState") == "active":
                return
            time.sleep(0.2)
        raise LabError(f"{host}: the server is {self.unit(host, 'ActiveState')} after {READY_SECONDS:.0f} s")

    def unit(self, host: str, name: str) -> str:
        """One property of the unit."""
        return self.lab.sh(host, "systemctl", "show", "--value", "--property", name, UNIT).strip()

    def moment(self, host: str, name: str) -> float:
        """A property that is a monotonic time stamp, in seconds. Hosts and this machine share that clock."""
        return int(self.unit(host, f"{name}TimestampMonotonic") or 0) / 1e6

    @contextmanager
    def delayed(self, round_trip_ms: int) -> Iterator[str]:
        """Every link slower by so much; the name of what does it."""
        if not round_trip_ms:
            yield "none"
            return
        ports = [f"vb-dl{(self.lab.state / 'number').read_text().strip()}-h{self._number(host)}" for host in self.hosts]
        netem = all(_netem(port, round_trip_ms) for port in ports)
        try:
            if not netem:
                self.each(lambda host: self.lab.delay(host, round_trip_ms))
            yield "tc netem" if netem else "lab/relay.py"
        finally:
            for port in ports:
                subprocess.run(("tc", "qdisc", "delete", "dev", port, "root"), capture_output=True, check=False)
            if not netem:
                self.each(lambda host: self.lab.delay(host, 0))

    def _number(self, host: str) -> str:
        return (self.lab.state / "hosts" / host / "number").read_text().strip()


def _netem(port: str, round_trip_ms: int) -> bool:
    """All of the round trip on the way to the host; False where the kernel has no netem (tc-netem(8))."""
    argv = ("tc", "qdisc", "replace", "dev", port, "root", "netem", "delay", f"{round_trip_ms}ms")
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


@contextmanager
def fleet(name: str, count: int) -> Iterator[LabFleet]:
    """A lab of so many hosts, taken down at the end."""
    lab = Lab(name)
    lab.down()
    hosts = tuple(f"h{number:02d}" for number in range(1, count + 1))
    try:
        lab.up(*(f"{host}=rtx-pro-6000-8x" for host in hosts))
        yield LabFleet(lab, hosts)
    finally:
        lab.down()
