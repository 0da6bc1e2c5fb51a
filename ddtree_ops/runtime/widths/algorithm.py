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
    validator: ast.expr | None = None
    unread: bool = False
    """What it registers isn't read: `**words`, a class or function that is no plain name, or a name given elsewhere."""

    @property
    def package(self) -> str:
        """The package that registers it."""
        return package_of(self.place.file)


def registrations(modules: Iterable[Module], names: Names, algorithm: str) -> Iterator[Registration]:
    """Every place that registers the algorithm; SGLang takes its name in any case."""
    modules = list(modules)
    unread = {package_of(place.file) for place in unreadable(modules, names)}
    wanted = {id(module) for module in modules}
    for call, scope in _registering(names):
        if id(scope.module) in wanted and (_text(_named(call), scope, names) or "").upper() == algorithm:
            given = {one.arg: one.value for one in call.keywords}
            spec_class, validate = (_last_name(given.get(word)) for word in ("spec_class", "validate_server_args"))
            opaque = None in given or any(_is_opaque(given.get(word)) for word in ("spec_class", "validate_server_args"))
            place = scope.module.place(call)
            yield Registration(
                place, spec_class, validate, scope, given.get("validate_server_args"), opaque or package_of(place.file) in unread
            )


def unreadable(modules: Iterable[Module], names: Names) -> list[Place]:
    """Where SGLang's registration is used with a name that can't be read."""
    read = {id(call.func) for call, scope in _registering(names) if _text(_named(call), scope, names) is not None}
    return [place for module in modules if _mentions(module) for place in _uses(module, read)]


def _mentions(module: Module) -> bool:
    return any("SpeculativeAlgorithm" in line or "register_algorithm" in line for line in module.lines)


def _uses(module: Module, read: set[int]) -> Iterator[Place]:
    owners = {"SpeculativeAlgorithm", "spec_registry"}
    plain = {"register_algorithm"}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            owners |= {one.asname for one in node.names if one.name in owners and one.asname}
            plain |= {one.asname for one in node.names if one.name in plain and one.asname}
    for node in ast.walk(module.tree):
        used = isinstance(node, ast.Attribute) and node.attr in _REGISTERING and _last_name(node.value) in owners
        used = used or (isinstance(node, ast.Name) and node.id in plain)
        by_name = (
            isinstance(node, ast.Call) and called(node) == "getattr" and _last_name(node.args[0] if node.args else None) in owners
        )
        if by_name or (used and id(node) not in read):
            yield module.place(node)


def _registering(names: Names) -> Iterator[tuple[ast.Call, Scope]]:
    return (one for name in sorted(_REGISTERING) for one in names.calls.get(name, ()))


def _named(call: ast.Call) -> ast.expr | None:
    by_word = next((one.value for one in call.keywords if one.arg == "name"), None)
    return call.args[0] if call.args else by_word


def _is_opaque(node: ast.expr | None) -> bool:
    return not (node is None or _last_name(node) or (isinstance(node, ast.Constant) and node.value is None))


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


def _text(node: ast.expr | None, scope: Scope, names: Names) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if name := _last_name(node):
        every = [*names.globals.get(name, ()), *(names.writes.get(name, ()) if isinstance(node, ast.Attribute) else ())]
        here = [one for one in every if one.scope.module is scope.module]
        for one in here or every:
            if isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                return one.value.value
    return None


def _last_name(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
