"""What a host's variables are, by Ansible's precedence.

From low to high, a higher one replaces the whole value (docs.ansible.com, "Understanding variable precedence", entries 3
to 10; ansible/vars/manager.py and VARIABLE_PRECEDENCE in ansible-core 2.19):
`all` in an inventory file; other groups in an inventory file; group_vars/all; group_vars/GROUP; the host in an inventory
file; host_vars/HOST. Among groups: parents before children, then ansible_group_priority, then the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ddtree_ops.fleet.files import variable_files
from ddtree_ops.fleet.groups import ALL, InlineHost, Topology, variables_of
from ddtree_ops.fleet.mistakes import Mistake
from ddtree_ops.fleet.nodes import Entry, MapNode, Node, ScalarNode, VaultNode, kind
from ddtree_ops.fleet.source import read_yaml


@dataclass(frozen=True, slots=True)
class HostVariables:
    """`encrypted_files` are group_vars or host_vars files that ansible-vault encrypted whole: what they hold is unknown."""

    entries: Mapping[str, Entry]
    encrypted_files: tuple[Path, ...] = ()


class VariableFiles:
    """Reads group_vars and host_vars, each file once."""

    def __init__(self, inventory: Path, mistakes: list[Mistake]) -> None:
        self._inventory = inventory
        self._mistakes = mistakes
        self._read: dict[tuple[str, str], HostVariables] = {}

    def of_group(self, name: str) -> HostVariables:
        return self._of("group_vars", name)

    def of_host(self, name: str) -> HostVariables:
        return self._of("host_vars", name)

    def _of(self, folder: str, name: str) -> HostVariables:
        key = (folder, name)
        if key not in self._read:
            self._read[key] = self._load(variable_files(self._inventory, folder, name, self._mistakes))
        return self._read[key]

    def _load(self, paths: tuple[Path, ...]) -> HostVariables:
        entries: dict[str, Entry] = {}
        encrypted: list[Path] = []
        for path in paths:
            root = read_yaml(path, self._mistakes)
            if isinstance(root, VaultNode):
                encrypted.append(path)
            elif root is not None:
                entries.update(self._entries(root))
        return HostVariables(entries, tuple(encrypted))

    def _entries(self, root: Node) -> Mapping[str, Entry]:
        if isinstance(root, MapNode):
            return variables_of(root.entries)
        if not (isinstance(root, ScalarNode) and root.value is None):
            text = f"a file of variables is a mapping, this is {kind(root)}"
            self._mistakes.append(Mistake(root.place, "", text))
        return {}


class Resolver:
    """The variables of hosts, each the winner of all places that set it. What hosts of the same groups share is laid once."""

    def __init__(self, topology: Topology, files: VariableFiles) -> None:
        self._topology = topology
        self._files = files
        self._of_groups: dict[tuple[str, ...], HostVariables] = {}

    def groups_of(self, host: InlineHost) -> tuple[str, ...]:
        """Names of all its groups but `all`, the more specific ones last."""
        return self._topology.group_names_of(host.name)

    def variables_of(self, host: InlineHost) -> HostVariables:
        """All of one host."""
        groups = self.groups_of(host)
        if groups not in self._of_groups:
            self._of_groups[groups] = self._laid(groups)
        return _merged((self._of_groups[groups], HostVariables(host.variables), self._files.of_host(host.name)))

    def _laid(self, groups: tuple[str, ...]) -> HostVariables:
        names = (ALL, *groups)
        inline = (HostVariables(self._topology.groups[name].variables) for name in names)
        return _merged((*inline, *(self._files.of_group(name) for name in names)))


def _merged(layers: tuple[HostVariables, ...]) -> HostVariables:
    entries: dict[str, Entry] = {}
    for layer in layers:
        entries.update(layer.entries)
    return HostVariables(entries, tuple(path for layer in layers for path in layer.encrypted_files))
