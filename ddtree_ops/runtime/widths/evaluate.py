"""Which values an expression can have, as terms of the spec's settings: a backward search by names, without running anything.

It follows assignments, arithmetic with numbers, branches of conditional expressions, arguments to parameters, returns,
attributes (by name, over all parsed files), dataclass fields, properties, and environment variables with constant names. Where
two things share a name, both count: the search finds too many sources of a width rather than too few, so that `the budget isn't
among them` can be relied on, while `it is` may be too kind.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator

from ddtree_ops.runtime.widths.sources import Found, Function, Names, Scope, called
from ddtree_ops.runtime.widths.terms import Base, Term, likely, setting

_MOST_STEPS = 60000
_DEEPEST = 100
_PASS_THROUGH = frozenset({"int", "max", "min", "abs", "round", "sum", "sorted", "next", "str", "float", "tuple", "list", "iter"})
_NO_NUMBERS = frozenset(
    {"len", "isinstance", "hasattr", "bool", "any", "all", "print", "type", "id", "repr", "range", "enumerate"}
)
_GIVING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.comprehension, ast.Return, ast.Yield)
Terms = dict[tuple[Base, int | None], Term]


class Evaluator:
    """Evaluates expressions of parsed modules. `gave_up`: the search was cut short, and terms may be missing."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._known: dict[int, list[Term]] = {}
        self._steps = 0
        self.gave_up = False

    def of(self, found: Iterable[Found]) -> tuple[Term, ...]:
        """All terms of some expressions."""
        terms: Terms = {}
        for one in found:
            try:
                _add(terms, self._at(one, self._terms(one.value, one.scope, 0)))
            except RecursionError:
                self.gave_up = True
        return tuple(terms.values())

    def _at(self, found: Found, terms: Iterable[Term]) -> Iterator[Term]:
        """A term without a place of its own gets the statement's."""
        for term in terms:
            yield term if term.place else Term(term.base, term.offset, found.scope.module.place(found.node))

    def _terms(self, node: ast.expr, scope: Scope, depth: int) -> list[Term]:
        self._steps += 1
        if depth > _DEEPEST or self._steps > _MOST_STEPS:
            self.gave_up = True
            return [Term(Base.UNKNOWN, None)]
        if id(node) in self._known:
            return self._known[id(node)]
        self._known[id(node)] = []  # whoever asks again on the way is part of a loop, which brings nothing new
        terms: Terms = {}
        _add(terms, self._of_kind(node, scope, depth + 1))
        self._known[id(node)] = list(terms.values())
        return self._known[id(node)]

    def _of_kind(self, node: ast.expr, scope: Scope, depth: int) -> list[Term]:
        match node:
            case ast.Name():
                return self._name(node, scope, depth)
            case ast.Attribute():
                return self._attribute(node.attr, node, scope, depth)
            case ast.Call():
                return self._call(node, scope, depth)
            case ast.BinOp():
                return self._arithmetic(node, scope, depth)
            case ast.Constant():
                return _constant(node, scope)
            case _:
                return self._all(_parts(node), scope, depth)

    def _all(self, nodes: Iterable[ast.expr], scope: Scope, depth: int) -> list[Term]:
        return [term for node in nodes for term in self._terms(node, scope, depth)]

    def _found(self, found: Iterable[Found], depth: int) -> list[Term]:
        return [term for one in found for term in self._at(one, self._terms(one.value, one.scope, depth))]

    def _arithmetic(self, node: ast.BinOp, scope: Scope, depth: int) -> list[Term]:
        left, right = self._terms(node.left, scope, depth), self._terms(node.right, scope, depth)
        if not isinstance(node.op, ast.Add | ast.Sub):
            return [term.plus(None) for term in (*left, *right) if term.base is not Base.NUMBER]
        sign = 1 if isinstance(node.op, ast.Add) else -1
        numbers = [sign * (term.offset or 0) for term in right if term.base is Base.NUMBER]
        found = [term.plus(number) for term in left for number in numbers]
        if sign == 1:
            found += [term.plus(one.offset) for term in right for one in left if Base.NUMBER in (one.base,) != (term.base,)]
        return found or [term.plus(None) for term in (*left, *right)]

    def _name(self, node: ast.Name, scope: Scope, depth: int) -> list[Term]:
        for place in range(len(scope.functions), 0, -1):
            function = scope.functions[place - 1]
            around = Scope(scope.module, scope.functions[:place], scope.inside)
            local = list(assigned(function, node.id, around))
            if is_parameter := node.id in _parameters(function):
                local += _default(function, node.id, around)
                local += self._arguments(function, node.id)
            if local or is_parameter:
                return self._found(local, depth) or self._leaf(node.id, node, scope)
        found = self._names.globals.get(node.id, ())
        here = [one for one in found if one.scope.module is scope.module]
        return self._found(here or found, depth) or self._leaf(node.id, node, scope)

    def _attribute(self, name: str, node: ast.expr, scope: Scope, depth: int) -> list[Term]:
        if base := setting(name):
            return [Term(base, 0, scope.module.place(node))]
        found = [*self._names.writes.get(name, ()), *self._fields(name)]
        terms = self._found(found, depth)
        for function, around in self._names.functions.get(name, ()):
            if _is_property(function):
                terms += self._found(returns(function, around), depth)
        return terms or self._leaf(name, node, scope)

    def _leaf(self, name: str, node: ast.AST, scope: Scope) -> list[Term]:
        base = setting(name) or likely(name) or Base.UNKNOWN
        return [Term(base, None if base is Base.UNKNOWN else 0, scope.module.place(node))]

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> list[Term]:
        name = called(node)
        if name in _NO_NUMBERS:
            return []
        if name == "getattr" and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant):
            return self._attribute(str(node.args[1].value), node, scope, depth) + self._all(node.args[2:], scope, depth)
        if name in _PASS_THROUGH and isinstance(node.func, ast.Name):
            return self._all((*node.args, *(one.value for one in node.keywords)), scope, depth)
        known = [one for function, around in self._names.functions.get(name, ()) for one in returns(function, around)]
        if known:
            return self._found(known, depth)
        if (
            isinstance(node.func, ast.Name) and name not in self._names.classes
        ):  # a lambda, or another package's: it may add to it
            terms = [term.plus(None) for term in self._all(node.args, scope, depth) if term.base is not Base.UNKNOWN]
            return terms or self._leaf(name, node, scope)
        receiver = (node.func.value,) if isinstance(node.func, ast.Attribute) else ()
        terms = [term for term in self._all((*receiver, *node.args), scope, depth) if term.base is not Base.UNKNOWN]
        return terms or self._leaf(name, node, scope)

    def _arguments(self, function: Function, parameter: str) -> Iterator[Found]:
        """What is given for a parameter, wherever something of that name is called."""
        parameters = _parameters(function)
        skipped = 1 if parameters[:1] in (["self"], ["cls"]) else 0
        place = parameters.index(parameter) - skipped
        for call, scope in self._names.calls.get(function.name, ()):
            yield from (Found(one.value, scope, call) for one in call.keywords if one.arg == parameter)
            if 0 <= place < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args[: place + 1]):
                yield Found(call.args[place], scope, call)

    def _fields(self, name: str) -> Iterator[Found]:
        """What constructors give for a field that a class declares by annotation."""
        for class_name, definitions in self._names.classes.items():
            for definition, _ in definitions:
                fields = [
                    one.target.id
                    for one in definition.body
                    if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
                ]
                if name not in fields:
                    continue
                for call, scope in self._names.calls.get(class_name, ()):
                    yield from (Found(one.value, scope, call) for one in call.keywords if one.arg == name)
                    if fields.index(name) < len(call.args):
                        yield Found(call.args[fields.index(name)], scope, call)


def _parts(node: ast.expr) -> Iterable[ast.expr]:
    """The parts of an expression that its value can come from: not the tests, keys and loops around them."""
    match node:
        case ast.Compare():
            return ()
        case ast.Lambda():
            return (node.body,)
        case ast.IfExp():
            return (node.body, node.orelse)
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
            return (node.elt,)
        case ast.DictComp():
            return (node.value,)
        case ast.Dict():
            return node.values
        case ast.Subscript():
            by_name = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
            return (node.value, node.slice) if by_name else (node.value,)
        case _:
            return (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))


def _constant(node: ast.Constant, scope: Scope) -> list[Term]:
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool):
        return [Term(Base.NUMBER, value, scope.module.place(node))]
    base = setting(value) if isinstance(value, str) else None
    return [Term(base, 0, scope.module.place(node))] if base else []


def _add(terms: Terms, found: Iterable[Term]) -> None:
    for term in found:
        terms.setdefault(term.key, term)


def returns(function: Function, around: Scope) -> list[Found]:
    """What a function gives back, or yields."""
    inside = Scope(around.module, (*around.functions, function), around.inside)
    kinds = ast.Return | ast.Yield
    found = (one for one in _own_nodes(function) if isinstance(one, kinds) and one.value is not None)
    return [Found(one.value, inside, one) for one in found if one.value is not None]


@functools.lru_cache(maxsize=1024)
def _own_nodes(function: Function) -> tuple[ast.AST, ...]:
    """A function's assignments, loops and returns, without those of functions inside of it."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, _GIVING):
            found.append(node)
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting.extend(reversed(list(ast.iter_child_nodes(node))))
    return tuple(found)


def assigned(function: Function, name: str, around: Scope) -> Iterator[Found]:
    """What a function's own lines give a local name."""
    for node in _own_nodes(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (Found(value, around, node) for target in targets for value in _values_for(target, node.value, name))
        elif isinstance(node, ast.For | ast.comprehension) and name in _names_in(node.target):
            yield Found(node.iter, around, node)


def _values_for(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    if (
        isinstance(target, ast.Tuple | ast.List)
        and isinstance(value, ast.Tuple | ast.List)
        and len(target.elts) == len(value.elts)
    ):
        for one, part in zip(target.elts, value.elts, strict=True):
            yield from _values_for(one, part, name)
    elif name in _names_in(target):
        yield value


def _names_in(target: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _parameters(function: Function) -> list[str]:
    given = function.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _default(function: Function, name: str, around: Scope) -> Iterator[Found]:
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    pairs = [*zip(positional[::-1], given.defaults[::-1], strict=False), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    outside = Scope(around.module, around.functions[:-1], around.inside)
    yield from (Found(value, outside, value) for one, value in pairs if one.arg == name and value is not None)


def _is_property(function: Function) -> bool:
    words = (one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in function.decorator_list)
    return any("property" in word for word in words)
