"""Read one YAML file of an inventory into nodes, as Ansible would read it, but stricter.

Ansible only warns about a repeated key and takes the last one; here that is a mistake, because the value that was lost is
usually the one that somebody meant. `!vault` and `!unsafe` are Ansible's own tags
(ansible/_internal/_yaml/_constructor.py, ansible-core 2.19).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import yaml

from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.mistakes import Mistake, Place, as_error
from ddtree_ops.fleet.nodes import Entry, ListNode, MapNode, Node, ScalarNode, VaultNode, plain
from ddtree_ops.fleet.regular_file import read_regular

_VAULT_TAGS = ("!vault", "!vault-encrypted")
_UNSAFE_TAG = "!unsafe"
_MERGE_TAG = "tag:yaml.org,2002:merge"
_STANDARD_TAGS = "tag:yaml.org,2002:"
_ENCRYPTED_FILE = b"$ANSIBLE_VAULT;"
_MAX_NODES = 100_000  # far above any inventory; aliases of aliases can make a small file explode
_MAX_DEPTH = 60
_MAX_BYTES = 4 * 2**20  # as nodes of libyaml they take a hundred times as much
_MAX_BITS = 1024  # of a number; Python refuses to print one of more than 4300 digits
_SCALARS = (str, bool, int, float, bytes, datetime.date, type(None))

# libyaml's loader is eight times faster; PyYAML built without libyaml has only the other one.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# PyYAML's constructors raise whatever their conversions raise: KeyError for `!!bool maybe`, AttributeError for
# `!!timestamp x`, IndexError for `!!int ""`. Nothing else runs below these handlers.
_ANY_OF_PYYAML = Exception


class _Rejected(Exception):
    """Stops reading of the current file; the mistake is already written down."""


def read_yaml(path: Path, mistakes: list[Mistake]) -> Node | None:
    """The file's root node; None if it is empty or unreadable (then `mistakes` has grown).

    The only reader of YAML that people write: whatever such a file holds becomes nodes or mistakes.
    """
    try:
        data = read_regular(path, _MAX_BYTES)
    except InvalidInventory as error:
        reason = error.message.removeprefix(f"{path}: ")
        mistakes.append(Mistake(Place(path, 1), "", f"{reason}; {error.hint}"))
        return None
    if data.startswith(_ENCRYPTED_FILE):
        return VaultNode(Place(path, 1))
    return _Reader(path, data, mistakes).read()


def read_plain(path: Path) -> object:
    """A YAML file as ordinary Python values. Raises InvalidInventory with all its mistakes."""
    mistakes: list[Mistake] = []
    root = read_yaml(path, mistakes)
    if mistakes:
        raise as_error(mistakes)
    return None if root is None else plain(root)


class _Reader:
    def __init__(self, path: Path, data: bytes, mistakes: list[Mistake]) -> None:
        self._path = path
        self._data = data
        self._mistakes = mistakes
        self._count = 0

    def read(self) -> Node | None:
        try:
            text = self._data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self._data.count(b"\n", 0, error.start) + 1
            self._mistakes.append(Mistake(Place(self._path, line), "", "is not UTF-8 text"))
            return None
        try:
            self._loader = _Loader(text)
            root = self._loader.get_single_node()
            return None if root is None else self._build(root, 0, unsafe=False)
        except yaml.YAMLError as error:
            self._mistakes.append(_syntax_mistake(self._path, text, error))
        except RecursionError:
            self._mistakes.append(Mistake(Place(self._path, 1), "", "is nested too deeply"))
        except _Rejected:
            pass
        except _ANY_OF_PYYAML as error:
            self._mistakes.append(Mistake(Place(self._path, 1), "", f"is not YAML that can be read: {type(error).__name__}"))
        return None

    def _build(self, node: yaml.Node, depth: int, *, unsafe: bool) -> Node:
        self._count += 1
        if depth > _MAX_DEPTH or self._count > _MAX_NODES:
            raise self._reject(node, "is too large or nested too deeply (does an alias contain itself?)")
        place = self._place(node)
        if node.tag in _VAULT_TAGS:
            return VaultNode(place)
        unsafe = unsafe or node.tag == _UNSAFE_TAG
        if not unsafe and not node.tag.startswith(_STANDARD_TAGS):
            raise self._reject(node, f"unknown tag {node.tag!r}; inventories know !vault and !unsafe")
        if isinstance(node, yaml.SequenceNode):
            return ListNode(tuple(self._build(item, depth + 1, unsafe=unsafe) for item in node.value), place)
        if isinstance(node, yaml.MappingNode):
            return MapNode(tuple(self._entries(node, depth, unsafe=unsafe)), place)
        value = node.value if node.tag == _UNSAFE_TAG else self._scalar(node)
        return ScalarNode(value, node.value, place, unsafe)

    def _entries(self, node: yaml.MappingNode, depth: int, *, unsafe: bool) -> Iterator[Entry]:
        self._refuse_repeated_keys(node)
        self._loader.flatten_mapping(node)  # `<<: *anchor`: the merged keys come first, the mapping's own win
        last = {self._scalar(key): (key, value) for key, value in node.value}
        for name, (key, value) in last.items():
            yield Entry(name, self._place(key), self._build(value, depth + 1, unsafe=unsafe))

    def _refuse_repeated_keys(self, node: yaml.MappingNode) -> None:
        seen: dict[object, int] = {}
        for key, _ in node.value:
            if key.tag == _MERGE_TAG:
                continue
            name = self._scalar(key)
            if name in seen:
                self._mistakes.append(Mistake(self._place(key), str(name), f"repeats the key of line {seen[name]}"))
            seen[name] = key.start_mark.line + 1

    def _scalar(self, node: yaml.Node) -> object:
        if not isinstance(node, yaml.ScalarNode):
            raise self._reject(node, "a key must be a single value; quote it if it starts with '{' or '['")
        try:
            value = self._loader.construct_object(node)
        except _ANY_OF_PYYAML as error:
            raise self._reject(node, "looks like a number or date, but isn't one; quote it") from error
        if not isinstance(value, _SCALARS):
            raise self._reject(node, f"a single value can't be {node.tag!r}; leave the tag out")
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            raise self._reject(node, "is too large for a number; quote it if it is text")
        return value

    def _place(self, node: yaml.Node) -> Place:
        return Place(self._path, node.start_mark.line + 1, node.start_mark.column + 1)

    def _reject(self, node: yaml.Node, text: str) -> _Rejected:
        self._mistakes.append(Mistake(self._place(node), "", text))
        return _Rejected(text)


def _syntax_mistake(path: Path, text: str, error: yaml.YAMLError) -> Mistake:
    if not isinstance(error, yaml.MarkedYAMLError):
        return Mistake(Place(path, 1), "", f"is not YAML: {' '.join(str(error).split())}")
    mark = error.problem_mark or error.context_mark
    place = Place(path, mark.line + 1, mark.column + 1) if mark else Place(path, 1)
    problem = error.problem or error.context or "can't be parsed"
    if mark and _character(text, mark) == "\t":
        problem = "a tab can't indent YAML; use spaces"
    elif "mapping values are not allowed" in problem:
        problem += "; a value that contains ': ' needs quotes, and keys of one mapping stand in one column"
    return Mistake(place, "", f"is not valid YAML: {problem}")


def _character(text: str, mark: yaml.Mark) -> str:
    lines = text.split("\n")
    return lines[mark.line][mark.column : mark.column + 1] if mark.line < len(lines) else ""
