"""The plan: the difference between what a host is and what its spec says, and what speaks against going there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ddtree_ops.fleet.preflight import Finding, Severity
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.state import HostState
from ddtree_ops.units.systemctl import Active


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
        """The wanted release serves and was committed: it has answered rightly."""
        return self.is_current and self.state.unit.serving and self.state.last_good == self.release.id

    @property
    def is_current(self) -> bool:
        return self.state.current == self.release.id

    @property
    def is_under_way(self) -> bool:
        """The wanted release loads, or serves without being committed: an earlier run was interrupted. Take it up."""
        up = self.state.unit.active in (Active.ACTIVATING, Active.ACTIVE)
        return self.is_current and up and not self.state.unit.failed

    @property
    def is_staged(self) -> bool:
        return self.state.manifest(self.release.id) is not None

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.severity is Severity.ERROR)


def make_plan(host: str, release: Release, state: HostState, findings: tuple[Finding, ...]) -> Plan:
    """Compare the wanted release with the host; `findings` are what preflight saw there."""
    return Plan(host, release, state, tuple(_changes(release, state)), findings)


def _changes(release: Release, state: HostState) -> Iterator[Change]:
    if state.current != release.id:
        yield Change("release", state.current, release.id)
        current = state.manifest(state.current)
        if current is not None:
            yield from _content_changes(dict(current.content), release.manifest_seed())
    elif state.last_good != release.id:
        yield Change("last good", state.last_good, release.id)
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
