"""`ddtree_serving_defaults` below `ddtree_serving`, and one spelling for the names of server arguments.

Ansible replaces a mapping as a whole: a host that sets `ddtree_serving` would lose what its group said. So a group says
`ddtree_serving_defaults`, which is laid below `ddtree_serving` key by key: first the sections (`runtime`), then the
keys of a section (`runtime.lock`). What is deeper (a budget schedule, a JSON argument, a secret's reference) is one
value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ddtree_ops.fleet.mistakes import Mistake
from ddtree_ops.fleet.nodes import Entry, MapNode, Node, ScalarNode, kind
from ddtree_ops.fleet.server_args import canonical
from ddtree_ops.fleet.templates import is_template

SERVING = "ddtree_serving"
DEFAULTS = "ddtree_serving_defaults"
_SERVER_ARGS = "server_args"


class MergedSpec:
    """The merged mapping. `key` tells the full name of a place in it, with the variable that it came from.

    `usable` is false if one of the variables isn't a mapping at all.
    """

    def __init__(self, variables: Mapping[str, Entry], mistakes: list[Mistake]) -> None:
        self._mistakes = mistakes
        self._from_defaults: set[tuple[object, ...]] = set()
        self.usable = True
        self.entry = variables[SERVING] if SERVING in variables else variables[DEFAULTS]
        layers = {name: self._sections(variables[name]) for name in (DEFAULTS, SERVING) if name in variables}
        self.root = self._merge(layers.get(DEFAULTS), layers.get(SERVING))

    def key(self, loc: tuple[object, ...]) -> str:
        """Dotted name of a place, e.g. `ddtree_serving.smoke[0].prompt`."""
        variable = SERVING
        if any(loc[:length] in self._from_defaults for length in (1, 2)):
            variable = DEFAULTS
        return variable + "".join(f"[{part}]" if self._is_index(loc[:at]) else f".{part}" for at, part in enumerate(loc))

    def _is_index(self, parent: tuple[object, ...]) -> bool:
        node: Node = self.root
        for part in parent:
            entry = node.get(part) if isinstance(node, MapNode) else None
            if entry is None:
                return False
            node = entry.value
        return not isinstance(node, MapNode | ScalarNode)

    def _sections(self, entry: Entry) -> MapNode:
        node = entry.value
        if isinstance(node, MapNode):
            entries = (self._section(str(entry.key), section) for section in node.entries)
            return MapNode(tuple(entries), node.place)
        if not (isinstance(node, ScalarNode) and node.value is None):
            template = isinstance(node, ScalarNode) and is_template(node)
            got = "a Jinja template, which only Ansible can evaluate" if template else kind(node)
            self._mistakes.append(Mistake(entry.place, str(entry.key), f"expected a mapping, got {got}"))
            self.usable = False
        return MapNode((), entry.place)

    def _section(self, variable: str, section: Entry) -> Entry:
        if section.key != _SERVER_ARGS or not isinstance(section.value, MapNode):
            return section
        entries = tuple(self._one_spelling(variable, section.value))
        return Entry(section.key, section.place, MapNode(entries, section.value.place))

    def _one_spelling(self, variable: str, node: MapNode) -> Iterator[Entry]:
        first: dict[str, Entry] = {}
        for entry in node.entries:
            written = str(entry.key)
            name = written if written.startswith("-") else canonical(written)
            if name in first:
                text = f"is the same argument as '{first[name].key}' of line {first[name].place.line}"
                self._mistakes.append(Mistake(entry.place, f"{variable}.{_SERVER_ARGS}.{written}", text))
                continue
            first[name] = entry
            yield Entry(name, entry.place, entry.value)

    def _merge(self, below: MapNode | None, above: MapNode | None) -> MapNode:
        if below is None or above is None:
            self._mark((), below)
            return below or above or MapNode((), self.entry.place)
        return self._layered((), below, above)

    def _layered(self, loc: tuple[object, ...], below: MapNode, above: MapNode) -> MapNode:
        entries = {entry.key: entry for entry in below.entries}
        for entry in above.entries:
            lower = entries.get(entry.key)
            if not loc and lower and isinstance(lower.value, MapNode) and isinstance(entry.value, MapNode):
                merged = self._layered((entry.key,), lower.value, entry.value)
                entries[entry.key] = Entry(entry.key, entry.place, merged)
            else:
                entries[entry.key] = entry
        own = {entry.key for entry in above.entries}
        self._from_defaults |= {(*loc, key) for key in entries if key not in own}
        return MapNode(tuple(entries.values()), above.place)

    def _mark(self, loc: tuple[object, ...], node: MapNode | None) -> None:
        if node is not None:
            self._from_defaults |= {(*loc, entry.key) for entry in node.entries}
