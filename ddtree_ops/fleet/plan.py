"""The plan: the difference between what a host is and what its spec says, and what speaks against going there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ddtree_ops.fleet import places
from ddtree_ops.fleet.preflight import Finding, Severity
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.state import HostState
from ddtree_ops.units.systemctl import Active

ENABLED = "enabled"


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
        """The wanted release serves, as its own unit says, and was committed: it has answered rightly."""
        return not self.changes

    @property
    def is_under_way(self) -> bool:
        """The wanted release loads, or serves without being committed: an earlier run was interrupted. Take it up."""
        unit = self.state.unit
        up = unit.active in (Active.ACTIVATING, Active.ACTIVE) and not unit.failed
        ours = self.state.current == self.state.running == self.release.id
        return ours and up and not self.state.unit_is_edited and unit.enabled == ENABLED

    @property
    def is_staged(self) -> bool:
        return self.state.manifest(self.release.id) is not None

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.severity is Severity.ERROR)


def make_plan(host: str, release: Release, state: HostState, findings: tuple[Finding, ...]) -> Plan:
    """Compare the wanted release with the host; `findings` are what preflight saw there."""
    return Plan(host, release, state, tuple(_changes(release, state)), (*findings, *_damage(release, state)))


def _damage(release: Release, state: HostState) -> Iterator[Finding]:
    if state.current == release.id and state.manifest(release.id) is None:
        yield Finding(
            "release_damaged",
            Severity.ERROR,
            f"the current release {release.id} has no readable manifest.json: its content can't be trusted",
            f"deploy a changed spec (it makes a new release), then remove {places.RELEASES}/{release.id} and deploy this one",
        )


def _changes(release: Release, state: HostState) -> Iterator[Change]:
    unit = state.unit
    if state.current != release.id:
        yield Change("release", state.current, release.id)
        current = state.manifest(state.current)
        if current is not None:
            yield from _content_changes(dict(current.content), release.manifest_seed())
    else:
        if state.last_good != release.id:
            yield Change("last good", state.last_good, release.id)
        if state.unit_is_edited:
            yield Change("unit file", "changed on the host", "as the release has it")
        if unit.exists and unit.enabled != ENABLED:
            yield Change("start at boot", unit.enabled or "unknown", ENABLED)
    if not unit.serving:
        yield Change("server", f"{unit.active.value} ({unit.sub})", "active (running)")
    elif state.current == release.id != state.running:
        yield Change("running release", state.running, release.id)


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
