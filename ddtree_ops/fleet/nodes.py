"""YAML values that remember where they stand.

A plain `yaml.load` forgets lines, and a message without a line sends people searching. So inventories are held as
these nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ddtree_ops.fleet.mistakes import Place


@dataclass(frozen=True, slots=True)
class Vault:
    """A value that ansible-vault encrypted. It is never decrypted here, and it has nothing that could be printed."""

    def __repr__(self) -> str:
        return "<vault>"


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """Text, number, yes/no, date or null. `text` is what the file says; `unsafe` text is not a template for Ansible."""

    value: object
    text: str
    place: Place
    unsafe: bool = False


@dataclass(frozen=True, slots=True)
class VaultNode:
    """A `!vault` value, or a whole encrypted file."""

    place: Place


@dataclass(frozen=True, slots=True)
class ListNode:
    items: tuple[Node, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping; `place` is the key's."""

    key: object
    place: Place
    value: Node


@dataclass(frozen=True, slots=True)
class MapNode:
    entries: tuple[Entry, ...]
    place: Place

    def get(self, key: object) -> Entry | None:
        """The entry of `key`; keys of one mapping are distinct (the reader refuses others)."""
        return next((entry for entry in self.entries if entry.key == key), None)


Node = ScalarNode | VaultNode | ListNode | MapNode


def plain(node: Node) -> object:
    """The ordinary Python value: dict, list, str, int, ...; vault values become `Vault()`."""
    match node:
        case ScalarNode():
            return node.value
        case VaultNode():
            return Vault()
        case ListNode():
            return [plain(item) for item in node.items]
        case MapNode():
            return {entry.key: plain(entry.value) for entry in node.entries}


def walk(node: Node, key: tuple[object, ...] = ()) -> Iterator[tuple[tuple[object, ...], Node]]:
    """Every node below and including `node`, with the keys that lead to it."""
    yield key, node
    if isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            yield from walk(item, (*key, index))
    elif isinstance(node, MapNode):
        for entry in node.entries:
            yield from walk(entry.value, (*key, entry.key))


def kind(node: Node) -> str:
    """What a person would call this value; never shows the value itself, which may be a secret."""
    if not isinstance(node, ScalarNode):
        return {VaultNode: "a vault value", ListNode: "a list", MapNode: "a mapping"}[type(node)]
    if node.value is None:
        return "nothing"
    names: tuple[tuple[type, str], ...] = (
        (bool, "a yes/no value"),
        (int, "a number"),
        (float, "a number with a fraction"),
        (str, "text"),
    )
    return next((name for type_, name in names if isinstance(node.value, type_)), "a date")
