"""Records (dataclasses, structs, enums) of a source: their fields, over base classes and modules."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddtree_ops.runtime.parameters.modules import Function, Module, called, statements
from ddtree_ops.runtime.parameters.values import (
    UNKNOWN,
    ClassValue,
    FieldsValue,
    FieldValue,
    FunctionValue,
    Member,
    Reading,
    Scope,
    pieces,
)

MOST_BASES = 30
_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


def lineage(reading: Reading, cls: ClassValue) -> list[ClassValue]:
    """A class and its base classes in the tree, nearest first (depth first: near enough to the real order for fields)."""
    found: list[ClassValue] = []
    waiting = [cls]
    while waiting and len(found) < MOST_BASES:
        one = waiting.pop(0)
        if any(one.node is known.node for known in found):
            continue
        found.append(one)
        bases = [reading.value(base, Scope(one.module)) for base in one.node.bases]
        waiting[:0] = [base for base in bases if isinstance(base, ClassValue)]
    return found


def fields(reading: Reading, cls: ClassValue) -> FieldsValue:
    """All fields of a record, those of base classes first."""
    found: dict[str, FieldValue] = {}
    for one in reversed(lineage(reading, cls)):
        for part in _assembled(reading, one):
            found.update((field.name, field) for field in fields(reading, part).fields)
        found.update((field.name, field) for field in own_fields(one))
    return FieldsValue(tuple(found.values()))


def own_fields(cls: ClassValue) -> Iterator[FieldValue]:
    """Fields that stand in the class itself; a text below one is what it says of itself."""
    body = cls.node.body
    scope = Scope(cls.module)
    for position, statement in enumerate(body):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        if _is_class_variable(statement.annotation):
            continue
        below = body[position + 1] if position + 1 < len(body) else None
        doc = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else None
        text = doc if isinstance(doc, str) else None
        yield FieldValue(statement.target.id, statement.annotation, statement.value, scope, statement.lineno, text)


def _is_class_variable(annotation: ast.expr) -> bool:
    base = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return (base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")) in ("ClassVar", "InitVar")


def _assembled(reading: Reading, cls: ClassValue) -> Iterator[ClassValue]:
    """Classes whose fields a module gives to another: `X.__annotations__ = {**collected, ...}` with collected from classes."""
    waiting = list(cls.module.writes.get(f"{cls.node.name}.__annotations__", ()))
    seen: set[str] = set()
    while waiting and len(seen) < MOST_BASES:
        for node in ast.walk(waiting.pop()):
            if not isinstance(node, ast.Name) or node.id in seen:
                continue
            seen.add(node.id)
            bound = cls.module.bindings.get(node.id)
            if not isinstance(bound, ast.expr):
                continue
            parts = pieces(reading.value(bound, Scope(cls.module))) or ()
            classes = [part for part in parts if isinstance(part, ClassValue)]
            if classes:
                yield from classes
            else:
                waiting.append(bound)


def is_enum(reading: Reading, cls: ClassValue) -> bool:
    """Whether a class is an enumeration."""
    for one in lineage(reading, cls):
        for base in one.node.bases:
            if (base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")) in _ENUMS:
                return True
    return False


def members(reading: Reading, cls: ClassValue) -> list[Member]:
    """The members of an enum class in order."""
    found: list[Member] = []
    for statement in cls.node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if not name.startswith("_"):
                found.append(Member(name, reading.value(statement.value, Scope(cls.module))))
    return found


def iterated(reading: Reading, value: object) -> Iterable[object] | None:
    """What a loop over a value gives: members of an enum class, too."""
    if isinstance(value, ClassValue):
        return members(reading, value) if is_enum(reading, value) else None
    return pieces(value)


def class_attribute(reading: Reading, cls: ClassValue, name: str) -> object:
    """`Class.name`: a method, a field's default, a constant, or a member of an enum."""
    for one in lineage(reading, cls):
        found = _table(one).get(name)
        if isinstance(found, Function):
            return FunctionValue(Scope(one.module), found, cls)
        if isinstance(found, FieldValue):
            return default_value(reading, found)
        if found is not None:
            value = reading.value(found, Scope(one.module))
            return Member(name, value) if is_enum(reading, one) else value
    return UNKNOWN


def _table(cls: ClassValue) -> dict[str, Function | FieldValue | ast.expr]:
    """What stands in a class by name, kept with its module: a record's defaults are asked for hundreds of times."""
    known = cls.module.classes.get(cls.node.name)
    if known is not None and known[0] is cls.node:
        return known[1]
    found: dict[str, Function | FieldValue | ast.expr] = {}
    for statement in statements(cls.node.body):
        if isinstance(statement, Function):
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            found.update((target.id, statement.value) for target in statement.targets if isinstance(target, ast.Name))
    found.update((field.name, field) for field in own_fields(cls))
    cls.module.classes[cls.node.name] = (cls.node, found)
    return found


def default_value(reading: Reading, field: FieldValue) -> object:
    """What a field is when it isn't given; UNKNOWN where it has no default or only running the code would tell."""
    node = field.default
    if isinstance(node, ast.Call) and called(node) in ("field", "Field"):
        return _of_field_call(reading, node, field.scope)
    return reading.value(node, field.scope)


def _of_field_call(reading: Reading, call: ast.Call, scope: Scope) -> object:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if "default" in given or call.args:
        return reading.value(given.get("default", call.args[0] if call.args else None), scope)
    factory = given.get("default_factory")
    if isinstance(factory, ast.Lambda):
        return reading.value(factory.body, scope)
    if isinstance(factory, ast.Name) and factory.id in ("list", "dict", "set", "tuple"):
        return {"list": [], "dict": {}, "set": set(), "tuple": ()}[factory.id]
    return UNKNOWN


def method(reading: Reading, cls: ClassValue, name: str) -> tuple[Module, Function] | None:
    """A method by name, of the class or the nearest base that has it."""
    for one in lineage(reading, cls):
        for statement in statements(one.node.body):
            if isinstance(statement, Function) and statement.name == name:
                return one.module, statement
    return None
