"""The plan: the difference between what a host is and what its spec says, and what speaks against going there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ddtree_ops.fleet import places
from ddtree_ops.fleet.drift import (
    AS_STAGED,
    ENABLED,
    Change,
    Group,
    file_changes,
    link_changes,
    process_changes,
    unit_changes,
)
from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.release_changes import content_changes, package_changes, settings_changes
from ddtree_ops.fleet.state import HostState
from ddtree_ops.fleet.text_difference import difference
from ddtree_ops.on_host.pins import pins
from ddtree_ops.units.systemctl import Active


@dataclass(frozen=True)
class Plan:
    """What a deploy will do on a host.

    `repair`: the wanted release lies on the host, but not as it was staged: it has to be staged anew in its place.
    """

    host: str
    release: Release
    state: HostState
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]
    repair: bool = False

    @property
    def nothing_to_do(self) -> bool:
        """The wanted release serves, as its own unit says, and was committed: it has answered rightly."""
        return not self.changes

    @property
    def is_under_way(self) -> bool:
        """The wanted release loads, or serves without being committed: an earlier run was interrupted. Take it up."""
        state, unit = self.state, self.state.unit
        up = unit.active in (Active.ACTIVATING, Active.ACTIVE) and not unit.failed
        ours = state.current == state.running == self.release.id
        as_wanted = not (self.repair or state.runs_otherwise or any(unit_changes(state)))
        return ours and up and as_wanted and unit.enabled == ENABLED and self._restarted_since_the_switch

    @property
    def _restarted_since_the_switch(self) -> bool:
        """Without that the process may still have, for example, the former credentials."""
        orders = self.state.dead_man
        return orders is None or (orders.release == self.release.id and orders.invocation != self.state.unit.invocation)

    @property
    def is_staged(self) -> bool:
        return self.state.manifest(self.release.id) is not None and not self.repair

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What refuses the deploy: errors that no waiver covers."""
        return tuple(one for one in self.findings if one.refuses)

    @property
    def waived(self) -> tuple[Finding, ...]:
        """What would refuse it without the spec's waivers."""
        return tuple(one for one in self.findings if one.waived is not None and one.severity is Severity.ERROR)


def make_plan(
    host: str, release: Release, state: HostState, findings: tuple[Finding, ...], wanted_unit: str | None = None
) -> Plan:
    """Compare the wanted release with the host; `findings` are what the roles' programs saw there.

    `wanted_unit`: the text of its unit, to be compared with the current release's.
    """
    damage = tuple(_damage(release, state))
    changes = (*_changes(release, state, wanted_unit), *damage)
    return Plan(host, release, state, changes, (*findings, *_warnings(release, state)), repair=bool(damage))


def _damage(release: Release, state: HostState) -> Iterator[Change]:
    """What is wrong with the wanted release as it lies on the host."""
    gone = state.current == release.id and state.manifest(release.id) is None
    if gone or release.id in state.damaged:
        yield Change("manifest.json", "missing or damaged", AS_STAGED, Group.FILES)
        return
    yield from file_changes(state.files.get(release.id))
    if state.settings is not None and state.manifest(release.id) is not None:
        yield from settings_changes(state.settings, release.server_json())


def _warnings(release: Release, state: HostState) -> Iterator[Finding]:
    for name, files in sorted(state.files.items()):
        if files and name != release.id:
            text = f"release {name} isn't as it was staged ({', '.join(one.what for one in file_changes(files))})"
            yield Finding("release_damaged", Severity.WARNING, text, "it serves on; a way back to it is not safe")
    if state.dead_man is not None and state.dead_man.damaged:
        text = f"the dead-man's orders are damaged ({places.DEAD_MAN}): nobody knows which deploy is unfinished"
        yield Finding("dead_man", Severity.WARNING, text, "the next deploy replaces the file; or remove it")
    if state.no_state and state.current is not None:
        text = f"{places.STATE} is missing, and with it the host's audit log and the history of loads"
        yield Finding("state", Severity.WARNING, text, "the next deploy that changes something makes it anew")
    # While somebody holds the lock, it is work; what a repair has replaced goes with the next staging.
    for one in state.leftovers if state.lock is None else ():
        if not one.name.startswith(".staging-"):
            continue
        text = f"an interrupted run has left {one.name} among the releases, {one.age:.0f} s ago"
        yield Finding("leftover", Severity.WARNING, text, "the next deploy that changes something removes it")


def _changes(release: Release, state: HostState, wanted_unit: str | None) -> Iterator[Change]:
    yield from (one for one in link_changes(state) if one.after is not None)  # a link that was left does no harm
    if state.dead_man is not None:
        yield Change("unfinished deploy", "damaged" if state.dead_man.damaged else state.dead_man.release, None)
    if state.current != release.id:
        yield Change("release", state.current, release.id, Group.RELEASE)
        current = state.manifest(state.current)
        if current is not None:
            yield from content_changes(dict(current.content), release.manifest_seed())
            yield from _packages(release, state)
        yield from _unit(state, wanted_unit)
        if not state.unit.serving:
            yield from process_changes(state)
        return
    if state.last_good != release.id:
        yield Change("last good", state.last_good, release.id, Group.RELEASE)
    yield from unit_changes(state)
    yield from process_changes(state)


def _packages(release: Release, state: HostState) -> Iterator[Change]:
    """Between the lock of the current release and the wanted one; none where the host's can't be read."""
    if state.pins is not None:
        yield from package_changes(state.pins, pins(release.inputs.lock_text))


def _unit(state: HostState, wanted: str | None) -> Iterator[Change]:
    detail = difference(state.release_unit, wanted)
    if detail:
        yield Change("unit text", "the current release's", "the wanted one's", Group.UNIT, detail)
