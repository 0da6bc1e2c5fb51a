"""Hosts and groups of an inventory, as its files name them (before group_vars and host_vars)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from ddtree_ops.fleet.mistakes import Mistake, Place, nearest
from ddtree_ops.fleet.nodes import Entry, MapNode, Node, ScalarNode, kind
from ddtree_ops.fleet.ranges import MOST_HOSTS, HostPattern, read_pattern

ALL = "all"
UNGROUPED = "ungrouped"
_SECTIONS = ("hosts", "vars", "children")
_PRIORITY = "ansible_group_priority"
_MOST_PLACES = 10 * MOST_HOSTS  # a host may stand in several groups
_MOST_NAME = 240  # bytes; group_vars/NAME.yaml must fit a file name, of which Linux takes 255 (limits.h, NAME_MAX)


@dataclass
class Group:
    """A group while the files are read. `priority` orders groups of one depth (Ansible's default is 1)."""

    name: str
    place: Place
    variables: dict[str, Entry] = field(default_factory=dict)
    children: dict[str, Place] = field(default_factory=dict)
    hosts: dict[str, Place] = field(default_factory=dict)
    priority: int = 1


@dataclass
class InlineHost:
    """A host with the variables that stand beside its name."""

    name: str
    place: Place
    variables: dict[str, Entry] = field(default_factory=dict)


class Topology:
    """Groups, hosts and who belongs to whom; filled by `add_file`, then closed by `settle`."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        self.groups: dict[str, Group] = {}
        self.hosts: dict[str, InlineHost] = {}
        self._mistakes = mistakes
        self._depths: dict[str, int] = {}
        self._parents: dict[str, set[str]] = {}
        self._places = 0  # in which hosts stand, over all groups
        self._full = False
        self._direct: dict[str, list[str]] = {}
        self._all_groups: dict[tuple[str, ...], tuple[str, ...]] = {}

    def add_file(self, root: Node) -> None:
        """Take in one inventory file: a mapping of groups."""
        if not isinstance(root, MapNode):
            self._wrong(root.place, "", f"an inventory file is a mapping of groups, this is {kind(root)}")
            return
        if root.get("plugin"):
            self._wrong(root.place, "plugin", "configures an inventory plugin; only plain YAML inventories are read")
            return
        for entry in root.entries:
            self._add_group(entry)

    def settle(self) -> None:
        """Hang groups without parents below `all`, hosts without groups into `ungrouped`, and compute depths."""
        anywhere = next(iter(self.groups.values()), None)
        if anywhere is None:
            return
        for name in (ALL, UNGROUPED):
            self.groups.setdefault(name, Group(name, anywhere.place))
        grouped = {host for group in self.groups.values() if group.name not in (ALL, UNGROUPED) for host in group.hosts}
        self.groups[UNGROUPED].hosts = {h.name: h.place for h in self.hosts.values() if h.name not in grouped}
        children = {child for group in self.groups.values() for child in group.children}
        for group in self.groups.values():
            if group.name != ALL and group.name not in children:
                self.groups[ALL].children[group.name] = group.place
        for group in self.groups.values():
            for child in group.children:
                self._parents.setdefault(child, set()).add(group.name)
            for host in group.hosts:
                self._direct.setdefault(host, []).append(group.name)
        self._measure()

    def group_names_of(self, host: str) -> tuple[str, ...]:
        """Every group of a host but `all`, in order of rising precedence: by depth, then priority, then name.

        Hosts that stand in the same groups get the same tuple.
        """
        direct = tuple(self._direct.get(host, ()))
        if direct not in self._all_groups:
            self._all_groups[direct] = self._with_parents(direct)
        return self._all_groups[direct]

    def _with_parents(self, direct: tuple[str, ...]) -> tuple[str, ...]:
        found: set[str] = set()
        waiting = list(direct)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._parents.get(name, ())
        found.discard(ALL)
        return tuple(sorted(found, key=lambda name: (self._depths.get(name, 0), self.groups[name].priority, name)))

    def _measure(self) -> None:
        """The depth of a group is its longest way from `all`; with a loop of groups, depths have no meaning."""
        sorter = TopologicalSorter({name: self._parents.get(name, set()) for name in self.groups})
        try:
            order = tuple(sorter.static_order())
        except CycleError as error:
            self._tell_loop(error.args[1])
            return
        for name in order:  # parents first
            self._depths[name] = max((self._depths[parent] + 1 for parent in self._parents.get(name, ())), default=0)

    def _tell_loop(self, loop: list[str]) -> None:
        """`loop` leads from each group to one that it contains, and ends where it began."""
        steps = ((self.groups[name].children[child], name, child) for name, child in pairwise(loop))
        place, name, child = max(steps, key=lambda step: step[0])  # the last one that was written closes it
        self._wrong(place, f"{name}.children.{child}", f"group '{child}' contains itself")

    def _add_group(self, entry: Entry) -> str | None:
        name = self._name(entry, "group")
        if name is None:
            return None
        if problem := name_problem(name):
            self._wrong(entry.place, name[:40], f"the name of a group {problem}")
            return None
        group = self.groups.setdefault(name, Group(name, entry.place))
        for section in self._mapping(entry.value, name):
            key = f"{name}.{section.key}"
            if section.key not in _SECTIONS:
                text = f"unknown key of a group; known are hosts, vars, children{nearest(str(section.key), _SECTIONS)}"
                self._wrong(section.place, key, text)
                continue
            for item in self._mapping(section.value, key, place=section.place):
                self._add_item(group, str(section.key), item)
        return name

    def _add_item(self, group: Group, section: str, item: Entry) -> None:
        name = self._name(item, {"hosts": "host", "vars": "variable", "children": "group"}[section])
        if name is None:
            return
        if section == "children":
            if self._add_group(item) is not None:
                group.children.setdefault(name, item.place)
        elif section == "hosts":
            self._add_hosts(group, name, item)
        elif name == _PRIORITY:
            self._set_priority(group, item)
        else:
            group.variables[name] = item

    def _add_hosts(self, group: Group, pattern: str, item: Entry) -> None:
        try:
            read = read_pattern(pattern)
        except ValueError as error:
            self._wrong(item.place, f"{group.name}.hosts", str(error))
            return
        variables = variables_of(self._mapping(item.value, f"{group.name}.hosts.{pattern}"))
        for name in self._names(read, group, item.place):
            host = self.hosts.setdefault(name, InlineHost(name, item.place))
            group.hosts.setdefault(name, item.place)
            if read.port is not None:
                node = ScalarNode(read.port, str(read.port), item.place)
                host.variables["ansible_port"] = Entry("ansible_port", item.place, node)
            host.variables.update(variables)

    def _names(self, pattern: HostPattern, group: Group, place: Place) -> tuple[str, ...]:
        """The names that a pattern stands for; none once the inventory is full, which is told once."""
        key = f"{group.name}.hosts"
        self._places += pattern.count
        if self._full or self._places > _MOST_PLACES:
            return self._refuse(place, key, f"hosts stand in more than {_MOST_PLACES} places of groups")
        names = pattern.names()
        if len(self.hosts) + sum(name not in self.hosts for name in names) > MOST_HOSTS:
            return self._refuse(place, key, f"the inventory has more than {MOST_HOSTS} hosts; split it")
        problem = next(filter(None, map(name_problem, names)), None)
        if problem:
            self._wrong(place, key, f"the name of a host {problem}")
            return ()
        return names

    def _refuse(self, place: Place, key: str, text: str) -> tuple[str, ...]:
        if not self._full:
            self._wrong(place, key, text)
        self._full = True
        return ()

    def _set_priority(self, group: Group, item: Entry) -> None:
        value = item.value.value if isinstance(item.value, ScalarNode) else None
        try:
            group.priority = int(str(value))
        except ValueError:
            self._wrong(item.place, f"{group.name}.vars.{_PRIORITY}", "expected a whole number")

    def _mapping(self, node: Node, key: str, *, place: Place | None = None) -> Iterator[Entry]:
        match node:
            case MapNode():
                yield from node.entries
            case ScalarNode(value=None):
                return
            case ScalarNode(value=str(name)) if place is not None:  # Ansible takes `hosts: web1` for one host
                yield Entry(name, node.place, ScalarNode(None, "", node.place))
            case _:
                self._wrong(place or node.place, key, f"expected a mapping, got {kind(node)}")

    def _name(self, entry: Entry, what: str) -> str | None:
        if isinstance(entry.key, str) and entry.key:
            return entry.key
        self._wrong(entry.place, str(entry.key), f"the name of a {what} must be text; put it in quotes")
        return None

    def _wrong(self, place: Place, key: str, text: str) -> None:
        self._mistakes.append(Mistake(place, key, text))


def name_problem(name: str) -> str | None:
    """Why files of variables can't have this name, or None."""
    if "\0" in name:
        return "holds a NUL byte"
    length = len(name.encode("utf-8", "surrogatepass"))
    return f"has {length} bytes; a file name takes at most {_MOST_NAME}" if length > _MOST_NAME else None


def variables_of(entries: Iterable[Entry]) -> Mapping[str, Entry]:
    """Entries by name; names that aren't text can't be used as variables and are left out, as in Ansible."""
    return {entry.key: entry for entry in entries if isinstance(entry.key, str)}
