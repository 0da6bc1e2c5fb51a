"""The server arguments that a tree declares, read without importing it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ddtree_ops.runtime.parameters import records
from ddtree_ops.runtime.parameters.evaluate import Evaluator
from ddtree_ops.runtime.parameters.model import Parameter
from ddtree_ops.runtime.parameters.modules import Modules
from ddtree_ops.runtime.parameters.parameter import Maker
from ddtree_ops.runtime.parameters.registrations import Registrations
from ddtree_ops.runtime.parameters.roots import plugin_roots, server_roots
from ddtree_ops.runtime.parameters.values import ClassValue, FieldValue
from ddtree_ops.runtime.source.model import SourceTree

_SERVERS = ("sglang", "vllm")


def declared(tree: SourceTree) -> tuple[Parameter, ...]:
    """All server arguments and fields of their record, in the order of their flags, then fields without flags.

    The packages of SGLang and vLLM are known, and what plugs into them is found by what it does to their parsers. Empty for a
    tree without either. Never raises for what a file holds: what can't be parsed declares nothing.
    """
    modules = Modules(tree)
    evaluator = Evaluator(modules)
    registrations = Registrations(evaluator)
    for root in (*server_roots(evaluator), *plugin_roots(modules)):
        registrations.follow(root)
    known = _fields(evaluator, registrations.records)
    maker = Maker(evaluator, known, _renamed(registrations.records), _opened(modules))
    found: dict[tuple[str, ...], Parameter] = {}
    for one in registrations.found:
        found.setdefault(one.flags, maker.registered(one))
    flagged = tuple(found.values())
    named = {one.name for one in flagged} | {one.record for one in flagged if not one.deprecated}
    return (*flagged, *(maker.unflagged(field, cls) for field, cls in known.values() if field.name not in named))


def _fields(evaluator: Evaluator, classes: list[ClassValue]) -> dict[str, tuple[FieldValue, ClassValue]]:
    found: dict[str, tuple[FieldValue, ClassValue]] = {}
    for cls in classes:
        for field in records.fields(evaluator, cls).fields:
            found.setdefault(field.name, (field, cls))
    return found


def _renamed(classes: list[ClassValue]) -> dict[str, str]:
    """What argparse stores as one name and the record has as another: `args.tp_size = args.tensor_parallel_size`."""
    found: dict[str, str] = {}
    for node in (node for cls in classes for node in _assignments(cls)):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Attribute) and isinstance(value, ast.Attribute):
            bases = {getattr(target.value, "id", 1), getattr(value.value, "id", 2)}
            if len(bases) == 1 and target.attr != value.attr:
                found[value.attr] = target.attr
    return found


def _assignments(cls: ClassValue) -> Iterator[ast.Assign]:
    for statement in cls.node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "from_cli_args":
            yield from (one for one in statement.body if isinstance(one, ast.Assign))


def _opened(modules: Modules) -> frozenset[str]:
    """Words of plugins that have to do with choices: a list of choices that a plugin adds to isn't closed."""
    found: set[str] = set()
    for file in modules.tree.files:
        if file.name.split("/")[0] in _SERVERS:
            continue
        try:
            content = file.read()
        except OSError:
            continue
        if b"choices" in content.lower():
            found.update(word.decode() for word in re.findall(rb"\b[A-Za-z_]{4,80}\b", content))
    return frozenset(found)
