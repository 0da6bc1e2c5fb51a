"""What argparse is told of a record's field, from its annotation alone.

SGLang 0.5.23 keeps help, aliases and choices in `Annotated` (srt/arg_groups/arg_utils.py); vLLM 0.22.1 derives type and choices
from plain annotations (engine/arg_utils.py); so does any record that a loop over its fields turns into flags.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ddtree_ops.runtime.parameters.modules import Imported
from ddtree_ops.runtime.parameters.values import FieldValue, Reading, Scope, literal, words

_DEEPEST = 12
_SEQUENCES = ("list", "List", "tuple", "Tuple", "set", "Set", "Sequence")
_SCALARS = ("bool", "int", "float", "str")


@dataclass(frozen=True)
class Derived:
    """Flags, and what add_argument would be given. `keywords` are written out; `fallback` is what None stands for in the end.

    `hidden`: no flag sets this field.
    """

    flags: tuple[str, ...]
    parse: str | None = "str"
    nargs: str | None = None
    choices: tuple[str, ...] | None = None
    choices_name: str | None = None
    help: str | None = None
    keywords: dict[str, ast.expr] = field(default_factory=dict)
    fallback: ast.expr | None = None
    hidden: bool = False


@dataclass(frozen=True)
class _Shape:
    """A type: the names of its alternatives, an element's name if it is a sequence, and literal values."""

    names: frozenset[str] = frozenset()
    element: str | None = None
    literals: tuple[object, ...] = ()


def derive(reading: Reading, one: FieldValue) -> Derived:
    """What a field is on the command line."""
    inner, metadata = _unwrapped(one.annotation)
    flags = (f"--{one.name.replace('_', '-')}",)
    shape = _shape(reading, inner, one.scope, 0)
    plain = Derived(flags, *_parsed(shape, one.negatable), *_literals(shape, one.negatable), help=one.doc)
    if one.negatable and shape.names - {"None"} == {"bool"}:
        plain = replace(plain, flags=(*flags, f"--no-{flags[0][2:]}"))
    if metadata and plain.parse == "json.loads":
        plain = replace(plain, parse="str")
    for part in metadata:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            return replace(plain, help=part.value)
        if isinstance(part, ast.Call):
            return _with_metadata(reading, plain, part, one.scope)
    return plain


def is_annotated(field: FieldValue) -> bool:
    """Whether an annotation holds more than a type."""
    return bool(_unwrapped(field.annotation)[1])


def _unwrapped(annotation: ast.expr | None) -> tuple[ast.expr | None, list[ast.expr]]:
    if isinstance(annotation, ast.Subscript) and _last(annotation.value) in ("A", "Annotated"):
        parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        return parts[0], parts[1:]
    return annotation, []


def type_text(field: FieldValue) -> str | None:
    """The type as written, without what `Annotated` adds to it."""
    inner = _unwrapped(field.annotation)[0]
    return None if inner is None else source(inner)


def source(node: ast.expr, most: int = 300) -> str:
    """An expression as text; what is too long or too deep ends in an ellipsis."""
    try:
        text = ast.unparse(node)
    except RecursionError:
        return "..."
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _shape(reading: Reading, node: ast.expr | None, scope: Scope, depth: int) -> _Shape:
    if node is None or depth > _DEEPEST:
        return _Shape()
    if isinstance(node, ast.Constant):
        return _Shape(frozenset({"None"})) if node.value is None else _Shape()
    if isinstance(node, ast.BinOp):
        return _merged(_shape(reading, one, scope, depth + 1) for one in (node.left, node.right))
    if isinstance(node, ast.Subscript):
        return _subscripted(reading, node, scope, depth)
    name = _last(node)
    if name in _SCALARS or name in _SEQUENCES:
        return _Shape(frozenset({name.lower()}), "str" if name in _SEQUENCES else None)
    bound = scope.look_up(name) if isinstance(node, ast.Name) else None
    return _aliased(reading, bound, scope, depth) or _Shape(frozenset({name}))


def _aliased(reading: Reading, bound: object, scope: Scope, depth: int) -> _Shape | None:
    """`Names = Literal[...]`, here or in the module that it is imported from."""
    if isinstance(bound, Imported) and bound.name is not None:
        module = reading.module(bound.module)
        return None if module is None else _aliased(reading, module.bindings.get(bound.name), Scope(module), depth + 1)
    is_type = isinstance(bound, ast.Subscript | ast.BinOp) and depth <= _DEEPEST
    return _shape(reading, bound, scope, depth + 1) if is_type and isinstance(bound, ast.expr) else None


def _subscripted(reading: Reading, node: ast.Subscript, scope: Scope, depth: int) -> _Shape:
    name = _last(node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Literal":
        return _Shape(frozenset({"Literal"}), None, tuple(reading.value(one, scope) for one in parts))
    inner = [_shape(reading, one, scope, depth + 1) for one in parts]
    if name in ("Optional", "Union", "Annotated", "A", "SkipValidation"):
        merged = _merged(inner if name == "Union" else inner[:1])
        return replace(merged, names=merged.names | {"None"}) if name == "Optional" else merged
    if name in _SEQUENCES:
        names = inner[0].names - {"None"}
        element = next(iter(names)) if len(names) == 1 and names <= set(_SCALARS) else "str"
        return _Shape(frozenset({name.lower()}), element, inner[0].literals)
    return _Shape(frozenset({name.lower()}))


def _merged(shapes: Iterable[_Shape]) -> _Shape:
    found = list(shapes)
    names = frozenset(name for one in found for name in one.names)
    element = next((one.element for one in found if one.element), None)
    return _Shape(names, element, tuple(value for one in found for value in one.literals))


def _parsed(shape: _Shape, negatable: bool) -> tuple[str | None, str | None]:
    """How a word is turned into a value, and nargs."""
    names = shape.names - {"None"}
    if "bool" in names and (names == {"bool"} or negatable):
        return (None, "0") if names == {"bool"} else ("str", "?")
    if shape.element is not None:
        return shape.element if names <= {"list", "tuple", "set", "sequence"} else "str", "+"
    if names == {"dict"}:
        return "json.loads", None
    return next(iter(names)) if len(names) == 1 and names <= set(_SCALARS) else "str", None


def _literals(shape: _Shape, negatable: bool) -> tuple[tuple[str, ...] | None]:
    if not shape.literals or "str" in shape.names or shape.names - {"None", "Literal", "list", "tuple", "set"}:
        return (None,)
    found = words(list(shape.literals))
    return ((*found, "None") if found and negatable and "None" in shape.names else found,)


def _with_metadata(reading: Reading, plain: Derived, call: ast.Call, scope: Scope) -> Derived:
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    text = reading.value(given.get("help", call.args[0] if call.args else None), scope)
    first = reading.value(given.get("cli_name"), scope)
    aliases = words(reading.value(given.get("aliases"), scope)) or ()
    own = first if isinstance(first, str) else plain.flags[0]
    changed = replace(
        plain, flags=(own, *aliases), help=text if isinstance(text, str) else None, hidden=_is_true(given.get("no_cli"))
    )
    changed = _parser_of(reading, changed, given, scope)
    if "choices" in given and not _is_none(given["choices"]):
        node = given["choices"]
        changed = replace(changed, choices=words(reading.value(node, scope)), choices_name=named(node))
    if "action" in given and not _is_none(given["action"]):
        changed = replace(changed, keywords=_keywords(given), parse="str", nargs=None)
    return replace(changed, fallback=given.get("fallback"))


def _keywords(given: dict[str, ast.expr]) -> dict[str, ast.expr]:
    more = given.get("action_kwargs")
    found = {"action": given["action"]}
    if isinstance(more, ast.Dict):
        pairs = zip(more.keys, more.values, strict=True)
        found.update((key.value, value) for key, value in pairs if isinstance(key, ast.Constant) and isinstance(key.value, str))
    return found


def _parser_of(reading: Reading, plain: Derived, given: dict[str, ast.expr], scope: Scope) -> Derived:
    if "type_parser" in given and not _is_none(given["type_parser"]):
        plain = replace(plain, parse=source(given["type_parser"], 80), nargs=None)
    nargs = reading.value(given.get("nargs"), scope)
    return replace(plain, nargs=str(nargs)) if isinstance(nargs, str | int) else plain


def named(node: ast.expr) -> str | None:
    """The constant that choices come from, if they come from one."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def default_text(reading: Reading, node: ast.expr | None, scope: Scope) -> str | None:
    """A default as written; where it is another name's value, that value."""
    if node is None:
        return None
    if isinstance(node, ast.Name | ast.Attribute) and (known := literal(reading.value(node, scope))) is not None:
        return known
    return source(node)
