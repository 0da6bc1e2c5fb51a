"""Every `add_argument` on the server's parser: the functions that are given it are followed, loops over constants unrolled."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.runtime.parameters import derivation, records
from ddtree_ops.runtime.parameters.evaluate import Evaluator, joined
from ddtree_ops.runtime.parameters.modules import Function, imports
from ddtree_ops.runtime.parameters.values import (
    PARSER,
    UNKNOWN,
    ClassValue,
    FieldValue,
    FunctionValue,
    Scope,
    pieces,
)

MOST = 5_000
_DEEPEST = 12
_MOST_STATEMENTS = 60_000


@dataclass(frozen=True, eq=False)
class Registration:
    """One flag: `keywords` as written, and the record's field that the rest comes from (`by_loop`: with its flags)."""

    flags: tuple[str, ...]
    keywords: dict[str, ast.expr]
    scope: Scope
    line: int
    field: FieldValue | None = None
    by_loop: bool = False


@dataclass
class Registrations:
    """Collects over functions; `records` are classes whose add_cli_args was followed."""

    evaluator: Evaluator
    found: list[Registration] = field(default_factory=list)
    records: list[ClassValue] = field(default_factory=list)
    left: int = _MOST_STATEMENTS
    _entered: set[tuple[int, int]] = field(default_factory=set)
    _depth: int = 0

    def follow(self, function: FunctionValue, arguments: Iterable[object] = (PARSER,), **named: object) -> None:
        """Walk a function that is given the parser. The same function of the same class and field is walked once."""
        loop = next((one for one in (*arguments, *named.values()) if isinstance(one, FieldValue)), None)
        key = (id(function.node), id(loop) if loop else id(function.owner.node) if function.owner else 0)
        if self._depth >= _DEEPEST or key in self._entered:
            return
        self._entered.add(key)
        scope = Scope(function.scope.module, {}, function.scope)
        names = [one.arg for one in (*function.node.args.posonlyargs, *function.node.args.args)]
        if function.owner is not None and names and (names[0] == "cls" or _is_classmethod(function.node)):
            scope.names[names.pop(0)] = function.owner
        scope.names.update(dict.fromkeys(names, UNKNOWN))
        scope.names.update(zip(names, arguments, strict=False))
        scope.names.update({name: value for name, value in named.items() if name in names})
        self._note(function)
        self._depth += 1
        self._body(function.node.body, scope)
        self._depth -= 1

    def _note(self, function: FunctionValue) -> None:
        if function.owner is None or function.node.name != "add_cli_args":
            return
        if all(function.owner.node is not known.node for known in self.records):
            self.records.append(function.owner)

    def _body(self, body: list[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self.left -= 1
            if self.left <= 0 or len(self.found) >= MOST:
                return
            walk = _STATEMENTS.get(type(statement))
            if walk is not None:
                walk(self, statement, scope)
            else:
                scope.names.update(imports(scope.module, statement))

    def _expression(self, node: ast.expr | None, scope: Scope) -> object:
        """The value; a call that is given the parser is followed first."""
        if isinstance(node, ast.Call):
            if self._call(node, scope):
                return PARSER
            self._mutate(node, scope)
        return self.evaluator.value(node, scope)

    def _mutate(self, node: ast.Call, scope: Scope) -> None:
        func = node.func
        if not (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and len(node.args) == 1):
            return
        if func.attr in ("add", "append", "extend", "update") and func.value.id in scope.names:
            value: Any = self.evaluator.value(node.args[0], scope)
            added = [value] if func.attr in ("add", "append") else value
            scope.names[func.value.id] = joined(scope.names[func.value.id], added)

    def _call(self, node: ast.Call, scope: Scope) -> bool:
        """Whether the call gets the parser, as its receiver or an argument."""
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "add_argument":
            if self.evaluator.value(func.value, scope) is PARSER:
                self._register(node, scope)
                return True
            return False
        if not any(isinstance(one, ast.Name) for one in (*node.args, *(keyword.value for keyword in node.keywords))):
            return False
        arguments = [self.evaluator.value(one, scope) for one in node.args if not isinstance(one, ast.Starred)]
        named = {one.arg: self.evaluator.value(one.value, scope) for one in node.keywords if one.arg}
        if not any(one is PARSER for one in (*arguments, *named.values())):
            return False
        function = self.evaluator.value(func, scope)
        if isinstance(function, FunctionValue):
            classes = [one for one in (*arguments, *named.values()) if isinstance(one, ClassValue)]
            self.records += [one for one in classes if all(one.node is not known.node for known in self.records)]
            self.follow(function, arguments, **named)
        return True

    def _register(self, node: ast.Call, scope: Scope) -> None:
        given = [self.evaluator.value(one, scope) for one in node.args if not isinstance(one, ast.Starred)]
        for one in node.args:
            if isinstance(one, ast.Starred):
                given += pieces(self.evaluator.value(one.value, scope)) or ()
        flags = tuple(one for one in given if isinstance(one, str))
        loop = _loop_field(scope)
        spread, more = _spread(node)
        base = next((known for part in spread if isinstance(known := self.evaluator.value(part, scope), FieldValue)), loop)
        keywords = more | {one.arg: one.value for one in node.keywords if one.arg and (loop is None or one.arg == "dest")}
        if loop is not None and (not flags or derivation.is_annotated(loop)):
            derived = derivation.derive(self.evaluator, loop)
            if derived.hidden or (not flags and not derivation.is_annotated(loop) and not loop.negatable):
                return  # a loop that asks for more than a plain type makes no flag of a field without it
            flags = derived.flags
        again = any(one.field is loop and one.flags == flags for one in self.found[-8:]) if loop else False
        if flags and not again:
            now = Scope(scope.module, dict(scope.names), scope.outer)  # a loop's names mean something else later
            self.found.append(Registration(flags, keywords, now, node.lineno, base, loop is not None))

    def _assign(self, statement: ast.Assign | ast.AnnAssign, scope: Scope) -> None:
        value = self._expression(statement.value, scope)
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            self._bind(target, value, scope)

    def _bind(self, target: ast.expr, value: object, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            parts = list(pieces(value) or ())
            for place, one in enumerate(target.elts):
                self._bind(one, parts[place] if len(parts) == len(target.elts) else UNKNOWN, scope)

    def _augmented(self, statement: ast.AugAssign, scope: Scope) -> None:
        if isinstance(statement.target, ast.Name) and statement.target.id in scope.names:
            added = self.evaluator.value(statement.value, scope)
            scope.names[statement.target.id] = joined(scope.names[statement.target.id], added)

    def _plain(self, statement: ast.Expr | ast.Return, scope: Scope) -> None:
        self._expression(statement.value, scope)

    def _if(self, statement: ast.If, scope: Scope) -> None:
        test = self.evaluator.value(statement.test, scope)
        if test is UNKNOWN or test:
            self._body(statement.body, scope)
        if test is UNKNOWN or not test:
            self._body(statement.orelse, scope)

    def _for(self, statement: ast.For, scope: Scope) -> None:
        over = records.iterated(self.evaluator, self.evaluator.value(statement.iter, scope))
        for part in over if over is not None else (UNKNOWN,):
            self._bind(statement.target, part, scope)
            self._body(statement.body, scope)
        self._bind(statement.target, UNKNOWN, scope)

    def _blocks(self, statement: ast.With | ast.Try, scope: Scope) -> None:
        for body in (statement.body, getattr(statement, "orelse", []), getattr(statement, "finalbody", [])):
            self._body(body, scope)

    def _define(self, statement: Function, scope: Scope) -> None:
        scope.names[statement.name] = FunctionValue(scope, statement)


_STATEMENTS: dict[type, Callable[[Registrations, Any, Scope], None]] = {
    ast.Assign: Registrations._assign,
    ast.AnnAssign: Registrations._assign,
    ast.AugAssign: Registrations._augmented,
    ast.Expr: Registrations._plain,
    ast.Return: Registrations._plain,
    ast.If: Registrations._if,
    ast.For: Registrations._for,
    ast.With: Registrations._blocks,
    ast.Try: Registrations._blocks,
    ast.FunctionDef: Registrations._define,
}


def _spread(node: ast.Call) -> tuple[list[ast.expr], dict[str, ast.expr]]:
    """What a call is given by `**`: the expressions, and the keywords of `**{**those, "default": None}`."""
    spread: list[ast.expr] = []
    keywords: dict[str, ast.expr] = {}
    for one in (one.value for one in node.keywords if one.arg is None):
        if not isinstance(one, ast.Dict):
            spread.append(one)
            continue
        for key, value in zip(one.keys, one.values, strict=True):
            if key is None:
                spread.append(value)
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                keywords[key.value] = value
    return spread, keywords


def _loop_field(scope: Scope) -> FieldValue | None:
    """The field that a loop around is at; an argument of the function that the loop calls counts, too."""
    one: Scope | None = scope
    while one is not None:
        for value in one.names.values():
            if isinstance(value, FieldValue):
                return value
        one = one.outer
    return None


def _is_classmethod(function: Function) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "classmethod" for one in function.decorator_list)
