"""The reference of `ddtree_serving`, generated from the models so that it can't drift from them."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from datetime import date
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ddtree_ops.fleet.duration import format_duration
from ddtree_ops.fleet.sections import SecretRef
from ddtree_ops.fleet.spec import ServingSpec

_DURATIONS = ("load_budget", "stall_after", "drain", "time_limit")
_LIMITS = {"ge": "at least", "le": "at most"}


def spec_reference() -> str:
    """A Markdown table with a row per key: key, type, default, meaning."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    rows += [f"| `{key}` | {kind} | {default} | {meaning} |" for key, kind, default, meaning in _rows(ServingSpec, "")]
    return "\n".join(rows) + "\n"


def _rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, info in model.model_fields.items():
        key = prefix + name
        section, ending = _section(info.annotation)
        yield key, _type_name(name, info, section), _default(name, info), _meaning(info)
        if section is not None and section is not SecretRef:
            yield from _rows(section, f"{key}{ending}.")


def _section(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    """The model inside an annotation, and what stands between its key and its fields' keys."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, ""
    origin = typing.get_origin(annotation)
    ending = "[]" if origin is tuple else ".*" if origin is dict else ""
    for argument in typing.get_args(annotation):
        found, _ = _section(argument)
        if found is not None:
            return found, ending
    return None, ""


def _type_name(name: str, info: FieldInfo, section: type[BaseModel] | None) -> str:
    if name in _DURATIONS:
        return "duration"
    if section is SecretRef:
        return "mapping of references"
    text = _plain_name(info.annotation)
    limits = [
        f"{words} {limit}"
        for attribute, words in _LIMITS.items()
        for one in info.metadata
        if (limit := getattr(one, attribute, None)) is not None
    ]
    return ", ".join([text, *limits])


def _plain_name(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _plain_name(arguments[0])
    if origin in (types.UnionType, typing.Union):
        return _plain_name(next(one for one in arguments if one is not type(None)))
    if origin is tuple:
        return f"list of {_plain_name(arguments[0])}"
    if origin in (dict, Mapping) or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "mapping"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(str(one.value) for one in annotation)
    return {date: "day", int: "whole number", float: "number", str: "text", bool: "true or false"}.get(
        annotation, str(annotation)
    )


def _default(name: str, info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.default
    if value is None or isinstance(value, BaseModel) or value in ({}, ()):
        return "none" if not isinstance(value, BaseModel) else "see below"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return "; ".join(
            f"`{{{', '.join(f'{k}: {v}' for k, v in one.model_dump(exclude_defaults=True).items())}}}`" for one in value
        )
    return f"`{format_duration(value) if name in _DURATIONS else value}`"


def _meaning(info: FieldInfo) -> str:
    return (info.description or "").replace("|", "\\|")
