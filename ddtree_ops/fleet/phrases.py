"""Field errors of the models in plain English: what was expected, what was found.

Values are not repeated here: one of them could be a secret that stands in the wrong place.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from ddtree_ops.fleet import secret_refs
from ddtree_ops.fleet.gate_section import GateSpec
from ddtree_ops.fleet.mistakes import nearest
from ddtree_ops.fleet.nodes import ListNode, Node, ScalarNode, VaultNode, kind
from ddtree_ops.fleet.sections import DdtreeSpec, ModelSpec, RuntimeSpec, SecretRef, SmokePrompt, WaiverSpec
from ddtree_ops.fleet.spec import ServingSpec

_SECTIONS: dict[str, type[BaseModel]] = {
    "model": ModelSpec,
    "draft_model": ModelSpec,
    "ddtree": DdtreeSpec,
    "runtime": RuntimeSpec,
    "secrets": SecretRef,
    "smoke": SmokePrompt,
    "gate": GateSpec,
    "waivers": WaiverSpec,
}
_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "float_type": "a number",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
}


def phrase(error: ErrorDetails, node: Node | None) -> str:
    """One line for an error of pydantic (its types: docs.pydantic.dev, "Validation Errors", 2.x)."""
    loc, what = error["loc"], error["type"]
    context: dict[str, Any] = error.get("ctx") or {}
    if loc[0] == "secrets" and what in _EXPECTED:
        literal = (isinstance(node, ScalarNode) and node.value is not None) or isinstance(node, VaultNode)
        aside = " (what was given isn't shown here)" if literal else ""
        return f"expected {secret_refs.EXPECTED}{aside}"
    if what == "extra_forbidden":
        return _unknown(loc)
    if what == "missing":
        return _missing(loc)
    if what in _LIMITS:
        name, words = _LIMITS[what]
        return f"expected {words} {context[name]}"
    if what == "string_too_short":
        return "must not be empty" if context["min_length"] == 1 else f"expected at least {context['min_length']} characters"
    if what == "string_too_long":
        return f"expected at most {context['max_length']} characters"
    if what in _EXPECTED:
        example = " such as {1: 31, 8: 23}" if loc[-1] == "budget_schedule" else ""
        return _expected(_EXPECTED[what] + example, node)
    return str(error["msg"])


def _unknown(loc: tuple[int | str, ...]) -> str:
    model = _model(loc)
    known = tuple(model.model_fields)
    found = nearest(str(loc[-1]), known)
    return f"unknown key{found}" if found else f"unknown key; known are {', '.join(known)}"


def _missing(loc: tuple[int | str, ...]) -> str:
    description = _model(loc).model_fields[str(loc[-1])].description
    return f"is missing: {description}"


def _model(loc: tuple[int | str, ...]) -> type[BaseModel]:
    return ServingSpec if len(loc) == 1 else _SECTIONS[str(loc[0])]


def _expected(what: str, node: Node | None) -> str:
    if node is None:
        return f"expected {what}"
    number_as_text = isinstance(node, ScalarNode) and isinstance(node.value, str)
    text_as_other = isinstance(node, ScalarNode) and node.value is not None and not number_as_text
    hint = ""
    if what == "text" and text_as_other:
        hint = "; put it in quotes"
    elif what == "a whole number" and number_as_text and isinstance(node, ScalarNode) and node.text.isdigit():
        hint = "; leave the quotes out"
    elif what == "a mapping" and isinstance(node, ListNode):
        hint = "; write `key: value` lines without '-'"
    return f"expected {what}, got {kind(node)}{hint}"
