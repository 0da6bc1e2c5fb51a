"""What sized the operands of the raising line: followed back through each function, then into the next frame's own call of it.

A traceback is a call chain with its real arguments' text, so no guess about who called whom is needed: a parameter of the
inner function is what stands for it in the outer frame's own statement. Attributes that are met on the way are the sinks:
state that was set before this call, such as the width that a graph was captured for. An object's own state goes before what
came with the call, which anything of the run may have made; else the order of discovery ranks them.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ddtree_ops.triage.block import Frame
from ddtree_ops.triage.origins.located import Function, Place, locate

FRAMES = 12  # the innermost ones
SINKS = 24
_STEPS = 4000  # nodes followed in one function: generated code may be endless
_FILLS = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "copy_"})

#: The name that the tree has for a frame's file, and the content; None where it has none.
Find = Callable[[str], tuple[str, bytes] | None]


@dataclass(frozen=True, slots=True)
class Sink:
    """An attribute whose value took part: its class, its name, where it was met.

    `own`: of the object whose method the frame is, so set up before the call; others came with the call's data.
    """

    owner: str
    name: str
    file: str
    line: int
    function: str
    own: bool

    @property
    def target(self) -> str:
        """As `params trace --to` takes it."""
        return f"{self.owner}.{self.name}"


def sinks(frames: Sequence[Frame], find: Find) -> tuple[Sink, ...]:
    """The attributes behind the raising line, each once: own state first, then nearest first. Empty where the tree is another."""
    found: dict[str, Sink] = {}
    inner: Place | None = None
    wanted: frozenset[str] = frozenset()
    for frame in [item for item in reversed(frames) if item.in_app][:FRAMES]:
        place = _place(frame, find)
        if place is None:
            continue
        start = list(place.heads) if inner is None else _arguments(place, inner.function, wanted)
        reached, wanted = _back(place, start)
        for sink in reached:
            found.setdefault(sink.target, sink)
        if (found and not wanted) or len(found) >= SINKS:
            break
        inner = place if wanted else None  # lost sight of them: the next statement as a whole
    return tuple(sorted(list(found.values())[:SINKS], key=lambda item: not item.own))


def _place(frame: Frame, find: Find) -> Place | None:
    known = find(frame.file)
    return locate(frame, *known) if known else None


def _back(place: Place, start: Iterable[ast.AST]) -> tuple[list[Sink], frozenset[str]]:
    """The attributes that the expressions are made of in this function, and the parameters."""
    defined = _definitions(place.function)
    typed = _parameters(place.function, place.owner)
    found: list[Sink] = []
    needed: set[str] = set()
    todo, seen = deque(start), set[str]()
    for _ in range(_STEPS):
        if not todo:
            break
        node = todo.popleft()
        if isinstance(node, ast.Name):
            if node.id not in seen:
                seen.add(node.id)
                todo.extend(defined.get(node.id, ()))
                needed.update({node.id} & typed.keys())
        elif isinstance(node, ast.Attribute):
            found += _sink(node, place, typed)
        else:
            todo.extend(_made_of(node))
    return found, frozenset(needed)


def _sink(node: ast.Attribute, place: Place, typed: dict[str, str | None]) -> Iterator[Sink]:
    """Only where the class is certain: `slot.name` of nobody knows what would be a sink of half the tree."""
    owner = typed.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if owner:
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        yield Sink(owner, node.attr, place.file, node.lineno, place.function.name, own)


def _made_of(node: ast.AST) -> Iterator[ast.AST]:
    """The parts whose value, or size, is in the whole's: neither tests nor what is called."""
    if isinstance(node, ast.Call):
        yield from (*node.args, *(item.value for item in node.keywords))
        if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Attribute):
            yield node.func.value  # `rows.view(n, -1)` has the rows
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif not isinstance(node, ast.Compare | ast.Lambda | ast.JoinedStr | ast.Constant):
        yield from ast.iter_child_nodes(node)


def _definitions(function: Function) -> dict[str, list[ast.AST]]:
    """What each local name is made of, wherever in the function that is said."""
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(function):
        for target, value in _assigned(node):
            for part, source in _unpacked(target, value):
                found.setdefault(part, []).append(source)
    return found


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        if node.value is not None:
            yield node.target, node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem):
        if node.optional_vars is not None:
            yield node.optional_vars, node.context_expr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLS:
        yield from ((node.func.value, item) for item in node.args)


def _unpacked(target: ast.AST, value: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        values = value.elts if same and isinstance(value, ast.Tuple | ast.List) else [value] * len(target.elts)
        for part, source in zip(target.elts, values, strict=True):
            yield from _unpacked(part, source)
    elif isinstance(target, ast.Starred | ast.Subscript):  # `groups[key] = value`: the container is made of it
        yield from _unpacked(target.value, value)


def _parameters(function: Function, owner: str | None) -> dict[str, str | None]:
    """Each parameter's class, as far as it is written: `self`'s, or a plain annotation."""
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    extra = [item for item in (function.args.vararg, function.args.kwarg) if item]
    found = {item.arg: _class_of(item.annotation) for item in (*every, *extra)}
    if every and owner and every[0].arg == "self":
        found["self"] = owner
    return found


def _class_of(annotation: ast.expr | None) -> str | None:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value if annotation.value.isidentifier() else None
    if isinstance(annotation, ast.Name):
        return annotation.id if annotation.id[:1].isupper() else None
    return annotation.attr if isinstance(annotation, ast.Attribute) else None


def _arguments(outer: Place, inner: Function, wanted: frozenset[str]) -> list[ast.AST]:
    """What the outer frame's statement gives for the parameters; all of the statement where the call isn't seen in it."""
    calls = [node for head in outer.heads for node in ast.walk(head) if isinstance(node, ast.Call)]
    of_inner = [call for call in calls if _called(call) == inner.name]
    if not of_inner:
        return list(outer.heads)
    return [value for call in of_inner for name, value in _bound(call, inner) if name is None or name in wanted]


def _called(call: ast.Call) -> str | None:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else None


def _bound(call: ast.Call, inner: Function) -> Iterator[tuple[str | None, ast.AST]]:
    """(parameter, argument); a name of None: which parameter it is can't be seen."""
    names = [item.arg for item in (*inner.args.posonlyargs, *inner.args.args)]
    if names[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute):
        names = names[1:]
    starred = False
    for index, value in enumerate(call.args):
        starred = starred or isinstance(value, ast.Starred)
        yield None if starred or index >= len(names) else names[index], value
    for item in call.keywords:
        yield item.arg, item.value
