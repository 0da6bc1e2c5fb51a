"""One Parameter from a flag's registration and the record's field behind it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

from ddtree_ops.runtime.parameters import derivation, records
from ddtree_ops.runtime.parameters.evaluate import Evaluator
from ddtree_ops.runtime.parameters.model import Parameter
from ddtree_ops.runtime.parameters.registrations import Registration
from ddtree_ops.runtime.parameters.values import UNKNOWN, ClassValue, FieldValue, Scope, literal, words

_MOST_HELP = 4_000
_DEPRECATED = re.compile(r"\A\s*[\[(]?\s*deprecated|\bthis (?:argument|flag|option) (?:is|has been) deprecated", re.I)
_FLAG = re.compile(r"--[a-z][\w-]{1,80}(?:\{[\w,-]{1,80}\}[\w-]{0,80})?(?:=[\w-]{1,60})?")
_NO_VALUE = frozenset({"store_true", "store_false", "store_const", "append_const", "count", "help", "version"})
Fields = dict[str, tuple[FieldValue, ClassValue]]


@dataclass(frozen=True)
class Maker:
    """Makes parameters; `renamed` maps argparse's names to the record's, `opened` are words of plugins about choices."""

    evaluator: Evaluator
    fields: Fields
    renamed: dict[str, str]
    opened: frozenset[str]

    def registered(self, one: Registration) -> Parameter:
        """A flag."""
        derived = derivation.derive(self.evaluator, one.field) if one.field is not None else derivation.Derived(one.flags)
        if derived.keywords and one.field is not None:
            one = replace(one, keywords={**derived.keywords, **one.keywords}, scope=one.field.scope)
        flags = _with_negation(one, derived)
        action = one.keywords.get("action")
        text = self._text(one.keywords["help"], one.scope) if "help" in one.keywords else derived.help
        own = _name(flags)
        stored = self.evaluator.value(one.keywords.get("dest"), one.scope)
        record = stored if isinstance(stored, str) else one.field.name if self._loops(one) and one.field else own
        record = self.renamed.get(record, record)
        deprecated, successor = self._deprecated(one, action, text)
        known = self.fields.get(record)
        name = own if deprecated and own != record else record
        base = self._of_field(name, known, one)
        parse, nargs = self._word(one, derived, action)
        default, value = self._default(one, base, action)
        choices, choices_name, grows = self._choices(one, derived)
        return replace(
            base,
            flags=flags,
            help=text[:_MOST_HELP] if text else None,
            deprecated=deprecated,
            successor=successor,
            record=record if known else None,
            required=_is_true(one.keywords.get("required")) or self._must(one, known),
            flag_file=one.field.scope.module.file if one.by_loop and one.field else one.scope.module.file,
            flag_line=one.field.line if one.by_loop and one.field else one.line,
            repeats=_constant(action) == "append",
            owner=one.scope.module.owner,
            parse=parse,
            nargs=nargs,
            default=default,
            value=value,
            choices=choices,
            choices_name=choices_name,
            choices_open=grows,
        )

    def _loops(self, one: Registration) -> bool:
        return one.field is not None and "dest" not in one.keywords and derivation.is_annotated(one.field)

    def _must(self, one: Registration, known: tuple[FieldValue, ClassValue] | None) -> bool:
        by_metadata = one.field is not None and derivation.is_annotated(one.field)
        return bool(by_metadata and known and known[0].default is None)

    def unflagged(self, field: FieldValue, cls: ClassValue) -> Parameter:
        """A field of the record that no flag sets."""
        return self._of_field(field.name, (field, cls), None)

    def _of_field(self, name: str, known: tuple[FieldValue, ClassValue] | None, one: Registration | None) -> Parameter:
        if known is None:
            assert one is not None  # noqa: S101 - a parameter comes from a flag or a field
            module = one.scope.module
            return Parameter(name, (), None, None, None, None, module.file, one.line, module.owner)
        field, _ = known
        derived = derivation.derive(self.evaluator, field)
        value = records.default_value(self.evaluator, field)
        text = derivation.default_text(self.evaluator, field.default, field.scope)
        if value is None and derived.fallback is not None:
            value, text = self.evaluator.value(derived.fallback, field.scope), derivation.source(derived.fallback)
        module = field.scope.module
        kind = derivation.type_text(field)
        return Parameter(
            name,
            (),
            kind,
            text,
            None,
            derived.help,
            module.file,
            field.line,
            module.owner,
            value=literal(value),
            record=field.name,
        )

    def _word(self, one: Registration, derived: derivation.Derived, action: ast.expr | None) -> tuple[str | None, str | None]:
        """What comes after the flag: how it is read, and how many."""
        given = one.keywords
        parse = derivation.source(given["type"], 80) if "type" in given else derived.parse
        if "nargs" in given:
            nargs = self.evaluator.value(given["nargs"], one.scope)
            return parse, str(nargs) if isinstance(nargs, str | int) else None
        if action is None:
            return parse, derived.nargs
        name = _constant(action) or derivation.named(action) or ""
        if name in _NO_VALUE or name == "BooleanOptionalAction":
            return None, "0"
        return parse, self._nargs_of(action, one.scope)

    def _nargs_of(self, action: ast.expr, scope: Scope) -> str | None:
        """What an action of the source's own takes when it isn't told."""
        cls = self.evaluator.value(action, scope)
        found = records.method(self.evaluator, cls, "__init__") if isinstance(cls, ClassValue) else None
        if found is None:
            return None
        arguments = found[1].args
        for argument, default in zip(reversed(arguments.args), reversed(arguments.defaults), strict=False):
            if argument.arg == "nargs":
                value = self.evaluator.value(default, Scope(found[0]))
                return str(value) if isinstance(value, str | int) else None
        return None

    def _default(self, one: Registration, base: Parameter, action: ast.expr | None) -> tuple[str | None, str | None]:
        node = one.keywords.get("default")
        if node is None:
            if base.default is not None or base.value is not None:
                return base.default, base.value
            return ("False", "False") if _constant(action) == "store_true" else (None, None)
        if derivation.named(node) == "SUPPRESS":
            return base.default, base.value
        value = self.evaluator.value(node, one.scope)
        if value is UNKNOWN and base.default is not None:
            return base.default, base.value
        return derivation.default_text(self.evaluator, node, one.scope), literal(value)

    def _choices(self, one: Registration, derived: derivation.Derived) -> tuple[tuple[str, ...] | None, str | None, bool]:
        node = one.keywords.get("choices")
        name = derivation.named(node) if node is not None else derived.choices_name
        choices = words(self.evaluator.value(node, one.scope)) if node is not None else derived.choices
        grows = name is not None and (name in self.opened or f"add_{name.lower()}" in self.opened)
        grows = grows or (name is not None and f"add_{name.lower().removesuffix('_choices')}_choices" in self.opened)
        return choices, name, grows or (node is not None and choices is None)

    def _deprecated(self, one: Registration, action: ast.expr | None, text: str | None) -> tuple[str | None, str | None]:
        """What the source says of a deprecated flag, and the flag that it names instead."""
        name = derivation.named(action) if action is not None else None
        by_help = text is not None and _DEPRECATED.search(text[:300])
        if not (by_help or (name and "deprecat" in name.lower())):
            return None, None
        new = self.evaluator.value(one.keywords.get("new_flag"), one.scope)
        said = self._text(one.keywords["error_message"], one.scope) if "error_message" in one.keywords else text
        if isinstance(new, str):
            return said or f"use {new}", new
        named = [flag for flag in _FLAG.findall(said or "") if flag not in one.flags]
        return said or "deprecated", named[0] if named else None

    def _text(self, node: ast.expr, scope: Scope) -> str | None:
        """A help text; what only running would tell stands in braces."""
        value = self.evaluator.value(node, scope)
        if isinstance(value, str):
            return value
        return _with_gaps(node)


def _with_gaps(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_with_gaps(one) or "" for one in node.values)
    if isinstance(node, ast.FormattedValue):
        return "{" + derivation.source(node.value, 60) + "}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return f"{_with_gaps(node.left) or ''}{_with_gaps(node.right) or ''}"
    return None


def _with_negation(one: Registration, derived: derivation.Derived) -> tuple[str, ...]:
    """BooleanOptionalAction adds `--no-...` for each long flag."""
    action = one.keywords.get("action")
    negated = action is not None and derivation.named(action) == "BooleanOptionalAction"
    if not negated and not (action is None and any(flag.startswith("--no-") for flag in derived.flags)):
        return one.flags
    return (*one.flags, *(f"--no-{flag[2:]}" for flag in one.flags if flag.startswith("--")))


def _name(flags: tuple[str, ...]) -> str:
    """What argparse stores a flag's value as: the first long flag's name."""
    first = next((flag for flag in flags if flag.startswith("--")), flags[0])
    return first.lstrip("-").replace("-", "_")


def _constant(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
