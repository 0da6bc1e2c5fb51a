"""From a host's variables to its ServingSpec, with every mistake at its file and line.

Field errors come from the models. A wrong field is then taken out and the rest judged again, so that the rules between
fields (`checks.py`) are applied in the same round to whatever is sound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ddtree_ops.fleet.checks import CHECKS, Loc, Surroundings
from ddtree_ops.fleet.merge import MergedSpec
from ddtree_ops.fleet.mistakes import Mistake, Place
from ddtree_ops.fleet.nodes import Entry, ListNode, MapNode, Node, ScalarNode, plain, walk
from ddtree_ops.fleet.phrases import phrase
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.fleet.templates import has_marks, is_template

_ROUNDS = 4  # taking out a wrong field may leave a required one missing, which is then filled in; two rounds are usual
_MARKED = "holds '{{', '{%' or '{#', which Ansible would evaluate on the way to the host; !unsafe doesn't keep it from that"
_PLACEHOLDERS: dict[str, object] = {
    "model": {"path": "/placeholder"},
    "path": "/placeholder",
    "prompt": "placeholder",
    "reason": "placeholder",
    "until": "2000-01-01",
}


def load_spec(around: Surroundings) -> tuple[ServingSpec | None, tuple[Mistake, ...]]:
    """The spec of a host that has `ddtree_serving` or its defaults; None if there is any mistake."""
    mistakes: list[Mistake] = []
    merged = MergedSpec(around.variables, mistakes)
    if not merged.usable:
        return None, tuple(mistakes)
    loading = _Loading(merged, around)
    mistakes += loading.run()
    return (None, tuple(mistakes)) if mistakes else (loading.spec, ())


class _Loading:
    def __init__(self, merged: MergedSpec, around: Surroundings) -> None:
        self._merged = merged
        self._around = around
        self._wrong: set[Loc] = set()
        self.spec: ServingSpec | None = None

    def run(self) -> Iterator[Mistake]:
        # `runtime:` with nothing behind it means the same as leaving it out.
        data = {entry.key: value for entry in self._merged.root.entries if (value := plain(entry.value)) is not None}
        for loc, text in _unusable_values(self._merged.root):
            self._wrong.add(loc)
            _take_out(data, loc)
            yield self._mistake(loc, text)
        for _ in range(_ROUNDS):
            try:
                self.spec = ServingSpec.model_validate(data)
                break
            except ValidationError as error:
                yield from self._field_mistakes(data, error.errors(include_url=False))
        if self.spec is not None:
            yield from self._cross_mistakes(self.spec)

    def _field_mistakes(self, data: Any, errors: list[ErrorDetails]) -> Iterator[Mistake]:
        for error in errors:
            loc = tuple(part for part in error["loc"] if part != "[key]")
            missing = error["type"] == "missing"
            if loc not in self._wrong and not (missing and loc[:-1] in self._wrong):
                yield self._mistake(loc, phrase(error, self._node(loc)))
            self._wrong.add(loc)
            if missing:
                _fill_in(data, loc)
            else:
                _take_out(data, loc)

    def _cross_mistakes(self, spec: ServingSpec) -> Iterator[Mistake]:
        for check in CHECKS:
            if any(_touches(wrong, field) for wrong in self._wrong for field in check.reads):
                continue
            for loc, text in check.complaints(spec, self._around):
                yield self._mistake(loc, text)

    def _mistake(self, loc: Loc, text: str) -> Mistake:
        return Mistake(self._place(loc), self._merged.key(loc), text)

    def _place(self, loc: Loc) -> Place:
        """The key's place, or that of the nearest key above it if it isn't written at all."""
        place = self._merged.entry.place
        for step in _steps(self._merged.root, loc):
            place = step.place
        return place

    def _node(self, loc: Loc) -> Node | None:
        steps = list(_steps(self._merged.root, loc))
        if len(steps) < len(loc):
            return None
        last = steps[-1]
        return last.value if isinstance(last, Entry) else last


def _steps(node: Node, loc: Loc) -> Iterator[Entry | Node]:
    for part in loc:
        if isinstance(node, MapNode) and (entry := node.get(part)):
            yield entry
            node = entry.value
        elif isinstance(node, ListNode) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            yield node
        else:
            return


def _unusable_values(root: Node) -> Iterator[tuple[Loc, str]]:
    """Templates, keys that aren't text, and numbers that YAML 1.1 reads in a way that surprises people."""
    for keys, node in walk(root):
        loc: Loc = tuple(key if isinstance(key, int) and not isinstance(key, bool) else str(key) for key in keys)
        if isinstance(node, MapNode):
            yield from (((*loc, str(entry.key)), _MARKED) for entry in node.entries if has_marks(entry.key))
        if not isinstance(node, ScalarNode):
            continue
        if is_template(node):
            yield loc, "is a Jinja template, which only Ansible can evaluate; write the value itself"
        elif has_marks(node.value):
            yield loc, _MARKED
        elif isinstance(node.value, int | float) and not isinstance(node.value, bool):
            digits = node.text.lstrip("+-").replace("_", "")
            if loc[-1:] == ("budget_schedule",):
                continue  # the model says what a schedule looks like
            if ":" in digits or (len(digits) > 1 and digits.startswith("0") and digits.isdigit()):
                yield (
                    loc,
                    f"YAML reads {node.text} as {node.value}; put it in quotes if it is text, else write the plain number",
                )


def _touches(wrong: Loc, field: Loc) -> bool:
    length = min(len(wrong), len(field))
    return wrong[:length] == field[:length]


def _take_out(data: Any, loc: Loc) -> None:
    for part in loc[:-1]:
        data = _child(data, part)
    if isinstance(data, dict):
        data.pop(loc[-1], None)
    elif isinstance(data, list) and isinstance(loc[-1], int) and loc[-1] < len(data):
        data[loc[-1]] = {"prompt": "placeholder"} if loc[0] == "smoke" else "/placeholder"


def _child(data: Any, part: int | str) -> Any:
    if isinstance(data, dict):
        return data.get(part)
    return data[part] if isinstance(data, list) and isinstance(part, int) else None


def _fill_in(data: Any, loc: Loc) -> None:
    for part in loc[:-1]:
        data = data[part]
    data[loc[-1]] = _PLACEHOLDERS[str(loc[-1])]
