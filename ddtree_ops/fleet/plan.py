"""The plan: the difference between what a host is and what its spec says, and what speaks against going there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ddtree_ops.fleet.hardware import HardwareProfile
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.state import HostState
from ddtree_ops.units.systemctl import Active


class Severity(StrEnum):
    """An error refuses the deploy; a warning is shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """Something about the host that a deploy would run into; `fix` is what to do."""

    id: str
    severity: Severity
    message: str
    fix: str


@dataclass(frozen=True)
class Change:
    """One thing that differs: its name, what it is, what it will be. None = not there."""

    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Plan:
    """What a deploy will do on a host."""

    host: str
    release: Release
    state: HostState
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]

    @property
    def nothing_to_do(self) -> bool:
        """The wanted release is current, and its server has proven itself to systemd."""
        return self.is_current and self.state.unit.serving

    @property
    def is_current(self) -> bool:
        return self.state.current == self.release.id

    @property
    def is_loading(self) -> bool:
        """The wanted release is current and on its way up: wait for it instead of starting the load again."""
        return self.is_current and self.state.unit.active is Active.ACTIVATING and not self.state.unit.failed

    @property
    def is_staged(self) -> bool:
        return self.state.manifest(self.release.id) is not None

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.severity is Severity.ERROR)


def make_plan(host: str, release: Release, hardware: HardwareProfile, state: HostState) -> Plan:
    """Compare the wanted release with the host."""
    findings = (*_gpu_findings(hardware, state), *_port_findings(release.spec.port, state))
    return Plan(host, release, state, tuple(_changes(release, state)), findings)


def _changes(release: Release, state: HostState) -> Iterator[Change]:
    if state.current != release.id:
        yield Change("release", state.current, release.id)
        current = state.manifest(state.current)
        if current is not None:
            yield from _content_changes(dict(current.content), release.manifest_seed())
    if not state.unit.serving:
        yield Change("server", f"{state.unit.active.value} ({state.unit.sub})", "active (running)")


def _content_changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    yield from _mapping_changes("argument", flags(before.get("argv", [])), flags(after["argv"]))
    yield from _mapping_changes("environment", before.get("environment", {}), after["environment"])
    yield from _mapping_changes("wheel", _short(before.get("wheels", {})), _short(after["wheels"]))
    for key, what in (("lock_sha256", "lock"), ("unit_template_sha256", "unit")):
        if before.get(key) != after[key]:
            yield Change(what, str(before.get(key))[:12], str(after[key])[:12])


def _mapping_changes(what: str, before: dict[str, str], after: dict[str, str]) -> Iterator[Change]:
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            yield Change(f"{what} {key}", before.get(key), after.get(key))


def flags(argv: list[str]) -> dict[str, str]:
    """`["--tp-size", "8", "--enable-metrics"]` into `{"--tp-size": "8", "--enable-metrics": ""}`."""
    found: dict[str, str] = {}
    name = ""
    for word in argv:
        if word.startswith("--"):
            name = word
            found[name] = ""
        else:
            found[name] = f"{found[name]} {word}".strip()
    return found


def _short(digests: dict[str, str]) -> dict[str, str]:
    return {name: digest[:12] for name, digest in digests.items()}


def _gpu_findings(hardware: HardwareProfile, state: HostState) -> Iterator[Finding]:
    if not state.gpus:
        yield Finding(
            "gpu_count_name",
            Severity.ERROR,
            f"no GPU seen: {state.gpu_problem or 'nvidia-smi printed nothing'}",
            "install or repair the NVIDIA driver; `nvidia-smi` must list the GPUs",
        )
        return
    if len(state.gpus) != hardware.gpu_count:
        yield Finding(
            "gpu_count_name",
            Severity.ERROR,
            f"{len(state.gpus)} GPUs seen, profile {hardware.name} has {hardware.gpu_count}: "
            f"indexes {', '.join(str(gpu.index) for gpu in state.gpus)}",
            "a GPU may have fallen off the bus: look for Xid in `journalctl -k`; or set the right ddtree_hardware",
        )
    for gpu in state.gpus:
        if gpu.name not in hardware.gpu_names or gpu.compute_cap != hardware.compute_cap:
            yield Finding(
                "gpu_count_name",
                Severity.ERROR,
                f"GPU {gpu.index} is {gpu.name} (compute capability {gpu.compute_cap}), profile {hardware.name} wants "
                f"{hardware.gpu_names[0]} ({hardware.compute_cap})",
                "set the ddtree_hardware of this host to what it has",
            )
            return


def _port_findings(port: int, state: HostState) -> Iterator[Finding]:
    if state.unit.active in (Active.ACTIVE, Active.ACTIVATING, Active.DEACTIVATING):
        return  # it is our own server that holds the port
    for one in state.listeners:
        yield Finding(
            "port_in_use",
            Severity.ERROR,
            f"port {port} is held by {one.process} (pid {one.pid}) on {one.address}",
            "stop that process, or choose another ddtree_serving.port",
        )
