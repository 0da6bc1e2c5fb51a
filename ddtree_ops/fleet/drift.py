"""Drift: how a host differs from its own current release, whatever the spec says now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.fleet import places
from ddtree_ops.fleet.state import FileDrift, HostState
from ddtree_ops.fleet.text_difference import difference
from ddtree_ops.units.systemctl import Active

ENABLED = "enabled"
AS_STAGED = "as staged"


class Group(StrEnum):
    """What a change is about."""

    RELEASE = "release"
    LOCK = "lock"
    PACKAGES = "packages"
    PATCHES = "patches"
    ARGUMENTS = "arguments"
    ENVIRONMENT = "environment"
    UNIT = "unit"
    FILES = "files"
    HOST = "host"


@dataclass(frozen=True)
class Change:
    """One thing that differs: its name, what it is, what it will be. None = not there. `detail`: lines of a unified diff."""

    what: str
    before: str | None
    after: str | None
    group: Group = Group.HOST
    detail: tuple[str, ...] = ()


def drift(state: HostState) -> tuple[Change, ...]:
    """All of it: links, the release's files, its unit, the process that runs, and the host's records.

    A host without a current release has at most something else in a link's place.
    """
    links = tuple(link_changes(state))
    if state.current is None:
        return links
    rest = (*file_changes(state.files.get(state.current)), *unit_changes(state), *process_changes(state))
    records = (Change(places.STATE, "missing", "made by the next deploy"),) if state.no_state else ()
    return (*links, *rest, *records)


def link_changes(state: HostState) -> Iterator[Change]:
    """What isn't a link to a release where one belongs; a switch keeps it under another name."""
    for name, found in sorted(state.not_links.items()):
        ours = not name.startswith(".")
        yield Change(f"{places.ROOT}/{name}", found, "a link to a release" if ours else None)


def file_changes(files: FileDrift | None) -> Iterator[Change]:
    """What was done to a release's files; None for a release that wasn't looked at or has no list of them."""
    if files is None:
        return
    for word, names in (("changed", files.changed), ("missing", files.missing), ("added", files.added)):
        for name in names:
            yield Change(f"file {name}", word, None if word == "added" else AS_STAGED, Group.FILES)
    for name, found in files.access.items():
        yield Change(f"owner and mode of {name}", found, "root's, readable by all", Group.FILES)
    if files.more:
        yield Change("more files", str(files.more), AS_STAGED, Group.FILES)
    if files.problem:
        yield Change("list of files", files.problem, AS_STAGED, Group.FILES)


def unit_changes(state: HostState) -> Iterator[Change]:
    """The unit's text, what lies above it, and whether systemd has read that and starts it at boot."""
    unit = state.unit
    if state.unit_is_edited:
        detail = difference(state.installed_unit, state.release_unit)
        yield Change("unit file", "changed on the host", "as the release has it", Group.UNIT, detail)
    for path in state.own_drop_ins:
        yield Change(f"drop-in {path}", "changes the unit", None, Group.UNIT)
    if unit.needs_reload:
        yield Change("unit in systemd", "older than its files", "read again", Group.UNIT)
    if unit.exists and unit.enabled != ENABLED:
        yield Change("start at boot", unit.enabled or "unknown", ENABLED, Group.UNIT)


def process_changes(state: HostState) -> Iterator[Change]:
    """Whether the unit's process serves, of which release, and how it was started."""
    unit = state.unit
    if not unit.serving:
        yield Change("server", f"{unit.active.value} ({unit.sub})", "active (running)")
    elif state.running != state.current:
        yield Change("running release", state.running_words, state.current)
    if unit.active is Active.ACTIVE and state.runs_otherwise:
        yield Change("running arguments", " ".join(state.argv or ()), " ".join(state.command or ()))
