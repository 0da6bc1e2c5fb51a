"""Fleet and Host: an inventory as the rest of ddtree-ops sees it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ddtree_ops.errors import InvalidInventory, UsageError
from ddtree_ops.fleet.connection import Connection, read_connection
from ddtree_ops.fleet.files import source_files
from ddtree_ops.fleet.groups import ALL, Topology
from ddtree_ops.fleet.hardware import PROFILES
from ddtree_ops.fleet.merge import DEFAULTS, SERVING
from ddtree_ops.fleet.mistakes import Mistake, Place, as_error, nearest, nearest_words
from ddtree_ops.fleet.monitoring import GROUP as MONITORING_GROUP
from ddtree_ops.fleet.monitoring import MONITORING, MonitoringSettings, read_monitoring
from ddtree_ops.fleet.nodes import ScalarNode, VaultNode, kind, plain
from ddtree_ops.fleet.outline import Outline, read_outline
from ddtree_ops.fleet.profile import HardwareProfile
from ddtree_ops.fleet.source import read_yaml
from ddtree_ops.fleet.variables import HostVariables, Resolver, VariableFiles

if TYPE_CHECKING:
    from ddtree_ops.fleet.spec import ServingSpec

HARDWARE = "ddtree_hardware"
_MOST_NAMED = 20  # in a hint; the one that is near stands in the message
_VARIABLES = (HARDWARE, SERVING, DEFAULTS, MONITORING)


@dataclass(frozen=True)
class Host:
    """One machine. What needs work or may be wrong is read when it is asked for, so that a broken host hides no other.

    `groups` are all its groups but `all`, the more specific ones last. `place` is where the inventory first names it, `folder`
    the inventory's directory, from which the spec's relative paths count.
    """

    name: str
    groups: tuple[str, ...]
    place: Place
    _variables: HostVariables = field(repr=False, compare=False)
    folder: Path = Path()

    @cached_property
    def connection(self) -> Connection:
        """How to reach it. Raises InvalidInventory."""
        mistakes: list[Mistake] = []
        connection = read_connection(self.name, self._variables.entries, mistakes)
        if mistakes:
            raise as_error(mistakes)
        return connection

    @cached_property
    def hardware(self) -> HardwareProfile:
        """The profile that `ddtree_hardware` names. Raises InvalidInventory."""
        profile, mistakes = self._read_hardware()
        if profile is None:
            raise as_error(mistakes)
        return profile

    @cached_property
    def serving(self) -> ServingSpec:
        """What it shall serve. Raises InvalidInventory with all mistakes of its spec and its hardware's refusals."""
        spec, mistakes = self._read_serving()
        others = self._misspelt()
        read_monitoring(self._variables.entries, others)
        if spec is None or others:
            raise as_error((*others, *mistakes))
        return spec

    @cached_property
    def outline(self) -> Outline:
        """Where its server is found, whatever else may be wrong with its spec. Raises InvalidInventory."""
        mistakes: list[Mistake] = []
        outline = read_outline(self._variables.entries, mistakes)
        if outline is None:
            raise as_error(mistakes)
        return outline

    @cached_property
    def monitoring(self) -> MonitoringSettings:
        """Its `ddtree_monitoring`. Raises InvalidInventory."""
        mistakes: list[Mistake] = []
        settings = read_monitoring(self._variables.entries, mistakes)
        if mistakes:
            raise as_error(mistakes)
        return settings

    @cached_property
    def variables(self) -> Mapping[str, object]:
        """All its inventory variables as Ansible would see them before templating; encrypted ones are `Vault()`."""
        return {name: plain(entry.value) for name, entry in self._variables.entries.items()}

    @property
    def serves(self) -> bool:
        """Whether it has a serving spec at all; other hosts of an inventory may have other jobs.

        Defaults stand where all hosts read them: one that runs Prometheus serves only if it has a spec of its own (the role
        `monitoring` goes by the same).
        """
        if SERVING in self._variables.entries:
            return True
        return DEFAULTS in self._variables.entries and MONITORING_GROUP not in self.groups

    def _read_hardware(self) -> tuple[HardwareProfile | None, tuple[Mistake, ...]]:
        entry = self._variables.entries.get(HARDWARE)
        known = ", ".join(PROFILES)
        if entry is None:
            return None, (Mistake(self.place, self.name, f"has no {HARDWARE}; expected one of {known}"),)
        value = entry.value.value if isinstance(entry.value, ScalarNode) else None
        if isinstance(value, str) and value in PROFILES:
            return PROFILES[value], ()
        got = f"'{value}'" if isinstance(value, str) else kind(entry.value)
        text = f"expected one of {known}, got {got}{nearest(str(value), PROFILES)}"
        return None, (Mistake(entry.place, HARDWARE, text),)

    def _read_serving(self) -> tuple[ServingSpec | None, tuple[Mistake, ...]]:
        if not self.serves:
            return None, (Mistake(self.place, self.name, f"has no {SERVING}, so there is nothing to serve"),)
        from ddtree_ops.fleet.checks import Surroundings  # noqa: PLC0415  pydantic costs 90 ms; most commands need no spec
        from ddtree_ops.fleet.spec_load import load_spec  # noqa: PLC0415

        variables = self._variables
        around = Surroundings(self._read_hardware()[0], variables.entries, bool(variables.encrypted_files))
        return load_spec(around)

    def _misspelt(self) -> list[Mistake]:
        """Only near misses of our own names: roles may have variables of their own that start with ddtree_."""
        found = []
        for name, entry in self._variables.entries.items():
            close = nearest_words(name, _VARIABLES, count=1, likeness=0.85)
            if name.startswith("ddtree") and name not in _VARIABLES and close and not isinstance(entry.value, VaultNode):
                found.append(Mistake(entry.place, name, f"unknown variable; did you mean '{close[0]}'?"))
        return found


@dataclass(frozen=True)
class Fleet:
    """All hosts of an inventory, in its order. `source` is the directory or file, as ansible-playbook's -i takes it.

    `groups` are the hosts of each group, `places` where the inventory first names it.
    """

    source: Path
    hosts: tuple[Host, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)

    def host(self, name: str) -> Host:
        """The host of that name. Raises UsageError with the nearest names."""
        for host in self.hosts:
            if host.name == name:
                return host
        names = [host.name for host in self.hosts]
        raise UsageError(
            f"no host is named {name!r} in {self.source}{nearest(name, names)}",
            hint=_known("hosts", names),
        )

    def group(self, name: str) -> tuple[Host, ...]:
        """The hosts of a group, those of its child groups included.

        Raises UsageError with the nearest names, and InvalidInventory for a group without hosts: whoever names one expects
        something to happen.
        """
        if name not in self.groups:
            raise UsageError(
                f"no group is named {name!r} in {self.source}{nearest(name, self.groups)}",
                hint=_known("groups", sorted(self.groups)),
            )
        members = set(self.groups[name])
        if not members:
            raise InvalidInventory(
                f"{self.places.get(name, self.source)}: {name}: the group has no hosts",
                hint=f"put hosts below {name}, or name another group",
            )
        return tuple(host for host in self.hosts if host.name in members)


def _known(what: str, names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return f"its {what} are {', '.join(names[:_MOST_NAMED]) or 'none'}" + (f" and {more} more" if more > 0 else "")


def load_fleet(paths: Path) -> Fleet:
    """Read an inventory: a directory with hosts.yml, group_vars and host_vars, or one file.

    Raises InvalidInventory for files that can't be read as an inventory, with all mistakes of all files. What is wrong
    with single hosts is raised when they are used.
    """
    mistakes: list[Mistake] = []
    if not os.path.exists(paths):  # noqa: PTH110 - Path.exists() raises for a name that is too long
        raise UsageError(f"there is no inventory at {paths}", hint="make one: ddtree-ops init")
    fleet = _read(paths, mistakes)
    if mistakes:
        raise as_error(mistakes)
    if not fleet.hosts:
        raise as_error([Mistake(Place(paths, 1), "", "names no hosts")])
    return fleet


def _read(inventory: Path, mistakes: list[Mistake]) -> Fleet:
    topology = Topology(mistakes)
    for path in source_files(inventory, mistakes):
        root = read_yaml(path, mistakes)
        if isinstance(root, VaultNode):
            mistakes.append(Mistake(root.place, "", "is encrypted; hosts and groups must be readable"))
        elif root is not None:
            topology.add_file(root)
    topology.settle()
    files = VariableFiles(inventory, mistakes)
    resolver = Resolver(topology, files)
    folder = inventory if inventory.is_dir() else inventory.parent
    hosts = []
    alike: dict[tuple[str, ...], list[str]] = {}  # names of hosts by their groups
    for inline in topology.hosts.values():
        groups = resolver.groups_of(inline)
        hosts.append(Host(inline.name, groups, inline.place, resolver.variables_of(inline), folder))
        alike.setdefault(groups, []).append(inline.name)
    places = {group.name: group.place for group in topology.groups.values()}
    return Fleet(inventory, tuple(hosts), _members(alike, places), places)


def _members(alike: Mapping[tuple[str, ...], Iterable[str]], groups: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[Iterable[str]]] = {name: [] for name in groups}
    for names, hosts in alike.items():
        for group in (ALL, *names):
            found[group].append(hosts)
    return {group: tuple(chain.from_iterable(hosts)) for group, hosts in found.items()}
