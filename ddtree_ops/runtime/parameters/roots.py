"""Where the server's parser is filled: the functions from which all else is reached."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddtree_ops.runtime.parameters import records
from ddtree_ops.runtime.parameters.evaluate import Evaluator
from ddtree_ops.runtime.parameters.modules import Function, Module, Modules
from ddtree_ops.runtime.parameters.values import ClassValue, FunctionValue, Scope
from ddtree_ops.runtime.source.model import SourceFile

#: Module and function, or class with add_cli_args; the first that is there counts for its package.
_SERVERS = {
    "sglang": (("sglang.srt.server_args", "ServerArgs"),),
    "vllm": (
        ("vllm.entrypoints.openai.cli_args", "make_arg_parser"),
        ("vllm.engine.arg_utils", "AsyncEngineArgs"),
        ("vllm.engine.arg_utils", "EngineArgs"),
    ),
}
_METHOD = "add_cli_args"
_MOST_PLUGIN_FILES = 2_000


def server_roots(evaluator: Evaluator) -> Iterator[FunctionValue]:
    """SGLang's and vLLM's own."""
    for package, places in _SERVERS.items():
        found = next((root for name, what in places if (root := _root(evaluator, name, what))), None)
        found = found or _searched(evaluator, package)
        if found is not None:
            yield found


def _root(evaluator: Evaluator, module: str, name: str) -> FunctionValue | None:
    there = evaluator.module(module)
    return None if there is None else _in_module(evaluator, there, name)


def _in_module(evaluator: Evaluator, module: Module, name: str) -> FunctionValue | None:
    bound = module.bindings.get(name)
    if isinstance(bound, Function):
        return FunctionValue(Scope(module), bound)
    if not isinstance(bound, ast.ClassDef):
        return None
    cls = ClassValue(module, bound)
    found = records.method(evaluator, cls, _METHOD)
    return None if found is None else FunctionValue(Scope(found[0]), found[1], cls)


def _searched(evaluator: Evaluator, package: str) -> FunctionValue | None:
    """Where another version keeps it: the class by its name in any file of the package."""
    for wanted in (b"class ServerArgs", b"class EngineArgs"):
        for file in evaluator.modules.tree.files:
            if file.name.startswith(f"{package}/") and _holds(file, wanted):
                module = evaluator.modules.of(file)
                found = None if module is None else _in_module(evaluator, module, wanted.split()[1].decode())
                if found is not None:
                    return found
    return None


def plugin_roots(modules: Modules) -> Iterator[FunctionValue]:
    """Functions by which other packages of the tree add to the parser: named add_cli_args, or put in its place."""
    others = [file for file in modules.tree.files if file.name.split("/")[0] not in _SERVERS]
    for file in others[:_MOST_PLUGIN_FILES]:
        if _holds(file, _METHOD.encode()) and (module := modules.of(file)) is not None:
            yield from _replacing(module, module.body, Scope(module), _replacements(module))


def _replacements(module: Module) -> set[str]:
    """Names in what is assigned to `X.add_cli_args`."""
    found = {_METHOD}
    for node in (node for statement in module.body for node in ast.walk(statement)):
        if isinstance(node, ast.Assign) and any(getattr(one, "attr", "") == _METHOD for one in node.targets):
            found |= {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
    return found


def _replacing(module: Module, body: list[ast.stmt], scope: Scope, names: set[str]) -> Iterator[FunctionValue]:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield from _replacing(module, statement.body, scope, names)
        elif isinstance(statement, Function):
            parameters = [one.arg for one in statement.args.args]
            if statement.name in names and parameters:
                # Whatever comes before the parser (self, cls) is no parser.
                inner = Scope(module, {}, scope)
                yield FunctionValue(inner, statement)
            else:
                yield from _replacing(module, statement.body, Scope(module, {}, scope), names)


def _holds(file: SourceFile, wanted: bytes) -> bool:
    try:
        return wanted in file.read()
    except OSError:
        return False
