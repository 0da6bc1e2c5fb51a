"""SGLang's own declarations of environment variables, and which of them are deprecated for what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from ddtree_ops.runtime.parameters.derivation import source
from ddtree_ops.runtime.parameters.model import EnvironmentVariable
from ddtree_ops.runtime.parameters.modules import Module

GATE = b"class Env"
_NAME = re.compile(r"[A-Z][A-Z0-9_]{2,100}\Z")
_IN_TEXT = re.compile(r"(--[a-z][\w-]{1,80}(?:=[\w-]{1,60})?|\b(?:SGLANG|SGL)_[A-Z0-9_]{2,100}\b)")


def declarations(module: Module) -> Iterator[EnvironmentVariable]:
    """Variables that a class of such declarations has, then deprecated names."""
    found: dict[str, EnvironmentVariable] = {}
    for statement in module.body:
        if isinstance(statement, ast.ClassDef):
            for one in _of_class(module, statement):
                found[one.name] = one
    for one in _deprecations(module):
        known = found.get(one.name)
        found[one.name] = replace(known, deprecated=one.deprecated, successor=one.successor) if known else one
    yield from found.values()


def _of_class(module: Module, cls: ast.ClassDef) -> Iterator[EnvironmentVariable]:
    for statement in cls.body:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
            continue
        target, call = statement.targets[0], statement.value
        kind = call.func.id if isinstance(call.func, ast.Name) else ""
        if not (isinstance(target, ast.Name) and _NAME.match(target.id) and "Env" in kind):
            continue
        default = source(call.args[0], 200) if call.args else None
        yield EnvironmentVariable(target.id, default, module.file, statement.lineno, module.owner, kind)
        for keyword in call.keywords:
            old = _text(keyword.value)
            if keyword.arg == "deprecated_name" and old:
                yield _deprecated(module, old, statement.lineno, f"use {target.id}", target.id)


def _deprecations(module: Module) -> Iterator[EnvironmentVariable]:
    """Calls and tables that say so: `_print_deprecated_env(...)`, `{"OLD": "NEW"}`, `{"OLD": _DeprecatedEnv(...)}`."""
    for node in (node for statement in module.body for node in ast.walk(statement)):
        if isinstance(node, ast.Call) and "deprecated_env" in getattr(node.func, "id", ""):
            yield from _of_call(module, node)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if "deprecated" in getattr(target, "id", "").lower():
                yield from _of_table(module, node.value)


def _of_call(module: Module, node: ast.Call) -> Iterator[EnvironmentVariable]:
    names = _parameters(module, getattr(node.func, "id", ""))
    given: dict[str | None, ast.expr] = {
        **dict(zip(names, node.args, strict=False)),
        **{one.arg: one.value for one in node.keywords},
    }
    old, new = (_text(given.get(name)) for name in ("old_name", "new_name"))
    said = _text(given.get("suggestion"))
    old = old or _text(given.get("env_name"))
    if old:
        yield _deprecated(module, old, node.lineno, said or (f"use {new}" if new else "deprecated"), new or _successor(said))


def _of_table(module: Module, table: ast.Dict) -> Iterator[EnvironmentVariable]:
    for key, value in zip(table.keys, table.values, strict=True):
        old, new = _text(key), _text(value)
        if old is None or not _NAME.match(old):
            continue
        said = None
        if isinstance(value, ast.Call):
            given = {one.arg: one.value for one in value.keywords}
            said = _text(given.get("note"))
            new = _text(given.get("replacement", value.args[0] if value.args else None))
        line = key.lineno if key is not None else table.lineno
        yield _deprecated(module, old, line, said or (f"use {new}" if new else "deprecated"), new or _successor(said))


def _successor(said: str | None) -> str | None:
    """What a sentence such as "Please use '--x' instead" names."""
    found = _IN_TEXT.search(said) if said and re.search(r"\b(?:use|pass)\b", said, re.I) else None
    return found[1] if found else None


def _parameters(module: Module, function: str) -> list[str]:
    bound = module.bindings.get(function)
    return [one.arg for one in bound.args.args] if isinstance(bound, ast.FunctionDef) else []


def _deprecated(module: Module, name: str, line: int, said: str, successor: str | None) -> EnvironmentVariable:
    return EnvironmentVariable(name, None, module.file, line, module.owner, deprecated=said, successor=successor)


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
