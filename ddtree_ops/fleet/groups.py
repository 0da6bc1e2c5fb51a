"""Hosts and groups of an inventory, as its files name them (before group_vars and host_vars)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ddtree_ops.fleet.mistakes import Mistake, Place, nearest
from ddtree_ops.fleet.nodes import Entry, MapNode, Node, ScalarNode, kind
from ddtree_ops.fleet.ranges import expand_pattern

ALL = "all"
UNGROUPED = "ungrouped"
_SECTIONS = ("hosts", "vars", "children")
_PRIORITY = "ansible_group_priority"


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
            for child in group.children:
                self._parents.setdefault(child, set()).add(group.name)
        if not self._has_loop():
            self._measure(ALL, 0)

    def groups_of(self, host: str) -> tuple[Group, ...]:
        """Every group of a host but `all`, in order of rising precedence: by depth, then priority, then name."""
        found: set[str] = set()
        waiting = [group.name for group in self.groups.values() if host in group.hosts]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._parents.get(name, ())
        found.discard(ALL)
        chosen = (self.groups[name] for name in found)
        return tuple(sorted(chosen, key=lambda group: (self._depths.get(group.name, 0), group.priority, group.name)))

    def _has_loop(self) -> bool:
        """Write down the first loop of groups; depths have no meaning with one."""
        finished: set[str] = set()
        return any(self._finds_loop(name, (), finished) for name in list(self.groups))

    def _finds_loop(self, name: str, path: tuple[str, ...], finished: set[str]) -> bool:
        if name in finished:
            return False
        for child, place in self.groups[name].children.items():
            if child in (*path, name):
                self._wrong(place, f"{name}.children.{child}", f"group '{child}' contains itself")
                return True
            if self._finds_loop(child, (*path, name), finished):
                return True
        finished.add(name)
        return False

    def _measure(self, name: str, depth: int) -> None:
        """The depth of a group is its longest way from `all`."""
        if depth >= self._depths.get(name, 0):
            self._depths[name] = depth
            for child in self.groups[name].children:
                self._measure(child, depth + 1)

    def _add_group(self, entry: Entry) -> str | None:
        name = self._name(entry, "group")
        if name is None:
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
            self._add_group(item)
            group.children.setdefault(name, item.place)
        elif section == "hosts":
            self._add_hosts(group, name, item)
        elif name == _PRIORITY:
            self._set_priority(group, item)
        else:
            group.variables[name] = item

    def _add_hosts(self, group: Group, pattern: str, item: Entry) -> None:
        try:
            names, port = expand_pattern(pattern)
        except ValueError as error:
            self._wrong(item.place, f"{group.name}.hosts", str(error))
            return
        variables = variables_of(self._mapping(item.value, f"{group.name}.hosts.{pattern}"))
        for name in names:
            host = self.hosts.setdefault(name, InlineHost(name, item.place))
            group.hosts.setdefault(name, item.place)
            if port is not None:
                host.variables["ansible_port"] = Entry("ansible_port", item.place, ScalarNode(port, str(port), item.place))
            host.variables.update(variables)

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


def variables_of(entries: Iterable[Entry]) -> Mapping[str, Entry]:
    """Entries by name; names that aren't text can't be used as variables and are left out, as in Ansible."""
    return {entry.key: entry for entry in entries if isinstance(entry.key, str)}
