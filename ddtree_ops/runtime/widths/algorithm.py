"""Who provides an algorithm in a tree: SGLang's own enumeration, or plugins that register it.

Facts of sglang 0.5.12 to 0.5.23, srt/speculative/spec_info.py: `SpeculativeAlgorithm.register(NAME, validate_server_args=...,
spec_class=...)` gives a decorator for the worker's factory, and a name that the enumeration has can't be registered. Plugins are
entry points of the group `sglang.srt.plugins` (srt/plugins/__init__.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ddtree_ops.runtime.widths.sources import Module, Names, Scope, called, package_of
from ddtree_ops.runtime.widths.terms import Place

SPEC_INFO = "srt/speculative/spec_info.py"
PLUGIN_LOADER = "srt/plugins/__init__.py"
_REGISTERING = frozenset({"register", "register_algorithm"})


@dataclass(frozen=True, eq=False)
class Registration:
    """One `register(...)` of the algorithm; `spec_class` and `validate` are names of the same package, if given."""

    place: Place
    spec_class: str | None
    validate: str | None
    scope: Scope

    @property
    def package(self) -> str:
        """The package that registers it."""
        return package_of(self.place.file)


def registrations(modules: Iterable[Module], names: Names, algorithm: str) -> Iterator[Registration]:
    """Every place that registers the algorithm."""
    wanted = {id(module) for module in modules}
    for name in sorted(_REGISTERING):
        for call, scope in names.calls.get(name, ()):
            if id(scope.module) in wanted and call.args and _text(call.args[0], scope, names).upper() == algorithm:
                given = {one.arg: _last_name(one.value) for one in call.keywords}
                place = scope.module.place(call)
                yield Registration(place, given.get("spec_class"), given.get("validate_server_args"), scope)


def member(module: Module, algorithm: str) -> Place | None:
    """Where SGLang's own enumeration names the algorithm, or None."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef) and node.name == "SpeculativeAlgorithm":
            for line in node.body:
                targets = line.targets if isinstance(line, ast.Assign) else ()
                if any(isinstance(one, ast.Name) and one.id == algorithm for one in targets):
                    return module.place(line)
    return None


def reachable(names: Names, start: str) -> set[str]:
    """Names of functions that a function calls, itself included, as far as they are defined in the parsed files."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in names.functions:
            continue
        seen.add(name)
        for function, _ in names.functions[name]:
            waiting.extend(called(one) for one in ast.walk(function) if isinstance(one, ast.Call))
    return seen


def _text(node: ast.expr, scope: Scope, names: Names) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        here = [one for one in names.globals.get(node.id, []) if one.scope.module is scope.module]
        for one in here or names.globals.get(node.id, []):
            if isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                return one.value.value
    return ""


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
